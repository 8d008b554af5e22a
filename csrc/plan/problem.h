// A reduction seen as kept axes and reduced axes over strided memory, without torch.
#pragma once

#include <bitset>
#include <cstdint>

#include "core/families.h"

namespace reduce_ops {

// After merging, more axes than this are made fewer by a contiguous copy.
constexpr int kMaxAxes = 8;

struct Axis {
  int64_t size;
  int64_t in;         // stride in the input, in elements
  int64_t out;        // stride in the output, in elements; 0 for reduced axes
  int64_t other = 0;  // stride in the second input, for ops that have one
};

// Axes are in order of the input's strides, innermost first, axes of size 1 left out, neighbours
// merged where one stride serves both (of every tensor). Stride-0 axes of an expanded input count
// as outermost.
struct Axes {
  int count = 0;
  Axis axis[kMaxAxes];
};

struct Problem : Recipe {
  DType out;
  DType second;  // of second results, where there are such
  bool cuda;
  int alignment;    // of the input's first byte (of both inputs'), 1 … 16
  int64_t outputs;  // product of the kept sizes
  int64_t length;   // product of the reduced sizes
  Axes kept;
  Axes reduced;
};

// Pointers at the first elements of the input and of one or two results of the same layout. For ops
// with two results at hand either may be null (see Epilogue).
struct Operands {
  const void* in;
  void* out;
  void* second = nullptr;
  const void* other = nullptr;  // the second input
};

inline Epilogue epilogue_of(const Problem& p, const Operands& operands) {
  const double n = double(p.length), freedom = n - p.parameter;
  return {operands.out,
          operands.second,
          p.out,
          p.second,
          p.in,
          p.op,
          static_cast<const char*>(operands.in),
          static_cast<const char*>(operands.other),
          p.length,
          p.op == Op::kMean ? p.length : 1,
          p.outputs,
          1 / n,
          1 / (freedom > 0 ? freedom : 0.0),
          p.parameter};
}

constexpr int kMaxDims = 64;  // torch's own limit

// A tensor and the dims to reduce; all arrays have `dims` entries.
struct TensorView {
  int dims;
  const int64_t* sizes;
  const int64_t* in_strides;
  const int64_t* out_strides;  // not read where reduced
  std::bitset<kMaxDims> reduced;
  const int64_t* other_strides = nullptr;  // of a second input of the same sizes
};

// False where more than kMaxAxes axes remain: the caller passes a contiguous copy instead.
bool make_problem(const TensorView& view, const Recipe& recipe, DType out, DType second, bool cuda,
                  uintptr_t address, Problem& problem);

// Innermost kept axis.
inline int64_t columns_of(const Problem& p) { return p.kept.count ? p.kept.axis[0].size : 1; }

// Rows: the innermost reduced axis is contiguous. Everything else reduces columns. This is the
// layout class that a result's bits may depend on, and it depends on the reduced axes alone.
inline bool is_rows(const Problem& p) {
  return p.reduced.count == 0 ||
         (p.reduced.axis[0].in == 1 && (p.op != Op::kDot || p.reduced.axis[0].other == 1));
}

}  // namespace reduce_ops
