// Several statistics of the same elements in one pass.
#pragma once

#include "core/extremes.h"
#include "core/moments.h"

namespace reduce_ops {

// A is the accumulator of sums, E that of extremes.
template <class A, class E>
struct Description {
  struct acc_t {
    typename Moments<A>::acc_t moments;
    typename Extremes<E>::acc_t extremes;
    int64_t nan;
    int64_t infinite;
    int64_t zero;
  };
  using state_t = double;
  static RO_HD double start(double first) { return Moments<A>::start(first); }
  static RO_HD acc_t identity() {
    return {Moments<A>::identity(), Extremes<E>::identity(), 0, 0, 0};
  }
  static RO_HD acc_t accumulate(acc_t acc, double x, int64_t index, double shift) {
    const E e = E(x);
    return {Moments<A>::accumulate(acc.moments, x, index, shift),
            Extremes<E>::accumulate(acc.extremes, x, index, {}), acc.nan + is_nan(e),
            acc.infinite + is_infinite(e), acc.zero + (e == 0)};
  }
  static RO_HD acc_t combine(acc_t a, acc_t b) {
    return {Moments<A>::combine(a.moments, b.moments), Extremes<E>::combine(a.extremes, b.extremes),
            a.nan + b.nan, a.infinite + b.infinite, a.zero + b.zero};
  }
  // Results: mean, variance, smallest, largest, largest magnitude, 2-norm; the numbers of NaN,
  // infinities and zeros.
  static RO_HD Two<Several<double, 6>, Several<int64_t, 3>> finalize(acc_t acc, const Epilogue& e,
                                                                     double shift) {
    const auto [variance, mean] = Moments<A>::finalize(acc.moments, e, shift);
    const double low = acc.extremes.low, high = acc.extremes.high;
    double size = norm(acc.moments, e.length, shift);
    // Of infinities of both signs, or of squares that overflow.
    if (is_nan(size) && acc.nan == 0) size = std::numeric_limits<double>::infinity();
    return {{{mean, variance, low, high, larger(high, -low), size}},
            {{acc.nan, acc.infinite, acc.zero}}};
  }

 private:
  // sum(x^2) = sum(d^2) + 2 shift sum(d) + n shift^2 with d = x - shift. Since shift is one of the
  // elements, the summands are at most n + 1 times as large as their sum.
  static RO_HD double norm(const typename Moments<double>::acc_t& m, int64_t n, double shift) {
    return std::sqrt(m.s2 + shift * (2 * m.s1 + double(n) * shift));
  }
  static RO_HD double norm(const typename Moments<DoublePair>::acc_t& m, int64_t n, double shift) {
    const double wide = double(n) * shift;
    const double error = fused_multiply_add(double(n), shift, -wide);
    const DoublePair twice = add(DoublePair{2 * m.s1.hi, 2 * m.s1.lo}, DoublePair{wide, error});
    return square_root(add(m.s2, multiply(twice, shift)));
  }
};

}  // namespace reduce_ops
