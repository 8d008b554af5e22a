// How the CPU reads a problem's elements: which kernel, how many real components an element has,
// and whether elements must be cast on the way.
#pragma once

#include "cpu/simd.h"
#include "plan/problem.h"

namespace reduce_ops::cpu {

struct Family {
  const Kernels* kernels;
  Recipe recipe;
  bool converts;    // elements go through convert() before the kernel
  int components;   // 2 for complex
  int size;         // bytes of an element as the kernel reads it
  int64_t divisor;  // of sums

  // Casts `count` contiguous elements of the input's dtype.
  void convert(const char* from, int64_t count, char* to) const;
};

// The type that kernels read for a dtype.
Kind kind_of(DType type);

Family family_of(const Problem& problem);

// Stores the results of `count` outputs, `stride` elements apart. Components lie next to each
// other, acc[output * components + component]; see simd.h for planes. acc holds nothing of use
// after.
void store_results(const Family& family, Word* acc, int64_t plane, int64_t count, DType type,
                   char* out, int64_t stride);

}  // namespace reduce_ops::cpu
