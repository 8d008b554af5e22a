// The Python module reduce_ops._C: the eager entry points and what tests and tools look inside
// with.
#define USE_NUMPY        // torch's headers then take numpy integers for ints
#define FMT_HEADER_ONLY  // torch's headers use fmt, which libtorch does not export
#include <torch/csrc/utils/pybind.h>

#include "ops/cuda_backend.h"
#include "ops/dot.h"
#include "ops/entry.h"
#include "ops/reduce.h"
#include "ops/reductions.h"

namespace py = pybind11;

namespace reduce_ops {

namespace {

using OptionalDims = std::optional<std::vector<int64_t>>;
using OptionalType = std::optional<at::ScalarType>;

py::object entry(const std::string& name, const py::object& other, bool torch_op) {
  py::object found = typed_entry(name, other, torch_op);
  if (found) return found;
  found = dot_entry(name, other);
  if (found) return found;
  const OpRow* row = find_row(name);
  TORCH_CHECK_VALUE(row, "reduce_ops: there is no op \"", name, "\"");
  return generic_entry(*row, other);
}

// A call of any op but sum and mean by name.
Call call_of(const std::string& name, const at::Tensor& x, const OptionalDims& dim, bool keepdim,
             OptionalType dtype, std::optional<double> number) {
  const OpRow* row = find_row(name);
  TORCH_CHECK_VALUE(row, "reduce_ops: there is no op \"", name, "\"");
  Call call = {row, dim ? row->op : row->whole, x};
  if (dim) call.dim.emplace(dim->begin(), dim->end());
  call.keepdim = keepdim;
  call.dtype = dtype;
  call.number = number;
  return call;
}

Request request_for(const std::string& name, const at::Tensor& x, const OptionalDims& dim,
                    bool keepdim, OptionalType dtype, std::optional<double> number,
                    const std::optional<at::Tensor>& other) {
  if (name == "dot" || name == "vecdot") {
    TORCH_CHECK_VALUE(other && !keepdim && !dtype && !number, "reduce_ops.", name,
                      ": keepdim, dtype or number is given, or other is not; expected two tensors");
    TORCH_CHECK_VALUE(!dim || dim->size() == 1, "reduce_ops.", name, ": expected one dim");
    return name == "dot" ? dot_request(x, *other)
                         : vecdot_request(x, *other, dim ? dim->at(0) : -1);
  }
  TORCH_CHECK_VALUE(!other, "reduce_ops.", name, ": other is given, expected one tensor");
  for (const TypedOp& typed : kTypedOps) {
    if (name != typed.name) continue;
    const Op op = Op(&typed - kTypedOps);
    check_input(typed.function, x);
    const Dims dims = wrap_dims(
        typed.function, dim ? at::OptionalIntArrayRef(*dim) : at::OptionalIntArrayRef(), x.dim());
    return make_request(typed.function, op, x, dims, keepdim,
                        allocate(reduced_sizes(x.sizes(), dims, keepdim),
                                 result_dtype(op, x.scalar_type(), dtype), x));
  }
  return single_request(call_of(name, x, dim, keepdim, dtype, number));
}

std::vector<at::Tensor> run_with_plan(const std::string& op, const at::Tensor& x,
                                      const OptionalDims& dim, bool keepdim, OptionalType dtype,
                                      const std::string& plan, std::optional<double> number,
                                      const std::optional<at::Tensor>& other) {
  const Request request = request_for(op, x, dim, keepdim, dtype, number, other);
  execute(request, pick_plan(request, &plan));
  std::vector<at::Tensor> results;
  for (const at::Tensor* result : {&request.out, &request.second}) {
    if (result->defined()) results.push_back(*result);
  }
  return results;
}

py::dict explain(const std::string& op, const at::Tensor& x, const OptionalDims& dim, bool keepdim,
                 OptionalType dtype, std::optional<double> number,
                 const std::optional<at::Tensor>& other) {
  const Request request = request_for(op, x, dim, keepdim, dtype, number, other);
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
  const DType result = dtype_named(out);
  TORCH_CHECK_VALUE(make_problem(view, {Op::kSum, dtype_named(in), result, 0}, result, result, cuda,
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
  // Each op's overloads; of sum and mean those with dims, without and with out=.
  py::dict ops;
  for (const TypedOp& op : kTypedOps) ops[op.name] = py::make_tuple(op.dim, op.dim_out);
  for (const OpRow& row : op_rows()) {
    py::list overloads;
    for (const Overload& o : row.overloads) overloads.append(o.name.empty() ? "default" : o.name);
    ops[row.name.c_str()] = py::tuple(overloads);
  }
  for (const char* name : {"dot", "vecdot"}) ops[name] = py::make_tuple("default", "out");
  m.attr("OPS") = ops;
  m.def("entry", entry, py::arg("op"), py::arg("other"), py::arg("torch_op") = false);
  m.def(
      "run_with_plan",
      [](const std::string& op, const at::Tensor& x, const OptionalDims& dim, bool keepdim,
         OptionalType dtype, const std::string& plan, std::optional<double> number,
         const std::optional<at::Tensor>& other) -> py::object {
        std::vector<at::Tensor> results;
        {
          py::gil_scoped_release no_gil;
          results = run_with_plan(op, x, dim, keepdim, dtype, plan, number, other);
        }
        return results.size() == 1 ? py::cast(results[0])
                                   : py::object(py::tuple(py::cast(results)));
      },
      py::arg("op"), py::arg("x"), py::arg("dim"), py::arg("keepdim"), py::arg("dtype"),
      py::arg("plan"), py::arg("number") = py::none(), py::arg("other") = py::none());
  m.def("explain", explain, py::arg("op"), py::arg("x"), py::arg("dim") = py::none(),
        py::arg("keepdim") = false, py::arg("dtype") = py::none(), py::arg("number") = py::none(),
        py::arg("other") = py::none());
  m.def("make_plan", plan_for, py::arg("sizes"), py::arg("strides"), py::arg("dims"),
        py::arg("in_dtype"), py::arg("out_dtype"), py::arg("cuda"), py::arg("address") = 0,
        py::arg("multiprocessors") = 132, py::arg("threads") = 1);
  m.def("normalize_plan", [](const std::string& text) { return to_string(parse_plan(text)); });
  m.def("read_yardstick", read_yardstick, py::arg("x"), py::call_guard<py::gil_scoped_release>());
}

}  // namespace reduce_ops
