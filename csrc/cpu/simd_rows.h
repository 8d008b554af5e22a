// One segment of a row, in the lane order of plan/cpu_order.h. Types with a faster way of their own
// specialize sum_row in simd_rows_*.h.
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

// Adds n components to the lanes.
template <class T>
RO_INLINE void add_row(const char* p, int64_t n, Accumulator<T>* acc) {
  constexpr int kVectors = kLanes<T> / kWidth;
  constexpr int kBytes = Decoder<T>::kBytes;
  for (; n >= kLanes<T>; n -= kLanes<T>, p += kVectors * kBytes)
    static_for<kVectors>([&](auto v) RO_MEMBER { acc[v].add(load<T>(p + v * kBytes)); });
  static_for<kVectors>([&](auto v) RO_MEMBER {
    if (n >= (v + 1) * kWidth)
      acc[v].add(load<T>(p + v * kBytes));
    else if (n > v * kWidth)
      acc[v].add(load<T>(p + v * kBytes, int(n - v * kWidth)));
  });
}

template <class T>
RO_INLINE void sum_row(const char* p, int64_t n, int components, Word* out, int64_t plane) {
  constexpr int kVectors = kLanes<T> / kWidth;
  Accumulator<T> acc[kVectors];
  static_for<kVectors>([&](auto v) RO_MEMBER { acc[v] = Accumulator<T>::zero(); });
  add_row<T>(p, n, acc);
  merge_vectors<kVectors>(acc, (n + kWidth - 1) / kWidth);
  store_merged(acc[0], components, out, plane);
}

}  // namespace
}  // namespace reduce_ops::cpu
