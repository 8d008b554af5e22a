// The largest and smallest elements, and where the largest one is. NaN is larger than every number
// and smaller than every number, as for torch.
#pragma once

#include <limits>

#include "core/monoids.h"

namespace reduce_ops {

RO_HD bool is_nan(float x) { return x != x; }
RO_HD bool is_nan(double x) { return x != x; }
RO_HD bool is_nan(int64_t) { return false; }

template <class A>
RO_HD A larger(A a, A b) {
#if defined(__CUDA_ARCH__)
  if constexpr (std::is_same_v<A, float>) {
    float m;
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(m) : "f"(a), "f"(b));
    return m;
  }
#endif
  return a > b || is_nan(a) ? a : b;
}
template <class A>
RO_HD A smaller(A a, A b) {
#if defined(__CUDA_ARCH__)
  if constexpr (std::is_same_v<A, float>) {
    float m;
    asm("min.NaN.f32 %0, %1, %2;" : "=f"(m) : "f"(a), "f"(b));
    return m;
  }
#endif
  return a < b || is_nan(a) ? a : b;
}

template <class A>
RO_HD constexpr A lowest() {
  return std::numeric_limits<A>::has_infinity ? -std::numeric_limits<A>::infinity()
                                              : std::numeric_limits<A>::min();
}
template <class A>
RO_HD constexpr A highest() {
  return std::numeric_limits<A>::has_infinity ? std::numeric_limits<A>::infinity()
                                              : std::numeric_limits<A>::max();
}

// The type that results are stored from.
template <class A>
using stored_t = std::conditional_t<std::is_same_v<A, int64_t>, int64_t, double>;

// Results: the smallest, the largest.
template <class A>
struct Extremes : Stateless {
  struct acc_t {
    A low;
    A high;
  };
  static RO_HD acc_t identity() { return {highest<A>(), lowest<A>()}; }
  template <class Value>
  static RO_HD acc_t accumulate(acc_t acc, Value x, int64_t /*index*/, Nothing) {
    return {smaller(acc.low, A(x)), larger(acc.high, A(x))};
  }
  static RO_HD acc_t combine(acc_t a, acc_t b) {
    return {smaller(a.low, b.low), larger(a.high, b.high)};
  }
  static RO_HD Two<stored_t<A>, stored_t<A>> finalize(acc_t acc, const Epilogue&, Nothing) {
    return {stored_t<A>(acc.low), stored_t<A>(acc.high)};
  }
};

RO_HD double flipped(double x) { return -x; }
RO_HD float flipped(float x) { return -x; }
RO_HD int64_t flipped(int64_t x) { return ~x; }

// Results: the largest element, the index of the first that is as large. For the smallest the
// elements come flipped.
template <class A>
struct Best : Stateless {
  static constexpr int64_t kNone = std::numeric_limits<int64_t>::max();
  struct acc_t {
    A value;
    int64_t index;
  };
  static RO_HD acc_t identity() { return {lowest<A>(), kNone}; }
  // Elements come in the order of their indices.
  template <class Value>
  static RO_HD acc_t accumulate(acc_t acc, Value value, int64_t index, Nothing) {
    const A x = A(value);
    const bool better = x > acc.value || (is_nan(x) && !is_nan(acc.value)) || acc.index == kNone;
    return {better ? x : acc.value, better ? index : acc.index};
  }
  static RO_HD acc_t combine(acc_t a, acc_t b) {
    const bool same = a.value == b.value || (is_nan(a.value) && is_nan(b.value));
    const bool other =
        same ? b.index < a.index : b.value > a.value || (is_nan(b.value) && !is_nan(a.value));
    return {other ? b.value : a.value, other ? b.index : a.index};
  }
  static RO_HD Two<stored_t<A>, int64_t> finalize(acc_t acc, const Epilogue& e, Nothing) {
    return {stored_t<A>(finds_least(e.op) ? flipped(acc.value) : acc.value), acc.index};
  }
};

}  // namespace reduce_ops
