// The CPU engines' entry points, without torch types.
#pragma once

#include <cstdint>
#include <functional>

#include "plan/plan.h"

namespace reduce_ops::cpu {

// body(begin, end) over [0, count) on several threads, at least `grain` items a call; ops/ passes
// at::parallel_for.
using ParallelFor =
    std::function<void(int64_t count, int64_t grain, const std::function<void(int64_t, int64_t)>&)>;

// Computes the problem as the plan says.
void run(const Problem& problem, const Plan& plan, const Operands& operands,
         const ParallelFor& parallel_for);

// Reads `bytes` bytes and nothing else: the yardstick for the memory limit.
void read_yardstick(const void* data, int64_t bytes, const ParallelFor& parallel_for);

}  // namespace reduce_ops::cpu
