// Which kernels are compiled for a pair of elements and monoid; the planner and the launcher both
// ask here.
#pragma once

#include "plan/order.h"
#include "plan/problem.h"

namespace reduce_ops {

struct Features {
  int columns;            // a thread, at most
  int accumulator_bytes;  // of one result
  int lanes;              // of a row a thread, at most
  bool hot;    // dtypes that most calls use: kernels for odd addresses, single segments …
  bool every;  // further kernels for long streams and few threads
  bool two;    // inputs
  bool maps;   // single elements by vectors
  // Whether the column kernels may use twice the registers in blocks of half the threads.
  constexpr bool large() const { return two || (!maps && accumulator_bytes > 8); }
};

template <class Monoid>
constexpr bool kIsSum = false;
template <class A>
constexpr bool kIsSum<Sum<A>> = true;

template <class Monoid>
constexpr bool kIsBest = false;
template <class A>
constexpr bool kIsBest<Best<A>> = true;

template <class Elements, class Monoid>
constexpr Features features() {
  constexpr int kBytes = sizeof(typename Monoid::acc_t);
  constexpr bool kHot = Elements::kSize && Elements::kSize <= 4;
  constexpr bool kSum = kIsSum<Monoid> && !kTakesTwo<Elements>;
  return {Elements::kColumns,
          kBytes,
          kBytes > 32 || kTakesTwo<Elements> ? 4 : kMaxLanesAThread,
          kHot,
          kSum || (kHot && kBytes <= 8 && !kTakesTwo<Elements>),
          kTakesTwo<Elements>,
          kSum};
}

inline Features features_of(const Problem& p) {
  return visit_family(p, [](auto elements, auto monoid) {
    return features<decltype(elements), decltype(monoid)>();
  });
}

}  // namespace reduce_ops
