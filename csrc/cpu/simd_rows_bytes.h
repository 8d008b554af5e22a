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
struct RowSumOfBytes {
  static constexpr int kBytes = 8 * kWidth;
  static constexpr int kVectors = 4;
  static constexpr int kStep = kVectors * kBytes;
  static constexpr int64_t kLeast = 0;
  Plain<uint64_t, kWidth> acc[kVectors];

  RO_INLINE Ints sum_of(Raw<kBytes> raw) {
    using Bytes = Vector<uint8_t, kBytes>;
    Bytes bytes = (Bytes)raw;
    if (std::is_same_v<T, bool>) bytes = (Bytes)(bytes != 0) & 1;
    if (std::is_same_v<T, int8_t>) bytes ^= 128;  // x + 128
    return sum_bytes((Raw<kBytes>)bytes);
  }
  RO_MEMBER bool start(const char*) {
    static_for<kVectors>([&](auto v) RO_MEMBER { acc[v] = Plain<uint64_t, kWidth>::zero(); });
    return true;
  }
  RO_MEMBER void add(const char* p, int64_t n) {
    Plain<uint64_t, kWidth> a[kVectors];  // in registers
    static_for<kVectors>([&](auto v) RO_MEMBER { a[v] = acc[v]; });
    _Pragma("GCC unroll 1") for (; n > 0; n -= kStep, p += kStep) {
      static_for<kVectors>([&](auto v)
                               RO_MEMBER { a[v].add(sum_of(load_full<kBytes>(p + v * kBytes))); });
    }
    static_for<kVectors>([&](auto v) RO_MEMBER { acc[v] = a[v]; });
  }
  RO_MEMBER bool finish(const char* p, int64_t left, int64_t n, int, Word* out, int64_t plane) {
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
    return true;
  }
};
template <>
struct RowSum<uint8_t> : RowSumOfBytes<uint8_t> {};
template <>
struct RowSum<int8_t> : RowSumOfBytes<int8_t> {};
template <>
struct RowSum<bool> : RowSumOfBytes<bool> {};
#endif

}  // namespace
}  // namespace reduce_ops::cpu
