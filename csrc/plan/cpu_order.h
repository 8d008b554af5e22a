// The canonical order of the CPU engines: plan/order.h's scheme with constants that fit a core. No
// constant depends on the instruction set, so AVX2, AVX-512 and plain x86-64 give the same bits.
//
// An element is seen as its real components (a complex number as two neighbouring numbers), of the
// type that the kernel reads: the input's own, or the one it was cast to (cpu_element_size).
//
// Rows. A segment is kCpuSegmentBytes of elements: what an L1 cache holds, long enough to hide
// merging the lanes. In a segment, component c belongs to virtual lane c % L; a lane accumulates in
// order, then lanes merge by halving: lane i with i + L/2, then L/4, down to one a component.
// L is 32 (16 for float64, whose accumulator is a pair): 4 vectors of AVX-512, 8 of AVX2, enough
// independent additions to hide their latency and few enough for 16 registers. Of float16 and
// bfloat16 a lane takes sums of two: component c, c % 32 < 16, is added to component c + 16 (0 past
// the row's end) and the sum belongs to lane c / 32 % 2 * 16 + c % 16.
//
// Columns. A segment is kCpuSegmentRows elements of the column. Element r belongs to virtual lane
// r % kCpuColumnLanes; lanes accumulate and merge as above. The lanes make a narrow contiguous
// matrix of w columns look like one of 8 w, which fills vectors; 32 rows a lane make the lanes cost
// little where columns are wide.
//
// Every other op has segments of kCpuMonoidSegment elements of a row, in which element i belongs to
// lane i % 16 (i % 8 where accumulators are pairs; see cpu/simd_log_sum_exp.h for its own), and
// columns like those above.
//
// Segments merge as the aligned binary tree of plan/order.h.
#pragma once

#include "plan/order.h"
#include "plan/problem.h"

namespace reduce_ops {

constexpr int kCpuSegmentBytes = 32768;
constexpr int kCpuMonoidSegment = 4096;
constexpr int kCpuSegmentRows = 256;
constexpr int kCpuColumnLanes = 8;

// Has engines and an order of its own.
constexpr bool is_sum(Op op) { return op == Op::kSum || op == Op::kMean; }

template <class T>
constexpr int cpu_size(Direct<T>) {
  return sizeof(T);
}
constexpr int cpu_size(AnyInteger elements) { return size_of(elements.type); }
template <class V>
constexpr int cpu_size(Cast<V>) {
  return sizeof(V);
}

// Bytes of one element as the CPU kernels read it.
inline int cpu_element_size(const Problem& p) {
  return visit_sums(p, [](auto elements, auto) { return cpu_size(elements); });
}

// Elements of a segment.
inline int64_t cpu_segment_length(const Problem& p) {
  if (!is_rows(p)) return kCpuSegmentRows;
  return is_sum(p.op) ? kCpuSegmentBytes / cpu_element_size(p) : kCpuMonoidSegment;
}
inline int64_t cpu_segments(const Problem& p) { return ceil_div(p.length, cpu_segment_length(p)); }

}  // namespace reduce_ops
