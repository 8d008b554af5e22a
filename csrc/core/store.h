// Writing results into outputs of any dtype, with one rounding.
#pragma once

#include "core/elements.h"
#include "core/monoids.h"

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

template <class T, int kCount>
RO_HD void store_several(void* out, int64_t index, DType type, int64_t pitch,
                         const Several<T, kCount>& values) {
  RO_UNROLL
  for (int i = 0; i < kCount; ++i) store_as(out, index + i * pitch, type, values.value[i]);
}
template <class V>
RO_HD void store_several(void* out, int64_t index, DType type, int64_t /*pitch*/, V value) {
  store_as(out, index, type, value);
}

template <class V>
RO_HD void store_values(const Epilogue& e, int64_t index, V value) {
  store_as(e.out, index, e.out_type, value);
}
template <class A, class B>
RO_HD void store_values(const Epilogue& e, int64_t index, Two<A, B> value) {
  if (e.out) store_several(e.out, index, e.out_type, e.pitch, value.first);
  if (e.second) store_several(e.second, index, e.second_type, e.pitch, value.second);
}

RO_HD double real_element(const char* address, DType type) {
  switch (type) {
    case DType::kFloat16:
      return Direct<Float16>{}.at(address);
    case DType::kBFloat16:
      return Direct<BFloat16>{}.at(address);
    case DType::kFloat32:
      return Direct<float>{}.at(address);
    default:
      return Direct<double>{}.at(address);
  }
}

template <class Monoid>
constexpr bool kHasState = !std::is_same_v<typename Monoid::state_t, Nothing>;

// What the accumulation of a result knew beforehand: its first element is at `in`. Only second
// results ask for it.
template <class Monoid>
RO_HD typename Monoid::state_t state_again(const Epilogue& e, int64_t in) {
  typename Monoid::state_t state{};
  if constexpr (kHasState<Monoid>) {
    if (e.second) state = Monoid::start(real_element(e.in + in * size_of(e.in_type), e.in_type));
  }
  return state;
}

// Finalizes and stores the result whose first element is at offset `in`.
template <class Monoid>
RO_HD void store_result(const Epilogue& e, int64_t in, int64_t out,
                        const typename Monoid::acc_t& acc) {
  store_values(e, out, Monoid::finalize(acc, e, state_again<Monoid>(e, in)));
}

}  // namespace reduce_ops
