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

// The running sum of one row in its lanes. add() takes whole steps, finish() what is left. Nothing
// is prefetched: the processor alone does better.
template <class T>
struct LaneSum {
  static constexpr int kStep = kLanes<T>;
  static constexpr int kVectors = kLanes<T> / kWidth;
  static constexpr int kBytes = Decoder<T>::kBytes;
  Accumulator<T> acc[kVectors];

  RO_MEMBER bool start(const char* /*first*/) {
    static_for<kVectors>([&](auto v) RO_MEMBER { acc[v] = Accumulator<T>::zero(); });
    return true;
  }
  RO_MEMBER void add(const char* p, int64_t n) {
    Accumulator<T> a[kVectors];  // in registers
    static_for<kVectors>([&](auto v) RO_MEMBER { a[v] = acc[v]; });
    _Pragma("GCC unroll 1") for (; n > 0; n -= kStep, p += kVectors * kBytes) {
      static_for<kVectors>([&](auto v) RO_MEMBER { a[v].add(load<T>(p + v * kBytes)); });
    }
    static_for<kVectors>([&](auto v) RO_MEMBER { acc[v] = a[v]; });
  }
  // n: components of the whole row.
  RO_MEMBER bool finish(const char* p, int64_t left, int64_t n, int components, Word* out,
                        int64_t plane) {
    static_for<kVectors>([&](auto v) RO_MEMBER {
      if (left >= (v + 1) * kWidth)
        acc[v].add(load<T>(p + v * kBytes));
      else if (left > v * kWidth)
        acc[v].add(load<T>(p + v * kBytes, int(left - v * kWidth)));
    });
    merge_vectors<kVectors>(acc, (n + kWidth - 1) / kWidth);
    store_merged(acc[0], components, out, plane);
    return true;
  }
};

// The fastest way to sum a row of at least kLeast components, specialized in simd_rows_*.h. Where
// start() or finish() return false, the row's values are none for it: then LaneSum takes the row.
template <class T>
struct RowSum : LaneSum<T> {
  static constexpr int64_t kLeast = 0;
};

template <class T, class Sum>
RO_INLINE bool sum_row_with(const char* p, int64_t n, int components, Word* out, int64_t plane) {
  Sum sum;
  if (!sum.start(p)) return false;
  const int64_t left = n % Sum::kStep;
  sum.add(p, n - left);
  return sum.finish(p + (n - left) * int64_t(sizeof(T)), left, n, components, out, plane);
}

template <class T>
RO_INLINE void sum_row(const char* p, int64_t n, int components, Word* out, int64_t plane) {
  if (n >= RowSum<T>::kLeast && sum_row_with<T, RowSum<T>>(p, n, components, out, plane)) return;
  if (RowSum<T>::kLeast > 0) sum_row_with<T, LaneSum<T>>(p, n, components, out, plane);
}

}  // namespace
}  // namespace reduce_ops::cpu
