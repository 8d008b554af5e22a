// What the engines of the ops but sum and mean share.
#pragma once

#include "cpu/job.h"
#include "cpu/monoid_kernels.h"

namespace reduce_ops::cpu {

struct MonoidFamily {
  const MonoidKernels* kernels;  // null where no kernel computes the op on such elements
  MonoidKind kind;
  Bits bits;
};

MonoidFamily monoid_family_of(const Problem& problem);

struct MonoidJob {
  const Problem& problem;
  Epilogue epilogue;
  MonoidFamily family;
  int threads;   // at most; 0 for as many as there are
  int64_t span;  // segments in one part of a result: a power of two
  int64_t parts;
  const ParallelFor& parallel_for;

  const MonoidKernels& kernels() const { return *family.kernels; }
  int in_size() const { return size_of(problem.in); }
  const char* in_at(int64_t offset) const { return epilogue.in + offset * in_size(); }
};

// Finalizes and stores `count` neighbours along the innermost kept axis, the first of which `kept`
// stands at.
void store_results(const MonoidJob& job, const Word* acc, int64_t plane, const Cursor& kept,
                   int64_t count);

void run_rows(const MonoidJob& job);
void run_columns(const MonoidJob& job);

}  // namespace reduce_ops::cpu
