// torch.ops.reduce_ops.sum: schemas, the kernels below autograd, and what is refused.
#include <ATen/native/Resize.h>
#include <torch/library.h>

#include "ops/frontend.h"
#include "ops/sum.h"

namespace reduce_ops {

at::Tensor sum_dim(const at::Tensor& self, at::OptionalIntArrayRef dim, bool keepdim,
                   std::optional<at::ScalarType> dtype) {
  const Dims dims = wrap_dims(kSum, dim, self.dim());
  const Request request = make_request(
      kSum, self, dims, keepdim,
      allocate(reduced_sizes(self.sizes(), dims, keepdim), sum_dtype(self, dtype), self));
  execute_sum(request, pick_plan(request));
  return request.out;
}

namespace {

at::Tensor& sum_dim_out(const at::Tensor& self, at::OptionalIntArrayRef dim, bool keepdim,
                        std::optional<at::ScalarType> dtype, at::Tensor& out) {
  const Dims dims = wrap_dims(kSum, dim, self.dim());
  const at::DimVector sizes = reduced_sizes(self.sizes(), dims, keepdim);
  check_out(kSum, self, dtype, sizes, out);
  // Made apart where it is hard to tell whether they share memory, and where out may have more axes
  // than a kernel takes.
  const bool many_axes = out.sizes() == sizes && out.dim() > kMaxAxes && !out.is_contiguous();
  if (many_axes || may_share_memory(self, out))
    return out.copy_(sum_dim(self, dim, keepdim, out.scalar_type()));
  at::native::resize_output(out, sizes);
  const Request request = make_request(kSum, self, dims, keepdim, out);
  execute_sum(request, pick_plan(request));
  return out;
}

// The overloads without dim are calls of those with one.
at::Tensor sum_all(const at::Tensor& self, std::optional<at::ScalarType> dtype) {
  return sum_dim_op().call(self, std::nullopt, false, dtype);
}

at::Tensor& sum_all_out(const at::Tensor& self, std::optional<at::ScalarType> dtype,
                        at::Tensor& out) {
  return sum_dim_out_op().call(self, std::nullopt, false, dtype, out);
}

}  // namespace

TORCH_LIBRARY(reduce_ops, m) {
  // Overload resolution tries these in order: the first one takes every call without out=.
  m.def(
      "sum.dim_IntList(Tensor self, int[1]? dim=None, bool keepdim=False, *, "
      "ScalarType? dtype=None) -> Tensor");
  m.def("sum(Tensor self, *, ScalarType? dtype=None) -> Tensor");
  m.def(
      "sum.IntList_out(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None, "
      "Tensor(a!) out) -> Tensor(a!)");
  m.def("sum.out(Tensor self, *, ScalarType? dtype=None, Tensor(a!) out) -> Tensor(a!)");
}

TORCH_LIBRARY_IMPL(reduce_ops, CompositeImplicitAutograd, m) {
  m.impl("sum", sum_all);
  m.impl("sum.out", sum_all_out);
}

// vmap takes composites apart only where it is told to.
TORCH_LIBRARY_IMPL(reduce_ops, FuncTorchBatched, m) { m.impl("sum", sum_all); }

TORCH_LIBRARY_IMPL(reduce_ops, CPU, m) {
  m.impl("sum.dim_IntList", sum_dim);
  m.impl("sum.IntList_out", sum_dim_out);
}

TORCH_LIBRARY_IMPL(reduce_ops, CUDA, m) {
  m.impl("sum.dim_IntList", sum_dim);
  m.impl("sum.IntList_out", sum_dim_out);
}

}  // namespace reduce_ops
