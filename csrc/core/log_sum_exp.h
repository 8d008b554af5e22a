// log(sum(exp(x))) in one pass, online (Milakov and Gimelshein, Online normalizer calculation for
// softmax, 2018): the sum is kept relative to about the largest element so far.
#pragma once

#include "core/extremes.h"

namespace reduce_ops {

RO_HD float exp2_of(float x) {
#if defined(__CUDA_ARCH__)
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
#else
  return std::exp2(x);
#endif
}

RO_HD float fused_multiply_add(float a, float b, float c) {
#if defined(__CUDA_ARCH__)
  return __fmaf_rn(a, b, c);
#else
  return std::fma(a, b, c);
#endif
}

template <class A>
struct LogSumExp;

// In powers of two, relative to a level that only takes multiples of four: a change of the level
// then scales the sum exactly, so that it does not matter to the bits when the level rises. With
// c = log2(e) rounded, 2^(x c) is exp(x) but for a factor of 1 + 1.4e-8 in x, which matters to x
// less the level only.
template <>
struct LogSumExp<float> : Stateless {
  static constexpr float kLog2E = 1.442695041f;
  static constexpr float kStep = 4;
  struct acc_t {
    float level;
    float sum;  // of 2^(x c - level)
  };
  static RO_HD acc_t identity() { return {lowest<float>(), 0}; }

  // Raises the level for elements as large as `most`.
  static RO_HD void raise(acc_t& acc, float most) {
    const float scaled = most * kLog2E;
    if (!(scaled > acc.level)) return;
    const float level = std::ceil(scaled / kStep) * kStep;
    acc.sum *= exp2_of(acc.level - level);
    acc.level = level;
  }
  // An element's share where the level is finite and as high as the element.
  static RO_HD float term(float x, float level) {
    return exp2_of(fused_multiply_add(x, kLog2E, -level));
  }
  // Infinities are counted: their difference would be NaN.
  static RO_HD float infinite_term(float x, float level) {
    return x == level ? 1.0f : is_nan(x) ? x : 0.0f;
  }

  template <class Value>
  static RO_HD acc_t accumulate(acc_t acc, Value value, int64_t /*index*/, Nothing) {
    const float x = float(value);
    raise(acc, x);
    acc.sum += is_infinite(acc.level) ? infinite_term(x, acc.level) : term(x, acc.level);
    return acc;
  }
  static RO_HD acc_t combine(acc_t a, acc_t b) {
    const float level = a.level > b.level ? a.level : b.level;
    const float scale_a = a.level == level ? 1.0f : exp2_of(a.level - level);
    const float scale_b = b.level == level ? 1.0f : exp2_of(b.level - level);
    return {level, a.sum * scale_a + b.sum * scale_b};
  }
  static RO_HD double finalize(acc_t acc, const Epilogue&, Nothing) {
    constexpr double kScale = 1 / double(kLog2E);
    const double level = acc.level;
    return fused_multiply_add(level, kScale, std::log(double(acc.sum)));
  }
};

// float64: relative to the largest element itself.
template <>
struct LogSumExp<double> : Stateless {
  struct acc_t {
    double high;
    double sum;  // of exp(x - high)
  };
  static RO_HD acc_t identity() { return {lowest<double>(), 0}; }
  static RO_HD acc_t accumulate(acc_t acc, double x, int64_t /*index*/, Nothing) {
    // Equal infinities have no difference.
    const double term = x == acc.high ? 1.0 : std::exp(x > acc.high ? acc.high - x : x - acc.high);
    return x > acc.high ? acc_t{x, acc.sum * term + 1} : acc_t{acc.high, acc.sum + term};
  }
  static RO_HD acc_t combine(acc_t a, acc_t b) {
    if (a.high == b.high) return {a.high, a.sum + b.sum};
    const bool swap = b.high > a.high;
    const acc_t more = swap ? b : a, less = swap ? a : b;
    return {more.high, more.sum + less.sum * std::exp(less.high - more.high)};
  }
  static RO_HD double finalize(acc_t acc, const Epilogue&, Nothing) {
    return acc.high + std::log(acc.sum);
  }
};

}  // namespace reduce_ops
