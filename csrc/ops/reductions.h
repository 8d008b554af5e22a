// sum and mean, whose calls are all typed: reductions of one tensor over dims to one tensor.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>

#include <string>
#include <type_traits>

#include "core/op.h"

namespace reduce_ops {

struct TypedOp {
  const char* name;       // in the dispatcher
  const char* function;   // in messages
  const char* dim;        // overload that takes dims
  const char* dim_out;    // the same with out=
  const char* whole_out;  // overload without dims, with out=
};
constexpr TypedOp kTypedOps[] = {
    {"sum", "reduce_ops.sum", "dim_IntList", "IntList_out", "out"},
    {"mean", "reduce_ops.mean", "dim", "out", "dtype_out"},
};
constexpr const TypedOp& info(Op op) { return kTypedOps[int(op)]; }

using ReduceDim = at::Tensor(const at::Tensor&, at::OptionalIntArrayRef, bool,
                             std::optional<at::ScalarType>);
using ReduceDimOut = at::Tensor&(const at::Tensor&, at::OptionalIntArrayRef, bool,
                                 std::optional<at::ScalarType>, at::Tensor&);

// The dtype of a result without out=: dtype=, else int64 for a sum of integers, else input's. A
// mean of integers is refused.
at::ScalarType result_dtype(Op op, at::ScalarType input, std::optional<at::ScalarType> dtype);

// The kernel below the dispatcher, for dense tensors on the CPU or a CUDA device.
template <Op kOp>
at::Tensor reduce_dim(const at::Tensor& self, at::OptionalIntArrayRef dim, bool keepdim,
                      std::optional<at::ScalarType> dtype);

template <Op kOp>
const c10::TypedOperatorHandle<ReduceDim>& dim_op() {
  static const auto op =
      c10::Dispatcher::singleton()
          .findSchemaOrThrow((std::string("reduce_ops::") + info(kOp).name).c_str(), info(kOp).dim)
          .typed<ReduceDim>();
  return op;
}

template <Op kOp>
const c10::TypedOperatorHandle<ReduceDimOut>& dim_out_op() {
  static const auto op =
      c10::Dispatcher::singleton()
          .findSchemaOrThrow((std::string("reduce_ops::") + info(kOp).name).c_str(),
                             info(kOp).dim_out)
          .typed<ReduceDimOut>();
  return op;
}

// f(std::integral_constant<Op, op>{}) for every op.
template <class F>
void for_each_op(F&& f) {
  f(std::integral_constant<Op, Op::kSum>{});
  f(std::integral_constant<Op, Op::kMean>{});
}

}  // namespace reduce_ops
