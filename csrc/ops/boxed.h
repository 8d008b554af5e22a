// Kernels of the ops of op_table.h: one for each dispatch key, for whichever overload.
#pragma once

#include <ATen/core/op_registration/op_registration.h>
#include <torch/library.h>

#include "ops/call.h"

namespace reduce_ops {

// kernel(overload, handle, keys, stack) as the kernel of one overload.
template <auto kernel>
struct BoxedKernel : c10::OperatorKernel {
  const Overload& overload;
  explicit BoxedKernel(const Overload& o) : overload(o) {}
  void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet keys,
                  torch::jit::Stack* stack) {
    kernel(overload, op, keys, *stack);
  }
};

// Registers the kernel for every overload that `which` accepts.
template <auto kernel, class Which>
void register_boxed(torch::Library& m, Which&& which) {
  for (const OpRow& row : op_rows()) {
    for (const Overload& overload : row.overloads) {
      if (!which(overload)) continue;
      const std::string name = overload.name.empty() ? row.name : row.name + "." + overload.name;
      m.impl(name.c_str(), torch::CppFunction::makeFromBoxedFunctor(
                               std::make_unique<BoxedKernel<kernel>>(overload)));
    }
  }
}

// Drops a call's arguments and pushes its results.
template <class Results>
void finish(const Overload& overload, torch::jit::Stack& stack, Results&& results) {
  torch::jit::drop(stack, overload.fields.size());
  for (auto& result : results) torch::jit::push(stack, std::move(result));
}

}  // namespace reduce_ops
