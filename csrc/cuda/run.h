// One instance of the engines for each pair of elements and monoid; families/*.cu compile them.
#pragma once

#include <cuda_runtime_api.h>

#include "plan/order.h"
#include "plan/plan.h"

namespace reduce_ops::cuda {

template <class Elements, class Monoid>
cudaError_t run(const Problem& problem, const Plan& plan, const Elements& elements,
                const Operands& operands, void* workspace, cudaStream_t stream);

// Threads of the combining kernel's largest block; two accumulators a thread must fit into 48 KiB
// of shared memory, and what a thread holds of them into registers.
constexpr int combine_threads(size_t accumulator_bytes) {
  return accumulator_bytes > 32 ? 256 : accumulator_bytes > 8 ? 512 : 1024;
}
constexpr int kCombineLevels = 4;

// Threads of a combining block along the columns; the rest of the block goes along the parts.
constexpr int64_t combine_across(int64_t columns) {
  return columns < 32 ? power_of_two_above(columns) : 32;
}

// Parts a thread takes, at most: they are `columns` apart in memory, and threads that are far apart
// from each other read slowly.
constexpr int64_t combine_segments(int64_t columns) {
  return columns < 8 ? 4 : 1 << kCombineLevels;
}

// Parts that are left after one pass over `parts`.
constexpr int64_t combine_pass(int64_t columns, int64_t parts, int threads) {
  return ceil_div(parts, threads / combine_across(columns) * combine_segments(columns));
}

}  // namespace reduce_ops::cuda
