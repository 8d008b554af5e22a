#include <algorithm>

#include "plan/features.h"
#include "plan/order.h"
#include "plan/plan.h"
#include "plan/thresholds.h"

namespace reduce_ops {

namespace {

int64_t power_of_two_below(int64_t n) {
  const int64_t above = power_of_two_above(n);
  return above > n ? above / 2 : above;
}

int64_t row_chunks(const Problem& p) { return ceil_div(p.length * size_of(p.in), kChunkBytes); }
int64_t row_segments(const Problem& p) { return ceil_div(row_chunks(p), kSegmentChunks); }
int64_t column_segments(const Problem& p) { return ceil_div(p.length, segment_rows(p.length)); }

// Rows side by side in memory, as thread_row takes them.
bool dense_rows(const Problem& p) {
  return p.reduced.count <= 1 && p.kept.count <= 1 &&
         (p.kept.count == 0 || p.kept.axis[0].in == p.length);
}

// Elements side by side in memory, each of which is a result.
bool has_map(const Problem& p) {
  return features_of(p).maps && p.length == 1 && p.kept.count <= 1 &&
         (p.kept.count == 0 || p.kept.axis[0].in == 1);
}

// thread_row takes elements one by one, where others take chunks: for logsumexp other bits.
bool has_thread_row(const Problem& p) {
  return p.op != Op::kLogSumExp && p.op != Op::kDot && dense_rows(p);
}

Plan plan_rows(const Problem& p, const DeviceTraits& device) {
  const int64_t chunks = row_chunks(p);
  const int64_t processors = device.multiprocessors;
  Plan plan;
  if (has_map(p)) {
    plan.engine = Engine::kMap;
    return plan;
  }
  const bool shifted = p.reduced.count <= 1 && !aligned_rows(p);
  const Features features = features_of(p);
  const bool looped = !features.hot;  // has no kernel for one segment
  if (p.length * size_of(p.in) <= kThreadRowBytes && p.length * size_of(p.in) % 16 &&
      has_thread_row(p) && p.outputs >= kManyNarrowRows) {
    plan.engine = Engine::kThreadRow;
    return plan;
  }
  const int64_t most_chunks = features.lanes < 8 ? 32 * features.lanes : kManyWarpRowsChunks;
  if (chunks <= kWarpRowChunks ||
      (chunks <= most_chunks && p.outputs >= kWarpRowsPerProcessor * processors)) {
    plan.engine = Engine::kWarpRow;
    // A thread takes several lanes.
    const int64_t threads = row_lanes(chunks) / (shifted ? features.lanes : 4);
    plan.threads = int(std::clamp<int64_t>(threads, 1, 32));
    return plan;
  }
  const int64_t segments = row_segments(p);
  if (segments <= (p.outputs >= processors ? kFewSegmentsOfManyRows : kFewSegments) ||
      (shifted && p.outputs >= kShiftedRowsPerProcessor * processors)) {
    plan.engine = Engine::kBlockRow;
    return plan;
  }
  plan.engine = Engine::kSplitRow;
  const int64_t blocks = shifted  ? kShiftedBlocksPerProcessor
                         : looped ? kLoopedBlocksPerProcessor
                                  : kSplitBlocksPerProcessor;
  const int64_t group = p.outputs * segments / (blocks * processors);
  plan.segments = int(power_of_two_below(std::clamp<int64_t>(group, 1, 1 << 20)));
  if (row_parts(p, plan) == 1) plan = {Engine::kBlockRow};
  return plan;
}

// Narrow rows side by side in memory, as narrow_column takes them.
bool dense_narrow_columns(const Problem& p) {
  return p.op != Op::kDot && p.kept.count == 1 && p.reduced.count == 1 && p.kept.axis[0].in == 1 &&
         p.reduced.axis[0].in == p.outputs && p.alignment == kChunkBytes &&
         p.outputs * size_of(p.in) <= kNarrowRowBytes;
}

// Whether columns have a kernel that loads twice as many rows together.
bool has_deep_columns(const Problem& p, int vector) {
  const Features features = features_of(p);
  return vector > 1 && features.hot && features.every;
}

// The largest block: half of kMaxColumnThreads for kernels with more registers (deep ones, those
// for odd addresses and large accumulators), less where each thread's tree takes more shared
// memory.
int64_t max_column_threads(const Problem& p, const Plan& plan) {
  const bool shifted = plan.vector > 1 && !aligned_columns(p, plan.vector);
  const Features features = features_of(p);
  const bool half = plan.deep || shifted || features.large();
  const int64_t shared =
      column_shared_bytes(plan.vector, plan.segments, features.accumulator_bytes);
  return std::min<int64_t>(half ? kMaxColumnThreads / 2 : kMaxColumnThreads,
                           power_of_two_below(kMaxSharedBytes / shared));
}

// The most segments that narrow_column takes a block.
int64_t narrow_segments(const Problem& p) {
  const int pitch = narrow_pitch(segment_rows(p.length) * int(p.outputs) * size_of(p.in));
  return power_of_two_below(
      std::min<int64_t>(kNarrowThreads / p.outputs, kNarrowTileBytes / pitch));
}

Plan plan_narrow_columns(const Problem& p, const DeviceTraits& device) {
  Plan plan;
  plan.engine = Engine::kNarrowColumn;
  plan.segments = int(narrow_segments(p));
  const int64_t blocks = kNarrowBlocksPerProcessor * device.multiprocessors;
  while (plan.segments > 1 && column_segments(p) / plan.segments < blocks) plan.segments /= 2;
  return plan;
}

// Finds the shape of column blocks: how wide a strip of columns is, how many segments a thread
// takes, how many threads share a strip.
class ColumnPlanner {
 public:
  ColumnPlanner(const Problem& p, const DeviceTraits& device)
      : p_(p),
        processors_(device.multiprocessors),
        segments_(column_segments(p)),
        large_(features_of(p).large()) {
    plan_.vector = widest_vector(p);
    // A thread for every column of every segment where that is little to do.
    if (p.outputs * segments_ <= kElementThreadsPerProcessor * processors_) plan_.vector = 1;
    shifted_ = plan_.vector > 1 && !aligned_columns(p, plan_.vector);
  }

  Plan plan() {
    // Neighbouring vectors at odd addresses share cache lines: more of them side by side.
    shape(widest(plan_.vector > 1 && !shifted_ ? kVectorsAcross : 32), false);
    // More loads a thread where threads are few.
    const bool deep = has_deep_columns(p_, plan_.vector) && plan_.segments < kShallowSegments &&
                      !large_blocks_fill_the_device();
    if (deep) shape(widest(kVectorsAcross), true);
    while (narrower_is_better()) shape(plan_.across / 2, deep);
    plan_.engine = column_parts(p_, plan_) > 1 ? Engine::kSplitColumn : Engine::kColumn;
    return plan_;
  }

 private:
  // Neighbouring threads take whichever of column and row is closer in memory.
  bool strided() const {
    return p_.kept.count == 0 || p_.kept.axis[0].in == 0 ||
           (p_.reduced.axis[0].in != 0 && p_.reduced.axis[0].in < p_.kept.axis[0].in);
  }
  // Threads across a strip, up to `threads`: no more than there are columns.
  int64_t widest(int64_t threads) const {
    if (strided()) return 1;
    return std::min(threads, power_of_two_above(ceil_div(columns_of(p_), int64_t(plan_.vector))));
  }
  int64_t strips() const {
    const int64_t columns = columns_of(p_);
    return p_.outputs / columns * ceil_div(columns, int64_t(plan_.across) * plan_.vector);
  }
  // Threads along the reduction that a strip takes in all.
  int64_t down_in_all() const { return power_of_two_above(ceil_div(segments_, plan_.segments)); }

  void shape(int64_t across, bool deep) {
    const int64_t wanted = processors_ * (deep || large_ ? kDeepColumnThreadsPerProcessor
                                          : shifted_     ? kShiftedColumnThreadsPerProcessor
                                                         : kColumnThreadsPerProcessor);
    plan_.across = int(across);
    plan_.deep = deep;
    // As many segments a thread as leave a warp a strip and every multiprocessor its threads.
    plan_.segments = kMaxColumnSegments;
    while (plan_.segments > 1 && (across * down_in_all() < 32 ||
                                  strips() * across * ceil_div(segments_, plan_.segments) < wanted))
      plan_.segments /= 2;
    // One large block a strip saves the second kernel.
    const int64_t most = max_column_threads(p_, plan_);
    const int64_t threads = across * down_in_all() <= most ? most : kColumnBlockThreads;
    plan_.down = int(std::min(threads / across, down_in_all()));
  }

  bool large_blocks_fill_the_device() const {
    return plan_.across * plan_.down == kMaxColumnThreads && column_parts(p_, plan_) == 1 &&
           strips() <= processors_ && strips() > processors_ * 3 / 4;
  }

  // Where few multiprocessors would have a block, or to need no second kernel.
  bool narrower_is_better() const {
    const int64_t least = std::max(4, kSectorBytes / (plan_.vector * size_of(p_.in)));
    if (strided() || plan_.across <= least || plan_.segments > 1) return false;
    if (column_parts(p_, plan_) > 1) return least * down_in_all() <= max_column_threads(p_, plan_);
    return strips() < processors_ * 3 / 4;
  }

  const Problem& p_;
  const int64_t processors_, segments_;
  const bool large_;
  bool shifted_;
  Plan plan_;
};

Plan plan_columns(const Problem& p, const DeviceTraits& device) {
  const int64_t many = kNarrowSegmentsPerProcessor * device.multiprocessors;
  if (dense_narrow_columns(p) && widest_vector(p) == 1 && column_segments(p) >= many)
    return plan_narrow_columns(p, device);
  return ColumnPlanner(p, device).plan();
}

bool power_of_two(int n) { return n > 0 && (n & (n - 1)) == 0; }

}  // namespace

int widest_vector(const Problem& p) {
  if (p.kept.count == 0 || p.kept.axis[0].in != 1) return 1;
  if (p.op == Op::kDot && p.kept.axis[0].other != 1) return 1;
  const Features features = features_of(p);
  const int vector = std::min(features.columns, kChunkBytes / size_of(p.in));
  if (vector == 1 || aligned_columns(p, vector)) return vector;
  return features.hot && columns_of(p) >= kFewColumns ? vector : 1;
}

bool aligned_rows(const Problem& p) {
  const int64_t per_chunk = kChunkBytes / size_of(p.in);
  if (p.alignment != kChunkBytes) return false;
  for (int a = 0; a < p.kept.count; ++a) {
    if (p.kept.axis[a].in % per_chunk || p.kept.axis[a].other % per_chunk) return false;
  }
  for (int a = 1; a < p.reduced.count; ++a) {
    if (p.reduced.axis[a].in % per_chunk || p.reduced.axis[a].other % per_chunk) return false;
  }
  return true;
}

bool aligned_columns(const Problem& p, int vector) {
  if (p.alignment % (vector * size_of(p.in)) || p.kept.axis[0].size % vector) return false;
  for (int a = 1; a < p.kept.count; ++a) {
    if (p.kept.axis[a].in % vector || p.kept.axis[a].other % vector) return false;
  }
  for (int a = 0; a < p.reduced.count; ++a) {
    if (p.reduced.axis[a].in % vector || p.reduced.axis[a].other % vector) return false;
  }
  return true;
}

int64_t row_parts(const Problem& p, const Plan& plan) {
  return plan.engine == Engine::kSplitRow ? ceil_div(row_segments(p), plan.segments) : 1;
}

int64_t column_parts(const Problem& p, const Plan& plan) {
  if (plan.engine == Engine::kNarrowColumn) return ceil_div(column_segments(p), plan.segments);
  return ceil_div(column_segments(p), int64_t(plan.down) * plan.segments);
}

Plan make_plan(const Problem& p, const DeviceTraits& device) {
  if (p.outputs == 0 || p.length == 0) return {};
  if (!p.cuda) return make_cpu_plan(p, device);
  return is_rows(p) ? plan_rows(p, device) : plan_columns(p, device);
}

std::string check_plan(const Plan& plan, const Problem& p) {
  constexpr int64_t kMaxBlocks = (int64_t(1) << 31) - 1;
  const bool empty = p.outputs == 0 || p.length == 0;
  if (empty != (plan.engine == Engine::kFill))
    return empty ? "a problem with no elements takes fill()"
                 : "fill() takes a problem with no elements only";
  if (empty) return "";
  const bool cpu = plan.engine == Engine::kCpuRow || plan.engine == Engine::kCpuColumn;
  if (cpu == p.cuda) return p.cuda ? "the tensor is on a CUDA device" : "the tensor is on the CPU";
  const bool rows = plan.engine == Engine::kThreadRow || plan.engine == Engine::kWarpRow ||
                    plan.engine == Engine::kBlockRow || plan.engine == Engine::kMap ||
                    plan.engine == Engine::kSplitRow || plan.engine == Engine::kCpuRow;
  if (rows != is_rows(p))
    return rows ? "the innermost reduced axis is not contiguous: this takes a column engine"
                : "the innermost reduced axis is contiguous: this takes a row engine";
  switch (plan.engine) {
    case Engine::kMap:
      if (!has_map(p)) return "map takes sums of single elements that lie side by side in memory";
      return ceil_div(p.outputs, kBlockThreads) > kMaxBlocks ? "too many elements for one grid"
                                                             : "";
    case Engine::kThreadRow:
      if (!has_thread_row(p))
        return "thread_row takes rows that lie side by side in memory, and not logsumexp";
      if (p.length * size_of(p.in) > kThreadRowBytes)
        return "thread_row takes rows of up to 64 bytes, got " +
               std::to_string(p.length * size_of(p.in));
      return ceil_div(p.outputs, kBlockThreads) > kMaxBlocks ? "too many rows for one grid" : "";
    case Engine::kWarpRow: {
      if (!power_of_two(plan.threads) || plan.threads > 32)
        return "threads must be a power of two from 1 to 32, got " + std::to_string(plan.threads);
      const int64_t chunks = row_chunks(p);
      const int64_t least = row_lanes(chunks) / features_of(p).lanes;
      if (plan.threads < least)
        return "a row of " + std::to_string(chunks) + " chunks of 16 bytes takes " +
               std::to_string(least) + " threads or more, got " + std::to_string(plan.threads);
      if (chunks > kSegmentChunks)
        return "warp_row takes rows of up to 1024 chunks of 16 bytes, got " +
               std::to_string(chunks);
      if (ceil_div(p.outputs, kBlockThreads / plan.threads) > kMaxBlocks)
        return "too many rows for one grid";
      return "";
    }
    case Engine::kBlockRow:
      return p.outputs > kMaxBlocks ? "too many rows for one grid" : "";
    case Engine::kSplitRow:
      if (!power_of_two(plan.segments))
        return "segments must be a power of two, got " + std::to_string(plan.segments);
      if (row_parts(p, plan) < 2)
        return "a row of " + std::to_string(row_segments(p)) + " segments is not split by " +
               std::to_string(plan.segments) + " a block";
      return p.outputs * row_parts(p, plan) > kMaxBlocks ? "too many blocks for one grid" : "";
    case Engine::kNarrowColumn:
      if (!dense_narrow_columns(p))
        return "narrow_column takes rows of up to 64 bytes that lie side by side from a multiple "
               "of 16 bytes";
      if (!power_of_two(plan.segments) || plan.segments > narrow_segments(p))
        return "segments must be a power of two up to " + std::to_string(narrow_segments(p)) +
               ", got " + std::to_string(plan.segments);
      return column_parts(p, plan) > kMaxBlocks ? "too many blocks for one grid" : "";
    case Engine::kColumn:
    case Engine::kSplitColumn: {
      if (plan.vector != 1 && plan.vector != widest_vector(p))
        return "vector must be 1 or " + std::to_string(widest_vector(p)) + ", got " +
               std::to_string(plan.vector);
      if (plan.deep && (plan.deep != 1 || !has_deep_columns(p, plan.vector)))
        return "deep is 1 and for vectors of float32, float16 or bfloat16, got " +
               std::to_string(plan.deep);
      const int64_t most = max_column_threads(p, plan);
      if (!power_of_two(plan.across) || !power_of_two(plan.down) || plan.across > 32 ||
          int64_t(plan.across) * plan.down > most)
        return "across and down must be powers of two, across at most 32 and their product at "
               "most " +
               std::to_string(most) + ", got " + std::to_string(plan.across) + " and " +
               std::to_string(plan.down);
      if (!power_of_two(plan.segments) || plan.segments > kMaxColumnSegments)
        return "segments must be a power of two from 1 to " + std::to_string(kMaxColumnSegments) +
               ", got " + std::to_string(plan.segments);
      const int64_t parts = column_parts(p, plan);
      if ((parts > 1) != (plan.engine == Engine::kSplitColumn))
        return "the plan makes " + std::to_string(parts) +
               " parts of a column: column takes one part, split_column more";
      const int64_t columns = columns_of(p);
      const int64_t units =
          p.outputs / columns * ceil_div(columns, int64_t(plan.across) * plan.vector);
      const int64_t room = std::max(1, kBlockThreads / (plan.across * plan.down));
      return ceil_div(units, room) * parts > kMaxBlocks ? "too many blocks for one grid" : "";
    }
    default:
      return check_cpu_plan(plan, p);
  }
}

int64_t least_bytes(const Problem& p) {
  int64_t first = p.length && p.outputs ? size_of(p.in) : 0;
  int64_t second = p.op == Op::kDot ? first : 0;
  for (const Axes* axes : {&p.kept, &p.reduced}) {
    for (int a = 0; a < axes->count; ++a) {
      if (axes->axis[a].in != 0) first *= axes->axis[a].size;
      if (axes->axis[a].other != 0) second *= axes->axis[a].size;
    }
  }
  return first + second + p.outputs * size_of(p.out);
}

}  // namespace reduce_ops
