// torch.ops.reduce_ops.*: schemas, the kernels below autograd, and what is refused.
#include "ops/reductions.h"

#include <ATen/native/Resize.h>
#include <torch/library.h>

#include "ops/frontend.h"

namespace reduce_ops {

at::ScalarType result_dtype(Op op, at::ScalarType input, std::optional<at::ScalarType> dtype) {
  const at::ScalarType type = dtype.value_or(input);
  const bool integral = at::isIntegralType(type, /*includeBool=*/true);
  TORCH_CHECK(op != Op::kMean || !integral, info(op).function, ": ", dtype ? "dtype" : "input",
              dtype ? " is " : " has dtype ", type, ", expected a floating point or complex dtype",
              dtype ? "" : ", or one as dtype=");
  return integral && !dtype.has_value() ? at::kLong : type;
}

template <Op kOp>
at::Tensor reduce_dim(const at::Tensor& self, at::OptionalIntArrayRef dim, bool keepdim,
                      std::optional<at::ScalarType> dtype) {
  constexpr const char* kName = info(kOp).function;
  const Dims dims = wrap_dims(kName, dim, self.dim());
  const at::ScalarType type = result_dtype(kOp, self.scalar_type(), dtype);
  const Request request =
      make_request(kName, kOp, self, dims, keepdim,
                   allocate(reduced_sizes(self.sizes(), dims, keepdim), type, self));
  execute(request, pick_plan(request));
  return request.out;
}
template at::Tensor reduce_dim<Op::kSum>(const at::Tensor&, at::OptionalIntArrayRef, bool,
                                         std::optional<at::ScalarType>);
template at::Tensor reduce_dim<Op::kMean>(const at::Tensor&, at::OptionalIntArrayRef, bool,
                                          std::optional<at::ScalarType>);

namespace {

template <Op kOp>
at::Tensor& reduce_dim_out(const at::Tensor& self, at::OptionalIntArrayRef dim, bool keepdim,
                           std::optional<at::ScalarType> dtype, at::Tensor& out) {
  constexpr const char* kName = info(kOp).function;
  const Dims dims = wrap_dims(kName, dim, self.dim());
  const at::DimVector sizes = reduced_sizes(self.sizes(), dims, keepdim);
  check_out(kName, self, dtype, sizes, out);
  result_dtype(kOp, self.scalar_type(), out.scalar_type());
  // Made apart where it is hard to tell whether they share memory, and where out may have more axes
  // than a kernel takes.
  const bool many_axes = out.sizes() == sizes && out.dim() > kMaxAxes && !out.is_contiguous();
  if (many_axes || may_share_memory(self, out))
    return out.copy_(reduce_dim<kOp>(self, dim, keepdim, out.scalar_type()));
  at::native::resize_output(out, sizes);
  const Request request = make_request(kName, kOp, self, dims, keepdim, out);
  execute(request, pick_plan(request));
  return out;
}

// The overloads without dim are calls of those with one.
template <Op kOp>
at::Tensor reduce_all(const at::Tensor& self, std::optional<at::ScalarType> dtype) {
  return dim_op<kOp>().call(self, std::nullopt, false, dtype);
}

template <Op kOp>
at::Tensor& reduce_all_out(const at::Tensor& self, std::optional<at::ScalarType> dtype,
                           at::Tensor& out) {
  return dim_out_op<kOp>().call(self, std::nullopt, false, dtype, out);
}

std::string overload(const TypedOp& op, const char* name) {
  return std::string(op.name) + "." + name;
}

}  // namespace

TORCH_LIBRARY(reduce_ops, m) {
  for (const TypedOp& op : kTypedOps) {
    // Overload resolution tries these in order: the first one takes every call without out=.
    m.def((overload(op, op.dim) +
           "(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> "
           "Tensor")
              .c_str());
    m.def((std::string(op.name) + "(Tensor self, *, ScalarType? dtype=None) -> Tensor").c_str());
    m.def((overload(op, op.dim_out) +
           "(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None, Tensor(a!) "
           "out) -> Tensor(a!)")
              .c_str());
    m.def((overload(op, op.whole_out) +
           "(Tensor self, *, ScalarType? dtype=None, Tensor(a!) out) -> Tensor(a!)")
              .c_str());
  }
}

TORCH_LIBRARY_IMPL(reduce_ops, CompositeImplicitAutograd, m) {
  for_each_op([&](auto op) {
    m.impl(info(op).name, reduce_all<op>);
    m.impl(overload(info(op), info(op).whole_out).c_str(), reduce_all_out<op>);
  });
}

// vmap takes composites apart only where it is told to.
TORCH_LIBRARY_IMPL(reduce_ops, FuncTorchBatched, m) {
  for_each_op([&](auto op) { m.impl(info(op).name, reduce_all<op>); });
}

TORCH_LIBRARY_IMPL(reduce_ops, CPU, m) {
  for_each_op([&](auto op) {
    m.impl(overload(info(op), info(op).dim).c_str(), reduce_dim<op>);
    m.impl(overload(info(op), info(op).dim_out).c_str(), reduce_dim_out<op>);
  });
}

TORCH_LIBRARY_IMPL(reduce_ops, CUDA, m) {
  for_each_op([&](auto op) {
    m.impl(overload(info(op), info(op).dim).c_str(), reduce_dim<op>);
    m.impl(overload(info(op), info(op).dim_out).c_str(), reduce_dim_out<op>);
  });
}

}  // namespace reduce_ops
