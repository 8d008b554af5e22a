// Columns: the reduction strides through memory. Neighbouring threads take neighbouring columns
// where those are close together; further threads of the block take further segments.
#pragma once

#include "core/store.h"
#include "cuda/parts/accumulate.cuh"
#include "cuda/parts/combine.cuh"
#include "cuda/parts/load.cuh"
#include "plan/order.h"

namespace reduce_ops::cuda {

constexpr int kColumnThreads = 256;
constexpr int kColumnLevels = 3;
constexpr int kMaxColumnSegments = 1 << kColumnLevels;  // a thread

struct ColumnArgs {
  const char* in;
  void* out;
  DType out_type;
  int vector;       // columns a thread: 1, or as many as one load brings
  int log_across;   // threads along the columns
  int log_down;     // threads along the reduction
  int segments;     // a thread, a power of two
  int64_t parts;    // blocks along the reduction
  int64_t columns;  // innermost kept axis
  Divider strips;   // of across * vector columns
  int64_t units;    // strips times the other kept axes
  int64_t length;
  AxesMap kept;
  AxesMap reduced;
};

// `bytes` of one thread's columns: 4, 8 or 16, or one element.
template <bool kVector>
__device__ __forceinline__ Chunk load_columns(const char* address, int bytes) {
  Chunk c = {};
  switch (bytes) {
    case 16:
      if constexpr (kVector) return load_chunk(address);
      return load_unaligned_chunk(address, address + 16);  // a complex128 at an 8-byte boundary
    case 8: {
      if constexpr (kVector) {
        const uint2 v = __ldg(reinterpret_cast<const uint2*>(address));
        c.word[0] = v.x;
        c.word[1] = v.y;
      } else {  // a complex64 may lie at a 4-byte boundary
        const uint32_t* words = reinterpret_cast<const uint32_t*>(address);
        c.word[0] = __ldg(words);
        c.word[1] = __ldg(words + 1);
      }
      return c;
    }
    case 4:
      c.word[0] = __ldg(reinterpret_cast<const uint32_t*>(address));
      return c;
    case 2:
      c.word[0] = __ldg(reinterpret_cast<const uint16_t*>(address));
      return c;
    default:
      c.word[0] = __ldg(reinterpret_cast<const uint8_t*>(address));
      return c;
  }
}

template <class Elements, class Monoid, int kColumns>
__global__ void __launch_bounds__(kColumnThreads)
    column(const __grid_constant__ ColumnArgs args, Elements elements,
           typename Monoid::acc_t* partial) {
  using acc_t = typename Monoid::acc_t;
  constexpr int kBatch = 8;  // loads in flight
  __shared__ alignas(16) char storage[kColumns * kColumnThreads * sizeof(acc_t)];
  if (args.parts > 1) allow_next_kernel();

  const int across = threadIdx.x & ((1 << args.log_across) - 1);
  const int down = (threadIdx.x >> args.log_across) & ((1 << args.log_down) - 1);
  const int log_units = 8 - args.log_across - args.log_down;  // units a block
  const int64_t unit_blocks = (args.units + (1 << log_units) - 1) >> log_units;
  const int64_t part = uint32_t(blockIdx.x) / uint32_t(unit_blocks);
  const int64_t unit = ((blockIdx.x - part * unit_blocks) << log_units) +
                       (threadIdx.x >> (args.log_across + args.log_down));
  const int64_t outer = args.strips.quotient(unit);
  const int64_t strip = unit - outer * args.strips.divisor;
  const int vector = kColumns == 1 ? 1 : (Elements::kSize ? kColumns : args.vector);
  const int size = elements.size();
  const int64_t first_column = ((strip << args.log_across) + across) * vector;
  const bool valid = unit < args.units && first_column < args.columns;
  const int64_t output = outer * args.columns + first_column;

  acc_t result[kColumns];
#pragma unroll
  for (int c = 0; c < kColumns; ++c) result[c] = Monoid::identity();
  if (valid) {
    const char* base = args.in + args.kept.locate(output).in * size;
    const bool one_axis = args.reduced.count <= 1;
    const int64_t stride = args.reduced.axis[0].in * size;
    const auto load = [&](int64_t n) {
      const int64_t offset = one_axis ? n * stride : args.reduced.locate(n).in * size;
      return load_columns<(kColumns > 1)>(base + offset, vector * size);
    };
    TreeStack<Monoid, kColumnLevels> tree[kColumns];
    const int64_t first_segment = ((part << args.log_down) + down) * args.segments;
    for (int s = 0; s < args.segments; ++s) {
      const int64_t first = (first_segment + s) * kSegmentRows;
      if (first >= args.length) break;
      acc_t acc[kColumns];
#pragma unroll
      for (int c = 0; c < kColumns; ++c) acc[c] = Monoid::identity();
      const auto accumulate_row = [&](const Chunk& data, int64_t n) {
        if constexpr (kColumns == 1) {
          accumulate<Elements, Monoid>(acc[0], elements, data, 1, n);
        } else {
          elements.for_each(data, vector, [&](int e, auto x) {
            if (e < kColumns) acc[e] = Monoid::accumulate(acc[e], x, n);
          });
        }
      };
#pragma unroll 1
      for (int batch = 0; batch < kSegmentRows; batch += kBatch) {
        const int64_t n0 = first + batch;
        Chunk data[kBatch];
        if (n0 + kBatch <= args.length) {
#pragma unroll
          for (int r = 0; r < kBatch; ++r) data[r] = load(n0 + r);
#pragma unroll
          for (int r = 0; r < kBatch; ++r) accumulate_row(data[r], n0 + r);
        } else {
#pragma unroll
          for (int r = 0; r < kBatch; ++r) {
            if (n0 + r < args.length) data[r] = load(n0 + r);
          }
#pragma unroll
          for (int r = 0; r < kBatch; ++r) {
            if (n0 + r < args.length) accumulate_row(data[r], n0 + r);
          }
        }
      }
#pragma unroll
      for (int c = 0; c < kColumns; ++c) tree[c].push(acc[c]);
    }
#pragma unroll
    for (int c = 0; c < kColumns; ++c) result[c] = tree[c].finish();
  }
  merge_down<Monoid, kColumns>(result, storage, down, args.log_across, args.log_down);
  if (!valid || down != 0) return;
#pragma unroll
  for (int c = 0; c < kColumns; ++c) {
    if (c >= vector) break;
    if (args.parts > 1) {
      partial[(outer * args.parts + part) * args.columns + first_column + c] = result[c];
    } else {
      const Offsets at = args.kept.locate(output + c);
      store_as(args.out, at.out, args.out_type, Monoid::finalize(result[c], args.length));
    }
  }
}

}  // namespace reduce_ops::cuda
