// Vectors of the width that the instruction set of this translation unit has: kWidth doubles or
// int64. Loads decode every component type into them. Everything here is internal to the unit and
// always inlined: a function shared between units could be merged by the linker with a copy that
// uses instructions the CPU lacks.
//
// Included by simd_*.cpp only, after every other header and after the target pragma.
#pragma once

// Vectors are passed by value to functions that are always inlined: no ABI is involved.
#pragma GCC diagnostic ignored "-Wpsabi"

#define RO_INLINE static inline __attribute__((always_inline))
#define RO_MEMBER __attribute__((always_inline))  // for members and lambdas

namespace reduce_ops::cpu {
namespace {

// Doubles in a vector. Set by the unit: __AVX2__ and the like do not follow a target pragma, as g++
// expands macros before it reads pragmas.
constexpr int kWidth = RO_SIMD_WIDTH;

// f(0), …, f(N - 1) with constant arguments: arrays that are indexed by them live in registers.
template <int N, class F>
RO_INLINE void static_for(F&& f) {
  if constexpr (N > 0) {
    static_for<N - 1>(f);
    f(std::integral_constant<int, N - 1>{});
  }
}

template <class T, int N>
struct VectorOf {
  typedef T type __attribute__((vector_size(sizeof(T) * N)));
};
template <class T>
struct VectorOf<T, 1> {
  using type = T;
};
template <class T, int N>
using Vector = typename VectorOf<T, N>::type;
using Doubles = Vector<double, kWidth>;
using Ints = Vector<uint64_t, kWidth>;  // unsigned: overflow wraps

// The two halves of a vector.
template <class T>
RO_INLINE Vector<T, 2> low(Vector<T, 4> v) {
  return __builtin_shufflevector(v, v, 0, 1);
}
template <class T>
RO_INLINE Vector<T, 2> high(Vector<T, 4> v) {
  return __builtin_shufflevector(v, v, 2, 3);
}
template <class T>
RO_INLINE T low(Vector<T, 2> v) {
  return v[0];
}
template <class T>
RO_INLINE T high(Vector<T, 2> v) {
  return v[1];
}

// a + b and a - b through the multiplier: the same bits, on execution ports that plain additions
// leave idle. Narrower vectors and integers take the plain way.
template <class V>
RO_INLINE V fused_add(V a, V b) {
  return a + b;
}
template <class V>
RO_INLINE V fused_sub(V a, V b) {
  return a - b;
}
// a + b * c with one rounding where b * c is exact.
template <class V>
RO_INLINE V fused(V a, V b, V c) {
  return a + b * c;
}
#if RO_SIMD_WIDTH == 4
RO_INLINE __m256d one() {
  __m256d one = {1, 1, 1, 1};
  asm("" : "+x"(one));  // else the compiler turns the product back into an addition
  return one;
}
RO_INLINE Doubles fused_add(Doubles a, Doubles b) { return _mm256_fmadd_pd(b, one(), a); }
RO_INLINE Doubles fused_sub(Doubles a, Doubles b) { return _mm256_fnmadd_pd(b, one(), a); }
RO_INLINE Doubles fused(Doubles a, Doubles b, Doubles c) { return _mm256_fmadd_pd(b, c, a); }
#endif

// a | b | c.
#if RO_SIMD_MASKS
RO_INLINE Ints any_bits(Ints a, Ints b, Ints c) {
  return (Ints)_mm256_ternarylogic_epi64((__m256i)a, (__m256i)b, (__m256i)c, 0xfe);
}
#else
RO_INLINE Ints any_bits(Ints a, Ints b, Ints c) { return a | (b | c); }
#endif

template <int kBytes>
using Raw = Vector<char, kBytes>;

template <int kBytes>
RO_INLINE Raw<kBytes> load_full(const char* p) {
  Raw<kBytes> raw;
  memcpy(&raw, p, kBytes);
  return raw;
}

// The first `bytes` < kBytes bytes, then zeros; reads nothing beyond them.
template <int kBytes>
RO_INLINE Raw<kBytes> load_part(const char* p, int bytes);

#if RO_SIMD_MASKS
template <>
Raw<32> load_part<32>(const char* p, int bytes) {
  return (Raw<32>)_mm256_maskz_loadu_epi8((1u << bytes) - 1, p);
}
template <>
Raw<16> load_part<16>(const char* p, int bytes) {
  return (Raw<16>)_mm_maskz_loadu_epi8((1u << bytes) - 1, p);
}
template <int kBytes>
RO_INLINE Raw<kBytes> load_part(const char* p, int bytes) {
  const Raw<16> raw = load_part<16>(p, bytes);
  Raw<kBytes> part;
  memcpy(&part, &raw, kBytes);
  return part;
}
#else
RO_INLINE uint64_t up_to_8_bytes(const char* p, int bytes) {
  uint64_t all = 0;
  if (bytes & 8) {
    memcpy(&all, p, 8);
    return all;
  }
  uint32_t four = 0;
  uint16_t two = 0;
  if (bytes & 4) memcpy(&four, p, 4);
  if (bytes & 2) memcpy(&two, p + (bytes & 4), 2);
  if (bytes & 1) all = uint64_t(uint8_t(p[bytes - 1])) << (8 * (bytes - 1));
  return all | four | uint64_t(two) << (8 * (bytes & 4));
}
template <int kBytes>
RO_INLINE Raw<kBytes> load_part(const char* p, int bytes) {
  if constexpr (kBytes <= 8) {
    const uint64_t all = up_to_8_bytes(p, bytes);
    return load_full<kBytes>(reinterpret_cast<const char*>(&all));
  } else {
    Vector<uint64_t, kBytes / 8> words = {};
    _Pragma("GCC unroll 4") for (int i = 0; i < kBytes / 8; ++i) {
      if (bytes > 8 * i) words[i] = up_to_8_bytes(p + 8 * i, bytes < 8 * i + 8 ? bytes - 8 * i : 8);
    }
    return (Raw<kBytes>)words;
  }
}
#endif

// kWidth small numbers to doubles or int64. The compiler's own vector conversions are split in two
// or done one by one.
#if RO_SIMD_WIDTH == 4
RO_INLINE Doubles to_doubles(Vector<float, 4> v) { return _mm256_cvtps_pd((__m128)v); }
RO_INLINE Ints to_ints(Vector<int32_t, 4> v) { return (Ints)_mm256_cvtepi32_epi64((__m128i)v); }
RO_INLINE Ints to_ints(Vector<uint32_t, 4> v) { return (Ints)_mm256_cvtepu32_epi64((__m128i)v); }
RO_INLINE __m128i in_128_bits(int64_t v) { return _mm_cvtsi64_si128(v); }
RO_INLINE __m128i in_128_bits(int32_t v) { return _mm_cvtsi32_si128(v); }
RO_INLINE Ints to_ints(Vector<int16_t, 4> v) {
  return (Ints)_mm256_cvtepi16_epi64(in_128_bits((int64_t)v));
}
RO_INLINE Ints to_ints(Vector<uint16_t, 4> v) {
  return (Ints)_mm256_cvtepu16_epi64(in_128_bits((int64_t)v));
}
RO_INLINE Ints to_ints(Vector<int8_t, 4> v) {
  return (Ints)_mm256_cvtepi8_epi64(in_128_bits((int32_t)v));
}
RO_INLINE Ints to_ints(Vector<uint8_t, 4> v) {
  return (Ints)_mm256_cvtepu8_epi64(in_128_bits((int32_t)v));
}
#else
RO_INLINE Doubles to_doubles(Vector<float, 2> v) { return __builtin_convertvector(v, Doubles); }
RO_INLINE Vector<uint32_t, 2> to_32_bits(Vector<uint16_t, 2> v) {
  return __builtin_convertvector(v, Vector<uint32_t, 2>);
}
template <class V>
RO_INLINE Ints to_ints(V v) {
  return __builtin_convertvector(v, Ints);
}
#endif
#if RO_SIMD_WIDTH != 2
RO_INLINE Ints to_ints(Vector<int64_t, kWidth> v) { return (Ints)v; }
#endif

// Decoder<T>: kWidth components of T, kBytes bytes, become one vector.
template <class T>
struct Decoder {  // integers, wrapped to int64
  using vector_t = Ints;
  static constexpr int kBytes = kWidth * sizeof(T);
  RO_INLINE Ints decode(Raw<kBytes> raw) { return to_ints((Vector<T, kWidth>)raw); }
};

template <>
struct Decoder<bool> {
  using vector_t = Ints;
  static constexpr int kBytes = kWidth;
  RO_INLINE Ints decode(Raw<kBytes> raw) { return to_ints(-((Vector<int8_t, kWidth>)raw != 0)); }
};

template <>
struct Decoder<double> {
  using vector_t = Doubles;
  static constexpr int kBytes = kWidth * 8;
  RO_INLINE Doubles decode(Raw<kBytes> raw) { return (Doubles)raw; }
};

template <>
struct Decoder<float> {
  using vector_t = Doubles;
  static constexpr int kBytes = kWidth * 4;
  RO_INLINE Doubles decode(Raw<kBytes> raw) { return to_doubles((Vector<float, kWidth>)raw); }
};

template <>
struct Decoder<BFloat16> {
  using vector_t = Doubles;
  static constexpr int kBytes = kWidth * 2;
  RO_INLINE Doubles decode(Raw<kBytes> raw) {
#if RO_SIMD_WIDTH == 4
    const __m128i bits = in_128_bits((int64_t)raw);
    return to_doubles((Vector<float, 4>)_mm_unpacklo_epi16(__m128i{}, bits));
#else
    return to_doubles((Vector<float, kWidth>)(to_32_bits((Vector<uint16_t, kWidth>)raw) << 16));
#endif
  }
};

template <>
struct Decoder<Float16> {
  using vector_t = Doubles;
  static constexpr int kBytes = kWidth * 2;
  RO_INLINE Doubles decode(Raw<kBytes> raw) {
#if RO_SIMD_WIDTH == 4
    return to_doubles((Vector<float, 4>)_mm_cvtph_ps(in_128_bits((int64_t)raw)));
#else
    const Vector<uint16_t, kWidth> bits = (Vector<uint16_t, kWidth>)raw;
    return Doubles{to_float(Float16{bits[0]}), to_float(Float16{bits[1]})};
#endif
  }
};

template <class T>
RO_INLINE typename Decoder<T>::vector_t load(const char* p) {
  return Decoder<T>::decode(load_full<Decoder<T>::kBytes>(p));
}
// 0 < count < kWidth components, the others zero.
template <class T>
RO_INLINE typename Decoder<T>::vector_t load(const char* p, int count) {
  return Decoder<T>::decode(load_part<Decoder<T>::kBytes>(p, count * int(sizeof(T))));
}

// Conversions from float to double are twice as fast from memory as from registers, so long runs of
// 16-bit numbers pass through a small buffer of floats.
#if RO_SIMD_WIDTH == 4
constexpr bool kStages = true;

struct Floats16 {
  __m256 first, second;
};
// 16 elements, in the order that staged() knows. A bfloat16 is the upper half of a float.
// Interleaving works in 128-bit lanes, so the second and the third vector trade places.
RO_INLINE Floats16 to_floats(Float16, const char* p) {
  return {_mm256_cvtph_ps((__m128i)load_full<16>(p)),
          _mm256_cvtph_ps((__m128i)load_full<16>(p + 16))};
}
RO_INLINE Floats16 to_floats(BFloat16, const char* p) {
  const __m256i halves = (__m256i)load_full<32>(p), zero = {};
  return {(__m256)_mm256_unpacklo_epi16(zero, halves), (__m256)_mm256_unpackhi_epi16(zero, halves)};
}

// Writes 16 elements, of which staged() returns vector v.
template <class T>
RO_INLINE void stage(const char* p, float* to) {
  const Floats16 floats = to_floats(T{}, p);
  memcpy(to, &floats.first, 32);
  memcpy(to + 8, &floats.second, 32);
}
// Likewise the 16 sums of elements 16 apart, of n / 32 blocks of 32. Returns whether every one is
// exact: a sum of floats is if taking away either one leaves the other. Taking away the larger one
// is always exact and shows the sum's rounding; which is the larger is not known.
template <class T>
RO_INLINE bool stage_sums(const char* p, int64_t n, float* to) {
  __m256i other = {};
  const auto add = [&](__m256 a, __m256 b, float* sums) RO_MEMBER {
    const __m256 sum = a + b;
    memcpy(sums, &sum, 32);
    other |= ((__m256i)(sum - a) ^ (__m256i)b) | ((__m256i)(sum - b) ^ (__m256i)a);
  };
  for (; n > 0; n -= 32, p += 64, to += 16) {
    const Floats16 a = to_floats(T{}, p), b = to_floats(T{}, p + 32);
    add(a.first, b.first, to);
    add(a.second, b.second, to + 8);
  }
  return _mm256_testz_si256(other, _mm256_set1_epi32(0x7fffffff));  // 0 and -0 are the same
}
template <class T>
RO_INLINE Doubles staged(const float* from, int v) {
  const bool trades = std::is_same_v<T, BFloat16> && (v % 4 == 1 || v % 4 == 2);
  return _mm256_cvtps_pd(_mm_load_ps(from + (trades ? v ^ 3 : v) * kWidth));
}
#else
constexpr bool kStages = false;
template <class T>
RO_INLINE void stage(const char*, float*) {}
template <class T>
RO_INLINE bool stage_sums(const char*, int64_t, float*) {
  return false;
}
template <class T>
RO_INLINE Doubles staged(const float*, int) {
  return Doubles{};
}
#endif

}  // namespace
}  // namespace reduce_ops::cpu
