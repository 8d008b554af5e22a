// The inner loops of every op but sum and mean (for those: simd.h), compiled for two instruction
// sets. Accumulators are 8-byte words in planes, as in simd.h: the parts of a monoid's accumulator
// one after the other, doubles or int64, each of their planes `plane` words further.
//
// What is compared (extremes and their indices) is compared as signed integers of the element's
// size, keys that order as the elements do; their planes hold keys, widened to int64.
#pragma once

#include "cpu/simd.h"

namespace reduce_ops::cpu {

// How elements become keys or truth: their bits under `keep`, then changed by `flip`.
struct Bits {
  uint64_t keep = ~uint64_t(0);
  uint64_t flip = 0;
  uint64_t infinity = 0;  // of floats: what is larger without its sign is NaN
};

// What the accumulation of an element depends on besides the element.
enum class Before : uint8_t {
  kNothing,
  kFirst,    // a shift, made from the result's first element
  kLargest,  // a shift, the segment's largest element in the same column: rows look by themselves
};

constexpr int kMostPlanes = 4;
// The index that stands for none: the identity's.
constexpr int64_t kNoIndex = int64_t(1) << 62;

struct MonoidKernels {
  // `count` rows of n elements (at most one segment), `pitch` bytes apart; row r leaves its
  // accumulator at out[r]. With `whole` they are segments in one row, whose first element is there
  // and the first of which starts at `index`; else rows of their own.
  void (*rows)(const Bits& bits, const char* x, int64_t pitch, int64_t count, int64_t n,
               const char* whole, int64_t index, Word* out, int64_t plane);
  // acc[c] = acc[c] and row[0][c], row[1][c], …, from the identity where `fresh`. The rows' indices
  // are index, index + step, … Column c is shifted by shift[c].
  void (*columns)(const Bits& bits, const char* const* row, int rows, int64_t width,
                  const double* shift, int64_t index, int64_t step, bool fresh, Word* acc,
                  int64_t plane);
  // high[c] = the largest number of the column, -inf where there is none. Of Before::kLargest.
  void (*largest)(const char* const* row, int rows, int64_t width, bool fresh, double* high);
  // a[c] = combine(a[c], b[c]); b may start inside a, `width` or more words on.
  void (*merge)(Word* a, const Word* b, int64_t width, int64_t plane);
  int size;      // bytes of an element
  int planes;    // of the accumulator
  int index;     // the plane that holds indices, or -1
  bool ordered;  // rounding shows the order of combining
  Before before;
};

enum class MonoidKind : uint8_t {
  kMoments,
  kProd,
  kNanSum,
  kNanMean,
  kAbsoluteSum,
  kSquareSum,
  kLogSumExp,
  kExtremes,
  kBest,
  kCount,
};
constexpr int kMonoidKinds = 10;

// Which type the kernel reads: of extremes and indices floats, or integers by their size; of truth
// bits by their size.
struct MonoidTable {
  MonoidKernels kernels[kMonoidKinds][kKinds];  // without functions where there is no kernel
};

const MonoidTable& monoid_table_default();
#if defined(__x86_64__)
const MonoidTable& monoid_table_avx2();
#endif
// The best table that this CPU runs and ATEN_CPU_CAPABILITY allows.
const MonoidTable& monoid_table();

}  // namespace reduce_ops::cpu
