// The inner loops of the CPU engines, one table of functions for each element type, compiled for
// several instruction sets and picked at run time. No torch types, no templates: what the vector
// translation units share with the rest is declared here.
//
// Accumulators are 8-byte words in planes: a double or an int64 is one plane; a DoublePair is two,
// all hi words, then all lo words `plane` words further.
#pragma once

#include <cstdint>

namespace reduce_ops::cpu {

// Real component types that the kernels read.
enum class Kind : uint8_t {
  kFloat32,
  kFloat16,
  kBFloat16,
  kFloat64,
  kInt64,
  kInt32,
  kUInt32,
  kInt16,
  kUInt16,
  kInt8,
  kUInt8,
  kBool,
};
constexpr int kKinds = 12;

union Word {
  double f;
  int64_t i;
};

// Columns that a kernel may write past `width`: buffers leave this room.
constexpr int kColumnPad = 64;

struct Kernels {
  // Sums `count` rows of n components (at most one segment), `pitch` bytes apart. Row r leaves
  // `components` (1 or 2) results at out[r * components].
  void (*rows)(const char* x, int64_t pitch, int64_t count, int64_t n, int components, Word* out,
               int64_t plane);
  // acc[c] = ((acc[c] + row[0][c]) + row[1][c]) + …, from zero where `fresh`. With `into`, the
  // result goes to into[c] = combine(into[c], result) instead, and acc holds nothing of use after.
  void (*columns)(const char* const* row, int rows, int64_t width, bool fresh, Word* acc,
                  Word* into, int64_t plane);
  // acc[c] = the sum of column c in kCpuColumnLanes lanes that merge by halving (plan/cpu_order.h),
  // all rows side by side: for a few rows.
  void (*few_rows)(const char* const* row, int rows, int64_t width, Word* acc, int64_t plane);
  // a[c] = combine(a[c], b[c]); b may start inside a, `width` or more words on.
  void (*merge)(Word* a, const Word* b, int64_t width, int64_t plane);
  // acc[c] = the value that acc[c] stands for, in one plane, NaN as one bit pattern: x86 would
  // otherwise let the order of operands show. Writes whole vectors of up to 4.
  void (*finish)(Word* acc, int64_t width, int64_t plane);
  int size;    // bytes of a component
  int planes;  // of the accumulator
};

struct SimdTable {
  Kernels kernels[kKinds];
  uint64_t (*read)(const char* data, int64_t bytes);  // the yardstick
};

const SimdTable& simd_table_default();
#if defined(__x86_64__)
const SimdTable& simd_table_avx2();
const SimdTable& simd_table_avx512();
#endif
// The best table that this CPU runs and ATEN_CPU_CAPABILITY allows.
const SimdTable& simd_table();

}  // namespace reduce_ops::cpu
