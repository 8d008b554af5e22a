// The table of kernels of a translation unit for the ops but sum and mean.
#pragma once

#include "cpu/simd_counts.h"
#include "cpu/simd_log_sum_exp.h"

namespace reduce_ops::cpu {
namespace {

template <template <class> class Monoid>
constexpr void set_floats(MonoidKernels* to) {
  to[int(Kind::kFloat32)] = monoid_kernels_of<Monoid, float>();
  to[int(Kind::kFloat16)] = monoid_kernels_of<Monoid, Float16>();
  to[int(Kind::kBFloat16)] = monoid_kernels_of<Monoid, BFloat16>();
  to[int(Kind::kFloat64)] = monoid_kernels_of<Monoid, double>();
}

template <template <class, bool> class Monoid>
constexpr void set_keys(MonoidKernels* to) {
  to[int(Kind::kFloat32)] = key_kernels_of<Monoid<int32_t, true>, 4>();
  to[int(Kind::kFloat16)] = key_kernels_of<Monoid<int16_t, true>, 2>();
  to[int(Kind::kBFloat16)] = to[int(Kind::kFloat16)];
  to[int(Kind::kFloat64)] = key_kernels_of<Monoid<int64_t, true>, 8>();
  to[int(Kind::kInt64)] = key_kernels_of<Monoid<int64_t, false>, 8>();
  to[int(Kind::kInt32)] = key_kernels_of<Monoid<int32_t, false>, 4>();
  to[int(Kind::kInt16)] = key_kernels_of<Monoid<int16_t, false>, 2>();
  to[int(Kind::kInt8)] = key_kernels_of<Monoid<int8_t, false>, 1>();
}

constexpr MonoidTable make_monoid_table() {
  MonoidTable table = {};
  auto* kernels = table.kernels;
  set_floats<MomentsOf>(kernels[int(MonoidKind::kMoments)]);
  set_floats<ProdOf>(kernels[int(MonoidKind::kProd)]);
  set_floats<SumOfNumbers>(kernels[int(MonoidKind::kNanSum)]);
  set_floats<MeanOfNumbers>(kernels[int(MonoidKind::kNanMean)]);
  set_floats<AbsoluteSumOf>(kernels[int(MonoidKind::kAbsoluteSum)]);
  set_floats<SquareSumOf>(kernels[int(MonoidKind::kSquareSum)]);
  MonoidKernels* prod = kernels[int(MonoidKind::kProd)];
  prod[int(Kind::kInt64)] = monoid_kernels_of<ProdOf, int64_t>();
  prod[int(Kind::kInt32)] = monoid_kernels_of<ProdOf, int32_t>();
  prod[int(Kind::kInt16)] = monoid_kernels_of<ProdOf, int16_t>();
  prod[int(Kind::kInt8)] = monoid_kernels_of<ProdOf, int8_t>();
  prod[int(Kind::kUInt8)] = monoid_kernels_of<ProdOf, uint8_t>();
  prod[int(Kind::kBool)] = monoid_kernels_of<ProdOf, bool>();
  MonoidKernels* exponents = kernels[int(MonoidKind::kLogSumExp)];
  exponents[int(Kind::kFloat32)] = log_sum_exp_kernels_of<float>();
  exponents[int(Kind::kFloat16)] = log_sum_exp_kernels_of<Float16>();
  exponents[int(Kind::kBFloat16)] = log_sum_exp_kernels_of<BFloat16>();
  exponents[int(Kind::kFloat64)] = log_sum_exp_kernels_of<double>();
  set_keys<ExtremesOf>(kernels[int(MonoidKind::kExtremes)]);
  set_keys<BestOf>(kernels[int(MonoidKind::kBest)]);
  MonoidKernels* counts = kernels[int(MonoidKind::kCount)];
  counts[int(Kind::kInt64)] = key_kernels_of<CountOf<int64_t>, 8>();
  counts[int(Kind::kInt32)] = key_kernels_of<CountOf<int32_t>, 4>();
  counts[int(Kind::kInt16)] = key_kernels_of<CountOf<int16_t>, 2>();
  counts[int(Kind::kInt8)] = key_kernels_of<CountOf<int8_t>, 1>();
  return table;
}

constexpr MonoidTable kMonoidTable = make_monoid_table();

}  // namespace
}  // namespace reduce_ops::cpu
