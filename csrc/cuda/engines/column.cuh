// Columns: the reduction strides through memory. Neighbouring threads take neighbouring columns
// where those are close together, further threads of the block take further segments.
#pragma once

#include "cuda/parts/accumulate.cuh"
#include "cuda/parts/combine.cuh"
#include "cuda/parts/load.cuh"
#include "cuda/parts/store.cuh"
#include "plan/features.h"
#include "plan/order.h"

namespace reduce_ops::cuda {

enum class ColumnLoad : int {
  kElement,    // one column a thread
  kAligned,    // a thread's columns come with one load
  kThroughL1,  // the same, for long streams (see parts/load.cuh)
  kShifted,    // a thread's columns lie side by side, at any alignment
};

struct ColumnArgs {
  const char* in;
  Epilogue epilogue;
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
  const char* other;  // the second input, where there is one, and its strides
  AxesMap other_kept;
  AxesMap other_reduced;
};

// `bytes` at a multiple of their number: 16, 8, 4, 2 or 1.
template <bool kThroughL1 = false>
__device__ __forceinline__ Chunk load_columns(const char* address, int bytes) {
  Chunk c = {};
  if (bytes == 16) return load_chunk<kThroughL1>(address);
  if (bytes == 8) {
    const uint2 v = load_half_chunk<kThroughL1>(address);
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

// Reads a row's columns of one thread: load() starts it, chunk() gives the bytes.
template <class Elements, int kColumns, ColumnLoad kLoad>
struct ColumnReader {
  static constexpr int kBytes = kLoad == ColumnLoad::kShifted ? kColumns * Elements::kSize : 16;
  using Raw = std::conditional_t<kLoad == ColumnLoad::kShifted, Unaligned<kBytes>, Chunk>;
  int bytes;  // of the columns that exist

  __device__ __forceinline__ Raw load(const Elements& elements, const char* address) const {
    if constexpr (kLoad == ColumnLoad::kShifted)
      return load_unaligned<kBytes>(address, bytes);
    else if constexpr (kLoad == ColumnLoad::kElement)
      return load_element(address, elements.size(), elements.is_complex());
    else
      return load_columns<kLoad == ColumnLoad::kThroughL1>(
          address, Elements::kSize ? kColumns * Elements::kSize : bytes);
  }
  __device__ __forceinline__ Chunk chunk(const Raw& raw, const char* address) const {
    if constexpr (kLoad == ColumnLoad::kShifted)
      return shifted<Elements::kSize % 4 == 0>(raw, address);
    else
      return raw;
  }
};

// Rows loaded together, and registers a thread. Twice as many are for few threads with much to do
// each, where every thread must have more on its way; all threads of the largest block that the
// planner asks for fit the registers.
template <class Elements, int kColumns, ColumnLoad kLoad, bool kDeep>
constexpr int kRowsAtOnce =
    kColumns == 1 ? 8
    : !Elements::kSize
        ? 4
        : std::min(kSegmentRowsStep, (kDeep ? 128 : 64) / (kColumns * Elements::kSize) /
                                         (kLoad == ColumnLoad::kShifted ? 2 : 1));
template <ColumnLoad kLoad, bool kDeep, bool kLarge>
constexpr int kColumnRegisters = kLarge                          ? 128
                                 : kLoad == ColumnLoad::kShifted ? (kDeep ? 88 : 80)
                                 : kDeep                         ? 84
                                                                 : 64;

// Threads of the largest block, as max_column_threads() of the planner knows.
template <ColumnLoad kLoad, bool kDeep, bool kLarge>
constexpr int kColumnThreads =
    kDeep || kLarge || kLoad == ColumnLoad::kShifted ? kMaxColumnThreads / 2 : kMaxColumnThreads;
template <class Elements, class Monoid>
constexpr bool kLargeColumn = features<Elements, Monoid>().large();

template <class Elements, class Monoid, int kColumns, ColumnLoad kLoad, bool kDeep>
__global__ void RO_MAX_REGISTERS((kColumnRegisters<kLoad, kDeep, kLargeColumn<Elements, Monoid>>),
                                 (kColumnThreads<kLoad, kDeep, kLargeColumn<Elements, Monoid>>))
    column(const __grid_constant__ ColumnArgs args, Elements elements,
           typename Monoid::acc_t* partial) {
  using acc_t = typename Monoid::acc_t;
  extern __shared__ __align__(16) char storage[];
  if (args.parts > 1) allow_next_kernel();

  const int across = threadIdx.x & ((1 << args.log_across) - 1);
  const int down = (threadIdx.x >> args.log_across) & ((1 << args.log_down) - 1);
  const int64_t part = blockIdx.x / args.unit_blocks;
  const int64_t first_unit = int64_t(blockIdx.x % args.unit_blocks) << args.log_units;
  const int vector = Elements::kSize || kColumns == 1 ? kColumns : args.vector;
  const int size = elements.size();

  acc_t acc[kColumns];
#pragma unroll
  for (int c = 0; c < kColumns; ++c) acc[c] = Monoid::identity();
  const int64_t unit = first_unit + (threadIdx.x >> (args.log_across + args.log_down));
  const int64_t outer = args.strips.quotient(unit);
  const int64_t strip = unit - outer * args.strips.divisor;
  const int64_t first_column = ((strip << args.log_across) + across) * vector;
  const int64_t begin = ((part << args.log_down) + down) * args.segments * args.segment_rows;
  const bool valid = unit < args.units && first_column < args.columns && begin < args.length;
  Offsets at = {0, 0};
  if (valid) {
    at = args.kept.locate(outer * args.columns + first_column);
    const char* base = args.in + at.in * size;
    const int count = int(min(int64_t(vector), args.columns - first_column));
    typename Monoid::state_t state[kColumns];
#pragma unroll
    for (int c = 0; c < kColumns; ++c)
      state[c] = start_of<Monoid>(elements, base + (c < count ? c : 0) * size);
    const auto add_row = [&](const auto& typed, const auto& row, int columns, int64_t n) {
      using Typed = std::decay_t<decltype(typed)>;
      if constexpr (kColumns == 1) {
        accumulate<Typed, Monoid>(acc[0], typed, row, 1, n, state[0]);
      } else {
        typed.for_each(row, columns, [&](int e, auto x) {
          if (e < kColumns) acc[e] = Monoid::accumulate(acc[e], x, n, state[e]);
        });
      }
    };
    // The thread's own part of the tree waits in shared memory: registers are for loads.
    acc_t* own = reinterpret_cast<acc_t*>(storage) + threadIdx.x;
    const auto slot = [&](int level, int c) -> acc_t& {
      return own[(level * kColumns + c) * blockDim.x];
    };
    int done = 0;  // segments; the last of a whole tree leaves the tree's result in acc
    const auto end_segment = [&] {
      const int index = done++;
      if (args.segments == 1) return;
      int level = 0;
      for (; index >> level & 1; ++level) {
#pragma unroll
        for (int c = 0; c < kColumns; ++c) acc[c] = Monoid::combine(slot(level, c), acc[c]);
      }
      if (done == args.segments) return;
#pragma unroll
      for (int c = 0; c < kColumns; ++c) {
        slot(level, c) = acc[c];
        acc[c] = Monoid::identity();
      }
    };
    // Rows at any strides.
    const auto add_careful = [&](int64_t begin, int64_t end) {
      constexpr int kRows = 4;
      using Reader = ColumnReader<Elements, kColumns, kLoad>;
      const Reader reader = {count * size};
      const char* other = nullptr;
      if constexpr (kTakesTwo<Elements>)
        other = args.other + args.other_kept.locate(outer * args.columns + first_column).in * size;
      typename Reader::Raw data[kRows], others[kRows];
#pragma unroll 1
      for (int64_t n = begin; n < end; n += kRows) {
        const auto row = [&](int r) {
          return base + args.reduced.locate(min(n + r, end - 1)).in * size;
        };
        const auto other_row = [&](int r) {
          return other + args.other_reduced.locate(min(n + r, end - 1)).in * size;
        };
#pragma unroll
        for (int r = 0; r < kRows; ++r) data[r] = reader.load(elements, row(r));
        if constexpr (kTakesTwo<Elements>) {
#pragma unroll
          for (int r = 0; r < kRows; ++r) others[r] = reader.load(elements, other_row(r));
        }
#pragma unroll
        for (int r = 0; r < kRows; ++r) {
          if (n + r >= end) continue;
          const Chunk chunk = reader.chunk(data[r], row(r));
          if constexpr (kTakesTwo<Elements>)
            add_row(elements, ChunkPair{chunk, reader.chunk(others[r], other_row(r))}, vector,
                    n + r);
          else
            add_row(elements, chunk, vector, n + r);
        }
      }
    };
    // Whole segments at one stride.
    if constexpr (!kTakesTwo<Elements>) {
      const auto add_whole = [&](const auto& typed, int segments) {
        using Typed = std::decay_t<decltype(typed)>;
        constexpr int kHere =
            Typed::kSize ? std::min(kColumns, kChunkBytes / Typed::kSize) : kColumns;
        constexpr int kRows = kRowsAtOnce < Typed, kHere, kLoad, kDeep || kLargeColumn < Elements,
                      Monoid >>
            ;
        static_assert(kSegmentRowsStep % kRows == 0, "a whole segment is whole groups of rows");
        using Reader = ColumnReader<Typed, kHere, kLoad>;
        const Reader reader = {count * size};
        const int64_t stride = args.reduced.axis[0].in * size;
        typename Reader::Raw data[kRows];
        const char* from = base + begin * stride;
        int64_t n = begin;
#pragma unroll 1
        for (; segments > 0; --segments) {
#pragma unroll 1
          for (int left = args.segment_rows; left > 0; left -= kRows) {
#pragma unroll
            for (int r = 0; r < kRows; ++r) data[r] = reader.load(typed, from + r * stride);
            if constexpr (kHere > 1 && kTakesRows<Monoid, Typed>) {
              Chunk rows[kRows];
#pragma unroll
              for (int r = 0; r < kRows; ++r) rows[r] = reader.chunk(data[r], from + r * stride);
              constexpr int kGroup = std::min(kRows, kRowsTaken<Monoid>);
#pragma unroll
              for (int r = 0; r < kRows; r += kGroup)
                ByRows<Monoid>::template accumulate<kHere>(
                    acc, typed, reinterpret_cast<Chunk(&)[kGroup]>(rows[r]), n + r);
            } else {
#pragma unroll
              for (int r = 0; r < kRows; ++r)
                add_row(typed, reader.chunk(data[r], from + r * stride), kHere, n + r);
            }
            n += kRows;
            from += kRows * stride;
          }
          end_segment();
        }
      };
      if (args.reduced.count <= 1) {
        const int whole =
            int(min(int64_t(args.segments), (args.length - begin) / args.segment_rows));
        if (whole > 0) elements.typed([&](const auto& typed) { add_whole(typed, whole); });
      }
    }
    while (done < args.segments) {
      const int64_t first = begin + int64_t(done) * args.segment_rows;
      if (first >= args.length) break;
      add_careful(first, min(args.length, first + args.segment_rows));
      end_segment();
    }
    if (args.segments > 1 && done < args.segments) {
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
    store_results<Monoid>(args.epilogue, args.reduced, at,
                          {args.kept.axis[0].in, args.kept.axis[0].out}, acc,
                          int(min(args.columns - first_column, int64_t(vector))));
    return;
  }
  merge_down<Monoid, kColumns>(
      acc, storage, args.log_across, args.log_down, [&](int unit_here, int slot, acc_t result) {
        // Where a thread takes fewer columns than it has room for, the other slots are idle.
        if (slot % kColumns >= vector) return;
        const int64_t its_unit = first_unit + unit_here;
        const int64_t its_outer = args.strips.quotient(its_unit);
        const int64_t its_strip = its_unit - its_outer * args.strips.divisor;
        const int64_t its_column =
            ((its_strip << args.log_across) + slot / kColumns) * vector + slot % kColumns;
        if (its_unit >= args.units || its_column >= args.columns) return;
        if (args.parts > 1) {
          partial[(its_outer * args.parts + part) * args.columns + its_column] = result;
          return;
        }
        const Offsets to = args.kept.locate(its_outer * args.columns + its_column);
        store_final(args.epilogue, args.reduced, to, result, Monoid{});
      });
}

}  // namespace reduce_ops::cuda
