#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/EmptyTensor.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>

#include "cuda/launch.h"
#include "ops/cuda_backend.h"
#include "ops/frontend.h"

namespace reduce_ops::cuda {

int multiprocessors(const at::Tensor& tensor) {
  return at::cuda::getDeviceProperties(tensor.get_device())->multiProcessorCount;
}

at::Tensor allocate(at::IntArrayRef sizes, at::ScalarType type, at::Device device) {
  return at::Tensor(at::detail::empty_cuda(sizes, type, device, std::nullopt));
}

void execute(const Request& request, const Plan& plan) {
  const c10::cuda::CUDAGuard guard(request.input->device());
  const auto stream = c10::cuda::getCurrentCUDAStream(request.input->device().index());
  c10::DataPtr workspace;
  if (const size_t bytes = workspace_bytes(request.problem, plan))
    workspace = c10::cuda::CUDACachingAllocator::get()->allocate(bytes);
  C10_CUDA_CHECK(run(request.problem, plan, operands_of(request), workspace.get(), stream));
}

void read_yardstick(const at::Tensor& tensor) {
  const c10::cuda::CUDAGuard guard(tensor.device());
  C10_CUDA_CHECK(read_yardstick(tensor.const_data_ptr(), int64_t(tensor.nbytes()),
                                c10::cuda::getCurrentCUDAStream()));
}

}  // namespace reduce_ops::cuda
