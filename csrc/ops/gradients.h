// Gradients of the ops of op_table.h, made of differentiable torch ops.
#pragma once

#include <ATen/core/Tensor.h>

#include "ops/call.h"

namespace reduce_ops {

// What a gradient is made from: a call and its results.
struct Reduced {
  const OpRow* row;
  Op op;
  at::Tensor self;
  at::Tensor result[2];
  Dims dims;
  bool whole;  // called without dims
  bool keepdim;
  double parameter;
};

// The vector-Jacobian product: the input's gradient from those of the results, of which one may be
// undefined. Where none comes, undefined.
at::Tensor gradient(const Reduced& r, const at::Tensor (&grad)[2]);

// The tangents of the results from that of the input. Every element goes into one result, so the
// tangent is a sum over the gradient of ones.
at::Tensor tangent(const Reduced& r, const at::Tensor& input_tangent, int result);

}  // namespace reduce_ops
