// The ops, and what turns an accumulator into results.
#pragma once

#include <cstdint>

#include "core/dtype.h"

namespace reduce_ops {

enum class Op : uint8_t {
  kSum,
  kMean,
  kNanSum,
  kNanMean,
  kProd,
  kAmax,
  kAmin,
  kAminmax,
  kMax,  // values and indices
  kMin,
  kArgmax,
  kArgmin,
  kVar,
  kStd,
  kVarMean,
  kStdMean,
  kLogSumExp,
  kNorm,  // of any order but 0
  kAny,
  kAll,
  kCountNonzero,
  kDescribe,
  kDot,  // of two inputs
};

// Elements are compared by size with their signs flipped.
constexpr bool finds_least(Op op) { return op == Op::kMin || op == Op::kArgmin; }

// What the last step of a reduction needs to know. A monoid that has two results stores the first
// to `out` and the second to `second`; either may be null, where an op has no use for it. Where one
// of them is several numbers, those are `pitch` elements apart.
struct Epilogue {
  void* out;
  void* second;
  DType out_type;
  DType second_type;
  DType in_type;
  Op op;
  const char* in;          // the input, for results that look at their first element again
  const char* other;       // the second input, where there is one
  int64_t length;          // elements of a result
  int64_t divisor;         // of their sum: length for a mean, else 1
  int64_t pitch;           // see above
  double inverse_length;   // 1 / length
  double inverse_freedom;  // 1 / (length - correction), infinite where that is not positive
  double parameter;        // correction of a variance, order of a norm
};

}  // namespace reduce_ops
