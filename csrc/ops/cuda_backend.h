// What ops/ needs of the CUDA side; cuda/backend.cpp has it, no_cuda.cpp stands in without CUDA.
#pragma once

#include <ATen/core/Tensor.h>

#include "plan/plan.h"

namespace reduce_ops {

struct Request;

namespace cuda {

int multiprocessors(const at::Tensor& tensor);
at::Tensor allocate(at::IntArrayRef sizes, at::ScalarType type, at::Device device);
// On the current stream of the input's device.
void execute(const Request& request, const Plan& plan);
void read_yardstick(const at::Tensor& tensor);

}  // namespace cuda
}  // namespace reduce_ops
