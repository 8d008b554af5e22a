// Writing a finalized sum into an output of any dtype, with one rounding.
#pragma once

#include "core/dtype.h"
#include "core/math.h"

namespace reduce_ops {

// Calls f with the conversion from a value of the second argument's type to the C++ type that
// stands for the output's dtype. A float value goes to floating dtypes only, an integer to integer
// dtypes only, a complex value to complex dtypes only; other pairs never meet.
template <class F>
RO_HD void visit_output(DType type, double, F&& f) {
  switch (type) {
    case DType::kFloat16:
      return f([](double value) { return to_float16(value); });
    case DType::kBFloat16:
      return f([](double value) { return to_bfloat16(value); });
    case DType::kFloat32:
      return f([](double value) { return float(value); });
    case DType::kFloat64:
      return f([](double value) { return value; });
    default:
      return;
  }
}

template <class F>
RO_HD void visit_output(DType type, int64_t, F&& f) {
  if (type == DType::kBool) return f([](int64_t value) { return uint8_t(value != 0); });
  switch (size_of(type)) {  // truncation is the same for signed and unsigned
    case 1:
      return f([](int64_t value) { return uint8_t(value); });
    case 2:
      return f([](int64_t value) { return uint16_t(value); });
    case 4:
      return f([](int64_t value) { return uint32_t(value); });
    default:
      return f([](int64_t value) { return value; });
  }
}

template <class F>
RO_HD void visit_output(DType type, Complex<double>, F&& f) {
  if (type == DType::kComplex64)
    return f([](Complex<double> value) {
      return Complex<float>{float(value.re), float(value.im)};
    });
  return f([](Complex<double> value) { return value; });
}

template <class V>
RO_HD void store_as(void* out, int64_t index, DType type, V value) {
  visit_output(type, value, [&](auto convert) {
    static_cast<decltype(convert(value))*>(out)[index] = convert(value);
  });
}

}  // namespace reduce_ops
