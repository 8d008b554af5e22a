// The one autograd kernel and the one node of the ops of op_table.h.
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/functions/utils.h>
#include <torch/csrc/autograd/saved_variable.h>

#include "ops/boxed.h"
#include "ops/gradients.h"
#include "ops/rules.h"

namespace reduce_ops {

namespace {

bool is_differentiable(at::ScalarType type) {
  return at::isFloatingType(type) || at::isComplexType(type);
}

Reduced reduced(const Call& c) {
  Reduced r = {c.row,     c.op,         c.self, {}, c.dims(), !c.dim || c.dim->empty(),
               c.keepdim, c.parameter()};
  return r;
}

struct ReductionBackward : torch::autograd::Node {
  Reduced what;  // its tensors are saved apart
  torch::autograd::SavedVariable self;
  torch::autograd::SavedVariable result[2];
  int results = 0;

  std::string name() const override {
    std::string text = "Backward";
    bool upper = false;
    std::string op;
    for (const char c : "_" + what.row->name) {
      if (c != '_') op += upper ? char(std::toupper(c)) : c;
      upper = c == '_';
    }
    return op + text;
  }

  torch::autograd::variable_list apply(torch::autograd::variable_list&& grads) override {
    if (!task_should_compute_output(0)) return {at::Tensor()};
    Reduced r = what;
    r.self = self.unpack();
    for (int i = 0; i < results; ++i) r.result[i] = result[i].unpack(shared_from_this());
    const at::Tensor grad[2] = {grads[0], grads.size() > 1 ? grads[1] : at::Tensor()};
    return {gradient(r, grad)};
  }

  void release_variables() override {
    self.reset_data();
    for (auto& saved : result) saved.reset_data();
  }
};

void differentiate(const Overload& overload, const c10::OperatorHandle& op,
                   c10::DispatchKeySet keys, torch::jit::Stack& stack) {
  const Call call = read_call(overload, stack);
  const bool differentiable =
      overload.row->differentiable && is_differentiable(call.self.scalar_type());
  std::shared_ptr<ReductionBackward> node;
  if (differentiable && torch::autograd::compute_requires_grad(call.self)) {
    node = std::shared_ptr<ReductionBackward>(new ReductionBackward(), torch::autograd::deleteNode);
    node->set_next_edges(torch::autograd::collect_next_edges(call.self));
  }
  {
    at::AutoDispatchBelowADInplaceOrView guard;
    op.redispatchBoxed(keys & c10::after_autograd_keyset, &stack);
  }
  const bool dual = differentiable && call.self._fw_grad(/*level=*/0).defined();
  if (!node && !dual) return;
  Reduced r = reduced(call);
  const int results = int(op.schema().returns().size());
  const auto on_stack = torch::jit::last(stack, results);
  for (int i = 0; i < results; ++i) r.result[i] = on_stack[i].toTensor();
  if (!is_differentiable(r.result[0].scalar_type())) return;
  if (node) {
    for (int i = 0; i < results; ++i) {
      if (is_differentiable(r.result[i].scalar_type()))
        torch::autograd::set_history(r.result[i], node);
    }
    node->self = torch::autograd::SavedVariable(call.self, /*is_output=*/false);
    node->results = results;
    for (int i = 0; i < results; ++i) {
      const bool output = is_differentiable(r.result[i].scalar_type());
      node->result[i] = torch::autograd::SavedVariable(r.result[i], output);
    }
    node->what = r;
    node->what.self = at::Tensor();
    for (at::Tensor& result : node->what.result) result = at::Tensor();
  }
  if (!dual) return;
  at::Tensor tangents[2];
  const at::Tensor in = call.self._fw_grad(/*level=*/0);
  Reduced primal = r;
  primal.self = call.self._fw_primal(/*level=*/0);
  for (int i = 0; i < results; ++i) {
    if (is_differentiable(r.result[i].scalar_type())) tangents[i] = tangent(primal, in, i);
  }
  for (int i = 0; i < results; ++i) {
    if (tangents[i].defined())
      r.result[i]._set_fw_grad(tangents[i], /*level=*/0, /*is_inplace_op=*/false);
  }
}

void refuse_gradients(const Overload& overload, const c10::OperatorHandle& op,
                      c10::DispatchKeySet keys, torch::jit::Stack& stack) {
  const Call call = read_call(overload, stack);
  const auto check = [&](const at::Tensor& t, const char* what) {
    TORCH_CHECK(!(at::GradMode::is_enabled() && t.requires_grad()), call.function(),
                ": functions with out=... arguments don't support automatic differentiation, but ",
                what, " requires grad");
    TORCH_CHECK(!t._fw_grad(/*level=*/0).defined(), call.function(),
                ": functions with out=... arguments don't support forward-mode differentiation, "
                "but ",
                what, " has a tangent");
  };
  check(call.self, "input");
  for (const at::Tensor& out : call.out) check(out, "out");
  at::AutoDispatchBelowAutograd guard;
  op.redispatchBoxed(keys & c10::after_autograd_keyset, &stack);
}

}  // namespace

TORCH_LIBRARY_IMPL(reduce_ops, Autograd, m) {
  register_boxed<differentiate>(m, [](const Overload& o) { return !o.has_out; });
  register_boxed<refuse_gradients>(m, [](const Overload& o) { return o.has_out; });
}

}  // namespace reduce_ops
