// Which elements and which monoid compute a sum, chosen by the input's dtype and the dtype that
// the elements are cast to. The one place that knows; CPU and CUDA engines both ask here.
//
//   in              cast            elements              accumulator
//   f32, f16, bf16  the same / f32  Direct<T>             double
//   f64             f64             Direct<double>        DoublePair
//   integer, bool   integer         AnyInteger            int64_t
//   complex64       complex64       Direct<Complex<…>>    Complex<double>
//   anything        integer, bool   Cast<int64_t>         int64_t
//   anything        floating        Cast<double>          DoublePair
//   anything        complex         Cast<Complex<…>>      Complex<DoublePair>
#pragma once

#include "core/elements.h"
#include "core/monoids.h"

namespace reduce_ops {

// Calls f(elements, monoid) and returns what it returns, which must be one type for all.
template <class F>
auto visit_sum_family(DType in, DType cast, F&& f) {
  if (is_integral(cast)) {
    // A cast between integers only changes bits above the target's, which the output drops anyway.
    if (is_integral(in) && (cast != DType::kBool || in == DType::kBool))
      return f(AnyInteger{in}, Sum<int64_t>{});
    return f(Cast<int64_t>{in, cast}, Sum<int64_t>{});
  }
  if (is_complex(cast)) {
    if (in == DType::kComplex64 && cast == in)
      return f(Direct<Complex<float>>{}, Sum<Complex<double>>{});
    return f(Cast<Complex<double>>{in, cast}, Sum<Complex<DoublePair>>{});
  }
  if (cast == in || cast == DType::kFloat32) {
    if (in == DType::kFloat32) return f(Direct<float>{}, Sum<double>{});
    if (in == DType::kFloat16) return f(Direct<Float16>{}, Sum<double>{});
    if (in == DType::kBFloat16) return f(Direct<BFloat16>{}, Sum<double>{});
    if (in == DType::kFloat64 && cast == in) return f(Direct<double>{}, Sum<DoublePair>{});
  }
  return f(Cast<double>{in, cast}, Sum<DoublePair>{});
}

}  // namespace reduce_ops
