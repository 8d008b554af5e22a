// From a call's arguments to a Problem: checks, dims, dtypes, allocation. Everything that can be
// refused is refused here, before anything is written.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/TensorBody.h>

#include <bitset>
#include <optional>

#include "cpu/engine.h"
#include "plan/plan.h"

namespace reduce_ops {

using Dims = std::bitset<kMaxDims>;

// nullopt and an empty list mean all dims, as for torch.sum.
Dims wrap_dims(const char* op, at::OptionalIntArrayRef dim, int64_t ndim);

at::DimVector reduced_sizes(at::IntArrayRef sizes, const Dims& dims, bool keepdim);

// Throws NotImplementedError where the dtype or the kind of tensor is not supported.
DType to_dtype(const char* op, const char* argument, at::ScalarType type);
void check_input(const char* op, const at::Tensor& self);
// `sizes` are the result's: a larger or smaller out is resized, unless that reaches into self.
void check_out(const char* op, const at::Tensor& self, std::optional<at::ScalarType> dtype,
               at::IntArrayRef sizes, const at::Tensor& out);
// Whether writing out might change self, as far as torch can tell.
bool may_share_memory(const at::Tensor& self, const at::Tensor& out);

// An uninitialised contiguous tensor on `like`'s device.
at::Tensor allocate(at::IntArrayRef sizes, at::ScalarType type, const at::Tensor& like);

// What one call computes. `input` is the caller's, or a copy where that has too many axes. Either
// result may be undefined (see Epilogue).
struct Request {
  c10::MaybeOwned<at::Tensor> input;
  at::Tensor other;  // the second input, where the op has one
  at::Tensor out;
  at::Tensor second;
  Problem problem;
};

// An op with what it needs to know beside the data.
struct Spec {
  const char* function;  // in messages
  Op op;
  at::ScalarType cast;  // see Recipe
  double parameter = 0;
};

// Results of the same strides, which have up to kMaxAxes dims or are contiguous; those of describe
// have one more dim, the first. A second input has the sizes of the first.
Request make_request(const Spec& spec, const at::Tensor& self, const Dims& dims, bool keepdim,
                     at::Tensor out, at::Tensor second, const at::Tensor& other = at::Tensor());
// For ops that cast to the result's dtype first.
inline Request make_request(const char* function, Op op, const at::Tensor& self, const Dims& dims,
                            bool keepdim, at::Tensor out) {
  const at::ScalarType cast = out.scalar_type();
  return make_request({function, op, cast}, self, dims, keepdim, std::move(out), at::Tensor());
}

Operands operands_of(const Request& request);

// at::parallel_for, for the CPU engines.
cpu::ParallelFor parallel_for();

DeviceTraits device_traits(const at::Tensor& tensor);

// The planner's plan, or the given one after checking it.
Plan pick_plan(const Request& request, const std::string* forced = nullptr);

void execute(const Request& request, const Plan& plan);

}  // namespace reduce_ops
