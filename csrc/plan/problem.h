// A reduction seen as kept axes and reduced axes over strided memory, without torch.
#pragma once

#include <bitset>
#include <cstdint>

#include "core/dtype.h"

namespace reduce_ops {

// After merging, more axes than this are made fewer by a contiguous copy.
constexpr int kMaxAxes = 8;

struct Axis {
  int64_t size;
  int64_t in;   // stride in the input, in elements
  int64_t out;  // stride in the output, in elements; 0 for reduced axes
};

// Axes are in order of the input's strides, innermost first, axes of size 1 left out, neighbours
// merged where one stride serves both. Stride-0 axes of an expanded input count as outermost.
struct Axes {
  int count = 0;
  Axis axis[kMaxAxes];
};

struct Problem {
  DType in;
  DType cast;  // elements are cast to this first; also the dtype whose rules the sum follows
  DType out;
  bool cuda;
  int alignment;        // of the input's first byte, 1 … 16
  int64_t outputs;      // product of the kept sizes
  int64_t length;       // product of the reduced sizes
  int64_t divisor = 1;  // of their sum: length for a mean
  Axes kept;
  Axes reduced;
};

constexpr int kMaxDims = 64;  // torch's own limit

// A tensor and the dims to reduce; all arrays have `dims` entries.
struct TensorView {
  int dims;
  const int64_t* sizes;
  const int64_t* in_strides;
  const int64_t* out_strides;  // not read where reduced
  std::bitset<kMaxDims> reduced;
};

// False where more than kMaxAxes axes remain: the caller passes a contiguous copy instead.
bool make_problem(const TensorView& view, DType in, DType cast, DType out, bool cuda,
                  uintptr_t address, Problem& problem);

// Innermost kept axis.
inline int64_t columns_of(const Problem& p) { return p.kept.count ? p.kept.axis[0].size : 1; }

// Rows: the innermost reduced axis is contiguous. Everything else reduces columns. This is the
// layout class that a result's bits may depend on, and it depends on the reduced axes alone.
inline bool is_rows(const Problem& p) { return p.reduced.count == 0 || p.reduced.axis[0].in == 1; }

}  // namespace reduce_ops
