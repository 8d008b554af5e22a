// core/monoids.h's sums on vectors: add one value a lane, merge two accumulators, halve one. The
// bits are those of the scalar monoid in every lane.
#pragma once

#include "cpu/simd_vectors.h"

namespace reduce_ops::cpu {
namespace {

template <class V>
RO_INLINE V canonical(V x) {
  return x == x ? x : V{} + std::numeric_limits<double>::quiet_NaN();
}

template <class T, int N>
struct Plain {  // double, or int64 as uint64
  using vector_t = Vector<T, N>;
  vector_t sum;

  RO_INLINE Plain zero() { return {vector_t{}}; }
  RO_INLINE Plain load(const Word* acc, int64_t /*plane*/) {
    Plain a;
    memcpy(&a.sum, acc, sizeof(a.sum));
    return a;
  }
  RO_MEMBER void store(Word* acc, int64_t /*plane*/) const { memcpy(acc, &sum, sizeof(sum)); }
  RO_MEMBER vector_t value() const {
    if constexpr (std::is_same_v<T, double>) return canonical(sum);
    return sum;
  }
  RO_MEMBER void add(vector_t x) { sum = fused_add(sum, x); }
  RO_MEMBER void merge(Plain b) { sum += b.sum; }
  // Lane i with lane i + N/2.
  RO_MEMBER Plain<T, N / 2> halve() const { return {low<T>(sum) + high<T>(sum)}; }
};

template <int N>
struct Pair {  // DoublePair
  using vector_t = Vector<double, N>;
  vector_t hi, lo;

  RO_INLINE Pair zero() { return {vector_t{}, vector_t{}}; }
  RO_INLINE Pair load(const Word* acc, int64_t plane) {
    Pair a;
    memcpy(&a.hi, acc, sizeof(a.hi));
    memcpy(&a.lo, acc + plane, sizeof(a.lo));
    return a;
  }
  RO_MEMBER void store(Word* acc, int64_t plane) const {
    memcpy(acc, &hi, sizeof(hi));
    memcpy(acc + plane, &lo, sizeof(lo));
  }
  // The sum of both where it is finite, as value_of of core/monoids.h.
  RO_MEMBER vector_t value() const { return canonical(hi - hi == 0 ? hi + lo : hi); }
  RO_MEMBER void add(vector_t x) {
    vector_t error;
    hi = sum_of(hi, x, error);
    lo = fused_add(lo, error);
  }
  RO_MEMBER void merge(Pair b) {
    vector_t error;
    hi = sum_of(hi, b.hi, error);
    lo = (lo + b.lo) + error;
  }
  RO_MEMBER Pair<N / 2> halve() const {
    Pair<N / 2> a = {low<double>(hi), low<double>(lo)};
    a.merge({high<double>(hi), high<double>(lo)});
    return a;
  }

  // two_sum of core/math.h.
  RO_INLINE vector_t sum_of(vector_t a, vector_t b, vector_t& error) {
    const vector_t s = a + b;
    const vector_t t = s - a;
    error = fused_add(a - (s - t), fused_sub(b, t));
    return s;
  }
};

// The accumulator of components of T in vectors of N lanes.
template <class T, int N>
struct AccumulatorOf {
  using type = Plain<uint64_t, N>;
};
template <int N>
struct AccumulatorOf<float, N> {
  using type = Plain<double, N>;
};
template <int N>
struct AccumulatorOf<Float16, N> {
  using type = Plain<double, N>;
};
template <int N>
struct AccumulatorOf<BFloat16, N> {
  using type = Plain<double, N>;
};
template <int N>
struct AccumulatorOf<double, N> {
  using type = Pair<N>;
};
template <class T>
using Accumulator = typename AccumulatorOf<T, kWidth>::type;

// All lanes of a vector merged into one.
template <class T, int N>
RO_INLINE Plain<T, 1> merge_lanes(Plain<T, N> a) {
  if constexpr (N > 1)
    return merge_lanes(a.halve());
  else
    return a;
}

// Merges the lanes of one vector down to `components`, whose words it stores.
template <class A>
RO_INLINE void store_merged(A a, int components, Word* out, int64_t plane) {
  if constexpr (sizeof(typename A::vector_t) > 16) {
    store_merged(a.halve(), components, out, plane);
  } else if (components == 2) {
    a.store(out, plane);
  } else {
    a.halve().store(out, plane);
  }
}

}  // namespace
}  // namespace reduce_ops::cpu
