// Rows of float16 and bfloat16.
#pragma once

#include "cpu/simd_rows.h"

namespace reduce_ops::cpu {
namespace {

// Shorter rows do not pay for staging.
constexpr int64_t kLeastStaged = 2 * kAhead;

// Sums whole blocks of 32 elements through a buffer of floats (see kAhead). stage_block writes a
// block, add(j, vector) takes vector j of it. Moves p and left past what it summed.
template <class Stage, class Add>
RO_INLINE void sum_staged(const char*& p, int64_t& left, Stage&& stage_block, Add&& add) {
  if (!kStages || left < kLeastStaged) return;
  constexpr int kBlock = 32;
  constexpr int kBlocksAhead = kAhead / kBlock;
  alignas(32) float buffer[kStaged];
  const auto slot = [&](int64_t b) RO_MEMBER { return buffer + (b * kBlock & (kStaged - 1)); };
  const auto add_block = [&](const float* from) RO_MEMBER {
    static_for<kBlock / kWidth>([&](auto j) RO_MEMBER { add(j, staged(from + j * kWidth)); });
  };
  const int64_t blocks = left / kBlock;
  for (int64_t b = 0; b < kBlocksAhead; ++b) stage_block(p + b * kBlock * 2, slot(b));
  int64_t b = 0;
  for (const char* ahead = p + kAhead * 2; b + kBlocksAhead < blocks; ++b, ahead += kBlock * 2) {
    stage_block(ahead, slot(b + kBlocksAhead));
    add_block(slot(b));
  }
  for (; b < blocks; ++b) add_block(slot(b));
  p += blocks * kBlock * 2;
  left -= blocks * kBlock;
}

template <>
void sum_row<Float16>(const char* p, int64_t n, int /*components*/, Word* out, int64_t plane) {
  constexpr int kVectors = kLanes<Float16> / kWidth;
  Accumulator<Float16> acc[kVectors];
  static_for<kVectors>([&](auto v) RO_MEMBER { acc[v] = Accumulator<Float16>::zero(); });
  int64_t left = n;
  sum_staged(
      p, left,
      [](const char* from, float* to) RO_MEMBER {
        static_for<4>([&](auto i) RO_MEMBER { stage(Float16{}, from + 16 * i, to + 8 * i); });
      },
      [&](auto v, Doubles x) RO_MEMBER { acc[v].add(x); });
  add_row<Float16>(p, left, acc);
  merge_vectors<kVectors>(acc, (n + kWidth - 1) / kWidth);
  store_merged(acc[0], 1, out, plane);
}

// Elements of even and of odd index in vectors of their own, which saves shuffles: the lower half
// of a 32-bit word is one, the upper half the other. Vector v holds those of elements 2 kWidth v …
template <>
void sum_row<BFloat16>(const char* p, int64_t n, int /*components*/, Word* out, int64_t plane) {
  constexpr int kVectors = kLanes<BFloat16> / 2 / kWidth;
  constexpr int kBytes = 4 * kWidth;
  using Words = Vector<uint32_t, kWidth>;
  Accumulator<BFloat16> even[kVectors], odd[kVectors];
  static_for<kVectors>([&](auto v) RO_MEMBER { even[v] = odd[v] = Accumulator<BFloat16>::zero(); });
  int64_t left = n;
  sum_staged(
      p, left,
      [](const char* from, float* to) RO_MEMBER {
        stage_even_odd(from, to);
        stage_even_odd(from + 32, to + 16);
      },
      [&](auto j, Doubles x) RO_MEMBER {
        // A block lies as even 0, even 1, odd 0, odd 1, even 2, even 3, odd 2, odd 3.
        constexpr int v = j / 4 * 2 + j % 2;
        if (j % 4 < 2)
          even[v].add(x);
        else
          odd[v].add(x);
      });
  const auto add = [&](auto v, Raw<kBytes> raw) RO_MEMBER {
    const Words bits = (Words)raw;
    even[v].add(to_doubles((Vector<float, kWidth>)(bits << 16)));
    odd[v].add(to_doubles((Vector<float, kWidth>)(bits & 0xffff0000u)));
  };
  left *= 2;  // now in bytes
  for (; left >= kVectors * kBytes; left -= kVectors * kBytes, p += kVectors * kBytes)
    static_for<kVectors>([&](auto v) RO_MEMBER { add(v, load_full<kBytes>(p + v * kBytes)); });
  static_for<kVectors>([&](auto v) RO_MEMBER {
    if (left >= (v + 1) * kBytes)
      add(v, load_full<kBytes>(p + v * kBytes));
    else if (left > v * kBytes)
      add(v, load_part<kBytes>(p + v * kBytes, int(left - v * kBytes)));
  });
  const int64_t used = (2 * n + kBytes - 1) / kBytes;
  merge_vectors<kVectors>(even, used);
  merge_vectors<kVectors>(odd, used);
  auto sum = merge_lanes(even[0]);
  sum.merge(merge_lanes(odd[0]));
  sum.store(out, plane);
}

}  // namespace
}  // namespace reduce_ops::cpu
