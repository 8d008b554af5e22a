// A reduction is a monoid: accumulator, identity, accumulate, combine, finalize. The same
// definition serves the CPU and the CUDA engines.
//
// What every engine relies on: combine(a, identity) has the bits of a, and an accumulator is
// trivially copyable. An order of combining that is fixed by the row's length alone (see
// plan/order.h) then gives the same bits whichever engine computes the row.
#pragma once

#include "core/math.h"

namespace reduce_ops {

RO_HD double add(double a, double b) { return a + b; }
// Wraps around like torch's integer sums.
RO_HD int64_t add(int64_t a, int64_t b) { return int64_t(uint64_t(a) + uint64_t(b)); }

RO_HD DoublePair add(DoublePair a, double x) {
  double error;
  const double hi = two_sum(a.hi, x, error);
  return {hi, a.lo + error};
}
RO_HD DoublePair add(DoublePair a, DoublePair b) {
  double error;
  const double hi = two_sum(a.hi, b.hi, error);
  return {hi, (a.lo + b.lo) + error};
}
template <class A, class B>
RO_HD Complex<A> add(Complex<A> a, Complex<B> b) {
  return {add(a.re, b.re), add(a.im, b.im)};
}

// What an accumulator stands for, over `divisor`, in the type its value is stored from. The divisor
// is 1 for a sum and the number of elements for a mean.
RO_HD double value_of(double a, int64_t divisor) { return divisor == 1 ? a : a / double(divisor); }
RO_HD int64_t value_of(int64_t a, int64_t /*always 1*/) { return a; }
// After an overflow lo holds the NaN of inf - inf; hi alone is the answer.
RO_HD double value_of(DoublePair a, int64_t divisor) {
  if (!is_finite(a.hi)) return a.hi;
  const double sum = a.hi + a.lo;
  if (divisor == 1) return sum;
  // One step of long division: the remainder that the quotient leaves of the whole pair.
  const double quotient = sum / double(divisor);
  const double rest = fused_multiply_add(-quotient, double(divisor), a.hi) + a.lo;
  return is_finite(rest) ? quotient + rest / double(divisor) : quotient;
}
template <class A>
RO_HD Complex<double> value_of(Complex<A> a, int64_t divisor) {
  return {value_of(a.re, divisor), value_of(a.im, divisor)};
}

template <class A>
struct Sum {
  using acc_t = A;
  static RO_HD A identity() { return A{}; }
  template <class Value>
  static RO_HD A accumulate(A acc, Value x, int64_t /*index*/) {
    return add(acc, x);
  }
  static RO_HD A combine(A a, A b) { return add(a, b); }
  static RO_HD auto finalize(A acc, int64_t divisor) { return value_of(acc, divisor); }
};

}  // namespace reduce_ops
