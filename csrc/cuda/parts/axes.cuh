// From an index to an offset in memory, without divisions on the device.
#pragma once

#include "plan/problem.h"

namespace reduce_ops::cuda {

// Division of 0 <= n < 2^63 by a fixed divisor as a multiplication (Granlund and Montgomery,
// Division by Invariant Integers using Multiplication, 1994): with 2^s >= divisor > 2^(s-1) and
// magic = floor(2^(63+s) / divisor) + 1, n / divisor == n * magic >> (63 + s).
struct Divider {
  int64_t divisor;
  uint64_t magic;
  int shift;  // s - 1; -1 for the divisor 1

  static Divider of(int64_t divisor) {
    int s = 0;
    while (s < 63 && (int64_t(1) << s) < divisor) ++s;
    using Wide = unsigned __int128;
    return {divisor, uint64_t((Wide(1) << (63 + s)) / Wide(divisor)) + 1, s - 1};
  }

  __device__ __forceinline__ int64_t quotient(int64_t n) const {
    return shift < 0 ? n : int64_t(__umul64hi(uint64_t(n), magic) >> shift);
  }
  __device__ __forceinline__ int64_t remainder(int64_t n) const {
    return n - quotient(n) * divisor;
  }
};

struct Offsets {
  int64_t in;
  int64_t out;
};

// Axes as a kernel argument. Offsets are in elements.
struct AxesMap {
  int count;
  struct {
    Divider size;
    int64_t in;
    int64_t out;
  } axis[kMaxAxes];

  static AxesMap of(const Axes& axes) {
    AxesMap map;
    map.count = axes.count;
    for (int a = 0; a < axes.count; ++a) {
      // The last axis needs no division, nor does an only one.
      const int64_t size = axes.axis[a].size;
      const Divider divider = axes.count > 1 ? Divider::of(size) : Divider{size, 0, -1};
      map.axis[a] = {divider, axes.axis[a].in, axes.axis[a].out};
    }
    if (axes.count == 0) map.axis[0] = {{1, 0, -1}, 0, 0};
    return map;
  }
  // The same with the second input's strides.
  static AxesMap of_other(Axes axes) {
    for (int a = 0; a < axes.count; ++a) axes.axis[a].in = axes.axis[a].other;
    return of(axes);
  }

  __device__ __forceinline__ Offsets locate(int64_t index) const {
    Offsets at = {0, 0};
    int a = 0;
#pragma unroll 1  // most maps have one axis: small code
    for (; a + 1 < count; ++a) {
      const int64_t next = axis[a].size.quotient(index);
      const int64_t rest = index - next * axis[a].size.divisor;
      at.in += rest * axis[a].in;
      at.out += rest * axis[a].out;
      index = next;
    }
    at.in += index * axis[a].in;
    at.out += index * axis[a].out;
    return at;
  }
};

}  // namespace reduce_ops::cuda
