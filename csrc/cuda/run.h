// One instance of the engines for each kind of elements and accumulator; sum_*.cu compile them.
#pragma once

#include <cuda_runtime_api.h>

#include "core/sum_families.h"
#include "plan/order.h"
#include "plan/plan.h"

namespace reduce_ops::cuda {

template <class Elements, class Monoid>
cudaError_t run(const Problem& problem, const Plan& plan, const Elements& elements, const void* in,
                void* out, void* workspace, cudaStream_t stream);

// The combining kernel's largest block, and how many parts one of its threads takes.
constexpr int kCombineThreads = 1024;
constexpr int kCombineLevels = 4;

// Threads of a combining block along the columns; the rest of the block goes along the parts.
constexpr int64_t combine_across(int64_t columns) {
  return columns < 32 ? power_of_two_above(columns) : 32;
}

// Parts that are left after one pass over `parts`.
constexpr int64_t combine_pass(int64_t columns, int64_t parts) {
  return ceil_div(parts, (kCombineThreads / combine_across(columns)) << kCombineLevels);
}

}  // namespace reduce_ops::cuda
