// The Python module reduce_ops._C: the eager entry point and what tests and tools look inside with.
#define USE_NUMPY        // torch's headers then take numpy integers for ints
#define FMT_HEADER_ONLY  // torch's headers use fmt, which libtorch does not export
#include <ATen/record_function.h>
#include <torch/csrc/utils/pybind.h>
#include <torch/csrc/utils/python_arg_parser.h>

#include "ops/cuda_backend.h"
#include "ops/frontend.h"
#include "ops/sum.h"

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

// Whether the dispatcher would go straight to the kernel: a plain tensor without autograd's
// bookkeeping, no mode, no profiler. Two of its steps take a tenth of a small call.
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

PyObject* call_sum(const Arguments& a) {
  const at::Tensor& input = THPVariable_Unpack(a.input);
  const at::OptionalIntArrayRef dim =
      a.dim ? at::OptionalIntArrayRef(*a.dim) : at::OptionalIntArrayRef();
  at::Tensor result;
  {
    py::gil_scoped_release no_gil;
    if (a.out)
      sum_dim_out_op().call(input, dim, a.keepdim, a.dtype,
                            const_cast<at::Tensor&>(THPVariable_Unpack(a.out)));
    else
      result = goes_to_kernel(input) ? sum_dim(input, dim, a.keepdim, a.dtype)
                                     : sum_dim_op().call(input, dim, a.keepdim, a.dtype);
  }
  return a.out ? Py_NewRef(a.out) : THPVariable_Wrap(std::move(result));
}

// The entry points of reduce_ops.sum and torch.ops.reduce_ops.sum. `other` is a Python function,
// called with the same arguments where a tensor overrides torch functions.
PyObject* read_and_call(torch::PythonArgParser& parser, PyObject* other, PyObject* args,
                        PyObject* kwargs) {
  Arguments plain;
  if (read_plain(args, kwargs, plain)) return call_sum(plain);
  torch::ParsedArgs<5> parsed;
  torch::PythonArgs r = parser.parse(args, kwargs, parsed);
  return r.has_torch_function() ? PyObject_Call(other, args, kwargs) : call_sum(read(r));
}

PyObject* sum(PyObject* other, PyObject* args, PyObject* kwargs) {
  HANDLE_TH_ERRORS
  static torch::PythonArgParser parser({
      "reduce_ops.sum(Tensor input, IntArrayRef[1]? dim=None, bool keepdim=False, *, "
      "ScalarType? dtype=None, Tensor out=None)",
  });
  return read_and_call(parser, other, args, kwargs);
  END_HANDLE_TH_ERRORS
}

// torch's generic entry point matches the arguments with each overload's schema in turn, which
// costs more than the rest of a small call.
PyObject* sum_op(PyObject* other, PyObject* args, PyObject* kwargs) {
  HANDLE_TH_ERRORS
  static torch::PythonArgParser parser({
      "torch.ops.reduce_ops.sum(Tensor self, IntArrayRef[1]? dim=None, bool keepdim=False, *, "
      "ScalarType? dtype=None, Tensor out=None)",
  });
  return read_and_call(parser, other, args, kwargs);
  END_HANDLE_TH_ERRORS
}

PyMethodDef sum_method = {"sum", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(sum)),
                          METH_VARARGS | METH_KEYWORDS, "reduce_ops.sum without its docstring"};
PyMethodDef sum_op_method = {"sum", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(sum_op)),
                             METH_VARARGS | METH_KEYWORDS, "torch.ops.reduce_ops.sum"};

Request request_for(const at::Tensor& x, const OptionalDims& dim, bool keepdim,
                    OptionalType dtype) {
  check_input(kSum, x);
  const Dims dims =
      wrap_dims(kSum, dim ? at::OptionalIntArrayRef(*dim) : at::OptionalIntArrayRef(), x.dim());
  return make_request(kSum, x, dims, keepdim,
                      allocate(reduced_sizes(x.sizes(), dims, keepdim), sum_dtype(x, dtype), x));
}

at::Tensor sum_with_plan(const at::Tensor& x, const OptionalDims& dim, bool keepdim,
                         OptionalType dtype, const std::string& plan) {
  const Request request = request_for(x, dim, keepdim, dtype);
  execute_sum(request, pick_plan(request, &plan));
  return request.out;
}

py::dict explain_sum(const at::Tensor& x, const OptionalDims& dim, bool keepdim,
                     OptionalType dtype) {
  const Request request = request_for(x, dim, keepdim, dtype);
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
  // Both take the function to call where a tensor overrides torch functions.
  m.def("sum", [](py::object other) {
    return py::reinterpret_steal<py::object>(PyCFunction_New(&sum_method, other.ptr()));
  });
  m.def("sum_op", [](py::object other) {
    return py::reinterpret_steal<py::object>(PyCFunction_New(&sum_op_method, other.ptr()));
  });
  m.def("sum_with_plan", sum_with_plan, py::arg("x"), py::arg("dim"), py::arg("keepdim"),
        py::arg("dtype"), py::arg("plan"), py::call_guard<py::gil_scoped_release>());
  m.def("explain_sum", explain_sum, py::arg("x"), py::arg("dim") = py::none(),
        py::arg("keepdim") = false, py::arg("dtype") = py::none());
  m.def("make_plan", plan_for, py::arg("sizes"), py::arg("strides"), py::arg("dims"),
        py::arg("in_dtype"), py::arg("out_dtype"), py::arg("cuda"), py::arg("address") = 0,
        py::arg("multiprocessors") = 132, py::arg("threads") = 1);
  m.def("normalize_plan", [](const std::string& text) { return to_string(parse_plan(text)); });
  m.def("read_yardstick", read_yardstick, py::arg("x"), py::call_guard<py::gil_scoped_release>());
}

}  // namespace reduce_ops
