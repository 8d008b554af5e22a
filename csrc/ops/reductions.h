// The op `sum` as the rest of ops/ calls it.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>

namespace reduce_ops {

constexpr const char* kSum = "reduce_ops.sum";

using SumDim = at::Tensor(const at::Tensor&, at::OptionalIntArrayRef, bool,
                          std::optional<at::ScalarType>);
using SumDimOut = at::Tensor&(const at::Tensor&, at::OptionalIntArrayRef, bool,
                              std::optional<at::ScalarType>, at::Tensor&);

// The kernel below the dispatcher, for dense tensors on the CPU or a CUDA device.
at::Tensor sum_dim(const at::Tensor& self, at::OptionalIntArrayRef dim, bool keepdim,
                   std::optional<at::ScalarType> dtype);

inline const c10::TypedOperatorHandle<SumDim>& sum_dim_op() {
  static const auto op = c10::Dispatcher::singleton()
                             .findSchemaOrThrow("reduce_ops::sum", "dim_IntList")
                             .typed<SumDim>();
  return op;
}

inline const c10::TypedOperatorHandle<SumDimOut>& sum_dim_out_op() {
  static const auto op = c10::Dispatcher::singleton()
                             .findSchemaOrThrow("reduce_ops::sum", "IntList_out")
                             .typed<SumDimOut>();
  return op;
}

}  // namespace reduce_ops
