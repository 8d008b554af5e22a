// The planner's decision as a plain value: which engine computes the problem and how it is shaped.
#pragma once

#include <cstdint>
#include <string>

#include "plan/problem.h"

namespace reduce_ops {

enum class Engine : uint8_t {
  kFill,          // no elements to read: every output is the identity
  kMap,           // one element an output: a thread takes vectors of them
  kThreadRow,     // a thread a row, for narrow rows side by side
  kWarpRow,       // up to 32 threads a row, a row of at most one segment
  kBlockRow,      // 256 threads a row, segment after segment
  kSplitRow,      // several blocks a row, a second kernel combines
  kColumn,        // a thread block a strip of columns
  kSplitColumn,   // several blocks a strip, a second kernel combines
  kNarrowColumn,  // blocks of whole narrow rows side by side; if several, a second kernel combines
  kCpuRow,
  kCpuColumn,
};

// Fields that an engine does not use stay 0. All counts but the CPU's are powers of two.
struct Plan {
  Engine engine = Engine::kFill;
  int threads = 0;   // warp_row: threads a row; cpu: threads in all, 1 = the caller's own, 0 = all
  int vector = 0;    // column: columns a thread
  int across = 0;    // column: threads along the columns
  int down = 0;      // column: threads along the reduction
  int deep = 0;      // column: 1: twice as many rows loaded together, by at most half the threads
  int segments = 0;  // split_row, narrow_column: segments a block; column: a thread
  int parts = 0;     // cpu: aligned groups of segments that a result is cut into, at most

  bool operator==(const Plan& o) const {
    return engine == o.engine && threads == o.threads && vector == o.vector && across == o.across &&
           down == o.down && deep == o.deep && segments == o.segments && parts == o.parts;
  }
};

struct DeviceTraits {
  int multiprocessors = 0;  // CUDA
  int threads = 1;          // CPU
};

Plan make_plan(const Problem& problem, const DeviceTraits& device);
// make_plan's and check_plan's share for the CPU.
Plan make_cpu_plan(const Problem& problem, const DeviceTraits& device);
std::string check_cpu_plan(const Plan& plan, const Problem& problem);

// "block_row()", "split_row(segments=4)", …; parse(to_string(p)) == p.
std::string to_string(const Plan& plan);
// Throws std::invalid_argument with a sentence where the text is no plan.
Plan parse_plan(const std::string& text);
// Empty where the plan can compute the problem, else a sentence that says why not.
std::string check_plan(const Plan& plan, const Problem& problem);

// Columns that one thread may take at once: 1 where the layout or the elements forbid more.
int widest_vector(const Problem& problem);
// Bytes of shared memory a thread of the column engine needs: its own part of the tree over
// segments, or what a block merges with.
constexpr int64_t column_shared_bytes(int columns, int segments, int accumulator_bytes) {
  int levels = 0;
  while (1 << levels < segments) ++levels;
  const int own = columns * levels;
  return int64_t(own > columns ? own : columns + 1) * accumulator_bytes;
}
// What a block may have of it on every GPU since 8.0.
constexpr int64_t kMaxSharedBytes = 99 << 10;
// Whether every piece of every row starts at a multiple of 16 bytes.
bool aligned_rows(const Problem& problem);
// Whether so many columns start at a multiple of their size in every row and divide them all.
bool aligned_columns(const Problem& problem, int vector);
// Blocks along the reduction that each result is split over.
int64_t row_parts(const Problem& problem, const Plan& plan);
int64_t column_parts(const Problem& problem, const Plan& plan);

// Least bytes that must move: each distinct input element once, each output once.
int64_t least_bytes(const Problem& problem);

}  // namespace reduce_ops
