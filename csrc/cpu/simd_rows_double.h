// Rows of float64. A DoublePair costs seven additions an element, which is more than a cache
// delivers; long segments take five instructions instead, where their values allow.
//
// Elements are scaled by a power of two to well below 1 and accumulated on top of 3.0. While the
// accumulator stays in [2, 4), its low bits stand at a fixed place and it exceeds every element, so
//   s = h + x,  q = s - h,  r = x - q
// splits x into what h took up and the rest without error (Dekker's fast two-sum); the rests are
// small and few enough for a plain sum. That the accumulator did stay is read off the bitwise or of
// all its values: exponents of [2, 4) are a single bit, 0x400, so any other value sets another bit,
// or is 0, from which the next step is exact too. Where it strayed, the segment is summed again
// with pairs. The decision rests on the segment's elements alone.
#pragma once

#include "cpu/simd_rows.h"

namespace reduce_ops::cpu {
namespace {

// Shorter segments do not pay for the preparation.
constexpr int64_t kLeastScaled = 256;
// The first elements' largest is scaled to 2^-10: n additions a lane reach neither 2 nor 4 unless
// later elements are much larger.
constexpr int kHeadroom = 10;

template <>
struct RowSum<double> {
  static constexpr int kStep = kLanes<double>;
  static constexpr int64_t kLeast = kLeastScaled;
  static constexpr int kVectors = kLanes<double> / kWidth;
  static constexpr int kBytes = Decoder<double>::kBytes;
  static constexpr double kBase = 3.0;
  Doubles high[kVectors], low[kVectors];
  Ints seen;
  int exponent;

  RO_MEMBER bool start(const char* p) {
    constexpr uint64_t kMagnitude = ~uint64_t(0) >> 1;
    Vector<int64_t, kWidth> largest = {};
    static_for<kVectors>([&](auto v) RO_MEMBER {
      const auto bits =
          (Vector<int64_t, kWidth>)((Ints)load_full<kBytes>(p + v * kBytes) & kMagnitude);
      largest = bits > largest ? bits : largest;
      high[v] = Doubles{} + kBase;
      low[v] = Doubles{};
    });
    seen = Ints{};
    int64_t most = 0;
    for (int l = 0; l < kWidth; ++l) most = largest[l] > most ? largest[l] : most;
    exponent = int(most >> 52) - 1023 + kHeadroom;
    return exponent > -900 && exponent < 900;  // else all zero, infinite, NaN, or too extreme
  }
  RO_MEMBER static double power(int e) { return bit_cast<double>(uint64_t(1023 + e) << 52); }

  RO_MEMBER static void add_vector(Doubles& h, Doubles& l, Doubles x, Doubles scale) {
    const Doubles s = fused(h, x, scale);
    const Doubles q = s - h;
    l += fused(-q, x, scale);
    h = s;
  }
  RO_MEMBER void add(const char* p, int64_t n) {
    const Doubles scale = Doubles{} + power(-exponent);
    Doubles h[kVectors], l[kVectors];  // in registers
    static_for<kVectors>([&](auto v) RO_MEMBER { h[v] = high[v], l[v] = low[v]; });
    Ints any = seen;
    _Pragma("GCC unroll 1") for (; n > 0; n -= kStep, p += kVectors * kBytes) {
      // Two at a time: seen later, sums would have to be copied.
      static_for<kVectors / 2>([&](auto pair) RO_MEMBER {
        constexpr int v = 2 * pair;
        add_vector(h[v], l[v], load<double>(p + v * kBytes), scale);
        add_vector(h[v + 1], l[v + 1], load<double>(p + (v + 1) * kBytes), scale);
        any = any_bits(any, (Ints)h[v], (Ints)h[v + 1]);
      });
    }
    static_for<kVectors>([&](auto v) RO_MEMBER { high[v] = h[v], low[v] = l[v]; });
    seen = any;
  }
  RO_MEMBER bool finish(const char* p, int64_t left, int64_t, int components, Word* out,
                        int64_t plane) {
    const Doubles scale = Doubles{} + power(-exponent);
    static_for<kVectors>([&](auto v) RO_MEMBER {
      if (left >= (v + 1) * kWidth)
        add_vector(high[v], low[v], load<double>(p + v * kBytes), scale);
      else if (left > v * kWidth)
        add_vector(high[v], low[v], load<double>(p + v * kBytes, int(left - v * kWidth)), scale);
    });
    Ints every = ~Ints{};
    static_for<kVectors>([&](auto v) RO_MEMBER { seen |= (Ints)high[v], every &= (Ints)high[v]; });
    uint64_t any = 0, common = ~uint64_t(0);
    for (int l = 0; l < kWidth; ++l) any |= seen[l], common &= every[l];
    if (any >> 52 != 0x400 || common >> 52 != 0x400) return false;

    // What the lanes took up are whole multiples of 2^-51 below 1: exact as integers.
    Plain<uint64_t, kWidth> units[kVectors];
    Plain<double, kWidth> rests[kVectors];
    static_for<kVectors>([&](auto v) RO_MEMBER {
      units[v].sum = (Ints)high[v] - (Ints)(Doubles{} + kBase);
      rests[v].sum = low[v];
    });
    merge_vectors<kVectors>(units, kVectors);
    merge_vectors<kVectors>(rests, kVectors);
    Word taken[2], rest[2];
    store_merged(units[0], components, taken, 0);
    store_merged(rests[0], components, rest, 0);
    const double up = power(exponent);
    for (int c = 0; c < components; ++c) {
      const double hi = double(taken[c].i);
      const double lo = double(taken[c].i - int64_t(hi));
      out[c].f = hi * 0x1p-51 * up;
      out[c + plane].f = (lo * 0x1p-51 + rest[c].f) * up;
    }
    return true;
  }
};

}  // namespace
}  // namespace reduce_ops::cpu
