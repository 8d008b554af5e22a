// Columns: the reduction strides through memory. Neighbouring threads take neighbouring columns
// where those are close together, further threads of the block take further segments.
#pragma once

#include "cuda/parts/accumulate.cuh"
#include "cuda/parts/combine.cuh"
#include "cuda/parts/load.cuh"
#include "cuda/parts/store.cuh"
#include "plan/order.h"

namespace reduce_ops::cuda {

struct ColumnArgs {
  const char* in;
  void* out;
  DType out_type;
  int vector;      // columns a thread: 1, or as many as one load brings
  int log_across;  // threads along the columns
  int log_down;    // threads along the reduction, a segment each
  int segments;    // a thread, a power of two
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
template <bool kThroughL1 = false>
__device__ __forceinline__ Chunk load_columns(const char* address, int bytes) {
  Chunk c = {};
  if (bytes == 16) return load_chunk<kThroughL1>(address);
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

// Rows loaded together: 128 bytes a thread, or what 32 registers hold.
template <class Elements, int kColumns, bool kVector>
constexpr int kRowsAtOnce = kColumns == 1               ? 8
                            : kVector&& Elements::kSize ? 128 / (kColumns * Elements::kSize)
                            : Elements::kSize&& Elements::kSize <= 4 ? 32 / kColumns
                                                                     : 4;

// kVector: a thread's columns lie side by side and come with one load. Else they are 32 apart, so
// that neighbouring threads still read neighbouring elements.
template <class Elements, class Monoid, int kColumns, bool kVector, bool kThroughL1>
__global__ void RO_MAX_REGISTERS(kVector&& Elements::kSize ? 80 : 96)
    column(const __grid_constant__ ColumnArgs args, Elements elements,
           typename Monoid::acc_t* partial) {
  using acc_t = typename Monoid::acc_t;
  constexpr int kRows = kRowsAtOnce<Elements, kColumns, kVector>;
  constexpr int kCarefulRows = 4;  // where axes or the segment's end must be looked at
  constexpr int kLoads = kVector ? 1 : kColumns;  // a row
  static_assert(kSegmentRowsStep % kRows == 0, "a whole segment is whole groups of rows");
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
    return kVector ? thread * vector + slot : thread + slot * kColumnsApart;
  };

  acc_t acc[kColumns];
#pragma unroll
  for (int c = 0; c < kColumns; ++c) acc[c] = Monoid::identity();
  const int64_t unit = first_unit + (threadIdx.x >> (args.log_across + args.log_down));
  const int64_t outer = args.strips.quotient(unit);
  const int64_t strip = unit - outer * args.strips.divisor;
  const int64_t first_column = (strip << args.log_across) * vector + column_in_strip(across, 0);
  const int64_t begin = ((part << args.log_down) + down) * args.segments * args.segment_rows;
  const bool valid = unit < args.units && first_column < args.columns && begin < args.length;
  Offsets at = {0, 0};
  if (valid) {
    at = args.kept.locate(outer * args.columns + first_column);
    const char* base = args.in + at.in * size;
    // The thread's columns that exist, where they are loaded one by one.
    const int loads =
        int(min(int64_t(kLoads), (args.columns - 1 - first_column) / kColumnsApart + 1));
    const int64_t apart = kColumnsApart * args.kept.axis[0].in * size;
    Chunk data[kRows][kLoads];
    const auto load_row = [&](Chunk(&row)[kLoads], const char* from) {
      if constexpr (kVector) {
        row[0] = load_columns<kThroughL1>(from, vector * size);
      } else {
#pragma unroll
        for (int c = 0; c < kLoads; ++c) {
          if (c < loads) row[c] = load_element(from + c * apart, size, elements.is_complex());
        }
      }
    };
    const auto add_row = [&](const Chunk(&row)[kLoads], int64_t n) {
      if constexpr (kVector) {
        elements.for_each(row[0], vector, [&](int e, auto x) {
          if (e < kColumns) acc[e] = Monoid::accumulate(acc[e], x, n);
        });
      } else {
#pragma unroll
        for (int c = 0; c < kLoads; ++c) {
          if (c < loads) accumulate<Elements, Monoid>(acc[c], elements, row[c], 1, n);
        }
      }
    };
    const auto add_segment = [&](int64_t begin, int64_t end) {
      if (args.reduced.count <= 1 && end - begin == args.segment_rows) {
        const int64_t stride = args.reduced.axis[0].in * size;
        const char* from = base + begin * stride;
#pragma unroll 1
        for (int64_t n = begin; n < end; n += kRows) {
#pragma unroll
          for (int r = 0; r < kRows; ++r) {
            load_row(data[r], from);
            from += stride;
          }
#pragma unroll
          for (int r = 0; r < kRows; ++r) add_row(data[r], n + r);
        }
      } else {
#pragma unroll 1
        for (int64_t n = begin; n < end; n += kCarefulRows) {
#pragma unroll
          for (int r = 0; r < kCarefulRows; ++r)
            load_row(data[r], base + args.reduced.locate(min(n + r, end - 1)).in * size);
#pragma unroll
          for (int r = 0; r < kCarefulRows; ++r) {
            if (n + r < end) add_row(data[r], n + r);
          }
        }
      }
    };
    // The thread's own part of the tree waits in shared memory: registers are for loads.
    acc_t* own = reinterpret_cast<acc_t*>(storage) + threadIdx.x;
    const auto slot = [&](int level, int c) -> acc_t& {
      return own[(level * kColumns + c) * blockDim.x];
    };
    int done = 0;
    for (int64_t first = begin; done < args.segments && first < args.length; ++done) {
      if (done > 0) {
#pragma unroll
        for (int c = 0; c < kColumns; ++c) acc[c] = Monoid::identity();
      }
      const int64_t end = min(args.length, first + args.segment_rows);
      add_segment(first, end);
      first = end;
      if (args.segments == 1) continue;
      int level = 0;
      for (; done >> level & 1; ++level) {
#pragma unroll
        for (int c = 0; c < kColumns; ++c) acc[c] = Monoid::combine(slot(level, c), acc[c]);
      }
#pragma unroll
      for (int c = 0; c < kColumns; ++c) slot(level, c) = acc[c];
    }
    if (args.segments > 1) {
      int level = 0;
      while (!(done >> level & 1)) ++level;
#pragma unroll
      for (int c = 0; c < kColumns; ++c) acc[c] = slot(level, c);
      for (++level; done >> level; ++level) {
        if (!(done >> level & 1)) continue;
#pragma unroll
        for (int c = 0; c < kColumns; ++c) acc[c] = Monoid::combine(slot(level, c), acc[c]);
      }
    }
  }
  if (args.segments > 1) __syncthreads();       // the storage is used anew
  if (args.log_down == 0 && args.parts == 1) {  // nothing to merge
    if (!valid) return;
    using value_t = decltype(Monoid::finalize(acc[0], args.length));
    value_t value[kColumns];
#pragma unroll
    for (int c = 0; c < kColumns; ++c) value[c] = Monoid::finalize(acc[c], args.length);
    const int64_t apart = column_in_strip(0, 1) - column_in_strip(0, 0);
    const int64_t left = (args.columns - 1 - first_column) / apart + 1;
    store_values(args.out, at.out, apart * args.kept.axis[0].out, args.out_type, value,
                 int(min(left, int64_t(vector))));
    return;
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
