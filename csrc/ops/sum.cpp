// torch.ops.reduce_ops.sum: schemas, the kernels below autograd, and what is refused.
#include <ATen/native/Resize.h>
#include <torch/library.h>

#include "ops/frontend.h"
#include "ops/sum.h"

namespace reduce_ops {

namespace {

at::Tensor sum_dim(const at::Tensor& self, at::OptionalIntArrayRef dim, bool keepdim,
                   std::optional<at::ScalarType> dtype) {
  check_input(kSum, self);
  const Dims dims = wrap_dims(kSum, dim, self.dim());
  const at::ScalarType type = sum_dtype(self, dtype);
  to_dtype(kSum, "input", self.scalar_type());
  to_dtype(kSum, "dtype", type);
  at::Tensor out = allocate(reduced_sizes(self.sizes(), dims, keepdim), type, self);
  const Request request = make_request(kSum, self, dims, keepdim, type, std::move(out));
  execute_sum(request, pick_plan(request));
  return request.out;
}

at::Tensor& sum_dim_out(const at::Tensor& self, at::OptionalIntArrayRef dim, bool keepdim,
                        std::optional<at::ScalarType> dtype, at::Tensor& out) {
  check_input(kSum, self);
  const Dims dims = wrap_dims(kSum, dim, self.dim());
  const at::ScalarType type = sum_dtype(self, dtype, &out);
  to_dtype(kSum, "input", self.scalar_type());
  to_dtype(kSum, "out", type);
  check_out(kSum, self, dtype, out);
  at::native::resize_output(out, reduced_sizes(self.sizes(), dims, keepdim));
  const Request request = make_request(kSum, self, dims, keepdim, type, out);
  execute_sum(request, pick_plan(request));
  return out;
}

at::Tensor sum_all(const at::Tensor& self, std::optional<at::ScalarType> dtype) {
  return sum_dim(self, std::nullopt, false, dtype);
}

at::Tensor& sum_all_out(const at::Tensor& self, std::optional<at::ScalarType> dtype,
                        at::Tensor& out) {
  return sum_dim_out(self, std::nullopt, false, dtype, out);
}

// For the keys of tensors that are not dense and strided.
void refuse(const c10::OperatorHandle&, torch::jit::Stack* stack) {
  for (const c10::IValue& value : *stack) {
    if (value.isTensor()) check_input(kSum, value.toTensor());
  }
  TORCH_CHECK_NOT_IMPLEMENTED(false, kSum, ": input must be a dense strided tensor");
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

#define REDUCE_OPS_KERNELS(m)             \
  m.impl("sum.dim_IntList", sum_dim);     \
  m.impl("sum", sum_all);                 \
  m.impl("sum.IntList_out", sum_dim_out); \
  m.impl("sum.out", sum_all_out);

TORCH_LIBRARY_IMPL(reduce_ops, CPU, m){
    REDUCE_OPS_KERNELS(m)} TORCH_LIBRARY_IMPL(reduce_ops, CUDA, m){REDUCE_OPS_KERNELS(m)}

#define REDUCE_OPS_REFUSE(key)                                                        \
  TORCH_LIBRARY_IMPL(reduce_ops, key, m) {                                            \
    for (const char* name : {"sum.dim_IntList", "sum", "sum.IntList_out", "sum.out"}) \
      m.impl(name, torch::CppFunction::makeFromBoxedFunction<&refuse>());             \
  }
REDUCE_OPS_REFUSE(SparseCPU) REDUCE_OPS_REFUSE(SparseCUDA) REDUCE_OPS_REFUSE(SparseCsrCPU)
    REDUCE_OPS_REFUSE(SparseCsrCUDA) REDUCE_OPS_REFUSE(QuantizedCPU)
        REDUCE_OPS_REFUSE(QuantizedCUDA) REDUCE_OPS_REFUSE(MkldnnCPU)

}  // namespace reduce_ops
