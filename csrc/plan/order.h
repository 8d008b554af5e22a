// The canonical order: which additions make up one result, as a function of the row's length and
// the element size alone. Engines divide this work among threads; they never change it, so a row's
// bits depend neither on how many rows there are nor on the engine that was picked.
//
// Rows (contiguous along the reduction). A row is cut into segments of kSegmentChunks chunks of 16
// bytes. In a segment, chunk c belongs to virtual lane c % L, where L = row_lanes(chunks of the
// segment); a lane accumulates its elements in order of their index. Lanes merge by halving: lane i
// with lane i + L/2, then L/4, down to 1. Idle lanes hold the identity, which changes no bits, so a
// segment may always be computed with more lanes, up to kMaxLanes.
//
// Columns (strided along the reduction). A column is cut into segments of segment_rows(length)
// elements, accumulated in order by one thread.
//
// In both, segments merge as an aligned binary tree over their index: 0 with 1, 2 with 3, then
// 0-1 with 2-3, and so on. Any aligned group of 2^k segments is a subtree, so a thread, a block or
// a grid may own it. The CPU engines use the same scheme with constants of their own (cpu_order.h).
#pragma once

#include <cstdint>

#include "core/macros.h"

namespace reduce_ops {

constexpr int kChunkBytes = 16;
constexpr int kSegmentChunks = 1024;
constexpr int kMaxLanes = 256;
constexpr int kBlockThreads = 256;       // of most engines
constexpr int kMaxLanesAThread = 8;      // of warp_row
constexpr int kThreadRowBytes = 64;      // the longest row of thread_row
constexpr int kMaxColumnSegments = 16;   // a thread
constexpr int kMaxColumnThreads = 1024;  // a block
constexpr int kNarrowThreads = 256;      // of narrow_column, at most one a column and segment
constexpr int kNarrowRowBytes = 64;      // its longest row
constexpr int kNarrowTileBytes = 51200;

// Its segments in shared memory are a vector further apart than they are long, against bank
// conflicts.
RO_HD constexpr int narrow_pitch(int segment_bytes) { return segment_bytes + kChunkBytes; }

// Short columns are cut finely, so that enough threads take part; long ones coarsely, so that few
// partial results remain.
constexpr int kSegmentRowsStep = 16;  // every segment but the last is a multiple of it
RO_HD constexpr int segment_rows(int64_t length) {
  return kSegmentRowsStep * (length <= 1024 ? 1 : length <= 8192 ? 2 : 4);
}

RO_HD constexpr int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

RO_HD constexpr int64_t power_of_two_above(int64_t n) {
  int64_t p = 1;
  while (p < n) p *= 2;
  return p;
}

// Virtual lanes of a row of so many chunks, at least: more are idle.
RO_HD constexpr int64_t row_lanes(int64_t chunks) {
  return chunks < kMaxLanes ? power_of_two_above(chunks) : kMaxLanes;
}

// The binary counter that builds the tree from segments arriving in order: push(value, i) for
// i = 0, 1, …, then finish(). kLevels bounds the count: at most 2^kLevels pushes.
template <class Monoid, int kLevels>
struct TreeStack {
  using acc_t = typename Monoid::acc_t;
  acc_t level[kLevels + 1];
  uint32_t filled = 0;  // bit l: level[l] holds a complete subtree of 2^l segments

  // Written without early exits, so that the levels stay in registers once unrolled.
  RO_HD void push(acc_t value) {
    bool carry = true;
    RO_UNROLL
    for (int l = 0; l <= kLevels; ++l) {
      if (!carry) continue;
      if (filled >> l & 1) {
        value = Monoid::combine(level[l], value);
      } else {
        level[l] = value;
        carry = false;
      }
    }
    filled += 1;  // the levels just merged are its trailing ones
  }

  // The missing right-hand subtrees are identities.
  RO_HD acc_t finish() const {
    acc_t result = Monoid::identity();
    bool any = false;
    RO_UNROLL
    for (int l = 0; l <= kLevels; ++l) {
      if (filled >> l & 1) {
        result = any ? Monoid::combine(level[l], result) : level[l];
        any = true;
      }
    }
    return result;
  }
};

}  // namespace reduce_ops
