// Variance and mean in one pass. Every element of a result is taken less the result's first one,
// so that a large mean costs no accuracy: with d = x - first, the sum of squared deviations is
// sum(d^2) - sum(d)^2 / n (Chan, Golub and LeVeque, Algorithms for Computing the Sample Variance,
// 1983, with shifted data). Since (first - mean)^2 is one of the summands, the subtraction loses at
// most log2(n + 1) bits of the accumulators, which have 29 more than float32 (and 53 more than
// float64, for which they are pairs), and about one where the first element is like the others.
#pragma once

#include "core/monoids.h"

namespace reduce_ops {

RO_HD double difference(double x, double shift, double) { return x - shift; }
RO_HD DoublePair difference(double x, double shift, DoublePair) {
  double error;
  const double hi = two_sum(x, -shift, error);
  return {hi, error};
}

RO_HD double add_square(double acc, double d) { return fused_multiply_add(d, d, acc); }
RO_HD DoublePair add_square(DoublePair acc, DoublePair d) {
  const double square = d.hi * d.hi;
  const double error = fused_multiply_add(d.hi, d.hi, -square);
  return add(acc, DoublePair{square, fused_multiply_add(2 * d.hi, d.lo, error)});
}

// s2 - s1^2 / n. Divisions are slow: only float64 results are accurate enough to ask for them.
RO_HD double squared_deviations(double s1, double s2, const Epilogue& e) {
  return fused_multiply_add(-s1, s1 * e.inverse_length, s2);
}
RO_HD double squared_deviations(DoublePair s1, DoublePair s2, const Epilogue& e) {
  const double n = double(e.length);
  double lo;
  const double hi = two_sum(s1.hi, s1.lo, lo);
  const double quotient = hi / n;
  const double rest = (fused_multiply_add(-quotient, n, hi) + lo) / n;
  const DoublePair product = multiply(DoublePair{hi, lo}, DoublePair{quotient, rest});
  return value_of(add(s2, DoublePair{-product.hi, -product.lo}), 1);
}

template <class A>
struct Moments {
  struct acc_t {
    A s1;
    A s2;
  };
  using state_t = double;
  // Less an infinity nothing finite would be left of a mean.
  static RO_HD double start(double first) { return is_finite(first) ? first : 0; }
  static RO_HD acc_t identity() { return {A{}, A{}}; }
  static RO_HD acc_t accumulate(acc_t acc, double x, int64_t /*index*/, double shift) {
    const A d = difference(x, shift, A{});
    return {add(acc.s1, d), add_square(acc.s2, d)};
  }
  static RO_HD acc_t combine(acc_t a, acc_t b) { return {add(a.s1, b.s1), add(a.s2, b.s2)}; }
  // Results: the variance or its root, the mean.
  static RO_HD Two<double, double> finalize(acc_t acc, const Epilogue& e, double shift) {
    double squares = squared_deviations(acc.s1, acc.s2, e);
    if (squares < 0) squares = 0;
    const double variance = over_freedom(squares, e, A{});
    const bool root = e.op == Op::kStd || e.op == Op::kStdMean;
    return {root ? std::sqrt(variance) : variance, mean(acc.s1, e, shift)};
  }

 private:
  static RO_HD double over_freedom(double squares, const Epilogue& e, double) {
    return squares * e.inverse_freedom;
  }
  static RO_HD double over_freedom(double squares, const Epilogue& e, DoublePair) {
    const double freedom = double(e.length) - e.parameter;
    return squares / (freedom > 0 ? freedom : 0.0);
  }
  static RO_HD double mean(double s1, const Epilogue& e, double shift) {
    return fused_multiply_add(s1, e.inverse_length, shift);
  }
  static RO_HD double mean(DoublePair s1, const Epilogue& e, double shift) {
    const int64_t n = e.length;
    const double quotient = value_of(s1, 1) / double(n);
    if (!is_finite(quotient)) return shift + quotient;
    const double rest = fused_multiply_add(-quotient, double(n), s1.hi) + s1.lo;
    return value_of(add(DoublePair{shift, rest / double(n)}, quotient), 1);
  }
};

}  // namespace reduce_ops
