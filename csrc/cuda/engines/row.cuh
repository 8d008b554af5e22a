// Rows: the reduction runs along contiguous memory. warp_row gives a row to a few threads of a
// warp, block_row gives a row, or an aligned group of its segments, to a block.
#pragma once

#include "core/store.h"
#include "cuda/parts/accumulate.cuh"
#include "cuda/parts/best.cuh"
#include "cuda/parts/combine.cuh"
#include "cuda/parts/row_reader.cuh"
#include "plan/features.h"
#include "plan/order.h"

namespace reduce_ops::cuda {

static_assert(kBlockThreads == kMaxLanes, "block_row has one thread a lane");

template <class Elements>
__device__ __forceinline__ int chunk_elements(const Elements& elements, int64_t chunk,
                                              int64_t length) {
  const int per_chunk = kChunkBytes / elements.size();
  const int64_t rest = length - chunk * per_chunk;
  return int(rest < per_chunk ? rest : per_chunk);
}

template <class Monoid, class Elements, class Data>
__device__ __forceinline__ void accumulate_chunk(typename Monoid::acc_t& acc,
                                                 const Elements& elements, const Data& data,
                                                 int64_t chunk, int64_t length,
                                                 const typename Monoid::state_t& state) {
  const int per_chunk = kChunkBytes / elements.size();
  accumulate<Elements, Monoid>(acc, elements, data, chunk_elements(elements, chunk, length),
                               chunk * per_chunk, state);
}

// Blocks a multiprocessor that registers must leave room for: as many as cause no spills.
template <class Elements, class Monoid, RowLoad kLoad, int kLanes>
constexpr int warp_row_blocks() {
  constexpr bool kLarge = sizeof(typename Monoid::acc_t) > 8;
  constexpr bool kSum = features<Elements, Monoid>().maps;
  constexpr bool kShifted = kLoad == RowLoad::kShifted;
  if (kLoad == RowLoad::kGathered || !Elements::kSize || kTakesTwo<Elements>) return 2;
  if (kLarge && (kSum || kShifted || kLanes == 8)) return 2;
  if (std::is_same_v<Monoid, LogSumExp<float>> && kShifted && kLanes == 8) return 2;
  if (kShifted || kLanes == 8 || kLarge) return 3;
  return kLanes == 4 && kSum ? 5 : 4;
}
// Lanes loaded together.
template <class Monoid, RowLoad kLoad, int kLanes>
constexpr int kLanesAtOnce =
    kLanes > 4 && !kIsBest<Monoid> && (kLoad == RowLoad::kShifted || !kIsSum<Monoid>) ? 4 : kLanes;
template <class Elements, class Monoid, RowLoad kLoad>
constexpr int kBlockRowBlocks = kLoad == RowLoad::kGathered || kTakesTwo<Elements> ? 2
                                : sizeof(typename Monoid::acc_t) > 8
                                    ? (kLoad == RowLoad::kShifted ? 2 : 4)
                                : kLoad == RowLoad::kShifted || !Elements::kSize ? 4
                                : kIsSum<Monoid>                                 ? 6
                                                                                 : 5;

// 2^log_threads threads a row, kLanes virtual lanes a thread, kRows rows a thread.
template <class Elements, class Monoid, RowLoad kLoad, int kLanes, int kRows>
__global__ void __launch_bounds__(kBlockThreads,
                                  (warp_row_blocks<Elements, Monoid, kLoad, kLanes>()))
    warp_row(const __grid_constant__ RowArgs args, Elements elements, int log_threads) {
  using acc_t = typename Monoid::acc_t;
  const int threads = 1 << log_threads;
  const int lane = threadIdx.x % 32;
  const int thread = lane & (threads - 1);
  const int rows_at_once = 32 >> log_threads;
  const int64_t warp = int64_t(blockIdx.x) * (kBlockThreads / 32) + threadIdx.x / 32;
  const int64_t first_row = warp * rows_at_once * kRows + (lane >> log_threads);
  if (warp * rows_at_once * kRows >= args.rows) return;

  row_reader_t<Elements, kLoad> reader[kRows];
  bool valid[kRows];
  acc_t acc[kRows][kLanes];
  typename Monoid::state_t state[kRows];
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    const int64_t row = first_row + r * rows_at_once;
    valid[r] = row < args.rows;
    reader[r] = reader_of<kLoad>(args, elements, valid[r] ? row : 0);
    state[r] = start_of<Monoid>(elements, reader[r].row);
#pragma unroll
    for (int l = 0; l < kLanes; ++l) acc[r][l] = Monoid::identity();
  }
  constexpr int kBatch = kLanesAtOnce<Monoid, kLoad, kLanes>;
  // Where all threads of a row look for its best, those that have no chunk take part.
  [[maybe_unused]] best_value_t<Monoid> found[kRows];
  [[maybe_unused]] bool is_owner[kRows] = {};
  const int last = args.chunks + (kIsBest<Monoid> ? thread : 0);
  for (int base = thread; base < last; base += threads * kLanes) {
#pragma unroll
    for (int batch = 0; batch < kLanes; batch += kBatch) {
      typename row_reader_t<Elements, kLoad>::Raw data[kRows][kBatch];
#pragma unroll
      for (int r = 0; r < kRows; ++r) {
#pragma unroll
        for (int l = 0; l < kBatch; ++l) {
          const int chunk = base + (batch + l) * threads;
          if (valid[r] && chunk < args.chunks) data[r][l] = reader[r].load(args, elements, chunk);
        }
      }
      if constexpr (kIsBest<Monoid>) {
        elements.typed([&](const auto& typed) {
#pragma unroll
          for (int r = 0; r < kRows; ++r) {
            const auto index = [&](int l) { return base + (batch + l) * threads; };
            const auto there = [&](int l) { return valid[r] && index(l) < args.chunks; };
            const auto chunk_of = [&](int l) { return reader[r].chunk(data[r][l], typed); };
            const auto count_of = [&](int l) {
              return there(l) ? chunk_elements(typed, index(l), args.length) : 0;
            };
            using A = decltype(acc[0][0].value);
            A most[kBatch], mine = lowest<A>();
#pragma unroll
            for (int l = 0; l < kBatch; ++l) {
              most[l] = there(l) ? largest_of<A>(typed, chunk_of(l), count_of(l)) : lowest<A>();
              mine = larger(mine, most[l]);
            }
            // The same for all threads of the row: later batches must have something better.
            const A wanted = largest_of_threads(mine, threads);
            acc_t& best = acc[r][0];
            const bool better = wanted > best.value || best.index == Monoid::kNone ||
                                (is_nan(wanted) && !is_nan(best.value));
            if (__any_sync(~0u, better)) {
              uint32_t place = kNowhere;
              if (better && same(mine, wanted)) {
                place = find_first(
                    typed, most, wanted, found[r], chunk_of,
                    [&](int l) { return index(l) * (kChunkBytes / typed.size()); }, count_of);
              }
              const uint32_t first = least_of_threads(place, threads);
              if (better) {
                best = {wanted, first == kNowhere ? Monoid::kNone : int64_t(first)};
                is_owner[r] = place != kNowhere && place == first;
              }
            }
          }
        });
        continue;
      }
      elements.typed([&](const auto& typed) {
#pragma unroll
        for (int r = 0; r < kRows; ++r) {
#pragma unroll
          for (int l = 0; l < kBatch; ++l) {
            const int chunk = base + (batch + l) * threads;
            if (valid[r] && chunk < args.chunks)
              accumulate_chunk<Monoid>(acc[r][batch + l], typed, reader[r].chunk(data[r][l], typed),
                                       chunk, args.length, state[r]);
          }
        }
      });
    }
  }
  if constexpr (kIsBest<Monoid>) {
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      if (!is_owner[r]) continue;
      const Offsets at = args.kept.locate(first_row + r * rows_at_once);
      store_result<Monoid>(args.epilogue, at.in, at.out, {found[r], acc[r][0].index});
    }
    return;
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
    if (!valid[r] || thread != 0) continue;
    const Offsets at = args.kept.locate(first_row + r * rows_at_once);
    store_result<Monoid>(args.epilogue, at.in, at.out, acc[r][0]);
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
  const auto reader = reader_of<kLoad>(args, elements, row);
  const auto state = start_of<Monoid>(elements, reader.row);
  const int64_t first = part * group * kSegmentChunks;
  const int64_t end = min(args.chunks, first + group * kSegmentChunks);

  typename row_reader_t<Elements, kLoad>::Raw data[kSteps];
  // Threads past the end read the last chunk again: without conditions all loads start together.
  const auto load_into = [&](auto& data, int64_t base) {
    const int left = int(min(end - base, int64_t(kSegmentChunks)));
    if (left <= 0) return;
#pragma unroll
    for (int s = 0; s < kSteps; ++s) {
      const int c = s * kBlockThreads + threadIdx.x;
      data[s] = reader.load(args, elements, base + min(c, left - 1));
    }
  };
  const auto load_segment = [&](int64_t base) { load_into(data, base); };
  const auto add_segment = [&](int64_t base) {
    const int left = int(min(end - base, int64_t(kSegmentChunks)));
    acc_t acc = Monoid::identity();
    elements.typed([&](const auto& typed) {
      reader.with_chunks(typed, [&](auto&& to_chunk) {
#pragma unroll
        for (int s = 0; s < kSteps; ++s) {
          const int c = s * kBlockThreads + threadIdx.x;
          if (c < left)
            accumulate_chunk<Monoid>(acc, typed, to_chunk(data[s]), base + c, args.length, state);
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
    if (parts > 1) {
      partial[blockIdx.x] = result;
      return;
    }
    const Offsets at = args.kept.locate(row);
    store_result<Monoid>(args.epilogue, at.in, at.out, result);
  };
  load_segment(first);
  if constexpr (kIsBest<Monoid>) {
    // The best of the segment that is loaded; the first thread gets it.
    const auto best_of_segment = [&](int64_t base) {
      using A = decltype(Monoid::identity().value);
      static __shared__ __align__(16) char best_storage[sizeof(BestShared<A>)];
      BestShared<A>& shared = *reinterpret_cast<BestShared<A>*>(best_storage);
      const int left = int(min(end - base, int64_t(kSegmentChunks)));
      acc_t best = Monoid::identity();
      elements.typed([&](const auto& typed) {
        reader.with_chunks(typed, [&](auto&& to_chunk) {
          const auto index = [&](int s) { return s * kBlockThreads + int(threadIdx.x); };
          const auto count_of = [&](int s) {
            return index(s) < left ? chunk_elements(typed, base + index(s), args.length) : 0;
          };
          const auto chunk_of = [&](int s) { return to_chunk(data[s]); };
          A most[kSteps], mine = lowest<A>(), found = mine;
#pragma unroll
          for (int s = 0; s < kSteps; ++s) {
            most[s] =
                index(s) < left ? largest_of<A>(typed, chunk_of(s), count_of(s)) : lowest<A>();
            mine = larger(mine, most[s]);
          }
          const A of_warp = largest_of_threads(mine, 32);
          if (threadIdx.x % 32 == 0) shared.most[threadIdx.x / 32] = of_warp;
          if (threadIdx.x == 0) shared.place = kNowhere;
          __syncthreads();
          A wanted = shared.most[0];
#pragma unroll
          for (int w = 1; w < kBlockThreads / 32; ++w) wanted = larger(wanted, shared.most[w]);
          uint32_t place = kNowhere;
          if (same(mine, wanted)) {
            place = find_first(
                typed, most, wanted, found, chunk_of,
                [&](int s) { return index(s) * (kChunkBytes / typed.size()); }, count_of);
            if (place != kNowhere) atomicMin(&shared.place, place);
          }
          __syncthreads();
          const uint32_t first = shared.place;
          if (place == first) shared.value = found;
          __syncthreads();
          best = {shared.value, base * (kChunkBytes / typed.size()) + int64_t(first)};
        });
      });
      return best;
    };
    int64_t done = 0;
    for (int64_t base = first; base < end; base += kSegmentChunks, ++done) {
      // The next segment is on its way while this one is searched.
      typename row_reader_t<Elements, kLoad>::Raw next[kSteps];
      load_into(next, base + kSegmentChunks);
      const acc_t segment = best_of_segment(base);
#pragma unroll
      for (int s = 0; s < kSteps; ++s) data[s] = next[s];
      if (threadIdx.x == 0) SharedTree<Monoid>::push(tree, done, segment);
    }
    if (threadIdx.x == 0) store(SharedTree<Monoid>::finish(tree, done));
  } else if constexpr (kSingle) {
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
