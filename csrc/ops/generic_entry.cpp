// The eager entry points of the ops of op_table.h.
#define USE_NUMPY        // torch's headers then take numpy integers for ints
#define FMT_HEADER_ONLY  // torch's headers use fmt, which libtorch does not export
#include <torch/csrc/utils/pybind.h>
#include <torch/csrc/utils/python_arg_parser.h>

#include "ops/entry.h"
#include "ops/reduce.h"

namespace py = pybind11;

namespace reduce_ops {

namespace {

struct Entry {
  const OpRow* row;
  torch::PythonArgParser parser;
  PyObject* other;
  PyTypeObject* results;  // a named tuple for two results, or null
  int plain;              // leading arguments that are input, dim, keepdim
  bool one_dim;
  PyMethodDef method;
};

// input, dim and keepdim as plain Python values, as most calls have: see read_plain() of sum.
bool read_plain(const Entry& entry, PyObject* args, PyObject* kwargs, Call& call) {
  const Py_ssize_t count = PyTuple_GET_SIZE(args);
  if (count == 0 || count > entry.plain || (kwargs && PyDict_GET_SIZE(kwargs)) ||
      at::impl::torch_function_mode_enabled() || (count == 1 && call.row->op == Op::kLogSumExp))
    return false;
  PyObject* input = PyTuple_GET_ITEM(args, 0);
  if (!THPVariable_CheckExact(input)) return false;
  if (count > 1) {
    PyObject* dim = PyTuple_GET_ITEM(args, 1);
    if ((entry.one_dim || call.row->op == Op::kLogSumExp) && !PyLong_CheckExact(dim)) return false;
    if (!read_plain_dim(dim, call.dim)) return false;
    call.op = call.row->op;
  }
  if (count > 2 && !PyBool_Check(PyTuple_GET_ITEM(args, 2))) return false;
  call.keepdim = count > 2 && PyTuple_GET_ITEM(args, 2) == Py_True;
  call.self = THPVariable_Unpack(input);
  return true;
}

void read_order_name(const Call& call, std::string_view p) {
  TORCH_CHECK_NOT_IMPLEMENTED(p != "nuc", call.function(),
                              ": p is \"nuc\", expected a number or \"fro\"; the nuclear norm is "
                              "torch.linalg.matrix_norm's");
  TORCH_CHECK(p == "fro", call.function(), ": p is \"", std::string(p),
              "\", expected a number or \"fro\"");
}

void read(torch::PythonArgs& r, Call& call) {
  for (size_t i = 0; i < r.signature.params.size(); ++i) {
    const torch::FunctionParameter& parameter = r.signature.params[i];
    PyObject* value = r.args[i];
    TORCH_CHECK_TYPE(parameter.name != "other", call.function(),
                     ": two tensors are given, expected one; the elementwise op is torch.",
                     call.row->name, "imum");
    switch (field_named(parameter.name)) {
      case Field::kSelf:
        call.self = r.tensor(i);
        break;
      case Field::kDim:
        call.op = call.row->op;
        if (!value || read_plain_dim(value, call.dim)) break;
        if (parameter.type_ == torch::ParameterType::INT64) {
          call.dim = at::DimVector({r.toInt64(i)});
        } else {
          const std::vector<int64_t> dims = r.intlist(i);
          call.dim = at::DimVector(dims.begin(), dims.end());
        }
        break;
      case Field::kKeepdim:
        call.keepdim = r.toBool(i);
        break;
      case Field::kDtype:
        call.dtype = r.scalartypeOptional(i);
        break;
      case Field::kNumber:
        if (parameter.type_ == torch::ParameterType::STRING)
          read_order_name(call, r.stringView(i));
        else if (value && value != Py_None)
          set_number(call, r.scalar(i));
        break;
      case Field::kUnbiased:
        call.number = r.toBool(i) ? 1 : 0;
        break;
      case Field::kOut:
        if (!value || value == Py_None) break;
        if (parameter.type_ == torch::ParameterType::TENSOR_LIST) {
          for (at::Tensor& out : r.tensorlist(i)) call.out.push_back(out);
        } else {
          call.out.push_back(r.tensor(i));
        }
        break;
    }
  }
}

PyObject* wrap(const Entry& entry, Results& results) {
  if (results.size() == 1) return THPVariable_Wrap(std::move(results[0]));
  PyObject* tuple = entry.results ? PyStructSequence_New(entry.results) : PyTuple_New(2);
  if (!tuple) throw python_error();
  for (int i = 0; i < 2; ++i) {
    PyObject* result = THPVariable_Wrap(std::move(results[i]));
    if (entry.results)
      PyStructSequence_SetItem(tuple, i, result);
    else
      PyTuple_SET_ITEM(tuple, i, result);
  }
  return tuple;
}

PyObject* enter(PyObject* capsule, PyObject* args, PyObject* kwargs) {
  HANDLE_TH_ERRORS
  Entry& entry = *static_cast<Entry*>(PyCapsule_GetPointer(capsule, nullptr));
  Call call = {entry.row, entry.row->whole, {}};
  if (!read_plain(entry, args, kwargs, call)) {
    call = {entry.row, entry.row->whole, {}};
    torch::ParsedArgs<8> parsed;
    torch::PythonArgs r = entry.parser.parse(args, kwargs, parsed);
    if (r.has_torch_function()) return PyObject_Call(entry.other, args, kwargs);
    read(r, call);
  }
  Results results;
  {
    py::gil_scoped_release no_gil;
    const bool direct = call.out.empty() && goes_to_kernel(call.self);
    results = direct ? reduce(call) : dispatch(call);
  }
  return wrap(entry, results);
  END_HANDLE_TH_ERRORS
}

std::vector<std::string> signatures(const OpRow& row) {
  std::vector<std::string> all;
  for (const std::string& text : row.signatures) all.push_back(row.function + text);
  return all;
}

}  // namespace

py::object generic_entry(const OpRow& row, const py::object& other) {
  // Lives as long as the process, as torch's own entry points do.
  Entry* entry =
      new Entry{&row, torch::PythonArgParser(signatures(row)), other.ptr(), nullptr, 1, false, {}};
  Py_INCREF(entry->other);
  const py::object named = py::module_::import("torch").attr("return_types");
  if (py::hasattr(named, row.name.c_str()))
    entry->results =
        reinterpret_cast<PyTypeObject*>(py::object(named.attr(row.name.c_str())).release().ptr());
  const std::string& text = row.signatures[row.op == row.whole ? 0 : 1];
  const std::string several = "(Tensor input, IntArrayRef[1]", one = "(Tensor input, int64_t";
  entry->one_dim = text.rfind(one, 0) == 0;
  if (entry->one_dim || text.rfind(several, 0) == 0)
    entry->plain = text.find(" dim=None, bool keepdim") != std::string::npos ||
                           text.find(" dim, bool keepdim") != std::string::npos
                       ? 3
                       : 2;
  entry->method = {row.name.c_str(), reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(enter)),
                   METH_VARARGS | METH_KEYWORDS, "an entry point without its docstring"};
  const py::capsule capsule(entry);
  return py::reinterpret_steal<py::object>(PyCFunction_New(&entry->method, capsule.ptr()));
}

}  // namespace reduce_ops
