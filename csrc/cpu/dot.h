// Dot products: sums of the products of two inputs' elements.
#pragma once

#include "cpu/engine.h"

namespace reduce_ops::cpu {

// Rows (both inputs contiguous along the innermost reduced axis): segments of
// cpu_segment_length() elements, in which element i belongs to lane i % L with L = 32 for sums of
// float64, 16 for pairs of float64 and 8 for integers and complex numbers; lanes merge by halving.
// Everything else: segments of kCpuSegmentRows elements, lane i % kCpuColumnLanes. Segments merge
// as the aligned binary tree of plan/order.h.
void run_dot(const Problem& problem, const Plan& plan, const Operands& operands,
             const ParallelFor& parallel_for);

}  // namespace reduce_ops::cpu
