// Element types of tensors as a runtime value, without torch.
#pragma once

#include <cstdint>

#include "core/macros.h"

namespace reduce_ops {

enum class DType : uint8_t {
  kBool,
  kUInt8,
  kInt8,
  kUInt16,
  kInt16,
  kUInt32,
  kInt32,
  kUInt64,
  kInt64,
  kFloat16,
  kBFloat16,
  kFloat32,
  kFloat64,
  kComplex64,
  kComplex128,
};

RO_HD constexpr bool is_integral(DType t) { return t <= DType::kInt64; }
RO_HD constexpr bool is_floating(DType t) { return t >= DType::kFloat16 && t <= DType::kFloat64; }
RO_HD constexpr bool is_complex(DType t) { return t >= DType::kComplex64; }

RO_HD constexpr int size_of(DType t) {
  switch (t) {
    case DType::kBool:
    case DType::kUInt8:
    case DType::kInt8:
      return 1;
    case DType::kUInt16:
    case DType::kInt16:
    case DType::kFloat16:
    case DType::kBFloat16:
      return 2;
    case DType::kUInt32:
    case DType::kInt32:
    case DType::kFloat32:
      return 4;
    case DType::kComplex128:
      return 16;
    default:
      return 8;
  }
}

// The name torch prints after "torch.".
constexpr const char* name_of(DType t) {
  switch (t) {
    case DType::kBool:
      return "bool";
    case DType::kUInt8:
      return "uint8";
    case DType::kInt8:
      return "int8";
    case DType::kUInt16:
      return "uint16";
    case DType::kInt16:
      return "int16";
    case DType::kUInt32:
      return "uint32";
    case DType::kInt32:
      return "int32";
    case DType::kUInt64:
      return "uint64";
    case DType::kInt64:
      return "int64";
    case DType::kFloat16:
      return "float16";
    case DType::kBFloat16:
      return "bfloat16";
    case DType::kFloat32:
      return "float32";
    case DType::kFloat64:
      return "float64";
    case DType::kComplex64:
      return "complex64";
    case DType::kComplex128:
      return "complex128";
  }
  return "unknown";
}

}  // namespace reduce_ops
