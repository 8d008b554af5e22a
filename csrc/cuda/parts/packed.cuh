// Two 16-bit floats of a word at a time. NaN wins, as in larger() and smaller().
#pragma once

#include "core/adapted.h"
#include "core/extremes.h"

namespace reduce_ops::cuda {

#if defined(__CUDA_ARCH__)
__device__ __forceinline__ uint32_t larger_two(Float16, uint32_t a, uint32_t b) {
  asm("max.NaN.f16x2 %0, %0, %1;" : "+r"(a) : "r"(b));
  return a;
}
__device__ __forceinline__ uint32_t smaller_two(Float16, uint32_t a, uint32_t b) {
  asm("min.NaN.f16x2 %0, %0, %1;" : "+r"(a) : "r"(b));
  return a;
}
__device__ __forceinline__ uint32_t larger_two(BFloat16, uint32_t a, uint32_t b) {
  asm("max.NaN.bf16x2 %0, %0, %1;" : "+r"(a) : "r"(b));
  return a;
}
__device__ __forceinline__ uint32_t smaller_two(BFloat16, uint32_t a, uint32_t b) {
  asm("min.NaN.bf16x2 %0, %0, %1;" : "+r"(a) : "r"(b));
  return a;
}
#else
template <class T, class F>
uint32_t each_half(uint32_t a, uint32_t b, F&& pick) {
  const auto half = [&](uint32_t x, uint32_t y) {
    const float u = to_float(T{uint16_t(x)}), v = to_float(T{uint16_t(y)});
    return pick(u, v) == u || is_nan(u) ? x & 0xffffu : y & 0xffffu;
  };
  return half(a, b) | half(a >> 16, b >> 16) << 16;
}
template <class T>
uint32_t larger_two(T, uint32_t a, uint32_t b) {
  return each_half<T>(a, b, larger<float>);
}
template <class T>
uint32_t smaller_two(T, uint32_t a, uint32_t b) {
  return each_half<T>(a, b, smaller<float>);
}
#endif

// The 16-bit float that a kind of elements stands for, or void.
template <class Elements>
struct Packed {
  using type = void;
};
template <class T>
struct Packed<Signs<T>> {
  using type = std::conditional_t<sizeof(T) == 2, T, void>;
};
template <>
struct Packed<Direct<Float16>> {
  using type = Float16;
};
template <>
struct Packed<Direct<BFloat16>> {
  using type = BFloat16;
};
template <class Elements>
using packed_t = typename Packed<Elements>::type;
template <class Elements>
constexpr bool kIsPacked = !std::is_void_v<packed_t<Elements>>;

template <class T>
__device__ __forceinline__ float low_half(uint32_t word) {
  return to_float(T{uint16_t(word)});
}
template <class T>
__device__ __forceinline__ float high_half(uint32_t word) {
  return to_float(T{uint16_t(word >> 16)});
}

template <class T>
__device__ __forceinline__ float largest(const Chunk& chunk) {
  const uint32_t word = larger_two(T{}, larger_two(T{}, chunk.word[0], chunk.word[1]),
                                   larger_two(T{}, chunk.word[2], chunk.word[3]));
  return larger(low_half<T>(word), high_half<T>(word));
}
template <class T>
__device__ __forceinline__ float smallest(const Chunk& chunk) {
  const uint32_t word = smaller_two(T{}, smaller_two(T{}, chunk.word[0], chunk.word[1]),
                                    smaller_two(T{}, chunk.word[2], chunk.word[3]));
  return smaller(low_half<T>(word), high_half<T>(word));
}

}  // namespace reduce_ops::cuda
