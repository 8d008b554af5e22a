// Taking the elements of a chunk into an accumulator.
#pragma once

#include "core/adapted.h"
#include "core/extremes.h"
#include "core/log_sum_exp.h"
#include "core/store.h"
#include "cuda/parts/packed.cuh"
#include "plan/order.h"

namespace reduce_ops::cuda {

// The state of the result whose first element is at `first`.
template <class Monoid, class Elements>
__device__ __forceinline__ typename Monoid::state_t start_of(const Elements& elements,
                                                             const char* first) {
  if constexpr (kHasState<Monoid>) return Monoid::start(elements.at(first));
  return {};
}

// How a monoid takes a whole chunk; most do so element by element.
template <class Monoid>
struct ByChunk {
  template <class Elements, class Data>
  static __device__ __forceinline__ void accumulate(typename Monoid::acc_t& acc,
                                                    const Elements& elements, const Data& data,
                                                    int count, int64_t first,
                                                    const typename Monoid::state_t& state) {
    elements.for_each(data, count,
                      [&](int e, auto x) { acc = Monoid::accumulate(acc, x, first + e, state); });
  }
};

template <class A>
struct ByChunk<Extremes<A>> {
  using Monoid = Extremes<A>;
  template <class Elements>
  static __device__ __forceinline__ void accumulate(typename Monoid::acc_t& acc,
                                                    const Elements& elements, const Chunk& data,
                                                    int count, int64_t first, Nothing) {
    if constexpr (kIsPacked<Elements>) {
      if (count >= kChunkBytes / 2) {
        using T = packed_t<Elements>;
        const Chunk changed = elements.changed(data);
        acc = Monoid::combine(acc, {smallest<T>(changed), largest<T>(changed)});
        return;
      }
    }
    elements.for_each(data, count,
                      [&](int e, auto x) { acc = Monoid::accumulate(acc, x, first + e, {}); });
  }
};

// The largest of several neighbours is found first; of their indices, the first stands for all
// until first_equal() looks again.
template <class A>
__device__ __forceinline__ void improve(typename Best<A>::acc_t& acc, A most, int64_t first) {
  const bool better =
      most > acc.value || (is_nan(most) && !is_nan(acc.value)) || acc.index == Best<A>::kNone;
  acc.value = better ? most : acc.value;
  acc.index = better ? first : acc.index;
}

// One look at the level a chunk.
template <>
struct ByChunk<LogSumExp<float>> {
  using Monoid = LogSumExp<float>;
  template <class Elements>
  static __device__ __forceinline__ void accumulate(typename Monoid::acc_t& acc,
                                                    const Elements& elements, const Chunk& data,
                                                    int count, int64_t first, Nothing) {
    float most = lowest<float>();
    bool found = false;
    if constexpr (kIsPacked<Elements>) {
      found = count >= kChunkBytes / 2;
      if (found) most = largest<packed_t<Elements>>(data);
    }
    if (!found) elements.for_each(data, count, [&](int, auto x) { most = fmaxf(most, float(x)); });
    Monoid::raise(acc, most);
    if (is_infinite(acc.level)) {
      elements.for_each(data, count,
                        [&](int e, auto x) { acc = Monoid::accumulate(acc, x, first + e, {}); });
      return;
    }
    elements.for_each(data, count,
                      [&](int, auto x) { acc.sum += Monoid::term(float(x), acc.level); });
  }
};

template <>
struct ByChunk<Count> {
  template <class Elements>
  static __device__ __forceinline__ void accumulate(int64_t& acc, const Elements& elements,
                                                    const Chunk& data, int count, int64_t,
                                                    Nothing) {
    acc += elements.count(data, count);
  }
};

template <class A>
struct ByChunk<NanSum<A>> {
  template <class Elements>
  static __device__ __forceinline__ void accumulate(typename NanSum<A>::acc_t& acc,
                                                    const Elements& elements, const Chunk& data,
                                                    int count, int64_t, Nothing) {
    bool numbers = true;
    elements.for_each(data, count, [&](int, double x) { numbers = numbers && x == x; });
    if (numbers) {
      elements.for_each(data, count, [&](int, double x) { acc.sum = add(acc.sum, x); });
      acc.count += count < kChunkBytes / elements.size() ? count : kChunkBytes / elements.size();
    } else {
      elements.for_each(data, count,
                        [&](int, double x) { acc = NanSum<A>::accumulate(acc, x, 0, {}); });
    }
  }
};

// How a monoid takes several rows of neighbouring columns, the first kColumns elements of each
// chunk; n is the first row's index.
template <class Monoid>
struct ByRows {
  template <int kColumns, class Accs, class Elements, int kRows>
  static __device__ __forceinline__ void accumulate(Accs&, const Elements&, Chunk (&)[kRows],
                                                    int64_t) {}  // see kTakesRows
};

// The largest of each column's elements over the rows.
template <int kColumns, class A, class Elements, int kRows>
__device__ __forceinline__ void largest_of_rows(const Elements& elements, Chunk (&rows)[kRows],
                                                A (&most)[kColumns]) {
  if constexpr (kIsPacked<Elements> && kColumns % 2 == 0) {
    using T = packed_t<Elements>;
#pragma unroll
    for (int r = 0; r < kRows; ++r) rows[r] = elements.changed(rows[r]);
#pragma unroll
    for (int w = 0; w < kColumns / 2; ++w) {
      uint32_t word = rows[0].word[w];
#pragma unroll
      for (int r = 1; r < kRows; ++r) word = larger_two(T{}, word, rows[r].word[w]);
      most[2 * w] = low_half<T>(word);
      most[2 * w + 1] = high_half<T>(word);
    }
  } else {
#pragma unroll
    for (int c = 0; c < kColumns; ++c) most[c] = lowest<A>();
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      elements.for_each(rows[r], kColumns, [&](int e, auto x) {
        if (e < kColumns) most[e] = larger(most[e], A(x));
      });
    }
  }
}
template <class A>
struct ByRows<Best<A>> {
  template <int kColumns, class Accs, class Elements, int kRows>
  static __device__ __forceinline__ void accumulate(Accs& acc, const Elements& elements,
                                                    Chunk (&rows)[kRows], int64_t n) {
    A most[kColumns];
    largest_of_rows<kColumns>(elements, rows, most);
#pragma unroll
    for (int c = 0; c < kColumns; ++c) improve<A>(acc[c], most[c], n);
  }
};

// 16-bit columns two at a time.
template <>
struct ByRows<Extremes<float>> {
  template <int kColumns, class Accs, class Elements, int kRows>
  static __device__ __forceinline__ void accumulate(Accs& acc, const Elements& elements,
                                                    Chunk (&rows)[kRows], int64_t) {
    using T = packed_t<Elements>;
#pragma unroll
    for (int r = 0; r < kRows; ++r) rows[r] = elements.changed(rows[r]);
#pragma unroll
    for (int w = 0; w < kColumns / 2; ++w) {
      uint32_t high = rows[0].word[w], low = high;
#pragma unroll
      for (int r = 1; r < kRows; ++r) {
        high = larger_two(T{}, high, rows[r].word[w]);
        low = smaller_two(T{}, low, rows[r].word[w]);
      }
      using Monoid = Extremes<float>;
      acc[2 * w] = Monoid::combine(acc[2 * w], {low_half<T>(low), low_half<T>(high)});
      acc[2 * w + 1] = Monoid::combine(acc[2 * w + 1], {high_half<T>(low), high_half<T>(high)});
    }
  }
};

template <>
struct ByRows<LogSumExp<float>> {
  using Monoid = LogSumExp<float>;
  template <int kColumns, class Accs, class Elements, int kRows>
  static __device__ __forceinline__ void accumulate(Accs& acc, const Elements& elements,
                                                    Chunk (&rows)[kRows], int64_t n) {
    float most[kColumns];
#pragma unroll
    for (int c = 0; c < kColumns; ++c) most[c] = lowest<float>();
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      elements.for_each(rows[r], kColumns, [&](int e, auto x) {
        if (e < kColumns) most[e] = fmaxf(most[e], float(x));
      });
    }
    bool infinite = false;
#pragma unroll
    for (int c = 0; c < kColumns; ++c) {
      Monoid::raise(acc[c], most[c]);
      infinite = infinite || is_infinite(acc[c].level);
    }
    if (infinite) {
#pragma unroll
      for (int r = 0; r < kRows; ++r) {
        elements.for_each(rows[r], kColumns, [&](int e, auto x) {
          if (e < kColumns) acc[e] = Monoid::accumulate(acc[e], x, n + r, {});
        });
      }
      return;
    }
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      elements.for_each(rows[r], kColumns, [&](int e, auto x) {
        if (e < kColumns) acc[e].sum += Monoid::term(float(x), acc[e].level);
      });
    }
  }
};

// Rows taken together, at most: first_equal() reads as many again.
template <class Monoid>
constexpr int kRowsTaken = kSegmentRowsStep;
template <class A>
constexpr int kRowsTaken<Best<A>> = 4;
template <>
constexpr int kRowsTaken<LogSumExp<float>> = 8;  // or registers spill

template <class Monoid, class Elements>
constexpr bool kTakesRows = false;
template <class Elements>
constexpr bool kTakesRows<LogSumExp<float>, Elements> = true;
template <class A, class Elements>
constexpr bool kTakesRows<Best<A>, Elements> = true;
template <class Elements>
constexpr bool kTakesRows<Extremes<float>, Elements> = kIsPacked<Elements>;

template <class Elements, class Monoid, class Data>
__device__ __noinline__ typename Monoid::acc_t accumulate_called(typename Monoid::acc_t acc,
                                                                 Elements elements, Data data,
                                                                 int count, int64_t first,
                                                                 typename Monoid::state_t state) {
  ByChunk<Monoid>::accumulate(acc, elements, data, count, first, state);
  return acc;
}

// The first `count` elements, of which the first has the index `first` in its row.
template <class Elements, class Monoid, class Data>
__device__ __forceinline__ void accumulate(typename Monoid::acc_t& acc, const Elements& elements,
                                           const Data& data, int count, int64_t first,
                                           const typename Monoid::state_t& state) {
  if constexpr (Elements::kLarge)
    acc = accumulate_called<Elements, Monoid>(acc, elements, data, count, first, state);
  else
    ByChunk<Monoid>::accumulate(acc, elements, data, count, first, state);
}

}  // namespace reduce_ops::cuda
