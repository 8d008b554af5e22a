// From a call's arguments to a Problem: checks, dims, dtypes, allocation. Everything that can be
// refused is refused here, before anything is written.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/TensorBody.h>

#include <bitset>
#include <optional>

#include "cpu/engine.h"
#include "ops/reductions.h"
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

// What one call computes. `input` is the caller's, or a copy where that has too many axes.
struct Request {
  Op op;
  c10::MaybeOwned<at::Tensor> input;
  at::Tensor out;
  Problem problem;
};

// Elements are cast to out's dtype before they are added.
// `out` has up to kMaxAxes dims, or is contiguous.
Request make_request(Op op, const at::Tensor& self, const Dims& dims, bool keepdim, at::Tensor out);

// at::parallel_for, for the CPU engines.
cpu::ParallelFor parallel_for();

DeviceTraits device_traits(const at::Tensor& tensor);

// The planner's plan, or the given one after checking it.
Plan pick_plan(const Request& request, const std::string* forced = nullptr);

void execute(const Request& request, const Plan& plan);

}  // namespace reduce_ops
