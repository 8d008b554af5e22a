// The first of the largest elements of a row. What the largest is comes first, by values alone, as
// cheap as for amax; only the threads that have it look for its place, in the data at hand.
#pragma once

#include "core/store.h"
#include "cuda/parts/packed.cuh"
#include "plan/features.h"

namespace reduce_ops::cuda {

template <class Monoid>
struct BestValue {
  using type = int;
};
template <class A>
struct BestValue<Best<A>> {
  using type = A;
};
template <class Monoid>
using best_value_t = typename BestValue<Monoid>::type;

template <class A>
__device__ __forceinline__ bool same(A a, A b) {
  return a == b || (is_nan(a) && is_nan(b));
}

template <class A, class Elements>
__device__ __noinline__ A largest_called(Elements elements, Chunk chunk, int count) {
  A most = lowest<A>();
  elements.for_each(chunk, count, [&](int, auto x) { most = larger(most, A(x)); });
  return most;
}

// The place of a chunk's first element equal to `wanted`, or `count`.
template <class A, class Elements>
__device__ __noinline__ int place_called(Elements elements, Chunk chunk, int count, A wanted) {
  int place = count;
  elements.for_each(chunk, count, [&](int e, auto x) {
    if (place == count && same(A(x), wanted)) place = e;
  });
  return place;
}

// The largest of a chunk's first `count` elements.
template <class A, class Elements>
__device__ __forceinline__ A largest_of(const Elements& elements, const Chunk& chunk, int count) {
  if constexpr (Elements::kLarge) return largest_called<A>(elements, chunk, count);
  if constexpr (kIsPacked<Elements>) {
    if (count >= kChunkBytes / 2) return largest<packed_t<Elements>>(elements.changed(chunk));
  }
  A most = lowest<A>();
  elements.for_each(chunk, count, [&](int, auto x) { most = larger(most, A(x)); });
  return most;
}

constexpr uint32_t kNowhere = ~0u;

// Where a thread's first element equal to `wanted` is, counted from the row's (or segment's) first
// element, and that element itself, which may be the other zero. chunk_of(i) is the thread's i-th
// chunk, first_of(i) the place of its first element and count_of(i) its number of elements.
template <int kChunks, class A, class Elements, class ChunkOf, class FirstOf, class CountOf>
__device__ __forceinline__ uint32_t find_first(const Elements& elements, const A (&most)[kChunks],
                                               A wanted, A& found, ChunkOf&& chunk_of,
                                               FirstOf&& first_of, CountOf&& count_of) {
  uint32_t place = kNowhere;
#pragma unroll
  for (int i = 0; i < kChunks; ++i) {
    if (place != kNowhere || !same(most[i], wanted)) continue;
    if constexpr (Elements::kLarge) {  // integers, of which equal ones are the same
      const int count = count_of(i);
      const int e = place_called(elements, chunk_of(i), count, wanted);
      if (e < count) place = uint32_t(first_of(i) + e), found = wanted;
      continue;
    }
    elements.for_each(chunk_of(i), count_of(i), [&](int e, auto x) {
      if (place == kNowhere && same(A(x), wanted)) {
        place = uint32_t(first_of(i) + e);
        found = A(x);
      }
    });
  }
  return place;
}

template <class T>
__device__ __forceinline__ T shuffle_xor(T value, int distance) {
  constexpr int kWords = sizeof(T) / 4;
  uint32_t words[kWords];
  memcpy(words, &value, sizeof(T));
#pragma unroll
  for (int i = 0; i < kWords; ++i) words[i] = __shfl_xor_sync(~0u, words[i], distance);
  memcpy(&value, words, sizeof(T));
  return value;
}

// Of `width` neighbouring threads.
template <class A>
__device__ __forceinline__ A largest_of_threads(A value, int width) {
  for (int h = 1; h < width; h *= 2) value = larger(value, shuffle_xor(value, h));
  return value;
}
__device__ __forceinline__ uint32_t least_of_threads(uint32_t value, int width) {
  for (int h = 1; h < width; h *= 2) value = min(value, shuffle_xor(value, h));
  return value;
}

// What a block shares while it looks.
template <class A>
struct BestShared {
  A most[kBlockThreads / 32];
  A value;
  uint32_t place;
};

}  // namespace reduce_ops::cuda
