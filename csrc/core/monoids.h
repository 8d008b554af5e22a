// A reduction is a monoid: accumulator, identity, accumulate, combine, finalize. The same
// definition serves the CPU and the CUDA engines.
//
//   acc_t                          trivially copyable, whole 4-byte words
//   state_t                        what a result's accumulation knows beforehand; mostly Nothing
//   start(first)                   the state, from the result's first element
//   accumulate(acc, x, index, state)
//   combine(a, b)
//   finalize(acc, epilogue, state) a value, or Two values
//
// What every engine relies on: combine(a, identity) has the bits of a. An order of combining that
// is fixed by the row's length alone (see plan/order.h) then gives the same bits whichever engine
// computes the row.
#pragma once

#include "core/math.h"
#include "core/op.h"

namespace reduce_ops {

struct Nothing {};

template <class A, class B>
struct Two {
  A first;
  B second;
};

template <class T, int kCount>
struct Several {
  T value[kCount];
};

// What most monoids need no more than.
struct Stateless {
  using state_t = Nothing;
};

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

// What an accumulator stands for, over `divisor`, in the type its value is stored from.
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
struct Sum : Stateless {
  using acc_t = A;
  static RO_HD A identity() { return A{}; }
  template <class Value>
  static RO_HD A accumulate(A acc, Value x, int64_t /*index*/, Nothing) {
    return add(acc, x);
  }
  static RO_HD A combine(A a, A b) { return add(a, b); }
  static RO_HD auto finalize(A acc, const Epilogue& e, Nothing) { return value_of(acc, e.divisor); }
};

// How many elements are true, for any, all and count_nonzero.
struct Count : Sum<int64_t> {
  static RO_HD int64_t finalize(int64_t acc, const Epilogue& e, Nothing) {
    return e.op == Op::kAny ? acc != 0 : e.op == Op::kAll ? acc == e.length : acc;
  }
};

// Sum and number of the elements that are not NaN.
template <class A>
struct NanSum : Stateless {
  struct acc_t {
    A sum;
    int64_t count;
  };
  static RO_HD acc_t identity() { return {A{}, 0}; }
  static RO_HD acc_t accumulate(acc_t acc, double x, int64_t /*index*/, Nothing) {
    const bool counts = x == x;
    return {add(acc.sum, counts ? x : 0.0), acc.count + counts};
  }
  static RO_HD acc_t combine(acc_t a, acc_t b) { return {add(a.sum, b.sum), a.count + b.count}; }
  static RO_HD double finalize(acc_t acc, const Epilogue& e, Nothing) {
    return value_of(acc.sum, e.op == Op::kNanMean ? acc.count : 1);
  }
};

// Sum of |x|^p (core/powers.h) and its root.
template <class A>
struct PowerSum : Sum<A> {
  static RO_HD double finalize(A acc, const Epilogue& e, Nothing) {
    if (e.parameter == 1) return value_of(acc, 1);
    if (e.parameter == 2) return square_root(acc);
    return std::pow(value_of(acc, 1), 1 / e.parameter);
  }
};

RO_HD double multiply(double a, double b) { return a * b; }
RO_HD int64_t multiply(int64_t a, int64_t b) { return int64_t(uint64_t(a) * uint64_t(b)); }
RO_HD DoublePair multiply(DoublePair a, double b) {
  const double p = a.hi * b;
  return {p, fused_multiply_add(a.lo, b, fused_multiply_add(a.hi, b, -p))};
}
RO_HD DoublePair multiply(DoublePair a, DoublePair b) {
  const double p = a.hi * b.hi;
  const double error = fused_multiply_add(a.hi, b.hi, -p);
  return {p, error + fused_multiply_add(a.hi, b.lo, a.lo * b.hi)};
}
// One is left alone: inf * (1 + 0i) would have a NaN.
RO_HD Complex<double> multiply(Complex<double> a, Complex<double> b) {
  if (b.re == 1 && b.im == 0) return a;
  if (a.re == 1 && a.im == 0) return b;
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

RO_HD void set_one(double& a) { a = 1; }
RO_HD void set_one(int64_t& a) { a = 1; }
RO_HD void set_one(DoublePair& a) { a = {1, 0}; }
RO_HD void set_one(Complex<double>& a) { a = {1, 0}; }

template <class A>
struct Prod : Stateless {
  using acc_t = A;
  static RO_HD A identity() {
    A one;
    set_one(one);
    return one;
  }
  template <class Value>
  static RO_HD A accumulate(A acc, Value x, int64_t /*index*/, Nothing) {
    return multiply(acc, x);
  }
  static RO_HD A combine(A a, A b) { return multiply(a, b); }
  static RO_HD auto finalize(A acc, const Epilogue&, Nothing) { return value_of(acc, 1); }
};

}  // namespace reduce_ops
