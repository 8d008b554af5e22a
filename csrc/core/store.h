// Writing a finalized sum into an output of any dtype, with one rounding.
#pragma once

#include "core/dtype.h"
#include "core/math.h"

namespace reduce_ops {

// A float value goes to floating dtypes only, an integer to integer dtypes only, a complex value
// to complex dtypes only; other pairs never meet and store nothing.
RO_HD void store_as(void* out, int64_t index, DType type, double value) {
  switch (type) {
    case DType::kFloat16:
      static_cast<Float16*>(out)[index] = to_float16(value);
      return;
    case DType::kBFloat16:
      static_cast<BFloat16*>(out)[index] = to_bfloat16(value);
      return;
    case DType::kFloat32:
      static_cast<float*>(out)[index] = float(value);
      return;
    case DType::kFloat64:
      static_cast<double*>(out)[index] = value;
      return;
    default:
      return;
  }
}

RO_HD void store_as(void* out, int64_t index, DType type, int64_t value) {
  if (type == DType::kBool) {
    static_cast<uint8_t*>(out)[index] = value != 0;
    return;
  }
  switch (size_of(type)) {  // truncation is the same for signed and unsigned
    case 1:
      static_cast<uint8_t*>(out)[index] = uint8_t(value);
      return;
    case 2:
      static_cast<uint16_t*>(out)[index] = uint16_t(value);
      return;
    case 4:
      static_cast<uint32_t*>(out)[index] = uint32_t(value);
      return;
    default:
      static_cast<int64_t*>(out)[index] = value;
      return;
  }
}

RO_HD void store_as(void* out, int64_t index, DType type, Complex<double> value) {
  if (type == DType::kComplex64)
    static_cast<Complex<float>*>(out)[index] = {float(value.re), float(value.im)};
  else
    static_cast<Complex<double>*>(out)[index] = value;
}

}  // namespace reduce_ops
