// Rows of float16 and bfloat16. Converting to double is what they wait for, so two elements are
// added before that: in float, where that is exact, as it nearly always is.
#pragma once

#include "cpu/simd_rows.h"

namespace reduce_ops::cpu {
namespace {

// Sums of two that are made at a time; if one is not exact, all of them are made again in double.
constexpr int kStaged = 256;

// A lane adds elements i and i + 16 of a block of 32 to each other, then to its sum.
template <class T>
struct RowSumOfHalves {
  static constexpr int kLanes = 32;
  static constexpr int kStep = 2 * kLanes;
  static constexpr int kVectors = kLanes / kWidth;
  static constexpr int64_t kLeast = 0;
  Plain<double, kWidth> acc[kVectors];

  RO_MEMBER bool start(const char* /*first*/) {
    static_for<kVectors>([&](auto v) RO_MEMBER { acc[v] = Plain<double, kWidth>::zero(); });
    return true;
  }
  // The first of vector v's elements in a step of 64; what is added to them lies 16 further.
  RO_MEMBER static constexpr int first(int v) { return v * kWidth + v * kWidth / 16 * 16; }

  RO_MEMBER void add(const char* p, int64_t n) {
    Plain<double, kWidth> a[kVectors];  // in registers
    static_for<kVectors>([&](auto v) RO_MEMBER { a[v] = acc[v]; });
    alignas(64) float sums[kStaged];
    while (n > 0) {
      const int64_t now = std::min<int64_t>(n, 2 * kStaged);
      if (kStages && stage_sums<T>(p, now, sums)) {
        for (const float* from = sums; from < sums + now / 2; from += kLanes)
          static_for<kVectors>([&](auto v) RO_MEMBER { a[v].add(staged<T>(from, v)); });
      } else {
        for (const char* from = p; from < p + 2 * now; from += 2 * kStep)
          static_for<kVectors>([&](auto v) RO_MEMBER {
            a[v].add(load<T>(from + 2 * first(v)) + load<T>(from + 2 * first(v) + 32));
          });
      }
      p += 2 * now;
      n -= now;
    }
    static_for<kVectors>([&](auto v) RO_MEMBER { acc[v] = a[v]; });
  }
  RO_MEMBER bool finish(const char* p, int64_t left, int64_t n, int components, Word* out,
                        int64_t plane) {
    const auto some = [&](int at) RO_MEMBER {
      return left >= at + kWidth ? load<T>(p + 2 * at)
             : left > at         ? load<T>(p + 2 * at, int(left - at))
                                 : Doubles{};
    };
    static_for<kVectors>([&](auto v) RO_MEMBER {
      if (left > first(v)) acc[v].add(some(first(v)) + some(first(v) + 16));
    });
    const int64_t lanes = std::min<int64_t>(n, 16) + std::clamp<int64_t>(n - 32, 0, 16);
    merge_vectors<kVectors>(acc, (lanes + kWidth - 1) / kWidth);
    store_merged(acc[0], components, out, plane);
    return true;
  }
};
template <>
struct RowSum<Float16> : RowSumOfHalves<Float16> {};
template <>
struct RowSum<BFloat16> : RowSumOfHalves<BFloat16> {};

}  // namespace
}  // namespace reduce_ops::cpu
