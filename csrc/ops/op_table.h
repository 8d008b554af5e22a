// The ops besides sum and mean, a row each: what torch calls them and how they may be called.
// Everything else in ops/ is generic over these rows.
#pragma once

#include <ATen/core/function_schema.h>

#include <string>
#include <vector>

#include "core/op.h"

namespace reduce_ops {

// What an argument of a schema or of a Python signature is, read off its name.
enum class Field : uint8_t { kSelf, kDim, kKeepdim, kDtype, kNumber, kUnbiased, kOut };
Field field_named(const std::string& name);

struct OpRow;

// An overload of torch.ops.reduce_ops.<op>.
struct Overload {
  const OpRow* row;
  std::string name;
  std::vector<Field> fields;  // of the schema's arguments
  bool has_dim;
  bool several_dims;
  bool needs_dim;
  bool has_keepdim;
  bool has_dtype;
  bool needs_dtype;
  bool has_number;
  bool has_out;
};

struct OpRow {
  std::string name;      // in the dispatcher
  std::string function;  // in messages
  Op op;
  Op whole;  // that computes the overloads without dims
  bool differentiable;
  std::vector<std::string> schemas;     // without the name; preferred ones first
  std::vector<std::string> signatures;  // as torch's PythonArgParser reads them, without the name
  std::vector<Overload> overloads;      // one a schema
};

const std::vector<OpRow>& op_rows();
// Null where there is no such op.
const OpRow* find_row(const std::string& name);

}  // namespace reduce_ops
