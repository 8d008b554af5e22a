// The inner loops of dot products, compiled for several instruction sets with the same bits.
#pragma once

#include "core/families.h"
#include "plan/cpu_order.h"

namespace reduce_ops::cpu {

constexpr int kDotColumns = 64;  // that one call takes at most

// Rows of a strip: where each begins in both inputs, in bytes.
struct DotRows {
  int64_t count;
  const int64_t* first;
  const int64_t* second;
};

// Steps from column to column, in bytes.
struct DotSteps {
  int64_t first;
  int64_t second;
};

// `out` points at accumulators of the family that visit_products() chooses.
struct DotKernels {
  // One segment of contiguous elements.
  void (*row)(const char* x, const char* y, int64_t count, double sign, void* out);
  // One segment of up to kDotColumns columns.
  void (*columns)(const char* x, const char* y, const DotRows& rows, const DotSteps& steps,
                  int64_t width, double sign, void* out);
};

constexpr int kDotTypes = int(DType::kComplex128) + 1;

const DotKernels* dot_table_default();
#if defined(__x86_64__)
const DotKernels* dot_table_avx2();
#endif

}  // namespace reduce_ops::cpu
