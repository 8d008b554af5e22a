// The eager entry points of dot and vecdot.
#define USE_NUMPY        // torch's headers then take numpy integers for ints
#define FMT_HEADER_ONLY  // torch's headers use fmt, which libtorch does not export
#include <torch/csrc/utils/pybind.h>
#include <torch/csrc/utils/python_arg_parser.h>

#include "ops/dot.h"
#include "ops/entry.h"

namespace py = pybind11;

namespace reduce_ops {

namespace {

template <bool kIsVecdot>
PyObject* enter(PyObject* other, PyObject* args, PyObject* kwargs) {
  HANDLE_TH_ERRORS
  static torch::PythonArgParser parser(
      {kIsVecdot ? "reduce_ops.vecdot(Tensor x, Tensor y, *, int64_t dim=-1, Tensor out=None)"
                 : "reduce_ops.dot(Tensor input, Tensor tensor, *, Tensor out=None)"});
  constexpr int kOut = kIsVecdot ? 3 : 2;
  torch::ParsedArgs<4> parsed;
  torch::PythonArgs r = parser.parse(args, kwargs, parsed);
  if (r.has_torch_function()) return PyObject_Call(other, args, kwargs);
  const at::Tensor x = r.tensor(0), y = r.tensor(1);
  const int64_t dim = kIsVecdot ? r.toInt64(2) : 0;
  at::Tensor out = r.tensor(kOut);
  at::Tensor result;
  {
    py::gil_scoped_release no_gil;
    if (out.defined())
      result = kIsVecdot ? call_vecdot_out(x, y, dim, out) : call_dot_out(x, y, out);
    else if (goes_to_kernel(x) && goes_to_kernel(y))
      result = kIsVecdot ? vecdot(x, y, dim) : dot(x, y);
    else
      result = kIsVecdot ? call_vecdot(x, y, dim) : call_dot(x, y);
  }
  return THPVariable_Wrap(std::move(result));
  END_HANDLE_TH_ERRORS
}

}  // namespace

py::object dot_entry(const std::string& name, const py::object& other) {
  const auto method = [&](const char* text, auto function) {
    return PyMethodDef{text, reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(function)),
                       METH_VARARGS | METH_KEYWORDS, "an entry point without its docstring"};
  };
  static PyMethodDef methods[] = {method("dot", enter<false>), method("vecdot", enter<true>)};
  for (PyMethodDef& m : methods) {
    if (name == m.ml_name)
      return py::reinterpret_steal<py::object>(PyCFunction_New(&m, other.ptr()));
  }
  return {};
}

}  // namespace reduce_ops
