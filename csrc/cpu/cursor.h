// A position among the elements of a problem's kept or reduced axes, innermost axis first.
#pragma once

#include <algorithm>

#include "plan/problem.h"

namespace reduce_ops::cpu {

class Cursor {
 public:
  Cursor(const Axes& axes, int64_t position) : axes_(axes) {
    for (int a = 0; a < axes.count; ++a) {
      const Axis& axis = axes.axis[a];
      index_[a] = 0;
      if (position == 0) continue;
      index_[a] = position % axis.size;
      position /= axis.size;
      in += index_[a] * axis.in;
      out += index_[a] * axis.out;
    }
  }

  // Elements from here to the end of the innermost axis.
  int64_t run() const { return axes_.count ? axes_.axis[0].size - index_[0] : 1; }

  // Moves on by n <= run() elements.
  void advance(int64_t n) {
    if (axes_.count == 0) return;
    index_[0] += n;
    in += n * axes_.axis[0].in;
    out += n * axes_.axis[0].out;
    for (int a = 0; index_[a] == axes_.axis[a].size; ++a) {
      in -= index_[a] * axes_.axis[a].in;
      out -= index_[a] * axes_.axis[a].out;
      index_[a] = 0;
      if (a + 1 == axes_.count) return;  // past the last element: back at the first
      ++index_[a + 1];
      in += axes_.axis[a + 1].in;
      out += axes_.axis[a + 1].out;
    }
  }

  int64_t in = 0;  // offsets in elements
  int64_t out = 0;

 private:
  const Axes& axes_;
  int64_t index_[kMaxAxes];
};

inline int64_t inner_size(const Axes& axes) { return axes.count ? axes.axis[0].size : 1; }
inline int64_t inner_in(const Axes& axes) { return axes.count ? axes.axis[0].in : 0; }
inline int64_t inner_out(const Axes& axes) { return axes.count ? axes.axis[0].out : 0; }

}  // namespace reduce_ops::cpu
