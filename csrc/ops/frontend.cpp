#include "ops/frontend.h"

#include <ATen/EmptyTensor.h>
#include <ATen/MemoryOverlap.h>
#include <ATen/Parallel.h>
#include <ATen/ops/stack.h>

#include <algorithm>
#include <cmath>

#include "ops/cuda_backend.h"

namespace reduce_ops {

namespace {

std::optional<DType> find_dtype(at::ScalarType type) {
  switch (type) {
    case at::kBool:
      return DType::kBool;
    case at::kByte:
      return DType::kUInt8;
    case at::kChar:
      return DType::kInt8;
    case at::kUInt16:
      return DType::kUInt16;
    case at::kShort:
      return DType::kInt16;
    case at::kUInt32:
      return DType::kUInt32;
    case at::kInt:
      return DType::kInt32;
    case at::kUInt64:
      return DType::kUInt64;
    case at::kLong:
      return DType::kInt64;
    case at::kHalf:
      return DType::kFloat16;
    case at::kBFloat16:
      return DType::kBFloat16;
    case at::kFloat:
      return DType::kFloat32;
    case at::kDouble:
      return DType::kFloat64;
    case at::kComplexFloat:
      return DType::kComplex64;
    case at::kComplexDouble:
      return DType::kComplex128;
    default:
      return std::nullopt;
  }
}

}  // namespace

Dims wrap_dims(const char* op, at::OptionalIntArrayRef dim, int64_t ndim) {
  TORCH_CHECK(ndim <= kMaxDims, op, ": input has ", ndim, " dims, expected at most ", kMaxDims);
  Dims dims;
  if (!dim.has_value() || dim->empty()) {
    for (int64_t d = 0; d < ndim; ++d) dims[d] = true;
    return dims;
  }
  const int64_t range = ndim == 0 ? 1 : ndim;  // a 0-d tensor takes dim 0 and -1
  for (const int64_t d : *dim) {
    TORCH_CHECK_INDEX(-range <= d && d < range, op, ": dim ", d,
                      " is out of range for an input of ", ndim,
                      " dims (expected to be in range of [", -range, ", ", range - 1, "])");
    const int64_t wrapped = d < 0 ? d + range : d;
    TORCH_CHECK(!dims[wrapped], op, ": dim ", wrapped,
                " appears multiple times in the list of dims ", *dim);
    dims[wrapped] = true;
  }
  if (ndim == 0) dims.reset();
  return dims;
}

at::DimVector reduced_sizes(at::IntArrayRef sizes, const Dims& dims, bool keepdim) {
  at::DimVector result;
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (!dims[d])
      result.push_back(sizes[d]);
    else if (keepdim)
      result.push_back(1);
  }
  return result;
}

DType to_dtype(const char* op, const char* argument, at::ScalarType type) {
  const std::optional<DType> found = find_dtype(type);
  TORCH_CHECK_NOT_IMPLEMENTED(found.has_value(), op, ": ", argument, " has dtype ", type,
                              ", expected bool, an integer, float16, bfloat16, float32, float64, "
                              "complex64 or complex128");
  return *found;
}

void check_input(const char* op, const at::Tensor& self) {
  const bool dense = self.layout() == at::kStrided && !self.is_quantized();
  TORCH_CHECK_NOT_IMPLEMENTED(dense && (self.is_cpu() || self.is_cuda()), op, ": input is a ",
                              self.toString(), " on ", self.device(),
                              ", expected a dense strided tensor on the CPU or a CUDA device");
}

bool may_share_memory(const at::Tensor& self, const at::Tensor& out) {
  return self.storage().is_alias_of(out.storage()) &&
         at::get_overlap_status(self, out) != at::MemOverlapStatus::No;
}

void check_out(const char* op, const at::Tensor& self, std::optional<at::ScalarType> dtype,
               at::IntArrayRef sizes, const at::Tensor& out) {
  to_dtype(op, "input", self.scalar_type());
  to_dtype(op, "out", out.scalar_type());
  TORCH_CHECK(out.device() == self.device(), op, ": out is on device ", out.device(),
              ", expected the input's device ", self.device());
  TORCH_CHECK(!dtype.has_value() || out.scalar_type() == *dtype, op, ": out has dtype ",
              out.scalar_type(), ", expected ", *dtype, " as dtype says");
  TORCH_CHECK(at::has_internal_overlap(out) != at::MemOverlap::Yes, op, ": out has sizes ",
              out.sizes(), " and strides ", out.strides(),
              ", where several elements share memory; expected a tensor without overlap");
  if (out.sizes() != sizes) {
    const int64_t bytes = c10::multiply_integers(sizes) * int64_t(out.itemsize());
    TORCH_CHECK(
        out.storage().resizable() || bytes + out.storage_offset() * int64_t(out.itemsize()) <=
                                         int64_t(out.storage().nbytes()),
        op, ": out of sizes ", out.sizes(), " cannot be resized to ", sizes,
        ", since its storage is not torch's own; expected a tensor of that shape");
  }
  if (!self.storage().is_alias_of(out.storage())) return;
  const auto status = at::get_overlap_status(self, out);
  TORCH_CHECK(status != at::MemOverlapStatus::Full && status != at::MemOverlapStatus::Partial, op,
              ": out of sizes ", out.sizes(), " shares memory with input of sizes ", self.sizes(),
              ", expected a tensor of its own");
  TORCH_CHECK(out.sizes() == sizes, op, ": out of sizes ", out.sizes(), " would be resized to ",
              sizes, " in the storage of input, expected a tensor of its own or of that shape");
}

namespace {

// For inputs with more axes than a kernel takes: their reduced dims become one axis and their kept
// dims another. The reduced dims keep their order in the first one's memory and their layout class
// (is_rows()), on which the bits of a result depend.
class FewAxes {
 public:
  FewAxes(const at::Tensor& self, const at::Tensor& other, const Dims& dims) {
    at::DimVector kept, reduced;
    for (int64_t d = 0; d < self.dim(); ++d) {
      (dims[d] ? reduced : kept).push_back(d);
      if (!dims[d]) outputs_ *= self.size(d);
    }
    // As make_problem() sorts: stride 0 is the largest.
    std::stable_sort(reduced.begin(), reduced.end(), [&](int64_t a, int64_t b) {
      return uint64_t(self.stride(a)) - 1 > uint64_t(self.stride(b)) - 1;
    });
    for (const int64_t d : reduced) {  // at last that of the innermost one
      if (self.size(d) != 1)
        rows_ = self.stride(d) == 1 && (!other.defined() || other.stride(d) == 1);
    }
    order_ = rows_ ? kept : reduced;
    for (const int64_t d : rows_ ? reduced : kept) order_.push_back(d);
    back_.resize(order_.size());
    for (size_t i = 0; i < order_.size(); ++i) back_[order_[i]] = int64_t(i);
  }

  at::Tensor copy(const at::Tensor& self) const {
    at::Tensor copy = self.permute(order_);
    // A lone column gets a neighbour, without which it would be a row.
    copy = rows_ || outputs_ > 1 ? copy.contiguous() : at::stack({copy, copy}, -1).select(-1, 0);
    return copy.permute(back_);
  }

 private:
  at::DimVector order_, back_;
  int64_t outputs_ = 1;
  bool rows_ = true;
};

}  // namespace

Request make_request(const Spec& spec, const at::Tensor& self, const Dims& dims, bool keepdim,
                     at::Tensor out, at::Tensor second, const at::Tensor& other) {
  Request request;
  const at::Tensor& shape = out.defined() ? out : second;
  const DType in_type = to_dtype(spec.function, "input", self.scalar_type());
  const DType cast = to_dtype(spec.function, "dtype", spec.cast);
  const DType out_type = to_dtype(spec.function, "dtype", shape.scalar_type());
  const DType second_type =
      second.defined() ? to_dtype(spec.function, "dtype", second.scalar_type()) : out_type;
  if (is_complex(in_type) && !is_complex(cast) && cast != DType::kBool) {
    TORCH_WARN_ONCE("Casting complex values to real discards the imaginary part");
  }
  request.input = c10::MaybeOwned<at::Tensor>::borrowed(self);
  request.other = other;
  at::DimVector out_strides;
  size_t d_out = spec.op == Op::kDescribe;
  const at::IntArrayRef strides = shape.strides();
  for (int64_t d = 0; d < self.dim(); ++d) {
    if (dims[d]) {
      out_strides.push_back(0);
      d_out += keepdim;
    } else {
      out_strides.push_back(strides[d_out++]);
    }
  }
  request.out = std::move(out);
  request.second = std::move(second);
  const Recipe recipe = {spec.op, in_type, cast, spec.parameter};
  const auto build = [&](const at::Tensor& input) {
    TensorView view = {int(input.dim()), input.sizes().data(), input.strides().data(),
                       out_strides.data(), dims};
    uintptr_t address = reinterpret_cast<uintptr_t>(input.const_data_ptr());
    if (request.other.defined()) {
      view.other_strides = request.other.strides().data();
      address |= reinterpret_cast<uintptr_t>(request.other.const_data_ptr());
    }
    return make_problem(view, recipe, out_type, second_type, input.is_cuda(), address,
                        request.problem);
  };
  if (!build(self)) {
    const FewAxes few(self, other, dims);
    request.input = c10::MaybeOwned<at::Tensor>::owned(few.copy(self));
    if (other.defined()) request.other = few.copy(other);
    TORCH_INTERNAL_ASSERT(build(*request.input), spec.function, ": out has too many axes");
  }
  return request;
}

Operands operands_of(const Request& r) {
  return {r.input->const_data_ptr(), r.out.defined() ? r.out.mutable_data_ptr() : nullptr,
          r.second.defined() ? r.second.mutable_data_ptr() : nullptr,
          r.other.defined() ? r.other.const_data_ptr() : nullptr};
}

cpu::ParallelFor parallel_for() {
  return [](int64_t count, int64_t grain, const std::function<void(int64_t, int64_t)>& body) {
    at::parallel_for(0, count, grain, body);
  };
}

at::Tensor allocate(at::IntArrayRef sizes, at::ScalarType type, const at::Tensor& like) {
  // Straight to the device's allocator: through the dispatcher this would be a tenth of a call.
  if (like.is_cuda()) return cuda::allocate(sizes, type, like.device());
  return at::Tensor(at::detail::empty_cpu(sizes, type, /*pin_memory=*/false, std::nullopt));
}

DeviceTraits device_traits(const at::Tensor& tensor) {
  DeviceTraits traits;
  if (tensor.is_cuda())
    traits.multiprocessors = cuda::multiprocessors(tensor);
  else
    traits.threads = at::get_num_threads();
  return traits;
}

Plan pick_plan(const Request& request, const std::string* forced) {
  const Plan plan =
      forced ? parse_plan(*forced) : make_plan(request.problem, device_traits(*request.input));
  // The planner's own plan fits, unless the results are more than a grid takes.
  if (!forced && request.problem.outputs < int64_t(1) << 30) return plan;
  const std::string why_not = check_plan(plan, request.problem);
  TORCH_CHECK_VALUE(why_not.empty(), "reduce_ops: plan ", to_string(plan),
                    " cannot compute this: ", why_not);
  return plan;
}

namespace {

// What an op gives for no elements.
double empty_value(Op op, double order) {
  switch (op) {
    case Op::kProd:
    case Op::kAll:
      return 1;
    case Op::kMean:
    case Op::kNanMean:
    case Op::kVar:
    case Op::kStd:
    case Op::kVarMean:
    case Op::kStdMean:
      return std::numeric_limits<double>::quiet_NaN();
    case Op::kLogSumExp:
      return -std::numeric_limits<double>::infinity();
    case Op::kNorm:
      return order < 0 ? std::numeric_limits<double>::infinity() : 0;
    default:
      return 0;
  }
}

}  // namespace

void execute(const Request& request, const Plan& plan) {
  const Problem& problem = request.problem;
  if (plan.engine == Engine::kFill) {
    for (const at::Tensor* result : {&request.out, &request.second}) {
      if (result->defined()) result->fill_(empty_value(problem.op, problem.parameter));
    }
    // Neither a mean nor extremes: NaN in front of the norm.
    if (problem.op == Op::kDescribe) request.out.narrow(0, 0, 5).fill_(NAN);
  } else if (problem.cuda) {
    cuda::execute(request, plan);
  } else {
    cpu::run(problem, plan, operands_of(request), parallel_for());
  }
}

}  // namespace reduce_ops
