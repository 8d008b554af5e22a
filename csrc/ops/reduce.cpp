#include "ops/reduce.h"

#include <ATen/MemoryOverlap.h>
#include <ATen/TensorOperators.h>
#include <ATen/native/Resize.h>
#include <ATen/ops/abs.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/exp.h>
#include <ATen/ops/log.h>
#include <ATen/ops/real.h>
#include <ATen/ops/view_as_complex.h>
#include <ATen/ops/view_as_real.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros_like.h>

#include <cmath>

#include "ops/rules.h"

namespace reduce_ops {

namespace {

// A kernel's two outputs as the op's results: which one an op with one result is in.
bool result_is_second(Op op, double parameter) {
  return op == Op::kAmax || op == Op::kArgmax || op == Op::kArgmin ||
         (op == Op::kNorm && parameter == INFINITY);
}

Request request_for(const Spec& spec, const at::Tensor& self, const Dims& dims, bool keepdim,
                    const Results& results) {
  const bool second = results.size() == 1 && result_is_second(spec.op, spec.parameter);
  return make_request(spec, self, dims, keepdim, second ? at::Tensor() : results[0],
                      second               ? results[0]
                      : results.size() > 1 ? results[1]
                                           : at::Tensor());
}

void launch(const Spec& spec, const at::Tensor& self, const Dims& dims, bool keepdim,
            const Results& results) {
  const Request request = request_for(spec, self, dims, keepdim, results);
  execute(request, pick_plan(request));
}

// The first dim of results that are several numbers each, one of statistics and one of counts.
int64_t planes(size_t result) { return result == 0 ? 6 : 3; }

Results allocate_all(const Call& c, const Dims& dims, c10::ArrayRef<at::ScalarType> types) {
  const at::DimVector sizes = reduced_sizes(c.self.sizes(), dims, c.keepdim);
  Results results;
  for (const at::ScalarType type : types) {
    at::DimVector all = sizes;
    if (c.op == Op::kDescribe) all.insert(all.begin(), planes(results.size()));
    results.push_back(allocate(all, type, c.self));
  }
  return results;
}

// The kernel for the results' dtypes, with what it casts elements to.
Spec spec_of(const Call& c, const Types& types) {
  const bool integer = at::isIntegralType(c.self.scalar_type(), /*includeBool=*/true);
  const Op op = c.op == Op::kNanSum && integer ? Op::kSum : c.op;
  return {c.function(), op, types.cast, c.parameter()};
}

// The trailing dims whose order in memory is their order in the tensor; kernels count positions in
// memory.
Dims dims_in_order(const at::Tensor& self, const Dims& dims) {
  Dims found;
  uint64_t last = 0;
  for (int64_t d = self.dim() - 1; d >= 0; --d) {
    if (!dims[d]) continue;
    const uint64_t stride = uint64_t(self.stride(d)) - 1;  // as make_problem() sorts
    if (self.size(d) != 1) {
      if (stride < last) break;
      last = stride;
    }
    found[d] = true;
  }
  return found;
}

// Position of the extreme over all of a tensor whose dims are in another order in memory: first
// over the dims that are in order, then over those results.
void find_in_two_steps(const Call& c, const Dims& inner, at::Tensor& index) {
  const Op op = c.op == Op::kArgmax ? Op::kMax : Op::kMin;
  const at::ScalarType type = c.self.scalar_type();
  const Spec spec = {c.function(), op, type};
  const at::DimVector sizes = reduced_sizes(c.self.sizes(), inner, false);
  const Results best = {allocate(sizes, type, c.self), allocate(sizes, at::kLong, c.self)};
  launch(spec, c.self, inner, false, best);
  const int64_t length = c.self.numel() / best[0].numel();
  const at::Tensor row = allocate({1}, at::kLong, c.self);
  const at::Tensor values = best[0].view({1, -1});
  launch({c.function(), c.op, type}, values, Dims().set(1), false, {row});
  const at::Tensor within = best[1].view(-1).index_select(0, row);
  index.copy_(row.mul(length).add_(within).view(index.sizes()));
}

// Variances of a complex input are those of its parts, added up.
void complex_moments(const Call& c, const Dims& dims, const Results& results) {
  const bool root = c.op == Op::kStd || c.op == Op::kStdMean;
  const at::Tensor parts = at::view_as_real(c.self);
  at::DimVector sizes = reduced_sizes(c.self.sizes(), dims, c.keepdim);
  sizes.push_back(2);
  Results found = {allocate(sizes, at::kDouble, c.self)};
  if (results.size() > 1) found.push_back(at::view_as_real(results[1]));
  const Op op = results.size() > 1 ? Op::kVarMean : Op::kVar;
  launch({c.function(), op, parts.scalar_type(), c.parameter()}, parts, dims, c.keepdim, found);
  at::Tensor both = found[0].select(-1, 0).add_(found[0].select(-1, 1));
  results[0].copy_(root ? both.sqrt_() : both);
}

void complex_log_sum_exp(const Call& c, const Dims& dims, const Results& results) {
  Call part = c;
  part.self = at::real(c.self);
  part.keepdim = true;
  part.op = Op::kAmax;
  const Results high = allocate_all(part, dims, part.self.scalar_type());
  if (c.self.numel() == 0) {
    results[0].fill_(-INFINITY);
    return;
  }
  launch({c.function(), Op::kAmax, part.self.scalar_type()}, part.self, dims, true, high);
  const at::Tensor shift = at::where(high[0].isfinite(), high[0], at::zeros_like(high[0]));
  const at::Tensor terms = at::exp(c.self - shift);
  launch({c.function(), Op::kSum, terms.scalar_type()}, terms, dims, c.keepdim, results);
  results[0].log_().add_(shift.view(results[0].sizes()));
}

// Norms that are not one kernel over the input as it is.
void compute_norm(const Call& c, const Dims& dims, const Types& types, const Results& results) {
  const double order = c.parameter();
  const at::ScalarType type = types.results[0];
  if (order == 0) {
    const Results count = allocate_all(c, dims, at::kLong);
    launch({c.function(), Op::kCountNonzero, c.self.scalar_type()}, c.self, dims, c.keepdim, count);
    results[0].copy_(count[0]);
    return;
  }
  if (std::isnan(order)) {
    results[0].fill_(order);
    return;
  }
  at::Tensor self = c.self;
  Dims all = dims;
  if (self.is_complex()) {
    if (order == 2) {
      all[self.dim()] = true;
      self = at::view_as_real(self);
    } else {
      self = at::abs(self);
    }
  }
  if (std::isfinite(order) && order != 1 && order != 2) self = self.to(type);
  launch({c.function(), Op::kNorm, self.scalar_type(), order}, self, all, c.keepdim, results);
}

bool is_one_kernel(const Call& c, const Dims& dims, const Types& types) {
  const bool complex = c.self.is_complex();
  switch (c.op) {
    case Op::kArgmax:
    case Op::kArgmin:
      return dims_in_order(c.self, dims) == dims || c.self.numel() == 0;
    case Op::kVar:
    case Op::kStd:
    case Op::kVarMean:
    case Op::kStdMean:
    case Op::kLogSumExp:
      return !complex;
    case Op::kDescribe:
      return c.self.is_floating_point();
    case Op::kNorm:
      return !complex && c.parameter() != 0 && !std::isnan(c.parameter()) &&
             (types.results[0] == c.self.scalar_type() || c.parameter() == 1 ||
              c.parameter() == 2 || std::isinf(c.parameter()));
    default:
      return true;
  }
}

void compute(const Call& c, const Dims& dims, const Types& types, Results& results) {
  if (c.op == Op::kLogSumExp && types.results[0] == at::kDouble && c.self.is_floating_point() &&
      c.self.scalar_type() != at::kDouble) {
    const at::Tensor wide = c.self.to(at::kDouble);  // kernels compute as wide as the input is
    return launch({c.function(), c.op, at::kDouble}, wide, dims, c.keepdim, results);
  }
  if (c.op == Op::kDescribe && !c.self.is_floating_point()) {
    const at::Tensor wide = c.self.to(at::kDouble);
    return launch({c.function(), c.op, at::kDouble, c.parameter()}, wide, dims, c.keepdim, results);
  }
  if (is_one_kernel(c, dims, types))
    return launch(spec_of(c, types), c.self, dims, c.keepdim, results);
  switch (c.op) {
    case Op::kArgmax:
    case Op::kArgmin:
      return find_in_two_steps(c, dims_in_order(c.self, dims), results[0]);
    case Op::kLogSumExp:
      return complex_log_sum_exp(c, dims, results);
    case Op::kNorm:
      return compute_norm(c, dims, types, results);
    default:
      return complex_moments(c, dims, results);
  }
}

// Whether the kernel can write into out= itself.
bool writes_directly(const Call& c, const Types& types, at::IntArrayRef sizes) {
  for (size_t i = 0; i < c.out.size(); ++i) {
    const at::Tensor& out = c.out[i];
    if (out.scalar_type() != types.results[i] || may_share_memory(c.self, out)) return false;
    if (out.sizes() == sizes && !out.is_contiguous() && (c.out.size() > 1 || out.dim() > kMaxAxes))
      return false;
  }
  return true;
}

Results reduce_into(const Call& c, const Dims& dims, const Types& types) {
  const at::DimVector sizes = reduced_sizes(c.self.sizes(), dims, c.keepdim);
  for (const at::Tensor& out : c.out) check_out(c.function(), c.self, std::nullopt, sizes, out);
  if (c.out.size() > 1) {
    const auto status = at::get_overlap_status(c.out[0], c.out[1]);
    TORCH_CHECK(status != at::MemOverlapStatus::Full && status != at::MemOverlapStatus::Partial,
                c.function(), ": out[0] of sizes ", c.out[0].sizes(),
                " shares memory with out[1] of sizes ", c.out[1].sizes(),
                ", expected tensors of their own");
  }
  const bool direct = writes_directly(c, types, sizes);
  Results results = c.out;
  if (!direct) {
    results = allocate_all(c, dims, types.results);
    compute(c, dims, types, results);
  }
  for (const at::Tensor& out : c.out) at::native::resize_output(out, sizes);
  if (direct) compute(c, dims, types, results);
  for (size_t i = 0; i < c.out.size() && !direct; ++i) c.out[i].copy_(results[i]);
  return c.out;
}

Dims check(const Call& c) {
  check_input(c.function(), c.self);
  const Dims dims = c.dims();
  check_identity(c, dims, [&](int64_t d) { return c.self.size(d) == 0; });
  int64_t length = 1, outputs = 1;
  for (int64_t d = 0; d < c.self.dim(); ++d) (dims[d] ? length : outputs) *= c.self.size(d);
  check_freedom(c, outputs ? length : 0);
  return dims;
}

}  // namespace

Results reduce(const Call& c) {
  const Types types = types_of(c);
  const Dims dims = check(c);
  if (!c.out.empty()) return reduce_into(c, dims, types);
  Results results = allocate_all(c, dims, types.results);
  compute(c, dims, types, results);
  return results;
}

Results reduce_meta(const Call& c) {
  const Types types = types_of(c);
  const Dims dims = c.dims();
  const auto in = c.self.sym_sizes();
  check_identity(c, dims,
                 [&](int64_t d) { return TORCH_GUARD_OR_FALSE(in[d].sym_eq(c10::SymInt(0))); });
  c10::SymDimVector sizes;
  for (int64_t d = 0; d < c.self.dim(); ++d) {
    if (!dims[d])
      sizes.push_back(in[d]);
    else if (c.keepdim)
      sizes.push_back(1);
  }
  if (c.out.empty()) {
    Results results;
    for (const at::ScalarType type : types.results) {
      c10::SymDimVector all = sizes;
      if (c.op == Op::kDescribe) all.insert(all.begin(), planes(results.size()));
      results.push_back(at::empty_symint(all, c.self.options().dtype(type)));
    }
    return results;
  }
  for (const at::Tensor& out : c.out) {
    TORCH_CHECK(out.device() == c.self.device(), c.function(), ": out is on device ", out.device(),
                ", expected the input's device ", c.self.device());
  }
  for (const at::Tensor& out : c.out) at::native::resize_output_symint(out, sizes);
  return c.out;
}

Request single_request(const Call& c) {
  const Types types = types_of(c);
  const Dims dims = check(c);
  TORCH_CHECK_VALUE(is_one_kernel(c, dims, types), c.function(),
                    ": this call is computed in several steps, each with a plan of its own");
  return request_for(spec_of(c, types), c.self, dims, c.keepdim,
                     allocate_all(c, dims, types.results));
}

}  // namespace reduce_ops
