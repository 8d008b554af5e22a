// Sums of one element each, side by side in memory: nothing to add up, so a thread takes whole
// vectors of elements. For monoids that have one result and no state.
#pragma once

#include "core/monoids.h"
#include "cuda/parts/load.cuh"
#include "cuda/parts/store.cuh"

namespace reduce_ops::cuda {

constexpr int kMapThreads = 256;
constexpr int kMapLoads = 4;  // a thread

struct MapArgs {
  const char* in;
  Epilogue epilogue;
  int64_t count;
  int64_t out_stride;
};

// Elements a load brings: a vector's worth where their size is known.
template <class Elements>
constexpr int kMapElements = Elements::kSize ? kChunkBytes / Elements::kSize : 1;

// Whether a sum of one element is known for whole words of them: x + 0, which is x but for -0.
template <class Elements, class Monoid>
constexpr bool kAddsZero = false;
template <class T>
constexpr bool kAddsZero<Direct<T>, Sum<double>> = sizeof(T) == 2;

template <class Elements, class Monoid>
__global__ void __launch_bounds__(kMapThreads)
    map(const __grid_constant__ MapArgs args, Elements elements) {
  constexpr int kElements = kMapElements<Elements>;
  const Epilogue& epilogue = args.epilogue;
  const auto result_of = [&](auto x) {
    return Monoid::finalize(Monoid::accumulate(Monoid::identity(), x, 0, {}), epilogue, {});
  };
  using value_t = decltype(result_of(typename Elements::value_t{}));
  const int64_t first = int64_t(blockIdx.x) * (kMapLoads * kMapThreads) + threadIdx.x;
  const int size = elements.size();
  const auto store_one = [&](int64_t i) {
    const auto x = elements.at(args.in + i * size);
    store_as(epilogue.out, i * args.out_stride, epilogue.out_type, result_of(x));
  };
  if constexpr (kElements > 1) {
    Unaligned<kChunkBytes> data[kMapLoads];
    // The last vectors go element by element: of the two that hold them one may end past the input.
    const int64_t vectors = max(args.count / kElements - 1, int64_t(0));
    const auto index = [&](int l) { return first + l * kMapThreads; };
    const auto address = [&](int l) { return args.in + index(l) * kChunkBytes; };
#pragma unroll
    for (int l = 0; l < kMapLoads; ++l) {
      if (index(l) < vectors) data[l] = load_unaligned<kChunkBytes>(address(l), kChunkBytes);
    }
    const auto store_vectors = [&](auto&& store) {
#pragma unroll
      for (int l = 0; l < kMapLoads; ++l) {
        if (index(l) < vectors)
          store(shifted<Elements::kSize % 4 == 0>(data[l], address(l)), index(l));
      }
    };
    bool by_words = false;
    if constexpr (kAddsZero<Elements, Monoid>) {
      using T = typename Elements::element_t;
      by_words = epilogue.out_type == epilogue.in_type && args.out_stride == 1 &&
                 reinterpret_cast<uintptr_t>(epilogue.out) % kChunkBytes == 0;
      if (by_words) {
        store_vectors([&](Chunk chunk, int64_t to) {
#pragma unroll
          for (int w = 0; w < 4; ++w) chunk.word[w] = add_zero(T{}, chunk.word[w]);
          static_cast<Chunk*>(epilogue.out)[to] = chunk;
        });
      }
    }
    if (!by_words) {
      visit_output(epilogue.out_type, value_t{}, [&](auto convert) {
        store_vectors([&](const Chunk& chunk, int64_t to) {
          value_t value[kElements];
          elements.for_each(chunk, kElements, [&](int e, auto x) { value[e] = result_of(x); });
          store_converted(convert, epilogue.out, to * kElements * args.out_stride, args.out_stride,
                          value, kElements);
        });
      });
    }
    const int64_t rest = vectors * kElements + threadIdx.x;
    if (blockIdx.x == gridDim.x - 1 && rest < args.count) store_one(rest);
  } else {
#pragma unroll
    for (int l = 0; l < kMapLoads; ++l) {
      const int64_t i = first + l * kMapThreads;
      if (i < args.count) store_one(i);
    }
  }
}

}  // namespace reduce_ops::cuda
