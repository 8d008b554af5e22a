#include "ops/rules.h"

#include <ATen/core/DimVector.h>
#include <c10/core/DefaultDtype.h>
#include <c10/core/ScalarType.h>

#include "ops/reductions.h"

namespace reduce_ops {

namespace {

bool is_float(at::ScalarType type) { return at::isFloatingType(type); }
bool is_integer(at::ScalarType type) { return at::isIntegralType(type, /*includeBool=*/true); }
bool is_wide_unsigned(at::ScalarType type) {
  return type == at::kUInt16 || type == at::kUInt32 || type == at::kUInt64;
}

void check_ordered(const Call& c, at::ScalarType type) {
  const bool finds_index =
      c.op == Op::kMax || c.op == Op::kMin || c.op == Op::kArgmax || c.op == Op::kArgmin;
  const bool bool_too = c.op != Op::kArgmax && c.op != Op::kArgmin;
  const char* expected = bool_too ? "expected bool, uint8, a signed integer, float16, bfloat16, "
                                    "float32 or float64"
                                  : "expected uint8, a signed integer, float16, bfloat16, float32 "
                                    "or float64";
  const bool error = finds_index && (at::isComplexType(type) || (type == at::kBool && !bool_too));
  TORCH_CHECK(!error, c.function(), ": input has dtype ", type, ", ", expected);
  TORCH_CHECK_NOT_IMPLEMENTED(!at::isComplexType(type) && !is_wide_unsigned(type), c.function(),
                              ": input has dtype ", type, ", ", expected);
}

at::ScalarType norm_type(const Call& c, at::ScalarType type) {
  const bool complex = at::isComplexType(type);
  TORCH_CHECK(is_float(type) || complex, c.function(), ": input has dtype ", type,
              ", expected a floating point or complex dtype");
  const at::ScalarType wanted = c.dtype.value_or(type);
  TORCH_CHECK(is_float(wanted) || at::isComplexType(wanted), c.function(), ": dtype is ", wanted,
              ", expected a floating point or complex dtype");
  TORCH_CHECK(at::isComplexType(wanted) == complex, c.function(), ": dtype is ", wanted,
              ", expected a ", complex ? "complex" : "real", " dtype for an input of dtype ", type);
  TORCH_CHECK(at::promoteTypes(type, wanted) == wanted, c.function(), ": dtype is ", wanted,
              ", which is narrower than the input's ", type);
  return c10::toRealValueType(wanted);
}

// Of nansum and nanmean.
at::ScalarType nan_type(const Call& c, at::ScalarType type, at::ScalarType wanted) {
  const bool mean = c.op == Op::kNanMean;
  TORCH_CHECK(!at::isComplexType(type), c.function(), ": input has dtype ", type, ", expected a ",
              mean ? "floating point dtype" : "real dtype");
  TORCH_CHECK(!mean || is_float(type), c.function(), ": input has dtype ", type,
              ", expected a floating point dtype");
  TORCH_CHECK_NOT_IMPLEMENTED(is_integer(type) || is_float(wanted), c.function(), ": dtype is ",
                              wanted, ", expected a floating point dtype for an input of dtype ",
                              type);
  return wanted;
}

// What the first out= has the elements cast to, where it may.
std::optional<at::ScalarType> out_type(const Call& c) {
  return c.out.empty() ? c.dtype : std::optional(c.out[0].scalar_type());
}

void check_exact(const Call& c, const Types& types) {
  for (size_t i = 0; i < c.out.size(); ++i) {
    TORCH_CHECK(c.out[i].scalar_type() == types.results[i], c.function(), ": out",
                c.out.size() > 1 ? (i ? "[1]" : "[0]") : "", " has dtype ", c.out[i].scalar_type(),
                ", expected ", types.results[i]);
  }
}

void check_castable(const Call& c, at::ScalarType type) {
  if (c.out.empty()) return;
  TORCH_CHECK(at::canCast(type, c.out[0].scalar_type()), c.function(), ": out has dtype ",
              c.out[0].scalar_type(), ", to which the result's ", type, " cannot be cast");
}

}  // namespace

Types types_of(const Call& c) {
  const at::ScalarType type = c.self.scalar_type();
  to_dtype(c.function(), "input", type);
  if (c.dtype) to_dtype(c.function(), "dtype", *c.dtype);
  for (const at::Tensor& out : c.out) to_dtype(c.function(), "out", out.scalar_type());
  Types types = {{type}, type};
  switch (c.op) {
    case Op::kSum:
    case Op::kMean:
    case Op::kProd:
      types.results[0] = types.cast = result_dtype(c.op, type, out_type(c));
      break;
    case Op::kNanSum:
    case Op::kNanMean: {
      const at::ScalarType plain = result_dtype(Op::kSum, type, out_type(c));
      types.results[0] = types.cast = nan_type(c, type, plain);
      break;
    }
    case Op::kAmax:
    case Op::kAmin:
      check_ordered(c, type);
      if (c.row->op == c.op)
        check_exact(c, types);
      else
        check_castable(c, type);
      break;
    case Op::kAminmax:
      check_ordered(c, type);
      types.results.push_back(type);
      check_exact(c, types);
      break;
    case Op::kMax:
    case Op::kMin:
      check_ordered(c, type);
      types.results.push_back(at::kLong);
      check_exact(c, types);
      break;
    case Op::kArgmax:
    case Op::kArgmin:
      check_ordered(c, type);
      types.results[0] = at::kLong;
      check_exact(c, types);
      break;
    case Op::kVar:
    case Op::kStd:
    case Op::kVarMean:
    case Op::kStdMean:
      TORCH_CHECK(!is_integer(type), c.function(), ": input has dtype ", type,
                  ", expected a floating point or complex dtype");
      types.results[0] = c10::toRealValueType(type);
      if (c.op == Op::kVarMean || c.op == Op::kStdMean) {
        types.results.push_back(type);
        check_exact(c, types);
      } else {
        check_castable(c, types.results[0]);
      }
      break;
    case Op::kLogSumExp:
      if (is_integer(type)) types.results[0] = at::typeMetaToScalarType(at::get_default_dtype());
      if (!c.out.empty()) {
        const at::ScalarType out = c.out[0].scalar_type();
        TORCH_CHECK(!is_integer(out), c.function(), ": out has dtype ", out,
                    ", expected a floating point or complex dtype");
        check_castable(c, types.results[0]);
        if (is_float(out)) types.results[0] = out;
      }
      if (is_integer(type)) types.cast = types.results[0];
      break;
    case Op::kNorm:
      types.results[0] = norm_type(c, type);
      check_exact(c, types);
      break;
    case Op::kAny:
    case Op::kAll:
      types.results[0] = type == at::kByte ? at::kByte : at::kBool;
      if (!c.out.empty()) {
        const at::ScalarType out = c.out[0].scalar_type();
        TORCH_CHECK(out == at::kBool || out == at::kByte, c.function(), ": out has dtype ", out,
                    ", expected bool or uint8");
        types.results[0] = out;
      }
      break;
    case Op::kCountNonzero:
      types.results[0] = at::kLong;
      check_exact(c, types);
      break;
    case Op::kDescribe:
      TORCH_CHECK(!at::isComplexType(type), c.function(), ": input has dtype ", type,
                  ", expected a real dtype");
      types.results[0] = is_integer(type) || type == at::kDouble ? at::kDouble : at::kFloat;
      types.results.push_back(at::kLong);
      break;
    case Op::kDot:  // see ops/dot.cpp
      break;
  }
  if (c.dtype && !c.out.empty() && c.op != Op::kNorm) {
    TORCH_CHECK(c.out[0].scalar_type() == *c.dtype, c.function(), ": out has dtype ",
                c.out[0].scalar_type(), ", expected ", *c.dtype, " as dtype says");
  }
  return types;
}

void check_identity(const Call& c, const Dims& dims, c10::function_ref<bool(int64_t)> empty) {
  const double order = c.parameter();
  const bool norm = c.op == Op::kNorm;
  const bool extreme = c.op >= Op::kAmax && c.op <= Op::kArgmin;
  if (!extreme && !(norm && (order < 0 || order == INFINITY))) return;
  const int64_t ndim = c.self.dim();
  const bool whole = !c.dim || c.dim->empty();
  for (int64_t d = 0; d < ndim; ++d) {
    // Over all dims nothing may be empty; norms and argmax have errors of their own for it.
    if (!dims[d] || !empty(d)) continue;
    const bool index_error = !norm && (!whole || c.op == Op::kArgmax || c.op == Op::kArgmin);
    TORCH_CHECK_INDEX(!index_error, c.function(), ": dim ", d, " of an input of ", ndim,
                      " dims has size 0, expected a size other than 0, as the op has no identity");
    TORCH_CHECK(false, c.function(), ": dim ", d, " of an input of ", ndim, " dims has size 0",
                norm ? " for the order " : "", norm ? std::to_string(order) : "",
                ", expected a size other than 0, as the op has no identity");
  }
}

void check_freedom(const Call& c, int64_t length) {
  if (c.op < Op::kVar || c.op > Op::kStdMean || double(length) > c.parameter()) return;
  TORCH_WARN(c.function(),
             "(): degrees of freedom is <= 0. Correction should be strictly less "
             "than the reduction factor (input numel divided by output numel).");
}

}  // namespace reduce_ops
