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

// Adds up aligned pairs of neighbouring threads along the reduction: the tree over segments.
// Threads are numbered across first. Returns the whole in the threads with down == 0.
template <class Monoid, int kColumns>
__device__ __forceinline__ void merge_down(typename Monoid::acc_t (&acc)[kColumns], char* storage,
                                           int down, int log_across, int log_down) {
  using acc_t = typename Monoid::acc_t;
  acc_t* shared = reinterpret_cast<acc_t*>(storage);
  const int threads = blockDim.x;
  for (int step = 1; step < (1 << log_down); step *= 2) {
    const bool gives = (down & (2 * step - 1)) == step;
    const bool takes = (down & (2 * step - 1)) == 0;
    if (gives) {
#pragma unroll
      for (int c = 0; c < kColumns; ++c) shared[c * threads + threadIdx.x] = acc[c];
    }
    __syncthreads();
    if (takes) {
#pragma unroll
      for (int c = 0; c < kColumns; ++c)
        acc[c] = Monoid::combine(acc[c], shared[c * threads + threadIdx.x + (step << log_across)]);
    }
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
