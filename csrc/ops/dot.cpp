#include "ops/dot.h"

#include <ATen/ExpandUtils.h>
#include <ATen/autocast_mode.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/native/Resize.h>
#include <ATen/ops/empty.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/functions/utils.h>
#include <torch/csrc/autograd/saved_variable.h>
#include <torch/library.h>

namespace reduce_ops {

namespace {

using at::Tensor;

constexpr const char* kDot = "reduce_ops.dot";
constexpr const char* kVecdot = "reduce_ops.vecdot";

// Two inputs as the op sees them, checked.
struct Pair {
  const char* function;
  const Tensor& first;
  const Tensor& second;
  c10::SymDimVector sizes;  // of both, once expanded
  int64_t dim;              // -1 for tensors without dims
  bool conjugates;          // the first one

  c10::SymDimVector result_sizes() const {
    c10::SymDimVector result;
    for (size_t d = 0; d < sizes.size(); ++d) {
      if (int64_t(d) != dim) result.push_back(sizes[d]);
    }
    return result;
  }
};

void check_alike(const char* function, const char* first, const char* second, const Tensor& x,
                 const Tensor& y) {
  TORCH_CHECK(x.device() == y.device(), function, ": ", second, " is on device ", y.device(),
              ", expected the device of ", first, ", ", x.device());
  TORCH_CHECK(x.scalar_type() == y.scalar_type(), function, ": ", first, " has dtype ",
              x.scalar_type(), " and ", second, " has dtype ", y.scalar_type(),
              ", expected equal dtypes");
}
void check_equal_sizes(const char* function, const char* first, const char* second, const Tensor& x,
                       const Tensor& y) {
  TORCH_CHECK(x.sym_size(0) == y.sym_size(0), function, ": ", first, " has ", x.sym_size(0),
              " elements and ", second, " has ", y.sym_size(0), ", expected equal sizes");
}
Pair dot_pair(const Tensor& x, const Tensor& y) {
  TORCH_CHECK(x.dim() == 1 && y.dim() == 1, kDot, ": input has ", x.dim(), " dims and tensor has ",
              y.dim(), ", expected 1 each");
  check_alike(kDot, "input", "tensor", x, y);
  check_equal_sizes(kDot, "input", "tensor", x, y);
  const at::ScalarType type = x.scalar_type();
  const bool wide = type == at::kUInt16 || type == at::kUInt32 || type == at::kUInt64;
  TORCH_CHECK_NOT_IMPLEMENTED(type != at::kBool && !wide, kDot, ": input has dtype ", type,
                              ", expected uint8, a signed integer, a floating point or a complex "
                              "dtype");
  return {kDot, x, y, {x.sym_size(0)}, 0, false};
}
Pair vecdot_pair(const Tensor& x, const Tensor& y, int64_t dim) {
  const at::ScalarType type = x.scalar_type();
  TORCH_CHECK(at::isFloatingType(type) || at::isComplexType(type), kVecdot, ": x has dtype ", type,
              ", expected a floating point or complex dtype");
  check_alike(kVecdot, "x", "y", x, y);
  Pair pair = {kVecdot, x, y, {}, 0, x.is_complex()};
  if (x.dim() == 1 && y.dim() == 1) {  // where torch looks at no dim
    check_equal_sizes(kVecdot, "x", "y", x, y);
    pair.sizes.push_back(x.sym_size(0));
    return pair;
  }
  const auto sizes = at::infer_size_symint(x.sym_sizes(), y.sym_sizes());
  pair.sizes.assign(sizes.begin(), sizes.end());
  const int64_t ndim = int64_t(sizes.size()), range = ndim ? ndim : 1;
  TORCH_CHECK(ndim <= kMaxDims, kVecdot, ": x and y have ", ndim, " dims, expected at most ",
              kMaxDims);
  TORCH_CHECK_INDEX(-range <= dim && dim < range, kVecdot, ": dim ", dim,
                    " is out of range for inputs of ", ndim, " dims (expected to be in range of [",
                    -range, ", ", range - 1, "])");
  pair.dim = ndim == 0 ? -1 : dim < 0 ? dim + range : dim;
  return pair;
}

// Computes into `out`, of the result's sizes and dtype.
Request request_into(const Pair& pair, const Tensor& out) {
  check_input(pair.function, pair.first);
  check_input(pair.function, pair.second);
  const auto sizes = c10::asIntArrayRefSlow(pair.sizes, __FILE__, __LINE__);
  Dims dims;
  if (pair.dim >= 0) dims[pair.dim] = true;
  const Tensor second = pair.second.sizes() == sizes ? pair.second : pair.second.expand(sizes);
  const Spec spec = {pair.function, Op::kDot, pair.first.scalar_type(),
                     pair.conjugates ? -1.0 : 1.0};
  if (pair.first.sizes() == sizes)
    return make_request(spec, pair.first, dims, false, out, Tensor(), second);
  const Tensor first = pair.first.expand(sizes);
  Request request = make_request(spec, first, dims, false, out, Tensor(), second);
  // The request may not borrow a tensor that goes away.
  request.input = c10::MaybeOwned<Tensor>::owned(Tensor(*request.input));
  return request;
}
Request request_of(const Pair& pair) {
  check_input(pair.function, pair.first);
  check_input(pair.function, pair.second);
  const c10::SymDimVector result = pair.result_sizes();
  const auto sizes = c10::asIntArrayRefSlow(result, __FILE__, __LINE__);
  return request_into(pair, allocate(sizes, pair.first.scalar_type(), pair.first));
}
Tensor compute(const Pair& pair) {
  const Request request = request_of(pair);
  execute(request, pick_plan(request));
  return request.out;
}
void check_out_type(const Pair& pair, const Tensor& out) {
  TORCH_CHECK(out.scalar_type() == pair.first.scalar_type(), pair.function, ": out has dtype ",
              out.scalar_type(), ", expected that of the inputs, ", pair.first.scalar_type());
  TORCH_CHECK(out.device() == pair.first.device(), pair.function, ": out is on device ",
              out.device(), ", expected the inputs' device ", pair.first.device());
}
Tensor& compute_into(const Pair& pair, Tensor& out) {
  check_out_type(pair, out);
  check_input(pair.function, pair.first);
  check_input(pair.function, pair.second);
  const c10::SymDimVector result = pair.result_sizes();
  const auto sizes = c10::asIntArrayRefSlow(result, __FILE__, __LINE__);
  check_out(pair.function, pair.first, std::nullopt, sizes, out);
  check_out(pair.function, pair.second, std::nullopt, sizes, out);
  const bool many_axes = out.sizes() == sizes && !out.is_contiguous() && out.dim() > kMaxAxes;
  if (many_axes || may_share_memory(pair.first, out) || may_share_memory(pair.second, out)) {
    const Tensor found = compute(pair);
    at::native::resize_output(out, sizes);
    return out.copy_(found);
  }
  at::native::resize_output(out, sizes);
  const Request request = request_into(pair, out);
  execute(request, pick_plan(request));
  return out;
}
Tensor infer(const Pair& pair) {
  return at::empty_symint(pair.result_sizes(), pair.first.options());
}
Tensor& infer_into(const Pair& pair, Tensor& out) {
  check_out_type(pair, out);
  at::native::resize_output_symint(out, pair.result_sizes());
  return out;
}
Tensor& dot_out(const Tensor& x, const Tensor& y, Tensor& out) {
  return compute_into(dot_pair(x, y), out);
}
Tensor& vecdot_out(const Tensor& x, const Tensor& y, int64_t dim, Tensor& out) {
  return compute_into(vecdot_pair(x, y, dim), out);
}
Tensor dot_meta(const Tensor& x, const Tensor& y) { return infer(dot_pair(x, y)); }
Tensor vecdot_meta(const Tensor& x, const Tensor& y, int64_t dim) {
  return infer(vecdot_pair(x, y, dim));
}
Tensor& dot_out_meta(const Tensor& x, const Tensor& y, Tensor& out) {
  return infer_into(dot_pair(x, y), out);
}
Tensor& vecdot_out_meta(const Tensor& x, const Tensor& y, int64_t dim, Tensor& out) {
  return infer_into(vecdot_pair(x, y, dim), out);
}
using DotSchema = Tensor(const Tensor&, const Tensor&);
using DotOutSchema = Tensor&(const Tensor&, const Tensor&, Tensor&);
using VecdotSchema = Tensor(const Tensor&, const Tensor&, int64_t);
using VecdotOutSchema = Tensor&(const Tensor&, const Tensor&, int64_t, Tensor&);

template <class Schema>
c10::TypedOperatorHandle<Schema> find(const char* name, const char* overload) {
  return c10::Dispatcher::singleton().findSchemaOrThrow(name, overload).typed<Schema>();
}
const auto& dot_op() {
  static const auto op = find<DotSchema>("reduce_ops::dot", "");
  return op;
}
const auto& dot_out_op() {
  static const auto op = find<DotOutSchema>("reduce_ops::dot", "out");
  return op;
}
const auto& vecdot_op() {
  static const auto op = find<VecdotSchema>("reduce_ops::vecdot", "");
  return op;
}
const auto& vecdot_out_op() {
  static const auto op = find<VecdotOutSchema>("reduce_ops::vecdot", "out");
  return op;
}

// Gradients are made of differentiable ops: derivatives of any order follow.
template <bool kIsVecdot>
struct ProductsBackward : torch::autograd::Node {
  torch::autograd::SavedVariable first, second;
  c10::SymDimVector first_sizes, second_sizes;
  int64_t dim = 0;  // -1 for tensors without dims

  std::string name() const override { return kIsVecdot ? "VecdotBackward" : "DotBackward"; }

  torch::autograd::variable_list apply(torch::autograd::variable_list&& grads) override {
    torch::autograd::variable_list result(2);
    if (!grads[0].defined()) return result;
    // Also where the other input is to be expanded.
    const Tensor grad = dim < 0 ? grads[0]
                                : grads[0].unsqueeze(dim).expand_symint(
                                      at::infer_size_symint(first_sizes, second_sizes));
    if (task_should_compute_output(0)) {
      const Tensor other = second.unpack();
      result[0] = at::sum_to(kIsVecdot ? grad.conj() * other : grad * other.conj(), first_sizes);
    }
    if (task_should_compute_output(1)) {
      const Tensor other = first.unpack();
      result[1] = at::sum_to(kIsVecdot ? grad * other : grad * other.conj(), second_sizes);
    }
    return result;
  }

  void release_variables() override {
    first.reset_data();
    second.reset_data();
  }
};

// below(x, y) computes, above(x, y) is the op itself, for tangents.
template <bool kIsVecdot, class Below, class Above>
Tensor differentiate(const Tensor& x, const Tensor& y, int64_t dim, Below&& below, Above&& above) {
  std::shared_ptr<ProductsBackward<kIsVecdot>> node;
  if (torch::autograd::compute_requires_grad(x, y)) {
    node = std::shared_ptr<ProductsBackward<kIsVecdot>>(new ProductsBackward<kIsVecdot>(),
                                                        torch::autograd::deleteNode);
    node->set_next_edges(torch::autograd::collect_next_edges(x, y));
    node->first = torch::autograd::SavedVariable(x, false);
    node->second = torch::autograd::SavedVariable(y, false);
    node->first_sizes.assign(x.sym_sizes().begin(), x.sym_sizes().end());
    node->second_sizes.assign(y.sym_sizes().begin(), y.sym_sizes().end());
    const int64_t ndim = std::max(x.dim(), y.dim());
    const bool vectors = x.dim() == 1 && y.dim() == 1;
    node->dim = ndim == 0 ? -1 : vectors ? 0 : dim < 0 ? dim + ndim : dim;
  }
  Tensor out = [&] {
    at::AutoDispatchBelowADInplaceOrView guard;
    return below();
  }();
  if (node) torch::autograd::set_history(out, node);
  const Tensor dx = x._fw_grad(/*level=*/0), dy = y._fw_grad(/*level=*/0);
  if (dx.defined() || dy.defined()) {
    Tensor tangent;
    if (dx.defined()) tangent = above(dx, y._fw_primal(/*level=*/0));
    if (dy.defined()) {
      const Tensor more = above(x._fw_primal(/*level=*/0), dy);
      tangent = tangent.defined() ? tangent + more : more;
    }
    out._set_fw_grad(tangent, /*level=*/0, /*is_inplace_op=*/false);
  }
  return out;
}
Tensor dot_autograd(c10::DispatchKeySet keys, const Tensor& x, const Tensor& y) {
  return differentiate<false>(
      x, y, 0, [&] { return dot_op().redispatch(keys & c10::after_autograd_keyset, x, y); },
      call_dot);
}
Tensor vecdot_autograd(c10::DispatchKeySet keys, const Tensor& x, const Tensor& y, int64_t dim) {
  return differentiate<true>(
      x, y, dim,
      [&] { return vecdot_op().redispatch(keys & c10::after_autograd_keyset, x, y, dim); },
      [&](const Tensor& a, const Tensor& b) { return call_vecdot(a, b, dim); });
}
void refuse_gradients(const char* function, std::initializer_list<const Tensor*> tensors) {
  for (const Tensor* t : tensors) {
    TORCH_CHECK(!(at::GradMode::is_enabled() && t->requires_grad()), function,
                ": functions with out=... arguments don't support automatic differentiation, but "
                "one of the arguments requires grad");
    TORCH_CHECK(!t->_fw_grad(/*level=*/0).defined(), function,
                ": functions with out=... arguments don't support forward-mode differentiation, "
                "but one of the arguments has a tangent");
  }
}

Tensor& dot_out_autograd(c10::DispatchKeySet keys, const Tensor& x, const Tensor& y, Tensor& out) {
  refuse_gradients(kDot, {&x, &y, &out});
  at::AutoDispatchBelowAutograd guard;
  return dot_out_op().redispatch(keys & c10::after_autograd_keyset, x, y, out);
}
Tensor& vecdot_out_autograd(c10::DispatchKeySet keys, const Tensor& x, const Tensor& y, int64_t dim,
                            Tensor& out) {
  refuse_gradients(kVecdot, {&x, &y, &out});
  at::AutoDispatchBelowAutograd guard;
  return vecdot_out_op().redispatch(keys & c10::after_autograd_keyset, x, y, dim, out);
}

// Apart from autograd, which inference mode turns off: it must not hide that out= was written.
template <class F>
Tensor& note_write(const char* function, Tensor& out, F&& below) {
  TORCH_CHECK(!out.is_inference() || c10::InferenceMode::is_enabled(), function, ": out of sizes ",
              out.sizes(), " is an inference tensor, expected a normal one outside InferenceMode");
  {
    at::AutoDispatchBelowADInplaceOrView guard;
    below();
  }
  torch::autograd::impl::bump_version(out);
  return out;
}
Tensor& dot_out_inplace(c10::DispatchKeySet keys, const Tensor& x, const Tensor& y, Tensor& out) {
  return note_write(kDot, out, [&] {
    dot_out_op().redispatch(keys & c10::after_ADInplaceOrView_keyset, x, y, out);
  });
}
Tensor& vecdot_out_inplace(c10::DispatchKeySet keys, const Tensor& x, const Tensor& y, int64_t dim,
                           Tensor& out) {
  return note_write(kVecdot, out, [&] {
    vecdot_out_op().redispatch(keys & c10::after_ADInplaceOrView_keyset, x, y, dim, out);
  });
}

}  // namespace

Request dot_request(const Tensor& self, const Tensor& tensor) {
  return request_of(dot_pair(self, tensor));
}
Request vecdot_request(const Tensor& x, const Tensor& y, int64_t dim) {
  return request_of(vecdot_pair(x, y, dim));
}

Tensor dot(const Tensor& self, const Tensor& tensor) { return compute(dot_pair(self, tensor)); }
Tensor vecdot(const Tensor& x, const Tensor& y, int64_t dim) {
  return compute(vecdot_pair(x, y, dim));
}

Tensor call_dot(const Tensor& self, const Tensor& tensor) { return dot_op().call(self, tensor); }
Tensor call_vecdot(const Tensor& x, const Tensor& y, int64_t dim) {
  return vecdot_op().call(x, y, dim);
}
Tensor& call_dot_out(const Tensor& self, const Tensor& tensor, Tensor& out) {
  return dot_out_op().call(self, tensor, out);
}
Tensor& call_vecdot_out(const Tensor& x, const Tensor& y, int64_t dim, Tensor& out) {
  return vecdot_out_op().call(x, y, dim, out);
}

// torch's schemas.
TORCH_LIBRARY_FRAGMENT(reduce_ops, m) {
  m.def("dot(Tensor self, Tensor tensor) -> Tensor");
  m.def("dot.out(Tensor self, Tensor tensor, *, Tensor(a!) out) -> Tensor(a!)");
  m.def("vecdot(Tensor x, Tensor y, *, int dim=-1) -> Tensor");
  m.def("vecdot.out(Tensor x, Tensor y, *, int dim=-1, Tensor(a!) out) -> Tensor(a!)");
}

TORCH_LIBRARY_IMPL(reduce_ops, CPU, m) {
  m.impl("dot", dot);
  m.impl("dot.out", dot_out);
  m.impl("vecdot", vecdot);
  m.impl("vecdot.out", vecdot_out);
}
TORCH_LIBRARY_IMPL(reduce_ops, CUDA, m) {
  m.impl("dot", dot);
  m.impl("dot.out", dot_out);
  m.impl("vecdot", vecdot);
  m.impl("vecdot.out", vecdot_out);
}
TORCH_LIBRARY_IMPL(reduce_ops, Meta, m) {
  m.impl("dot", dot_meta);
  m.impl("dot.out", dot_out_meta);
  m.impl("vecdot", vecdot_meta);
  m.impl("vecdot.out", vecdot_out_meta);
}
TORCH_LIBRARY_IMPL(reduce_ops, Autograd, m) {
  m.impl("dot", dot_autograd);
  m.impl("dot.out", dot_out_autograd);
  m.impl("vecdot", vecdot_autograd);
  m.impl("vecdot.out", vecdot_out_autograd);
}
TORCH_LIBRARY_IMPL(reduce_ops, ADInplaceOrView, m) {
  m.impl("dot.out", dot_out_inplace);
  m.impl("vecdot.out", vecdot_out_inplace);
}

// torch's policies: vecdot in the lower precision; on CUDA, dot in the widest of its inputs'
// dtypes.
TORCH_LIBRARY_IMPL(reduce_ops, AutocastCPU, m) {
  using at::autocast::CastPolicy;
  m.impl("vecdot",
         &at::autocast::WrapFunction<CastPolicy::lower_precision_fp, at::kCPU, VecdotSchema,
                                     VecdotSchema, call_vecdot>::type::call);
}
TORCH_LIBRARY_IMPL(reduce_ops, AutocastCUDA, m) {
  using at::autocast::CastPolicy;
  m.impl("vecdot",
         &at::autocast::WrapFunction<CastPolicy::lower_precision_fp, at::kCUDA, VecdotSchema,
                                     VecdotSchema, call_vecdot>::type::call);
  m.impl("dot", &at::autocast::WrapFunction<CastPolicy::promote, at::kCUDA, DotSchema, DotSchema,
                                            call_dot>::type::call);
}

}  // namespace reduce_ops
