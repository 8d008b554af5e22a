// Exact sums of two numbers, 16-bit floats, complex numbers: what accumulators are made of.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "core/macros.h"

namespace reduce_ops {

template <class To, class From>
RO_HD To bit_cast(From from) {
  static_assert(sizeof(To) == sizeof(From), "bit_cast needs equal sizes");
  To to;
  memcpy(&to, &from, sizeof(To));
  return to;
}

struct Float16 {
  uint16_t bits;
};
struct BFloat16 {
  uint16_t bits;
};

// An unevaluated sum hi + lo. Accumulating with two_sum keeps the rounding error of every
// addition in lo, which doubles the working precision.
struct DoublePair {
  double hi;
  double lo;
};

template <class T>
struct Complex {
  T re;
  T im;
};

// s + error == a + b exactly (Knuth, The Art of Computer Programming 2, 4.2.2, theorem B).
RO_HD double two_sum(double a, double b, double& error) {
#if defined(__CUDA_ARCH__)
  const double s = __dadd_rn(a, b);
  const double t = __dsub_rn(s, a);
  error = __dadd_rn(__dsub_rn(a, __dsub_rn(s, t)), __dsub_rn(b, t));
#else
  const double s = a + b;
  const double t = s - a;
  error = (a - (s - t)) + (b - t);
#endif
  return s;
}

// a * b + c with one rounding.
RO_HD double fused_multiply_add(double a, double b, double c) {
#if defined(__CUDA_ARCH__)
  return __fma_rn(a, b, c);
#else
  return std::fma(a, b, c);
#endif
}

RO_HD float to_float(BFloat16 x) { return bit_cast<float>(uint32_t(x.bits) << 16); }

RO_HD float to_float(Float16 x) {
#if defined(__CUDA_ARCH__)
  float f;
  asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(x.bits));
  return f;
#else
  const uint32_t sign = uint32_t(x.bits & 0x8000u) << 16;
  const uint32_t exponent = (x.bits >> 10) & 31u;
  const uint32_t mantissa = x.bits & 1023u;
  if (exponent == 0) {
    const float magnitude = float(mantissa) * 0x1p-24f;
    return sign ? -magnitude : magnitude;
  }
  const uint32_t wide = exponent == 31 ? 255 : exponent + 112;
  return bit_cast<float>(sign | (wide << 23) | (mantissa << 13));
#endif
}

// Rounds to the nearest number of a 16-bit format, ties to even; one rounding from double.
template <int kExponentBits>
RO_HD uint16_t round_to_16_bits(double x) {
  constexpr int kMantissaBits = 15 - kExponentBits;
  constexpr int kBias = (1 << (kExponentBits - 1)) - 1;
  const uint64_t bits = bit_cast<uint64_t>(x);
  const uint16_t sign = uint16_t((bits >> 48) & 0x8000u);
  const int exponent = int((bits >> 52) & 2047) - 1023;
  const uint64_t fraction = bits & ((uint64_t(1) << 52) - 1);
  constexpr uint16_t kInf = uint16_t(((1 << kExponentBits) - 1) << kMantissaBits);
  if (exponent == 1024 && fraction) return uint16_t(sign | kInf | (1 << (kMantissaBits - 1)));
  if (exponent > kBias) return sign | kInf;
  const int below_normal = exponent < 1 - kBias ? 1 - kBias - exponent : 0;
  const int shift = 52 - kMantissaBits + below_normal;
  if (shift > 54) return sign;
  const uint64_t full = fraction | (uint64_t(1) << 52);
  uint64_t kept = full >> shift;
  const uint64_t rest = full & ((uint64_t(1) << shift) - 1);
  const uint64_t half = uint64_t(1) << (shift - 1);
  kept += rest > half || (rest == half && (kept & 1));
  // A carry out of the mantissa moves on to the next exponent, up to infinity.
  if (!below_normal) kept += uint64_t(exponent + kBias - 1) << kMantissaBits;
  return uint16_t(sign | kept);
}

#if defined(__CUDA_ARCH__)
// The float below |x|, with its last bit set where that is inexact (round to odd): rounding this to
// 16 bits gives what rounding x itself gives, since two or more bits are in between. Conversions
// between double and float are slow; a normal float is put together from x's bits.
__device__ __forceinline__ float to_odd_float(double x) {
  const uint32_t high = uint32_t(__double2hiint(x));
  const uint32_t low = uint32_t(__double2loint(x));
  if ((high >> 20 & 2047u) - 897u < 254u) {
    const uint32_t magnitude = (high & 0x7fffffffu) - (896u << 20);
    const uint32_t inexact = (low & 0x1fffffffu) != 0;
    return __uint_as_float((high & 0x80000000u) | magnitude << 3 | low >> 29 | inexact);
  }
  const float f = __double2float_rz(x);
  return double(f) == x ? f : __uint_as_float(__float_as_uint(f) | 1u);
}
#endif

RO_HD Float16 to_float16(double x) {
#if defined(__CUDA_ARCH__)
  Float16 h;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h.bits) : "f"(to_odd_float(x)));
  return h;
#else
  return {round_to_16_bits<5>(x)};
#endif
}
RO_HD BFloat16 to_bfloat16(double x) {
#if defined(__CUDA_ARCH__)
  BFloat16 h;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(h.bits) : "f"(to_odd_float(x)));
  return h;
#else
  return {round_to_16_bits<8>(x)};
#endif
}

// x + 0 for both 16-bit floats of a word.
#if defined(__CUDA_ARCH__)
__device__ __forceinline__ uint32_t add_zero(Float16, uint32_t word) {
  asm("add.rn.f16x2 %0, %0, %1;" : "+r"(word) : "r"(0));
  return word;
}
__device__ __forceinline__ uint32_t add_zero(BFloat16, uint32_t word) {
  asm("fma.rn.bf16x2 %0, %0, %1, %2;" : "+r"(word) : "r"(0x3f803f80), "r"(0));  // times 1
  return word;
}
#else
template <class T>
inline uint32_t add_zero(T, uint32_t word) {
  const auto half = [](uint32_t bits) {
    const double sum = to_float(T{uint16_t(bits)}) + 0.0;
    return uint32_t(std::is_same_v<T, Float16> ? to_float16(sum).bits : to_bfloat16(sum).bits);
  };
  return half(word) | half(word >> 16) << 16;
}
#endif

RO_HD bool is_infinite(float x) { return (bit_cast<uint32_t>(x) & 0x7fffffffu) == 0x7f800000u; }
RO_HD bool is_infinite(double x) {
  return (bit_cast<uint64_t>(x) & ~uint64_t(0) >> 1) == uint64_t(2047) << 52;
}
RO_HD bool is_finite(double x) { return ((bit_cast<uint64_t>(x) >> 52) & 2047) != 2047; }

RO_HD double square_root(double a) { return std::sqrt(a); }
// One step of Newton's method makes up for lo.
RO_HD double square_root(DoublePair a) {
  if (!is_finite(a.hi)) return std::sqrt(a.hi);
  const double root = std::sqrt(a.hi + a.lo);
  if (root == 0) return root;
  return root + (fused_multiply_add(-root, root, a.hi) + a.lo) / (2 * root);
}

}  // namespace reduce_ops
