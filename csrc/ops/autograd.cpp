// What the ops are above their kernels: gradients, in-place bookkeeping, autocast. Backward
// broadcasts the gradient over the reduced dims, forward mode reduces the tangent. Both are made of
// differentiable ops, so derivatives of any order follow.
#include <ATen/autocast_mode.h>
#include <ATen/ops/real.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/functions/utils.h>
#include <torch/library.h>

#include "ops/frontend.h"
#include "ops/reductions.h"

namespace reduce_ops {

namespace {

template <Op kOp>
struct ReduceBackward : torch::autograd::Node {
  c10::SymDimVector sizes;
  Dims dims;
  bool keepdim = false;
  at::ScalarType type = at::kFloat;

  std::string name() const override { return kOp == Op::kSum ? "SumBackward" : "MeanBackward"; }

  torch::autograd::variable_list apply(torch::autograd::variable_list&& grads) override {
    if (!grads[0].defined() || !task_should_compute_output(0)) return {at::Tensor()};
    at::Tensor grad = grads[0];
    if (grad.is_complex() && !at::isComplexType(type)) grad = at::real(grad);
    if constexpr (kOp ==
                  Op::kMean) {  // in the result's dtype, which may reach further than input's
      c10::SymInt count = 1;
      for (size_t d = 0; d < sizes.size(); ++d) {
        if (dims[d]) count *= sizes[d];
      }
      grad = grad / at::Scalar(count);
    }
    grad = grad.to(type);
    if (!keepdim) {
      for (size_t d = 0; d < sizes.size(); ++d) {
        if (dims[d]) grad = grad.unsqueeze(int64_t(d));
      }
    }
    return {grad.expand_symint(sizes)};
  }
};

template <Op kOp>
at::Tensor reduce_dim_autograd(c10::DispatchKeySet keys, const at::Tensor& self,
                               at::OptionalIntArrayRef dim, bool keepdim,
                               std::optional<at::ScalarType> dtype) {
  const auto below = [&](const at::Tensor& x) {
    at::AutoDispatchBelowADInplaceOrView guard;
    return dim_op<kOp>().redispatch(keys & c10::after_autograd_keyset, x, dim, keepdim, dtype);
  };
  const at::ScalarType type = result_dtype(kOp, self.scalar_type(), dtype);
  const bool differentiable = at::isFloatingType(type) || at::isComplexType(type);
  std::shared_ptr<ReduceBackward<kOp>> node;
  if (differentiable && torch::autograd::compute_requires_grad(self)) {
    node = std::shared_ptr<ReduceBackward<kOp>>(new ReduceBackward<kOp>(),
                                                torch::autograd::deleteNode);
    node->set_next_edges(torch::autograd::collect_next_edges(self));
    const auto sizes = self.sym_sizes();
    node->sizes.assign(sizes.begin(), sizes.end());
    node->dims = wrap_dims(info(kOp).function, dim, self.dim());
    node->keepdim = keepdim;
    node->type = self.scalar_type();
  }
  at::Tensor out = below(self);
  if (node) torch::autograd::set_history(out, node);
  if (differentiable && self._fw_grad(/*level=*/0).defined()) {
    out._set_fw_grad(dim_op<kOp>().call(self._fw_grad(/*level=*/0), dim, keepdim, type),
                     /*level=*/0, /*is_inplace_op=*/false);
  }
  return out;
}

template <Op kOp>
at::Tensor& reduce_dim_out_autograd(c10::DispatchKeySet keys, const at::Tensor& self,
                                    at::OptionalIntArrayRef dim, bool keepdim,
                                    std::optional<at::ScalarType> dtype, at::Tensor& out) {
  for (const at::Tensor* t : {&self, static_cast<const at::Tensor*>(&out)}) {
    TORCH_CHECK(!(at::GradMode::is_enabled() && t->requires_grad()), info(kOp).function,
                ": functions with out=... arguments don't support automatic differentiation, but ",
                t == &out ? "out" : "input", " requires grad");
    TORCH_CHECK(!t->_fw_grad(/*level=*/0).defined(), info(kOp).function,
                ": functions with out=... arguments don't support forward-mode differentiation, "
                "but ",
                t == &out ? "out" : "input", " has a tangent");
  }
  at::AutoDispatchBelowAutograd guard;
  return dim_out_op<kOp>().redispatch(keys & c10::after_autograd_keyset, self, dim, keepdim, dtype,
                                      out);
}

// Apart from autograd, which inference mode turns off: it must not hide that `out` was written.
template <Op kOp>
at::Tensor& reduce_dim_out_inplace(c10::DispatchKeySet keys, const at::Tensor& self,
                                   at::OptionalIntArrayRef dim, bool keepdim,
                                   std::optional<at::ScalarType> dtype, at::Tensor& out) {
  TORCH_CHECK(!out.is_inference() || c10::InferenceMode::is_enabled(), info(kOp).function,
              ": out of sizes ", out.sizes(),
              " is an inference tensor, expected a normal one outside InferenceMode");
  {
    at::AutoDispatchBelowADInplaceOrView guard;
    dim_out_op<kOp>().redispatch(keys & c10::after_ADInplaceOrView_keyset, self, dim, keepdim,
                                 dtype, out);
  }
  torch::autograd::impl::bump_version(out);
  return out;
}

at::Tensor sum_dim_again(const at::Tensor& self, at::OptionalIntArrayRef dim, bool keepdim,
                         std::optional<at::ScalarType> dtype) {
  return dim_op<Op::kSum>().call(self, dim, keepdim, dtype);
}

}  // namespace

TORCH_LIBRARY_IMPL(reduce_ops, Autograd, m) {
  for_each_op([&](auto op) {
    const std::string name = info(op).name;
    m.impl((name + "." + info(op).dim).c_str(), reduce_dim_autograd<op>);
    m.impl((name + "." + info(op).dim_out).c_str(), reduce_dim_out_autograd<op>);
  });
}

TORCH_LIBRARY_IMPL(reduce_ops, ADInplaceOrView, m) {
  for_each_op([&](auto op) {
    m.impl((std::string(info(op).name) + "." + info(op).dim_out).c_str(),
           reduce_dim_out_inplace<op>);
  });
}

// torch's own rule for sum on CUDA: float32 unless dtype= is there. On the CPU it has none.
TORCH_LIBRARY_IMPL(reduce_ops, AutocastCUDA, m) {
  using at::autocast::CastPolicy;
  m.impl("sum.dim_IntList",
         &at::autocast::WrapFunction<CastPolicy::fp32_set_opt_dtype, at::kCUDA, ReduceDim,
                                     ReduceDim, sum_dim_again>::type::call);
}

}  // namespace reduce_ops
