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

// Asks for the `bytes` bytes that come kFetchAhead later: the processor's own prefetching stops at
// the end of a page.
constexpr int kFetchAhead = 1024;
template <int bytes>
RO_INLINE void fetch(const char* p) {
  static_for<bytes / 64>([&](auto line)
                             RO_MEMBER { __builtin_prefetch(p + kFetchAhead + line * 64); });
}

// The running sum of one row in its lanes. add() takes whole steps, fetching `ahead` where the rows
// come one after the other; finish() takes what is left.
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
  RO_MEMBER void add(const char* p, int64_t n, bool ahead) {
    Accumulator<T> a[kVectors];  // in registers
    static_for<kVectors>([&](auto v) RO_MEMBER { a[v] = acc[v]; });
    _Pragma("GCC unroll 1") for (; n > 0; n -= kStep, p += kVectors * kBytes) {
      if (ahead && std::is_floating_point_v<T>) fetch<kVectors * kBytes>(p);
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
RO_INLINE bool end_row(Sum& sum, const char* p, int64_t left, int64_t n, int components, Word* out,
                       int64_t plane) {
  const int64_t whole = left / Sum::kStep * Sum::kStep;
  sum.add(p, whole, true);
  return sum.finish(p + whole * int64_t(sizeof(T)), left - whole, n, components, out, plane);
}

template <class T, class Sum>
RO_INLINE bool sum_row_with(const char* p, int64_t n, int components, Word* out, int64_t plane) {
  Sum sum;
  return sum.start(p) && end_row<T>(sum, p, n, n, components, out, plane);
}

template <class T>
RO_INLINE void sum_row(const char* p, int64_t n, int components, Word* out, int64_t plane) {
  if (n >= RowSum<T>::kLeast && sum_row_with<T, RowSum<T>>(p, n, components, out, plane)) return;
  if (RowSum<T>::kLeast > 0) sum_row_with<T, LaneSum<T>>(p, n, components, out, plane);
}

// Several rows in turns of kTurnBytes, `apart` bytes from each other: the processor then fetches
// ahead in each of them, which brings a third more from memory than one row after the other. Data
// in a cache gains nothing and pays for moving the lanes to and fro.
constexpr int kSideBySide = 4;
constexpr int kTurnBytes = 1024;
constexpr int64_t kLeastSideBySide = 512;  // bytes of a row

template <class T>
RO_INLINE void sum_side_by_side(const char* x, int64_t apart, int64_t n, int components, Word* out,
                                int64_t out_apart, int64_t plane) {
  constexpr int kTurn = kTurnBytes / sizeof(T);
  RowSum<T> sums[kSideBySide];
  bool sound = true;
  static_for<kSideBySide>([&](auto s) RO_MEMBER { sound &= sums[s].start(x + s * apart); });
  int64_t at = 0;
  for (; sound && at + kTurn <= n; at += kTurn) {
    for (int s = 0; s < kSideBySide; ++s)
      sums[s].add(x + s * apart + at * int64_t(sizeof(T)), kTurn, false);
  }
  for (int s = 0; s < kSideBySide; ++s) {
    const char* row = x + s * apart;
    Word* to = out + s * out_apart;
    // Each row as if it were alone, whatever the others are.
    if (!sound)
      sum_row<T>(row, n, components, to, plane);
    else if (!end_row<T>(sums[s], row + at * int64_t(sizeof(T)), n - at, n, components, to, plane))
      sum_row_with<T, LaneSum<T>>(row, n, components, to, plane);
  }
}

}  // namespace
}  // namespace reduce_ops::cpu
