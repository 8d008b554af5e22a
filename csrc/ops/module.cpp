// The Python module reduce_ops._C: the eager entry point and what tests and tools look inside with.
#define USE_NUMPY        // torch's headers then take numpy integers for ints
#define FMT_HEADER_ONLY  // torch's headers use fmt, which libtorch does not export
#include <torch/csrc/autograd/utils/wrap_outputs.h>
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

// Calls the op through the dispatcher with arguments parsed as torch.sum's.
PyObject* call_sum(torch::PythonArgs& r) {
  const at::Tensor input = r.tensor(0);
  const auto dim_list = r.intlistOptional(1);
  const at::OptionalIntArrayRef dim =
      dim_list.list ? at::OptionalIntArrayRef(*dim_list.list) : at::OptionalIntArrayRef();
  const bool keepdim = r.toBool(2);
  const OptionalType dtype = r.scalartypeOptional(3);
  at::Tensor out = r.tensor(4);
  at::Tensor result;
  {
    py::gil_scoped_release no_gil;
    result = out.defined() ? sum_dim_out_op().call(input, dim, keepdim, dtype, out)
                           : sum_dim_op().call(input, dim, keepdim, dtype);
  }
  return torch::autograd::utils::wrap(result);
}

PyObject* sum(PyObject*, PyObject* args, PyObject* kwargs) {
  HANDLE_TH_ERRORS
  static torch::PythonArgParser parser({
      "reduce_ops.sum(Tensor input, IntArrayRef[1]? dim=None, bool keepdim=False, *, "
      "ScalarType? dtype=None, Tensor out=None)",
  });
  torch::ParsedArgs<5> parsed;
  torch::PythonArgs r = parser.parse(args, kwargs, parsed);
  return call_sum(r);
  END_HANDLE_TH_ERRORS
}

// torch.ops.reduce_ops.sum's entry point: like torch's generic one, `general`, which matches the
// arguments with each overload's schema in turn, but with a parser made for sum. Tensors that
// override torch functions go to the generic one.
PyObject* sum_op(PyObject* general, PyObject* args, PyObject* kwargs) {
  HANDLE_TH_ERRORS
  static torch::PythonArgParser parser({
      "torch.ops.reduce_ops.sum(Tensor self, IntArrayRef[1]? dim=None, bool keepdim=False, *, "
      "ScalarType? dtype=None, Tensor out=None)",
  });
  torch::ParsedArgs<5> parsed;
  torch::PythonArgs r = parser.parse(args, kwargs, parsed);
  return r.has_torch_function() ? PyObject_Call(general, args, kwargs) : call_sum(r);
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

std::string sum_plan(const at::Tensor& x, const OptionalDims& dim, bool keepdim,
                     OptionalType dtype) {
  return to_string(pick_plan(request_for(x, dim, keepdim, dtype)));
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
  m.attr("sum") = py::reinterpret_steal<py::object>(PyCFunction_New(&sum_method, nullptr));
  m.def("sum_op", [](py::object general) {
    return py::reinterpret_steal<py::object>(PyCFunction_New(&sum_op_method, general.ptr()));
  });
  m.def("sum_plan", sum_plan, py::arg("x"), py::arg("dim") = py::none(), py::arg("keepdim") = false,
        py::arg("dtype") = py::none());
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
