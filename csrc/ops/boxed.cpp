#include "ops/boxed.h"

#include <ATen/autocast_mode.h>
#include <torch/csrc/autograd/functions/utils.h>

#include "ops/reduce.h"

namespace reduce_ops {

namespace {

void compute(const Overload& overload, const c10::OperatorHandle&, c10::DispatchKeySet,
             torch::jit::Stack& stack) {
  finish(overload, stack, reduce(read_call(overload, stack)));
}

void infer(const Overload& overload, const c10::OperatorHandle&, c10::DispatchKeySet,
           torch::jit::Stack& stack) {
  finish(overload, stack, reduce_meta(read_call(overload, stack)));
}

// Apart from autograd, which inference mode turns off: it must not hide that out= was written.
void note_writes(const Overload& overload, const c10::OperatorHandle& op, c10::DispatchKeySet keys,
                 torch::jit::Stack& stack) {
  Call call = read_call(overload, stack);
  for (const at::Tensor& out : call.out) {
    TORCH_CHECK(!out.is_inference() || c10::InferenceMode::is_enabled(), call.function(),
                ": out of sizes ", out.sizes(),
                " is an inference tensor, expected a normal one outside InferenceMode");
  }
  {
    at::AutoDispatchBelowADInplaceOrView guard;
    op.redispatchBoxed(keys & c10::after_ADInplaceOrView_keyset, &stack);
  }
  for (const at::Tensor& out : call.out) torch::autograd::impl::bump_version(out);
}

// torch's policy: prod and norms on CUDA give float32 unless dtype= is there; logsumexp on CUDA and
// prod on the CPU take their input as float32.
template <c10::DeviceType device, c10::DispatchKey key>
void in_float32(const Overload& overload, const c10::OperatorHandle& op, c10::DispatchKeySet,
                torch::jit::Stack& stack) {
  const c10::impl::ExcludeDispatchKeyGuard guard(key);
  Call call = read_call(overload, stack);
  const bool casts = device == at::kCPU || call.op == Op::kLogSumExp;
  if ((call.dtype && !casts) || !at::autocast::is_eligible(call.self, device))
    return op.callBoxed(&stack);
  if (casts)
    call.self = at::autocast::cached_cast(at::kFloat, call.self, device);
  else
    call.dtype = at::kFloat;
  finish(overload, stack, dispatch(call));
}

bool any(const Overload&) { return true; }

}  // namespace

TORCH_LIBRARY_FRAGMENT(reduce_ops, m) {
  for (const OpRow& row : op_rows()) {
    for (const std::string& schema : row.schemas) m.def((row.name + schema).c_str());
  }
}

TORCH_LIBRARY_IMPL(reduce_ops, CPU, m) { register_boxed<compute>(m, any); }
TORCH_LIBRARY_IMPL(reduce_ops, CUDA, m) { register_boxed<compute>(m, any); }
TORCH_LIBRARY_IMPL(reduce_ops, Meta, m) { register_boxed<infer>(m, any); }

TORCH_LIBRARY_IMPL(reduce_ops, ADInplaceOrView, m) {
  register_boxed<note_writes>(m, [](const Overload& o) { return o.has_out; });
}

TORCH_LIBRARY_IMPL(reduce_ops, AutocastCUDA, m) {
  register_boxed<in_float32<at::kCUDA, c10::DispatchKey::AutocastCUDA>>(m, [](const Overload& o) {
    const Op op = o.row->op;
    return !o.has_out && (op == Op::kProd || op == Op::kNorm || op == Op::kLogSumExp);
  });
}

TORCH_LIBRARY_IMPL(reduce_ops, AutocastCPU, m) {
  register_boxed<in_float32<at::kCPU, c10::DispatchKey::AutocastCPU>>(
      m, [](const Overload& o) { return !o.has_out && o.row->op == Op::kProd; });
}

}  // namespace reduce_ops
