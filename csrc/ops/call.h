// A call's arguments whatever the op, and their way to and from the dispatcher's stacks.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/stack.h>

#include <optional>

#include "ops/frontend.h"
#include "ops/op_table.h"

namespace reduce_ops {

struct Call {
  const OpRow* row;
  Op op;  // the row's, or what computes its whole
  at::Tensor self;
  std::optional<at::DimVector> dim;
  bool keepdim = false;
  std::optional<at::ScalarType> dtype;
  std::optional<double> number;  // correction, order of a norm
  c10::SmallVector<at::Tensor, 2> out;

  const char* function() const { return row->function.c_str(); }
  double parameter() const { return number.value_or(row->op == Op::kNorm ? 2 : 1); }
  // The dims to reduce, after checking them.
  Dims dims() const;
};

// Sets the correction or order; complex ones are refused.
void set_number(Call& call, const at::Scalar& number);

Call read_call(const Overload& overload, const torch::jit::Stack& stack);

// Through the dispatcher, by the first overload that takes these arguments.
c10::SmallVector<at::Tensor, 2> dispatch(const Call& call);

}  // namespace reduce_ops
