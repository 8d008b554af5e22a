// Rows: the reduction runs along contiguous memory. warp_row gives a row to a few threads of a
// warp, block_row gives a row, or an aligned group of its segments, to a block.
#pragma once

#include "core/store.h"
#include "cuda/parts/accumulate.cuh"
#include "cuda/parts/combine.cuh"
#include "cuda/parts/load.cuh"
#include "plan/order.h"

namespace reduce_ops::cuda {

static_assert(kBlockThreads == kMaxLanes, "block_row has one thread a lane");

enum class RowLoad : int {
  kAligned,    // every row starts at a multiple of 16 bytes
  kThroughL1,  // the same, for long streams (see parts/load.cuh)
  kShifted,    // rows are contiguous, at any alignment
  kPieces,     // several pieces a row, each whole aligned chunks
  kGathered,   // several pieces a row, of any size and alignment
};

struct RowArgs {
  const char* in;
  void* out;
  DType out_type;
  RowLoad load;
  int64_t rows;
  int64_t length;
  int64_t divisor;
  int64_t chunks;  // of 16 bytes, the last one possibly short
  AxesMap kept;
  AxesMap reduced;
};

// Reads the chunks of one row: load() starts it, chunk() gives the bytes. kLoad is compiled in;
// kGathered serves kPieces too.
template <RowLoad kLoad>
struct RowReader {
  using Raw = std::conditional_t<kLoad == RowLoad::kShifted, Unaligned<kChunkBytes>, Chunk>;
  const char* row;

  template <class Elements>
  __device__ __forceinline__ Raw load(const RowArgs& args, const Elements& elements,
                                      int64_t chunk) const {
    const int size = elements.size();
    if constexpr (kLoad == RowLoad::kAligned || kLoad == RowLoad::kThroughL1) {
      return load_chunk<kLoad == RowLoad::kThroughL1>(row + chunk * kChunkBytes);
    } else if constexpr (kLoad == RowLoad::kShifted) {
      const int64_t left = args.length * size - chunk * kChunkBytes;
      return load_unaligned<kChunkBytes>(row + chunk * kChunkBytes,
                                         int(min(left, int64_t(kChunkBytes))));
    } else {
      const int per_chunk = kChunkBytes / size;
      const int64_t first = chunk * per_chunk;
      if (args.load == RowLoad::kPieces)
        return load_chunk<false>(row + args.reduced.locate(first).in * size);
      const int64_t rest = args.length - first;
      return gather_chunk(row, args.reduced, size, first, int(rest < per_chunk ? rest : per_chunk));
    }
  }

  // f(to_chunk) with the function that gives a load's bytes. One decision for a batch of loads,
  // where chunk() decides for each.
  template <class Elements, class F>
  __device__ __forceinline__ void with_chunks(const Elements& elements, F&& f) const {
    if constexpr (kLoad == RowLoad::kShifted && Elements::kSize != 0) {
      constexpr bool kAligned4 = Elements::kSize % 4 == 0;
      const int words = int(reinterpret_cast<intptr_t>(row) >> 2) & 3;
      if (words == 0) {
        f([&](const Raw& raw) { return shifted_by<kAligned4, 0>(raw, row); });
      } else if (words == 1) {
        f([&](const Raw& raw) { return shifted_by<kAligned4, 1>(raw, row); });
      } else if (words == 2) {
        f([&](const Raw& raw) { return shifted_by<kAligned4, 2>(raw, row); });
      } else {
        f([&](const Raw& raw) { return shifted_by<kAligned4, 3>(raw, row); });
      }
    } else {
      f([&](const Raw& raw) { return chunk(raw, elements); });
    }
  }

  template <class Elements>
  __device__ __forceinline__ Chunk chunk(const Raw& raw, const Elements&) const {
    constexpr bool kAligned4 = Elements::kSize != 0 && Elements::kSize % 4 == 0;
    if constexpr (kLoad == RowLoad::kShifted)
      return shifted<kAligned4>(raw, row);
    else
      return raw;
  }
};

template <class Monoid, class Elements>
__device__ __forceinline__ void accumulate_chunk(typename Monoid::acc_t& acc,
                                                 const Elements& elements, const Chunk& data,
                                                 int64_t chunk, int64_t length) {
  const int per_chunk = kChunkBytes / elements.size();
  const int64_t first = chunk * per_chunk;
  const int64_t rest = length - first;
  accumulate<Elements, Monoid>(acc, elements, data, int(rest < per_chunk ? rest : per_chunk),
                               first);
}

// Blocks a multiprocessor that registers must leave room for: as many as cause no spills.
template <class Monoid, RowLoad kLoad>
constexpr bool kRoomy = kLoad == RowLoad::kGathered || sizeof(typename Monoid::acc_t) > 8;
template <class Elements, class Monoid, RowLoad kLoad, int kLanes>
constexpr int kWarpRowBlocks = kRoomy<Monoid, kLoad> || !Elements::kSize   ? 2
                               : kLoad == RowLoad::kShifted || kLanes == 8 ? 3
                               : kLanes == 4                               ? 5
                                                                           : 4;
template <class Elements, class Monoid, RowLoad kLoad>
constexpr int kBlockRowBlocks = kLoad == RowLoad::kGathered ? 2
                                : sizeof(typename Monoid::acc_t) > 8
                                    ? (kLoad == RowLoad::kShifted ? 2 : 4)
                                : kLoad == RowLoad::kShifted || !Elements::kSize ? 4
                                                                                 : 6;

// 2^log_threads threads a row, kLanes virtual lanes a thread, kRows rows a thread.
template <class Elements, class Monoid, RowLoad kLoad, int kLanes, int kRows>
__global__ void __launch_bounds__(kBlockThreads, kWarpRowBlocks<Elements, Monoid, kLoad, kLanes>)
    warp_row(const __grid_constant__ RowArgs args, Elements elements, int log_threads) {
  using acc_t = typename Monoid::acc_t;
  const int threads = 1 << log_threads;
  const int lane = threadIdx.x % 32;
  const int thread = lane & (threads - 1);
  const int rows_at_once = 32 >> log_threads;
  const int64_t warp = int64_t(blockIdx.x) * (kBlockThreads / 32) + threadIdx.x / 32;
  const int64_t first_row = warp * rows_at_once * kRows + (lane >> log_threads);
  if (warp * rows_at_once * kRows >= args.rows) return;

  RowReader<kLoad> reader[kRows];
  bool valid[kRows];
  acc_t acc[kRows][kLanes];
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    const int64_t row = first_row + r * rows_at_once;
    valid[r] = row < args.rows;
    reader[r].row = args.in + (valid[r] ? args.kept.locate(row).in * elements.size() : 0);
#pragma unroll
    for (int l = 0; l < kLanes; ++l) acc[r][l] = Monoid::identity();
  }
  // Lanes loaded together.
  constexpr int kBatch = kLoad == RowLoad::kShifted && kLanes > 4 ? 4 : kLanes;
  for (int base = thread; base < args.chunks; base += threads * kLanes) {
#pragma unroll
    for (int batch = 0; batch < kLanes; batch += kBatch) {
      typename RowReader<kLoad>::Raw data[kRows][kBatch];
#pragma unroll
      for (int r = 0; r < kRows; ++r) {
#pragma unroll
        for (int l = 0; l < kBatch; ++l) {
          const int chunk = base + (batch + l) * threads;
          if (valid[r] && chunk < args.chunks) data[r][l] = reader[r].load(args, elements, chunk);
        }
      }
      elements.typed([&](const auto& typed) {
#pragma unroll
        for (int r = 0; r < kRows; ++r) {
#pragma unroll
          for (int l = 0; l < kBatch; ++l) {
            const int chunk = base + (batch + l) * threads;
            if (valid[r] && chunk < args.chunks)
              accumulate_chunk<Monoid>(acc[r][batch + l], typed, reader[r].chunk(data[r][l], typed),
                                       chunk, args.length);
          }
        }
      });
    }
  }
#pragma unroll
  for (int r = 0; r < kRows; ++r) acc[r][0] = halve<Monoid, kLanes>(acc[r]);
  for (int h = threads / 2; h > 0; h /= 2) {
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      const acc_t other = shuffle_down(acc[r][0], h, threads);
      acc[r][0] = Monoid::combine(acc[r][0], other);
    }
  }
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    if (valid[r] && thread == 0)
      store_as(args.out, args.kept.locate(first_row + r * rows_at_once).out, args.out_type,
               Monoid::finalize(acc[r][0], args.divisor));
  }
}

// A block computes `group` consecutive segments of a row; kSingle: one. With one block a row it
// stores the result, else the group's accumulator in partial[row * parts + part].
template <class Elements, class Monoid, RowLoad kLoad, bool kSingle>
__global__ void __launch_bounds__(kBlockThreads, kBlockRowBlocks<Elements, Monoid, kLoad>)
    block_row(const __grid_constant__ RowArgs args, Elements elements, int64_t group,
              uint32_t parts, typename Monoid::acc_t* partial) {
  using acc_t = typename Monoid::acc_t;
  constexpr int kSteps = kSegmentChunks / kBlockThreads;
  // Raw storage: an accumulator may have no trivial constructor.
  static __shared__ __align__(16) char lane_storage[kSingle ? 1 : 2][kBlockThreads * sizeof(acc_t)];
  static __shared__ __align__(
      16) char tree_storage[kSingle ? 1 : SharedTree<Monoid>::kLevels][sizeof(acc_t)];
  acc_t* tree = reinterpret_cast<acc_t*>(tree_storage);
  if (parts > 1) allow_next_kernel();

  const int64_t row = blockIdx.x / parts;
  const int64_t part = blockIdx.x % parts;
  const RowReader<kLoad> reader = {args.in + args.kept.locate(row).in * elements.size()};
  const int64_t first = part * group * kSegmentChunks;
  const int64_t end = min(args.chunks, first + group * kSegmentChunks);

  typename RowReader<kLoad>::Raw data[kSteps];
  // Threads past the end read the last chunk again: without conditions all loads start together.
  const auto load_segment = [&](int64_t base) {
    const int left = int(min(end - base, int64_t(kSegmentChunks)));
    if (left <= 0) return;
#pragma unroll
    for (int s = 0; s < kSteps; ++s) {
      const int c = s * kBlockThreads + threadIdx.x;
      data[s] = reader.load(args, elements, base + min(c, left - 1));
    }
  };
  const auto add_segment = [&](int64_t base) {
    const int left = int(min(end - base, int64_t(kSegmentChunks)));
    acc_t acc = Monoid::identity();
    elements.typed([&](const auto& typed) {
      reader.with_chunks(typed, [&](auto&& to_chunk) {
#pragma unroll
        for (int s = 0; s < kSteps; ++s) {
          const int c = s * kBlockThreads + threadIdx.x;
          if (c < left)
            accumulate_chunk<Monoid>(acc, typed, to_chunk(data[s]), base + c, args.length);
        }
      });
    });
    return acc;
  };
  // Merges the lanes of a segment, each thread's `acc`; the first thread gets the result.
  const auto merge_lanes = [&](acc_t acc, char* storage) {
    acc_t* lanes = reinterpret_cast<acc_t*>(storage);
    lanes[threadIdx.x] = acc;
    __syncthreads();
    if (threadIdx.x >= 32) return acc;
    acc_t mine[kBlockThreads / 32];
#pragma unroll
    for (int w = 0; w < kBlockThreads / 32; ++w) mine[w] = lanes[w * 32 + threadIdx.x];
    return halve_threads<Monoid>(halve<Monoid>(mine), 32);
  };
  const auto store = [&](acc_t result) {
    if (parts > 1)
      partial[blockIdx.x] = result;
    else
      store_as(args.out, args.kept.locate(row).out, args.out_type,
               Monoid::finalize(result, args.divisor));
  };
  load_segment(first);
  if constexpr (kSingle) {
    const acc_t segment = merge_lanes(add_segment(first), lane_storage[0]);
    if (threadIdx.x == 0) store(segment);
  } else {
    int64_t done = 0;
    for (int64_t base = first; base < end; base += kSegmentChunks, ++done) {
      const acc_t acc = add_segment(base);
      load_segment(base + kSegmentChunks);  // in flight while the lanes merge
      const acc_t segment = merge_lanes(acc, lane_storage[done & 1]);
      if (threadIdx.x == 0) SharedTree<Monoid>::push(tree, done, segment);
    }
    if (threadIdx.x == 0) store(SharedTree<Monoid>::finish(tree, done));
  }
}

}  // namespace reduce_ops::cuda
