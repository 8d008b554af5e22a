// Rows of bool, uint8 and int8, many bytes an instruction.
#pragma once

#include "cpu/simd_rows.h"

namespace reduce_ops::cpu {
namespace {

#if defined(__x86_64__)
// Sums of 8 bytes each; the order of integer additions does not matter.
#if RO_SIMD_WIDTH == 4
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

}  // namespace
}  // namespace reduce_ops::cpu
