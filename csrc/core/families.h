// Which elements and which monoid compute an op, chosen by the op, the input's dtype and the dtype
// that the elements are cast to. The one place that knows; CPU and CUDA engines both ask here.
//
// Sums, products and what is made of them:
//   in              cast            elements              accumulator
//   f32, f16, bf16  the same / f32  Direct<T>             double
//   f64             f64             Direct<double>        DoublePair
//   integer, bool   integer         AnyInteger            int64_t
//   complex64       complex64       Direct<Complex<…>>    Complex<double>
//   anything        integer, bool   Cast<int64_t>         int64_t
//   anything        floating        Cast<double>          DoublePair
//   anything        complex         Cast<Complex<…>>      Complex<DoublePair> (prod: <double>)
// Extremes, indices, norms, variances and truth take their elements as they are: for them a cast to
// a wider dtype changes nothing but the result's dtype.
#pragma once

#include "core/adapted.h"
#include "core/description.h"
#include "core/extremes.h"
#include "core/log_sum_exp.h"
#include "core/moments.h"
#include "core/monoids.h"
#include "core/products.h"

namespace reduce_ops {

// What an op computes with, apart from the data.
struct Recipe {
  Op op;
  DType in;
  DType cast;        // elements are cast to this first; also the dtype whose rules the op follows
  double parameter;  // correction of a variance, order of a norm
};

// f(elements, Monoid<accumulator>) for floating dtypes.
template <template <class> class Monoid, class F>
auto visit_floats(const Recipe& r, F&& f) {
  if (r.cast == r.in || r.cast == DType::kFloat32) {
    if (r.in == DType::kFloat32) return f(Direct<float>{}, Monoid<double>{});
    if (r.in == DType::kFloat16) return f(Direct<Float16>{}, Monoid<double>{});
    if (r.in == DType::kBFloat16) return f(Direct<BFloat16>{}, Monoid<double>{});
    if (r.in == DType::kFloat64 && r.cast == r.in) return f(Direct<double>{}, Monoid<DoublePair>{});
  }
  return f(Cast<double>{r.in, r.cast}, Monoid<DoublePair>{});
}

// Integers of sums have loops for each dtype, others one for all.
inline AnyInteger any_integer(const Recipe& r, Sum<int64_t>) { return {r.in}; }
inline Flipped any_integer(const Recipe& r, Prod<int64_t>) { return {{r.in}, 0}; }

// For any dtype.
template <template <class> class Monoid, class WideComplex, class F>
auto visit_numbers(const Recipe& r, F&& f) {
  if (is_integral(r.cast)) {
    // A cast between integers only changes bits above the target's, which the output drops anyway.
    if (is_integral(r.in) && (r.cast != DType::kBool || r.in == DType::kBool))
      return f(any_integer(r, Monoid<int64_t>{}), Monoid<int64_t>{});
    return f(Cast<int64_t>{r.in, r.cast}, Monoid<int64_t>{});
  }
  if (is_complex(r.cast)) {
    if (r.in == DType::kComplex64 && r.cast == r.in)
      return f(Direct<Complex<float>>{}, Monoid<Complex<double>>{});
    return f(Cast<Complex<double>>{r.in, r.cast}, Monoid<WideComplex>{});
  }
  return visit_floats<Monoid>(r, f);
}

// sum and mean.
template <class F>
auto visit_sums(const Recipe& r, F&& f) {
  return visit_numbers<Sum, Complex<DoublePair>>(r, f);
}

// Floating elements with their signs changed.
template <template <class> class Monoid, class F>
auto visit_signs(const Recipe& r, bool absolute, bool negative, F&& f) {
  if (r.in == DType::kFloat16) return f(Signs<Float16>::of(absolute, negative), Monoid<float>{});
  if (r.in == DType::kBFloat16) return f(Signs<BFloat16>::of(absolute, negative), Monoid<float>{});
  if (r.in == DType::kFloat32) return f(Signs<float>::of(absolute, negative), Monoid<float>{});
  return f(Signs<double>::of(absolute, negative), Monoid<double>{});
}

template <class F>
auto visit_norm(const Recipe& r, F&& f) {
  if (!is_finite(r.parameter)) return visit_signs<Extremes>(r, true, false, f);
  const double p = r.parameter;
  if (r.in == DType::kFloat16) return f(Powers<Float16, double>{p}, PowerSum<double>{});
  if (r.in == DType::kBFloat16) return f(Powers<BFloat16, double>{p}, PowerSum<double>{});
  if (r.in == DType::kFloat32) return f(Powers<float, double>{p}, PowerSum<double>{});
  return f(Powers<double, DoublePair>{p}, PowerSum<DoublePair>{});
}

template <class F>
auto visit_moments(const Recipe& r, F&& f) {
  if (r.in == DType::kFloat16) return f(Direct<Float16>{}, Moments<double>{});
  if (r.in == DType::kBFloat16) return f(Direct<BFloat16>{}, Moments<double>{});
  if (r.in == DType::kFloat32) return f(Direct<float>{}, Moments<double>{});
  return f(Direct<double>{}, Moments<DoublePair>{});
}

template <class F>
auto visit_description(const Recipe& r, F&& f) {
  if (r.in == DType::kFloat16) return f(Direct<Float16>{}, Description<double, float>{});
  if (r.in == DType::kBFloat16) return f(Direct<BFloat16>{}, Description<double, float>{});
  if (r.in == DType::kFloat32) return f(Direct<float>{}, Description<double, float>{});
  return f(Direct<double>{}, Description<DoublePair, double>{});
}

template <class F>
auto visit_log_sum_exp(const Recipe& r, F&& f) {
  if (r.in == DType::kFloat16) return f(Direct<Float16>{}, LogSumExp<float>{});
  if (r.in == DType::kBFloat16) return f(Direct<BFloat16>{}, LogSumExp<float>{});
  if (r.in == DType::kFloat32) return f(Direct<float>{}, LogSumExp<float>{});
  if (r.in == DType::kFloat64) return f(Direct<double>{}, LogSumExp<double>{});
  return f(Cast<double>{r.in, r.cast}, LogSumExp<double>{});
}

// The parameter is the sign of Products.
template <class F>
auto visit_products(const Recipe& r, F&& f) {
  const double sign = r.parameter;
  switch (r.in) {
    case DType::kFloat16:
      return f(Products<Float16, double>{sign}, Sum<double>{});
    case DType::kBFloat16:
      return f(Products<BFloat16, double>{sign}, Sum<double>{});
    case DType::kFloat32:
      return f(Products<float, double>{sign}, Sum<double>{});
    case DType::kFloat64:
      return f(Products<double, DoublePair>{sign}, Sum<DoublePair>{});
    case DType::kComplex64:
      return f(Products<Complex<float>, Complex<double>>{sign}, Sum<Complex<double>>{});
    case DType::kComplex128:
      return f(Products<Complex<double>, Complex<DoublePair>>{sign}, Sum<Complex<DoublePair>>{});
    default:
      return f(AnyIntegerProducts{r.in}, Sum<int64_t>{});
  }
}

template <class F>
auto visit_truth(const Recipe& r, F&& f) {
  const bool sign = is_floating(r.in);
  if (size_of(r.in) == 1) return f(TruthOf<uint8_t>{0xff, false}, Count{});
  if (size_of(r.in) == 2) return f(TruthOf<uint16_t>{sign ? 0x7fffu : 0xffffu, false}, Count{});
  if (size_of(r.in) == 4)
    return f(TruthOf<uint32_t>{sign ? 0x7fffffffu : 0xffffffffu, false}, Count{});
  return f(Truth{r.in}, Count{});
}

// Calls f(elements, monoid) and returns what it returns, which must be one type for all.
template <class F>
auto visit_family(const Recipe& r, F&& f) {
  switch (r.op) {
    case Op::kSum:
    case Op::kMean:
      return visit_sums(r, f);
    case Op::kProd:
      return visit_numbers<Prod, Complex<double>>(r, f);
    case Op::kNanSum:
    case Op::kNanMean:
      return visit_floats<NanSum>(r, f);
    case Op::kAmax:
    case Op::kAmin:
    case Op::kAminmax:
      if (is_integral(r.in)) return f(Flipped{{r.in}, 0}, Extremes<int64_t>{});
      return visit_signs<Extremes>(r, false, false, f);
    case Op::kMax:
    case Op::kMin:
    case Op::kArgmax:
    case Op::kArgmin: {
      const bool least = finds_least(r.op);
      if (is_integral(r.in)) return f(Flipped{{r.in}, least ? -1 : 0}, Best<int64_t>{});
      return visit_signs<Best>(r, false, least, f);
    }
    case Op::kVar:
    case Op::kStd:
    case Op::kVarMean:
    case Op::kStdMean:
      return visit_moments(r, f);
    case Op::kLogSumExp:
      return visit_log_sum_exp(r, f);
    case Op::kNorm:
      return visit_norm(r, f);
    case Op::kDescribe:
      return visit_description(r, f);
    case Op::kDot:
      return visit_products(r, f);
    default:
      return visit_truth(r, f);
  }
}

}  // namespace reduce_ops
