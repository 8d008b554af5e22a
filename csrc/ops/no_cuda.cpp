// The CUDA side of a build without the CUDA toolkit.
#ifndef REDUCE_OPS_WITH_CUDA

#include <c10/util/Exception.h>

#include "ops/cuda_backend.h"

namespace reduce_ops::cuda {

namespace {
[[noreturn]] void refuse() {
  TORCH_CHECK_NOT_IMPLEMENTED(false,
                              "reduce_ops: input is on a CUDA device, but this build is for the "
                              "CPU only; rebuild it where nvcc is installed");
  __builtin_unreachable();
}
}  // namespace

int multiprocessors(const at::Tensor&) { refuse(); }
at::Tensor allocate(at::IntArrayRef, at::ScalarType, at::Device) { refuse(); }
void execute(const Request&, const Plan&) { refuse(); }
void read_yardstick(const at::Tensor&) { refuse(); }

}  // namespace reduce_ops::cuda

#endif
