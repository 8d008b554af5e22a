// The CUDA engines' entry points, without torch types.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "plan/plan.h"

namespace reduce_ops::cuda {

// Bytes of scratch memory that the plan needs, 0 for most.
size_t workspace_bytes(const Problem& problem, const Plan& plan);

// Launches the plan's kernels on the stream.
cudaError_t run(const Problem& problem, const Plan& plan, const Operands& operands, void* workspace,
                cudaStream_t stream);

// Reads `bytes` bytes from a 16-byte boundary and nothing else: the yardstick for the memory limit.
cudaError_t read_yardstick(const void* data, int64_t bytes, cudaStream_t stream);

}  // namespace reduce_ops::cuda
