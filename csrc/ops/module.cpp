// The Python module reduce_ops._C: the eager entry point and what tests and tools look inside with.
#define USE_NUMPY        // torch's headers then take numpy integers for ints
#define FMT_HEADER_ONLY  // torch's headers use fmt, which libtorch does not export
#include <ATen/record_function.h>
#include <torch/csrc/utils/pybind.h>
#include <torch/csrc/utils/python_arg_parser.h>

#include "ops/cuda_backend.h"
#include "ops/frontend.h"
#include "ops/reductions.h"

namespace py = pybind11;

namespace reduce_ops {

namespace {

using OptionalDims = std::optional<std::vector<int64_t>>;
using OptionalType = std::optional<at::ScalarType>;

// A call's arguments. Tensors are borrowed from their Python objects: one more reference to a
// tensor would have to be counted there as well.
struct Arguments {
  PyObject* input = nullptr;
  std::optional<at::DimVector> dim;
  bool keepdim = false;
  OptionalType dtype;
  PyObject* out = nullptr;
};

// None, an int, or a list or tuple of ints; false for anything else.
bool read_plain_dim(PyObject* value, std::optional<at::DimVector>& dim) {
  if (value == Py_None) return true;
  const bool several = PyTuple_Check(value) || PyList_Check(value);
  PyObject** items = several ? PySequence_Fast_ITEMS(value) : &value;
  const Py_ssize_t count = several ? PySequence_Fast_GET_SIZE(value) : 1;
  dim.emplace();
  for (Py_ssize_t i = 0; i < count; ++i) {
    if (!PyLong_CheckExact(items[i])) return false;
    int overflow = 0;
    dim->push_back(PyLong_AsLongLongAndOverflow(items[i], &overflow));
    if (overflow) return false;
  }
  return true;
}

// f(tensor, dim, keepdim) of plain Python values, as most calls are: torch's parser takes a tenth
// of a small call, and two more where it reads dims, among which it looks for symbolic ones. False
// for anything else, right or wrong.
bool read_plain(PyObject* args, PyObject* kwargs, Arguments& a) {
  const Py_ssize_t count = PyTuple_GET_SIZE(args);
  if (count == 0 || count > 3 || (kwargs && PyDict_GET_SIZE(kwargs)) ||
      at::impl::torch_function_mode_enabled())
    return false;
  a.input = PyTuple_GET_ITEM(args, 0);
  if (!THPVariable_CheckExact(a.input)) return false;
  if (count > 1 && !read_plain_dim(PyTuple_GET_ITEM(args, 1), a.dim)) return false;
  if (count > 2 && !PyBool_Check(PyTuple_GET_ITEM(args, 2))) return false;
  a.keepdim = count > 2 && PyTuple_GET_ITEM(args, 2) == Py_True;
  return true;
}

Arguments read(torch::PythonArgs& r) {
  Arguments a;
  a.input = r.args[0];
  if (r.args[1] && !read_plain_dim(r.args[1], a.dim)) {
    const std::vector<int64_t> dims = r.intlist(1);
    a.dim.emplace(dims.begin(), dims.end());
  }
  a.keepdim = r.toBool(2);
  a.dtype = r.scalartypeOptional(3);
  a.out = r.args[4];
  return a;
}

// Whether the dispatcher would only find the kernel: a plain tensor without autograd's bookkeeping,
// no mode, no profiler. Its steps take a tenth of a small call. A kernel that somebody else has
// registered for the op is not looked for.
bool goes_to_kernel(const at::Tensor& input) {
  using c10::BackendComponent;
  const auto plain = [](c10::DispatchKey dense, BackendComponent backend) {
    return c10::DispatchKeySet(dense) | c10::getAutocastRelatedKeySetFromBackend(backend) |
           c10::getAutogradRelatedKeySetFromBackend(backend);
  };
  static const c10::DispatchKeySet kCpu = plain(c10::DispatchKey::CPU, BackendComponent::CPUBit);
  static const c10::DispatchKeySet kCuda = plain(c10::DispatchKey::CUDA, BackendComponent::CUDABit);
  const c10::DispatchKeySet keys = input.key_set();
  const c10::impl::LocalDispatchKeySet modes = c10::impl::tls_local_dispatch_key_set();
  return (keys == kCuda || keys == kCpu) &&
         input.unsafeGetTensorImpl()->autograd_meta() == nullptr &&
         modes.included_ == c10::default_included_set &&
         modes.excluded_ == c10::default_excluded_set && !at::hasCallbacks();
}

template <Op kOp>
PyObject* call(const Arguments& a) {
  const at::Tensor& input = THPVariable_Unpack(a.input);
  const at::OptionalIntArrayRef dim =
      a.dim ? at::OptionalIntArrayRef(*a.dim) : at::OptionalIntArrayRef();
  at::Tensor result;
  {
    py::gil_scoped_release no_gil;
    if (a.out)
      dim_out_op<kOp>().call(input, dim, a.keepdim, a.dtype,
                             const_cast<at::Tensor&>(THPVariable_Unpack(a.out)));
    else
      result = goes_to_kernel(input) ? reduce_dim<kOp>(input, dim, a.keepdim, a.dtype)
                                     : dim_op<kOp>().call(input, dim, a.keepdim, a.dtype);
  }
  return a.out ? Py_NewRef(a.out) : THPVariable_Wrap(std::move(result));
}

// The entry points of reduce_ops.<op> and torch.ops.reduce_ops.<op>. torch's generic one matches
// the arguments with each overload's schema in turn, which costs more than the rest of a small
// call. `other` is a Python function, called with the same arguments where a tensor overrides torch
// functions.
template <Op kOp, bool kTorchOp>
PyObject* entry(PyObject* other, PyObject* args, PyObject* kwargs) {
  HANDLE_TH_ERRORS
  static torch::PythonArgParser parser(
      {std::string(kTorchOp ? "torch.ops." : "") + info(kOp).function + "(Tensor " +
       (kTorchOp ? "self" : "input") +
       ", IntArrayRef[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None, Tensor "
       "out=None)"});
  Arguments plain;
  if (read_plain(args, kwargs, plain)) return call<kOp>(plain);
  torch::ParsedArgs<5> parsed;
  torch::PythonArgs r = parser.parse(args, kwargs, parsed);
  return r.has_torch_function() ? PyObject_Call(other, args, kwargs) : call<kOp>(read(r));
  END_HANDLE_TH_ERRORS
}

// The entry point as a Python function.
py::object entry_for(const std::string& name, const py::object& other, bool torch_op) {
  const Op wanted = op_named(name);
  py::object found;
  for_each_op([&](auto op) {
    if (op != wanted) return;
    const auto method = [&](auto kind) {
      static PyMethodDef def = {
          info(op).name,
          reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(entry<op, decltype(kind)::value>)),
          METH_VARARGS | METH_KEYWORDS, "an entry point without its docstring"};
      return py::reinterpret_steal<py::object>(PyCFunction_New(&def, other.ptr()));
    };
    found = torch_op ? method(std::true_type{}) : method(std::false_type{});
  });
  return found;
}

Request request_for(const std::string& name, const at::Tensor& x, const OptionalDims& dim,
                    bool keepdim, OptionalType dtype) {
  const Op op = op_named(name);
  const char* function = info(op).function;
  check_input(function, x);
  const Dims dims =
      wrap_dims(function, dim ? at::OptionalIntArrayRef(*dim) : at::OptionalIntArrayRef(), x.dim());
  return make_request(op, x, dims, keepdim,
                      allocate(reduced_sizes(x.sizes(), dims, keepdim),
                               result_dtype(op, x.scalar_type(), dtype), x));
}

at::Tensor run_with_plan(const std::string& op, const at::Tensor& x, const OptionalDims& dim,
                         bool keepdim, OptionalType dtype, const std::string& plan) {
  const Request request = request_for(op, x, dim, keepdim, dtype);
  execute(request, pick_plan(request, &plan));
  return request.out;
}

py::dict explain(const std::string& op, const at::Tensor& x, const OptionalDims& dim, bool keepdim,
                 OptionalType dtype) {
  const Request request = request_for(op, x, dim, keepdim, dtype);
  py::dict result;
  result["plan"] = to_string(pick_plan(request));
  result["bytes"] = least_bytes(request.problem);
  result["outputs"] = request.problem.outputs;
  result["length"] = request.problem.length;
  result["layout"] = is_rows(request.problem) ? "rows" : "columns";
  return result;
}

DType dtype_named(const std::string& name) {
  for (int t = 0; t <= int(DType::kComplex128); ++t) {
    if (name == name_of(DType(t))) return DType(t);
  }
  TORCH_CHECK_VALUE(false, "reduce_ops: there is no dtype \"", name, "\"");
}

// The planner's decision for a tensor that need not exist, on a device that need not either.
std::string plan_for(const std::vector<int64_t>& sizes, const std::vector<int64_t>& strides,
                     const OptionalDims& dim, const std::string& in, const std::string& out,
                     bool cuda, uintptr_t address, int multiprocessors, int threads) {
  TORCH_CHECK_VALUE(sizes.size() == strides.size(), "reduce_ops: ", sizes.size(), " sizes but ",
                    strides.size(), " strides");
  TensorView view = {int(sizes.size()), sizes.data(), strides.data(), nullptr,
                     wrap_dims("reduce_ops._C.make_plan",
                               dim ? at::OptionalIntArrayRef(*dim) : at::OptionalIntArrayRef(),
                               int64_t(sizes.size()))};
  std::vector<int64_t> out_strides(sizes.size());
  int64_t stride = 1;
  for (size_t d = sizes.size(); d-- > 0;) {
    if (view.reduced[d]) continue;
    out_strides[d] = stride;
    stride *= sizes[d];
  }
  view.out_strides = out_strides.data();
  Problem problem;
  TORCH_CHECK_VALUE(make_problem(view, dtype_named(in), dtype_named(out), dtype_named(out), cuda,
                                 address, problem),
                    "reduce_ops: more than ", kMaxAxes, " separate axes remain");
  const Plan plan = make_plan(problem, {multiprocessors, threads});
  const std::string why_not = check_plan(plan, problem);
  TORCH_INTERNAL_ASSERT(why_not.empty(), to_string(plan), ": ", why_not);
  TORCH_INTERNAL_ASSERT(parse_plan(to_string(plan)) == plan, to_string(plan));
  return to_string(plan);
}

void read_yardstick(const at::Tensor& x) {
  TORCH_CHECK(x.is_contiguous() && reinterpret_cast<uintptr_t>(x.const_data_ptr()) % 16 == 0,
              "reduce_ops._C.read_yardstick: x must be contiguous and start at a multiple of 16 "
              "bytes");
  if (x.is_cuda()) {
    cuda::read_yardstick(x);
  } else {
    cpu::read_yardstick(x.const_data_ptr(), int64_t(x.nbytes()), parallel_for());
  }
}

}  // namespace

PYBIND11_MODULE(_C, m) {
  // Each op's overloads with dims, without and with out=.
  py::dict ops;
  for (const OpInfo& op : kOps) ops[op.name] = py::make_tuple(op.dim, op.dim_out);
  m.attr("OPS") = ops;
  m.def("entry", entry_for, py::arg("op"), py::arg("other"), py::arg("torch_op"));
  m.def("run_with_plan", run_with_plan, py::arg("op"), py::arg("x"), py::arg("dim"),
        py::arg("keepdim"), py::arg("dtype"), py::arg("plan"),
        py::call_guard<py::gil_scoped_release>());
  m.def("explain", explain, py::arg("op"), py::arg("x"), py::arg("dim") = py::none(),
        py::arg("keepdim") = false, py::arg("dtype") = py::none());
  m.def("make_plan", plan_for, py::arg("sizes"), py::arg("strides"), py::arg("dims"),
        py::arg("in_dtype"), py::arg("out_dtype"), py::arg("cuda"), py::arg("address") = 0,
        py::arg("multiprocessors") = 132, py::arg("threads") = 1);
  m.def("normalize_plan", [](const std::string& text) { return to_string(parse_plan(text)); });
  m.def("read_yardstick", read_yardstick, py::arg("x"), py::call_guard<py::gil_scoped_release>());
}

}  // namespace reduce_ops
