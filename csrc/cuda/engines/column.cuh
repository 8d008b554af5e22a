// Columns: the reduction strides through memory. Neighbouring threads take neighbouring columns
// where those are close together, further threads of the block take further segments.
#pragma once

#include "core/store.h"
#include "cuda/parts/accumulate.cuh"
#include "cuda/parts/combine.cuh"
#include "cuda/parts/load.cuh"
#include "plan/order.h"

namespace reduce_ops::cuda {

struct ColumnArgs {
  const char* in;
  void* out;
  DType out_type;
  int vector;      // columns a thread: 1, or as many as one load brings
  int log_across;  // threads along the columns
  int log_down;    // threads along the reduction, a segment each
  int log_units;   // units a block
  int segment_rows;
  uint32_t unit_blocks;
  int64_t parts;    // blocks along the reduction
  int64_t columns;  // innermost kept axis
  Divider strips;   // of across * vector columns
  int64_t units;    // strips times the other kept axes
  int64_t length;
  AxesMap kept;
  AxesMap reduced;
};

// `bytes` at a multiple of their number: 4, 8 or 16, or one element.
__device__ __forceinline__ Chunk load_columns(const char* address, int bytes) {
  Chunk c = {};
  if (bytes == 16) return load_chunk(address);
  if (bytes == 8) {
    const uint2 v = __ldg(reinterpret_cast<const uint2*>(address));
    c.word[0] = v.x;
    c.word[1] = v.y;
  } else if (bytes == 4) {
    c.word[0] = __ldg(reinterpret_cast<const uint32_t*>(address));
  } else if (bytes == 2) {
    c.word[0] = __ldg(reinterpret_cast<const uint16_t*>(address));
  } else {
    c.word[0] = __ldg(reinterpret_cast<const uint8_t*>(address));
  }
  return c;
}

// The same for one element; a complex number is only aligned as its parts are.
__device__ __forceinline__ Chunk load_element(const char* address, int bytes, bool complex) {
  if (!complex) return load_columns(address, bytes);
  Chunk c = load_columns(address, bytes / 2);
  const Chunk imaginary = load_columns(address + bytes / 2, bytes / 2);
  c.word[bytes / 8] = imaginary.word[0];
  if (bytes == 16) c.word[3] = imaginary.word[1];
  return c;
}

// kVector: a thread's columns lie side by side and come with one load. Else they are `across`
// apart, so that neighbouring threads still read neighbouring elements.
template <class Elements, class Monoid, int kColumns, bool kVector>
__global__ void __launch_bounds__(kMaxColumnThreads)
    column(const __grid_constant__ ColumnArgs args, Elements elements,
           typename Monoid::acc_t* partial) {
  using acc_t = typename Monoid::acc_t;
  constexpr int kRows = 4;  // loaded together; segment_rows() is a multiple of 2 * kRows
  constexpr int kLoads = kVector ? 1 : kColumns;  // a row
  static_assert(kSegmentRowsStep % (2 * kRows) == 0, "whole pairs of groups");
  extern __shared__ __align__(16) char storage[];
  if (args.parts > 1) allow_next_kernel();

  const int across = threadIdx.x & ((1 << args.log_across) - 1);
  const int down = (threadIdx.x >> args.log_across) & ((1 << args.log_down) - 1);
  const int64_t part = blockIdx.x / args.unit_blocks;
  const int64_t first_unit = int64_t(blockIdx.x % args.unit_blocks) << args.log_units;
  const int vector = Elements::kSize || !kVector ? kColumns : args.vector;
  const int size = elements.size();
  // Column of a thread's slot within its strip.
  const auto column_in_strip = [&](int thread, int slot) {
    return kVector ? thread * vector + slot : thread + (slot << args.log_across);
  };

  acc_t acc[kColumns];
#pragma unroll
  for (int c = 0; c < kColumns; ++c) acc[c] = Monoid::identity();
  const int64_t unit = first_unit + (threadIdx.x >> (args.log_across + args.log_down));
  const int64_t outer = args.strips.quotient(unit);
  const int64_t strip = unit - outer * args.strips.divisor;
  const int64_t first_column = (strip << args.log_across) * vector + column_in_strip(across, 0);
  const int64_t begin = ((part << args.log_down) + down) * args.segment_rows;
  if (unit < args.units && first_column < args.columns && begin < args.length) {
    const char* base = args.in + args.kept.locate(outer * args.columns + first_column).in * size;
    const bool one_axis = args.reduced.count <= 1;
    const int64_t stride = args.reduced.axis[0].in * size;
    const int64_t last_apart = (args.columns - 1 - first_column) >> args.log_across
                                                                        << args.log_across;
    // Where a thread's columns are; past the last column that one again.
    const char* column[kLoads];
#pragma unroll
    for (int c = 0; c < kLoads; ++c) {
      const int64_t apart = min(int64_t(c) << args.log_across, last_apart);
      column[c] = base + apart * args.kept.axis[0].in * size;
    }
    const int64_t end = min(args.length, begin + args.segment_rows);
    using Rows = Chunk[kRows][kLoads];
    // Rows n … n + kRows; past the end the last one again, so that no load needs a branch.
    const auto load_row = [&](Chunk(&row)[kLoads], int64_t offset) {
      if constexpr (kVector) {
        row[0] = load_columns(column[0] + offset, vector * size);
      } else {
#pragma unroll
        for (int c = 0; c < kLoads; ++c)
          row[c] = load_element(column[c] + offset, size, elements.is_complex());
      }
    };
    const auto load_rows = [&](Rows& rows, int64_t n) {
      if (one_axis) {
#pragma unroll
        for (int r = 0; r < kRows; ++r) load_row(rows[r], min(n + r, end - 1) * stride);
      } else {
#pragma unroll
        for (int r = 0; r < kRows; ++r)
          load_row(rows[r], args.reduced.locate(min(n + r, end - 1)).in * size);
      }
    };
    const auto add_row = [&](const Chunk(&row)[kLoads], int64_t n) {
      if constexpr (kVector) {
        elements.for_each(row[0], vector, [&](int e, auto x) {
          if (e < kColumns) acc[e] = Monoid::accumulate(acc[e], x, n);
        });
      } else {
#pragma unroll
        for (int c = 0; c < kLoads; ++c)
          accumulate<Elements, Monoid>(acc[c], elements, row[c], 1, n);
      }
    };
    Rows even, odd;
    load_rows(even, begin);
    if (end - begin == args.segment_rows) {
      // One group of rows is in flight while the other is added.
#pragma unroll 1
      for (int64_t n = begin; n < end; n += 2 * kRows) {
        load_rows(odd, n + kRows);
#pragma unroll
        for (int r = 0; r < kRows; ++r) add_row(even[r], n + r);
        if (n + 2 * kRows < end) load_rows(even, n + 2 * kRows);
#pragma unroll
        for (int r = 0; r < kRows; ++r) add_row(odd[r], n + kRows + r);
      }
    } else {
#pragma unroll 1
      for (int64_t n = begin; n < end; n += kRows) {
        if (n > begin) load_rows(even, n);
#pragma unroll
        for (int r = 0; r < kRows; ++r) {
          if (n + r < end) add_row(even[r], n + r);
        }
      }
    }
  }
  merge_down<Monoid, kColumns>(
      acc, storage, args.log_across, args.log_down, [&](int unit_here, int slot, acc_t result) {
        // Where a thread takes fewer columns than it has room for, the other slots are idle.
        if (slot % kColumns >= vector) return;
        const int64_t its_unit = first_unit + unit_here;
        const int64_t its_outer = args.strips.quotient(its_unit);
        const int64_t its_strip = its_unit - its_outer * args.strips.divisor;
        const int64_t its_column = (its_strip << args.log_across) * vector +
                                   column_in_strip(slot / kColumns, slot % kColumns);
        if (its_unit >= args.units || its_column >= args.columns) return;
        if (args.parts > 1)
          partial[(its_outer * args.parts + part) * args.columns + its_column] = result;
        else
          store_as(args.out, args.kept.locate(its_outer * args.columns + its_column).out,
                   args.out_type, Monoid::finalize(result, args.length));
      });
}

}  // namespace reduce_ops::cuda
