// dot and vecdot: reductions of the products of two tensors' elements.
#pragma once

#include "ops/frontend.h"

namespace reduce_ops {

// What a call comes down to, with a result of its own.
Request dot_request(const at::Tensor& self, const at::Tensor& tensor);
Request vecdot_request(const at::Tensor& x, const at::Tensor& y, int64_t dim);

// The kernels below the dispatcher, for dense tensors on the CPU or a CUDA device.
at::Tensor dot(const at::Tensor& self, const at::Tensor& tensor);
at::Tensor vecdot(const at::Tensor& x, const at::Tensor& y, int64_t dim);

// Through the dispatcher.
at::Tensor call_dot(const at::Tensor& self, const at::Tensor& tensor);
at::Tensor call_vecdot(const at::Tensor& x, const at::Tensor& y, int64_t dim);
at::Tensor& call_dot_out(const at::Tensor& self, const at::Tensor& tensor, at::Tensor& out);
at::Tensor& call_vecdot_out(const at::Tensor& x, const at::Tensor& y, int64_t dim, at::Tensor& out);

}  // namespace reduce_ops
