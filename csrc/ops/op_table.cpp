#include "ops/op_table.h"

#include <c10/util/Exception.h>
#include <torch/csrc/jit/frontend/function_schema_parser.h>

namespace reduce_ops {

namespace {

using Texts = std::vector<std::string>;

// Plain arrays, since other files' initializers read them.
// aten's schemas. Where an op takes more than aten's, that is an overload of its own.
constexpr const char* kProdSchemas[] = {
    ".dim_IntList(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> "
    "Tensor",
    "(Tensor self, *, ScalarType? dtype=None) -> Tensor",
    ".dim_int(Tensor self, int dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
    ".IntList_out(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None, "
    "Tensor(a!) out) -> Tensor(a!)",
    ".int_out(Tensor self, int dim, bool keepdim=False, *, ScalarType? dtype=None, Tensor(a!) out) "
    "-> Tensor(a!)",
    ".out(Tensor self, *, ScalarType? dtype=None, Tensor(a!) out) -> Tensor(a!)",
};
constexpr const char* kProdCalls[] = {
    "(Tensor input, IntArrayRef[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None, "
    "Tensor out=None)"};

constexpr const char* kAmaxSchemas[] = {
    "(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor",
    ".out(Tensor self, int[1] dim=[], bool keepdim=False, *, Tensor(a!) out) -> Tensor(a!)",
};
constexpr const char* kAmaxCalls[] = {
    "(Tensor input, IntArrayRef[1]? dim=None, bool keepdim=False, *, Tensor out=None)"};

constexpr const char* kAminmaxSchemas[] = {
    "(Tensor self, *, int? dim=None, bool keepdim=False) -> (Tensor min, Tensor max)",
    ".out(Tensor self, *, int? dim=None, bool keepdim=False, Tensor(a!) min, Tensor(b!) max) -> "
    "(Tensor(a!) min, Tensor(b!) max)",
};
constexpr const char* kAminmaxCalls[] = {
    "(Tensor input, *, int64_t? dim=None, bool keepdim=False, TensorList[2] out=None)"};

// max and min name their out= differently.
Texts max_schemas(const std::string& out_overload, const std::string& values,
                  const std::string& indices) {
  return {
      "(Tensor self) -> Tensor",
      ".dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
      "." + out_overload + "(Tensor self, int dim, bool keepdim=False, *, Tensor(a!) " + values +
          ", Tensor(b!) " + indices + ") -> (Tensor(a!) values, Tensor(b!) indices)",
      ".unary_out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
  };
}
constexpr const char* kMaxCalls[] = {
    "(Tensor input, *, Tensor out=None)",
    "(Tensor input, int64_t dim, bool keepdim=False, *, TensorList[2] out=None)",
    "(Tensor input, Tensor other, *, Tensor out=None)",  // refused
};

constexpr const char* kArgmaxSchemas[] = {
    "(Tensor self, int? dim=None, bool keepdim=False) -> Tensor",
    ".out(Tensor self, int? dim=None, bool keepdim=False, *, Tensor(a!) out) -> Tensor(a!)",
};
constexpr const char* kArgmaxCalls[] = {
    "(Tensor input, int64_t? dim=None, bool keepdim=False, *, Tensor out=None)"};

constexpr const char* kVarSchemas[] = {
    ".correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> "
    "Tensor",
    "(Tensor self, bool unbiased=True) -> Tensor",
    ".dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> Tensor",
    ".correction_out(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool "
    "keepdim=False, Tensor(a!) out) -> Tensor(a!)",
    ".out(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False, *, Tensor(a!) out) -> "
    "Tensor(a!)",
};
constexpr const char* kVarCalls[] = {
    "(Tensor input, IntArrayRef[1]? dim=None, *, Scalar? correction=None, bool keepdim=False, "
    "Tensor out=None)",
    "(Tensor input, IntArrayRef[1]? dim, bool unbiased=True, bool keepdim=False, *, Tensor "
    "out=None)",
    "(Tensor input, bool unbiased=True)",
    "(Tensor input, IntArrayRef[1]? dim=None, *, bool unbiased, bool keepdim=False, Tensor "
    "out=None)",
};

constexpr const char* kVarMeanSchemas[] = {
    ".correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> "
    "(Tensor, Tensor)",
    "(Tensor self, bool unbiased=True) -> (Tensor, Tensor)",
    ".dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> (Tensor, Tensor)",
    ".correction_out(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool "
    "keepdim=False, Tensor(a!) out0, Tensor(b!) out1) -> (Tensor(a!), Tensor(b!))",
};
constexpr const char* kVarMeanCalls[] = {
    "(Tensor input, IntArrayRef[1]? dim=None, *, Scalar? correction=None, bool keepdim=False)",
    "(Tensor input, IntArrayRef[1]? dim, bool unbiased=True, bool keepdim=False)",
    "(Tensor input, bool unbiased=True)",
};

constexpr const char* kLogSumExpSchemas[] = {
    "(Tensor self, int[1] dim, bool keepdim=False) -> Tensor",
    ".out(Tensor self, int[1] dim, bool keepdim=False, *, Tensor(a!) out) -> Tensor(a!)",
};
constexpr const char* kLogSumExpCalls[] = {
    "(Tensor input, IntArrayRef[1] dim, bool keepdim=False, *, Tensor out=None)"};

constexpr const char* kVectorNormSchemas[] = {
    "(Tensor self, Scalar ord=2, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) "
    "-> Tensor",
    ".out(Tensor self, Scalar ord=2, int[1]? dim=None, bool keepdim=False, *, ScalarType? "
    "dtype=None, Tensor(a!) out) -> Tensor(a!)",
};
constexpr const char* kVectorNormCalls[] = {
    "(Tensor input, Scalar ord=2, IntArrayRef[1]? dim=None, bool keepdim=False, *, ScalarType? "
    "dtype=None, Tensor out=None)"};

constexpr const char* kNormSchemas[] = {
    ".ScalarOpt_dim(Tensor self, Scalar? p, int[1] dim, bool keepdim=False) -> Tensor",
    ".ScalarOpt_dim_dtype(Tensor self, Scalar? p, int[1] dim, bool keepdim, *, ScalarType dtype) "
    "-> Tensor",
    ".Scalar(Tensor self, Scalar p=2) -> Tensor",
    ".ScalarOpt_dtype(Tensor self, Scalar? p, *, ScalarType dtype) -> Tensor",
    ".out(Tensor self, Scalar? p, int[1] dim, bool keepdim=False, *, Tensor(a!) out) -> Tensor(a!)",
    ".dtype_out(Tensor self, Scalar? p, int[1] dim, bool keepdim, *, ScalarType dtype, Tensor(a!) "
    "out) -> Tensor(a!)",
    ".Scalar_out(Tensor self, Scalar p=2, *, Tensor(a!) out) -> Tensor(a!)",
    ".ScalarOpt_dtype_out(Tensor self, Scalar? p, *, ScalarType dtype, Tensor(a!) out) -> "
    "Tensor(a!)",
};
constexpr const char* kNormCalls[] = {
    "(Tensor input, Scalar? p=2, IntArrayRef[1]? dim=None, bool keepdim=False, Tensor out=None, "
    "ScalarType? dtype=None)",
    "(Tensor input, std::string_view p, IntArrayRef[1]? dim=None, bool keepdim=False, Tensor "
    "out=None, ScalarType? dtype=None)",
};

constexpr const char* kAllSchemas[] = {
    ".dims(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor",
    "(Tensor self) -> Tensor",
    ".dim(Tensor self, int dim, bool keepdim=False) -> Tensor",
    ".dims_out(Tensor self, int[]? dim=None, bool keepdim=False, *, Tensor(a!) out) -> Tensor(a!)",
    ".out(Tensor self, int dim, bool keepdim=False, *, Tensor(a!) out) -> Tensor(a!)",
    ".all_out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
};

constexpr const char* kCountSchemas[] = {
    "(Tensor self, int? dim=None) -> Tensor",
    ".dim_IntList(Tensor self, int[] dim) -> Tensor",
    ".out(Tensor self, int? dim=None, *, Tensor(a!) out) -> Tensor(a!)",
    ".dim_IntList_out(Tensor self, int[] dim, *, Tensor(a!) out) -> Tensor(a!)",
};
constexpr const char* kCountCalls[] = {"(Tensor input, IntArrayRef[1]? dim=None)"};

constexpr const char* kNanSumSchemas[] = {
    "(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
    ".out(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None, Tensor(a!) "
    "out) -> Tensor(a!)",
};

// Six planes of statistics and three of counts (core/description.h).
constexpr const char* kDescribeSchemas[] = {
    "(Tensor self, int[1]? dim=None, bool keepdim=False) -> (Tensor statistics, Tensor counts)",
};
constexpr const char* kDescribeCalls[] = {
    "(Tensor input, IntArrayRef[1]? dim=None, bool keepdim=False)"};

std::vector<OpRow> make_rows() {
  const auto row = [](const char* name, Op op, bool differentiable, const auto& schemas,
                      const auto& calls) {
    return OpRow{name,
                 "reduce_ops." + std::string(name),
                 op,
                 op,
                 differentiable,
                 Texts(std::begin(schemas), std::end(schemas)),
                 Texts(std::begin(calls), std::end(calls)),
                 {}};
  };
  std::vector<OpRow> rows = {
      row("prod", Op::kProd, true, kProdSchemas, kProdCalls),
      row("amax", Op::kAmax, true, kAmaxSchemas, kAmaxCalls),
      row("amin", Op::kAmin, true, kAmaxSchemas, kAmaxCalls),
      row("aminmax", Op::kAminmax, true, kAminmaxSchemas, kAminmaxCalls),
      row("max", Op::kMax, true, max_schemas("dim_max", "max", "max_values"), kMaxCalls),
      row("min", Op::kMin, true, max_schemas("dim_min", "min", "min_indices"), kMaxCalls),
      row("argmax", Op::kArgmax, false, kArgmaxSchemas, kArgmaxCalls),
      row("argmin", Op::kArgmin, false, kArgmaxSchemas, kArgmaxCalls),
      row("var", Op::kVar, true, kVarSchemas, kVarCalls),
      row("std", Op::kStd, true, kVarSchemas, kVarCalls),
      row("var_mean", Op::kVarMean, true, kVarMeanSchemas, kVarMeanCalls),
      row("std_mean", Op::kStdMean, true, kVarMeanSchemas, kVarMeanCalls),
      row("logsumexp", Op::kLogSumExp, true, kLogSumExpSchemas, kLogSumExpCalls),
      row("vector_norm", Op::kNorm, true, kVectorNormSchemas, kVectorNormCalls),
      row("norm", Op::kNorm, true, kNormSchemas, kNormCalls),
      row("all", Op::kAll, false, kAllSchemas, kAmaxCalls),
      row("any", Op::kAny, false, kAllSchemas, kAmaxCalls),
      row("count_nonzero", Op::kCountNonzero, false, kCountSchemas, kCountCalls),
      row("nansum", Op::kNanSum, true, kNanSumSchemas, kProdCalls),
      row("nanmean", Op::kNanMean, true, kNanSumSchemas, kProdCalls),
      row("describe", Op::kDescribe, false, kDescribeSchemas, kDescribeCalls),
  };
  for (OpRow& r : rows) {
    if (r.op == Op::kMax) r.whole = Op::kAmax;
    if (r.op == Op::kMin) r.whole = Op::kAmin;
  }
  return rows;
}

Overload make_overload(const OpRow& row, const c10::FunctionSchema& schema) {
  Overload o = {&row, schema.overload_name(), {}, false, false, false, false, false, false, false,
                false};
  for (const c10::Argument& argument : schema.arguments()) {
    const bool written = argument.alias_info() && argument.alias_info()->isWrite();
    const Field field = written ? Field::kOut : field_named(argument.name());
    o.fields.push_back(field);
    const bool optional = argument.type()->kind() == c10::TypeKind::OptionalType;
    switch (field) {
      case Field::kDim:
        o.has_dim = true;
        o.several_dims =
            argument.N().has_value() || argument.type()->str().find('[') != std::string::npos;
        o.needs_dim = !optional && !o.several_dims;
        break;
      case Field::kKeepdim:
        o.has_keepdim = true;
        break;
      case Field::kDtype:
        o.has_dtype = true;
        o.needs_dtype = !optional;
        break;
      case Field::kNumber:
        o.has_number = true;
        break;
      case Field::kOut:
        o.has_out = true;
        break;
      default:
        break;
    }
  }
  return o;
}

}  // namespace

Field field_named(const std::string& name) {
  if (name == "self" || name == "input") return Field::kSelf;
  if (name == "dim") return Field::kDim;
  if (name == "keepdim") return Field::kKeepdim;
  if (name == "dtype") return Field::kDtype;
  if (name == "correction" || name == "ord" || name == "p") return Field::kNumber;
  if (name == "unbiased") return Field::kUnbiased;
  TORCH_INTERNAL_ASSERT(name == "out", name);
  return Field::kOut;
}

const std::vector<OpRow>& op_rows() {
  static const std::vector<OpRow> rows = [] {
    std::vector<OpRow> made = make_rows();
    for (OpRow& row : made) {
      for (const std::string& schema : row.schemas)
        row.overloads.push_back(make_overload(row, torch::jit::parseSchema(row.name + schema)));
    }
    return made;
  }();
  return rows;
}

const OpRow* find_row(const std::string& name) {
  for (const OpRow& row : op_rows()) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

}  // namespace reduce_ops
