// Rows of float16 and bfloat16.
#pragma once

#include "cpu/simd_rows.h"

namespace reduce_ops::cpu {
namespace {

// Elements that are staged at a time (see kStages).
constexpr int kStaged = 512;

template <class T>
struct RowSumOfHalves : LaneSum<T> {
  using Base = LaneSum<T>;
  static constexpr int kVectors = Base::kVectors;
  static constexpr int64_t kLeast = 0;

  RO_MEMBER void add(const char* p, int64_t n) {
    if (!kStages) return Base::add(p, n);
    alignas(64) float staging[kStaged];
    for (; n > 0; n -= kStaged, p += 2 * kStaged) {
      const float* const end = staging + std::min<int64_t>(n, kStaged);
      for (float* to = staging; to < end; to += 32) {
        const char* from = p + 2 * (to - staging);
        stage<T>(from, to);
        stage<T>(from + 32, to + 16);
      }
      Accumulator<T> a[kVectors];  // in registers
      static_for<kVectors>([&](auto v) RO_MEMBER { a[v] = this->acc[v]; });
      for (const float* from = staging; from < end; from += 32)
        static_for<kVectors>([&](auto v) RO_MEMBER { a[v].add(staged<T>(from, v)); });
      static_for<kVectors>([&](auto v) RO_MEMBER { this->acc[v] = a[v]; });
    }
  }
};
template <>
struct RowSum<Float16> : RowSumOfHalves<Float16> {};
template <>
struct RowSum<BFloat16> : RowSumOfHalves<BFloat16> {};

}  // namespace
}  // namespace reduce_ops::cpu
