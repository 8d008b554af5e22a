// The eager entry points: Python functions that read their arguments themselves.
#pragma once

#include <ATen/core/Tensor.h>
#include <pybind11/pybind11.h>

#include <optional>
#include <string>

#include "ops/op_table.h"

namespace reduce_ops {

// None, an int, or a list or tuple of ints; false for anything else.
bool read_plain_dim(PyObject* value, std::optional<at::DimVector>& dim);

// Whether the dispatcher would only find the kernel: a plain tensor without autograd's bookkeeping,
// no mode, no profiler. Its steps take a tenth of a small call. A kernel that somebody else has
// registered for the op is not looked for.
bool goes_to_kernel(const at::Tensor& input);

// Entry points as Python functions. `other` is a Python function, called with the same arguments
// where a tensor overrides torch functions.
// Of sum and mean, or none where the name is another's.
pybind11::object typed_entry(const std::string& name, const pybind11::object& other, bool torch_op);
pybind11::object generic_entry(const OpRow& row, const pybind11::object& other);
// Of dot and vecdot, or none.
pybind11::object dot_entry(const std::string& name, const pybind11::object& other);

}  // namespace reduce_ops
