// Adding the elements of a chunk to an accumulator.
#pragma once

#include "core/elements.h"
#include "plan/order.h"

namespace reduce_ops::cuda {

template <class Elements, class Monoid>
__device__ __noinline__ typename Monoid::acc_t accumulate_called(typename Monoid::acc_t acc,
                                                                 Elements elements, Chunk data,
                                                                 int count, int64_t first) {
  elements.for_each(data, count,
                    [&](int e, auto x) { acc = Monoid::accumulate(acc, x, first + e); });
  return acc;
}

// The first `count` elements, of which the first has the index `first` in its row.
template <class Elements, class Monoid>
__device__ __forceinline__ void accumulate(typename Monoid::acc_t& acc, const Elements& elements,
                                           const Chunk& data, int count, int64_t first) {
  if constexpr (Elements::kLarge) {
    acc = accumulate_called<Elements, Monoid>(acc, elements, data, count, first);
  } else {
    elements.for_each(data, count,
                      [&](int e, auto x) { acc = Monoid::accumulate(acc, x, first + e); });
  }
}

}  // namespace reduce_ops::cuda
