// Kernels::rows for every component type, all in the lane order of plan/cpu_order.h.
#pragma once

#include "cpu/simd_accumulators.h"

namespace reduce_ops::cpu {
namespace {

// Virtual lanes of a row.
template <class T>
constexpr int kLanes = std::is_same_v<T, double> ? 16 : 32;

// Lane i with lane i + half for whole vectors. A short row leaves the upper vectors at zero, which
// changes no bits of the lower ones.
template <int kVectors, class A>
RO_INLINE void merge_vectors(A* acc, int64_t used) {
  if constexpr (kVectors > 1) {
    constexpr int kHalf = kVectors / 2;
    if (used > kHalf) static_for<kHalf>([&](auto v) RO_MEMBER { acc[v].merge(acc[v + kHalf]); });
    merge_vectors<kHalf>(acc, used);
  }
}

template <class T>
RO_INLINE void sum_row(const char* p, int64_t n, int components, Word* out, int64_t plane) {
  constexpr int kVectors = kLanes<T> / kWidth;
  constexpr int kBytes = Decoder<T>::kBytes;
  Accumulator<T> acc[kVectors];
  static_for<kVectors>([&](auto v) RO_MEMBER { acc[v] = Accumulator<T>::zero(); });
  int64_t left = n;
  for (; left >= kLanes<T>; left -= kLanes<T>, p += kVectors * kBytes)
    static_for<kVectors>([&](auto v) RO_MEMBER { acc[v].add(load<T>(p + v * kBytes)); });
  static_for<kVectors>([&](auto v) RO_MEMBER {
    if (left >= (v + 1) * kWidth)
      acc[v].add(load<T>(p + v * kBytes));
    else if (left > v * kWidth)
      acc[v].add(load<T>(p + v * kBytes, int(left - v * kWidth)));
  });
  merge_vectors<kVectors>(acc, (n + kWidth - 1) / kWidth);
  store_merged(acc[0], components, out, plane);
}

// Elements of odd and even index in vectors of their own, which saves a shuffle each: the lower
// half of a 32-bit word is one, the upper half the other.
template <>
void sum_row<BFloat16>(const char* p, int64_t n, int /*components*/, Word* out, int64_t plane) {
  constexpr int kVectors = kLanes<BFloat16> / 2 / kWidth;
  constexpr int kBytes = 4 * kWidth;
  using Words = Vector<uint32_t, kWidth>;
  Accumulator<BFloat16> even[kVectors], odd[kVectors];
  static_for<kVectors>([&](auto v) RO_MEMBER { even[v] = odd[v] = Accumulator<BFloat16>::zero(); });
  const auto add = [&](auto v, Raw<kBytes> raw) RO_MEMBER {
    const Words bits = (Words)raw;
    even[v].add(to_doubles((Vector<float, kWidth>)(bits << 16)));
    odd[v].add(to_doubles((Vector<float, kWidth>)(bits & 0xffff0000u)));
  };
  int64_t left = 2 * n;
  for (; left >= kVectors * kBytes; left -= kVectors * kBytes, p += kVectors * kBytes)
    static_for<kVectors>([&](auto v) RO_MEMBER { add(v, load_full<kBytes>(p + v * kBytes)); });
  static_for<kVectors>([&](auto v) RO_MEMBER {
    if (left >= (v + 1) * kBytes)
      add(v, load_full<kBytes>(p + v * kBytes));
    else if (left > v * kBytes)
      add(v, load_part<kBytes>(p + v * kBytes, int(left - v * kBytes)));
  });
  const int64_t used = (2 * n + kBytes - 1) / kBytes;
  merge_vectors<kVectors>(even, used);
  merge_vectors<kVectors>(odd, used);
  auto sum = merge_lanes(even[0]);
  sum.merge(merge_lanes(odd[0]));
  sum.store(out, plane);
}

#if defined(__x86_64__)
// Sums of 8 bytes each; the order of integer additions does not matter.
#if RO_SIMD_WIDTH == 8
RO_INLINE Ints sum_bytes(Raw<64> v) { return (Ints)_mm512_sad_epu8((__m512i)v, __m512i{}); }
#elif RO_SIMD_WIDTH == 4
RO_INLINE Ints sum_bytes(Raw<32> v) { return (Ints)_mm256_sad_epu8((__m256i)v, __m256i{}); }
#else
RO_INLINE Ints sum_bytes(Raw<16> v) { return (Ints)_mm_sad_epu8((__m128i)v, __m128i{}); }
#endif

template <class T>
RO_INLINE void sum_row_of_bytes(const char* p, int64_t n, Word* out, int64_t plane) {
  constexpr int kBytes = 8 * kWidth;
  constexpr int kVectors = 4;
  using Bytes = Vector<uint8_t, kBytes>;
  const auto sum_of = [](Raw<kBytes> raw) RO_MEMBER -> Ints {
    Bytes bytes = (Bytes)raw;
    if (std::is_same_v<T, bool>) bytes = (Bytes)(bytes != 0) & 1;
    if (std::is_same_v<T, int8_t>) bytes ^= 128;  // x + 128
    return sum_bytes((Raw<kBytes>)bytes);
  };
  Plain<uint64_t, kWidth> acc[kVectors];
  static_for<kVectors>([&](auto v) RO_MEMBER { acc[v] = Plain<uint64_t, kWidth>::zero(); });
  int64_t left = n;
  for (; left >= kVectors * kBytes; left -= kVectors * kBytes, p += kVectors * kBytes)
    static_for<kVectors>([&](auto v)
                             RO_MEMBER { acc[v].add(sum_of(load_full<kBytes>(p + v * kBytes))); });
  for (; left >= kBytes; left -= kBytes, p += kBytes) acc[0].add(sum_of(load_full<kBytes>(p)));
  if (left > 0) acc[0].add(sum_of(load_part<kBytes>(p, int(left))));
  merge_vectors<kVectors>(acc, kVectors);
  auto sum = merge_lanes(acc[0]);
  if (std::is_same_v<T, int8_t>) {
    const int64_t vectors =
        (n + kBytes - 1) / kBytes;  // each of whose bytes, idle ones too, got 128
    sum.sum -= uint64_t(vectors * kBytes * 128);
  }
  sum.store(out, plane);
}
template <>
void sum_row<uint8_t>(const char* p, int64_t n, int, Word* out, int64_t plane) {
  sum_row_of_bytes<uint8_t>(p, n, out, plane);
}
template <>
void sum_row<int8_t>(const char* p, int64_t n, int, Word* out, int64_t plane) {
  sum_row_of_bytes<int8_t>(p, n, out, plane);
}
template <>
void sum_row<bool>(const char* p, int64_t n, int, Word* out, int64_t plane) {
  sum_row_of_bytes<bool>(p, n, out, plane);
}
#endif

template <class T>
void sum_rows(const char* x, int64_t pitch, int64_t count, int64_t n, int components, Word* out,
              int64_t plane) {
  for (int64_t r = 0; r < count; ++r)
    sum_row<T>(x + r * pitch, n, components, out + r * components, plane);
}

}  // namespace
}  // namespace reduce_ops::cpu
