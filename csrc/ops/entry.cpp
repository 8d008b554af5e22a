// The eager entry points of sum and mean.
#define USE_NUMPY        // torch's headers then take numpy integers for ints
#define FMT_HEADER_ONLY  // torch's headers use fmt, which libtorch does not export
#include "ops/entry.h"

#include <ATen/record_function.h>
#include <torch/csrc/utils/pybind.h>
#include <torch/csrc/utils/python_arg_parser.h>

#include "ops/reductions.h"

namespace py = pybind11;

namespace reduce_ops {

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

namespace {

// A call's arguments. Tensors are borrowed from their Python objects: one more reference to a
// tensor would have to be counted there as well.
struct Arguments {
  PyObject* input = nullptr;
  std::optional<at::DimVector> dim;
  bool keepdim = false;
  std::optional<at::ScalarType> dtype;
  PyObject* out = nullptr;
};

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

}  // namespace

py::object typed_entry(const std::string& name, const py::object& other, bool torch_op) {
  py::object found;
  for_each_op([&](auto op) {
    if (info(op).name != name) return;
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

}  // namespace reduce_ops
