// Merging accumulators across the threads of a warp and of a block, in the canonical order.
#pragma once

#include "core/macros.h"
#include "plan/order.h"

namespace reduce_ops::cuda {

// Any trivially copyable accumulator, word by word.
template <class A>
__device__ __forceinline__ A shuffle_down(const A& value, int distance, int width) {
  static_assert(sizeof(A) % 4 == 0, "accumulators are whole words");
  constexpr int kWords = sizeof(A) / 4;
  uint32_t words[kWords];
  memcpy(words, &value, sizeof(A));
#pragma unroll
  for (int i = 0; i < kWords; ++i) words[i] = __shfl_down_sync(~0u, words[i], distance, width);
  A other;
  memcpy(&other, words, sizeof(A));
  return other;
}

// Halving within one thread: lane i with lane i + count / 2.
template <class Monoid, int kCount>
__device__ __forceinline__ typename Monoid::acc_t halve(typename Monoid::acc_t (&lane)[kCount]) {
#pragma unroll
  for (int h = kCount / 2; h > 0; h /= 2) {
#pragma unroll
    for (int i = 0; i < h; ++i) lane[i] = Monoid::combine(lane[i], lane[i + h]);
  }
  return lane[0];
}

// Halving across `width` neighbouring threads; the first of them gets the result.
template <class Monoid>
__device__ __forceinline__ typename Monoid::acc_t halve_threads(typename Monoid::acc_t value,
                                                                int width) {
  for (int h = width / 2; h > 0; h /= 2) {
    const auto other = shuffle_down(value, h, width);
    value = Monoid::combine(value, other);
  }
  return value;
}

constexpr int log2_constant(int power) { return power <= 1 ? 0 : 1 + log2_constant(power / 2); }

// Merges the threads of a block along the reduction, as the tree over segments, and hands out one
// result per column: emit(unit, slot, result). Threads are numbered across, then down, then by
// unit; acc[c] is slot across * kColumns + c. `storage` holds kColumns + 1 accumulators a thread.
template <class Monoid, int kColumns, class Emit>
__device__ __forceinline__ void merge_down(typename Monoid::acc_t (&acc)[kColumns], char* storage,
                                           int log_across, int log_down, Emit&& emit) {
  using acc_t = typename Monoid::acc_t;
  acc_t* shared = reinterpret_cast<acc_t*>(storage);
  const int across = threadIdx.x & ((1 << log_across) - 1);
  const int down = (threadIdx.x >> log_across) & ((1 << log_down) - 1);
  const int unit = threadIdx.x >> (log_across + log_down);
  // First within warps,
  int level = 0;
  for (; level < log_down && level + log_across < 5; ++level) {
#pragma unroll
    for (int c = 0; c < kColumns; ++c) {
      const acc_t other = shuffle_down(acc[c], 1 << (level + log_across), 32);
      acc[c] = Monoid::combine(acc[c], other);
    }
  }
  // then across them: at most 32 values of a slot are left, which neighbouring lanes take up.
  const int log_left = log_down - level;
  const int log_slots = log_across + log2_constant(kColumns);
  const int pitch = (1 << log_slots) + 1;  // odd, against bank conflicts
  if ((down & ((1 << level) - 1)) == 0) {
    acc_t* mine = shared + ((unit << log_left) + (down >> level)) * pitch + across * kColumns;
#pragma unroll
    for (int c = 0; c < kColumns; ++c) mine[c] = acc[c];
  }
  __syncthreads();
  const int values = int(blockDim.x >> (log_across + log_down)) << (log_slots + log_left);
  const int lane = threadIdx.x % 32;
  for (int base = threadIdx.x - lane; base < values; base += blockDim.x) {
    const int i = base + lane;
    const int which = i & ((1 << log_left) - 1);
    const int slot = (i >> log_left) & ((1 << log_slots) - 1);
    const int its_unit = i >> (log_left + log_slots);
    acc_t value = Monoid::identity();
    if (i < values) value = shared[((its_unit << log_left) + which) * pitch + slot];
    for (int step = 1; step < (1 << log_left); step *= 2) {
      const acc_t other = shuffle_down(value, step, 32);
      value = Monoid::combine(value, other);
    }
    if (i < values && which == 0) emit(its_unit, slot, value);
  }
}

// The binary counter of plan/order.h in shared memory, for one thread and any number of pushes.
template <class Monoid>
struct SharedTree {
  using acc_t = typename Monoid::acc_t;
  static constexpr int kLevels = 40;

  static __device__ __forceinline__ void push(acc_t* level, int64_t index, acc_t value) {
    int l = 0;
    for (; index >> l & 1; ++l) value = Monoid::combine(level[l], value);
    level[l] = value;
  }
  static __device__ __forceinline__ acc_t finish(const acc_t* level, int64_t count) {
    int l = 0;
    while (!(count >> l & 1)) ++l;
    acc_t result = level[l];
    for (++l; count >> l; ++l) {
      if (count >> l & 1) result = Monoid::combine(level[l], result);
    }
    return result;
  }
};

// Lets the next kernel of the stream start its launch while this one still runs.
__device__ __forceinline__ void allow_next_kernel() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;");
#endif
}
// Waits until everything the previous kernel wrote is visible.
__device__ __forceinline__ void wait_for_previous_kernel() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

}  // namespace reduce_ops::cuda
