// Columns: neighbouring outputs are neighbours in memory, or nothing is contiguous. A task reduces
// a strip of columns over a range of segments. Three ways to feed one segment to the kernels, all
// in the order of plan/cpu_order.h:
//   wide    lane after lane, its rows read side by side as sequential streams
//   narrow  the strip is contiguous over its rows: 8 rows make one virtual row
//   tile    anything else is gathered (and cast) into a small contiguous matrix, then narrow
#include "cpu/job.h"

namespace reduce_ops::cpu {

namespace {

constexpr int kLanes = kCpuColumnLanes;
constexpr int kRowsALane = kCpuSegmentRows / kLanes;
// Accumulator words of a wide strip, 32 KiB: longer rows are better streams than narrower strips
// that would fit the L1 cache.
constexpr int kWideWords = 4096;
constexpr int kNarrowWidth = 64;  // components; wider strips gain nothing from virtual rows
constexpr int kTileWidth = 16;    // columns: short enough to fit, wide enough for a cache line
constexpr int kLeastWidth = 16;   // components; below, a row of the strip fills no vector

enum class Feed { kWide, kNarrow, kTile };

struct Shape {
  Feed feed;
  int64_t width;   // columns (outputs) of a strip
  int64_t strips;  // of the innermost kept axis
};

Shape shape_of(const Job& job) {
  const Axes& kept = job.problem.kept;
  const Axes& reduced = job.problem.reduced;
  const Family& family = job.family;
  const int64_t columns = inner_size(kept);
  Shape shape = {Feed::kTile, 1, columns};
  if (!family.converts && kept.count > 0 && inner_in(kept) == 1) {
    if (reduced.count > 0 && inner_in(reduced) == columns &&
        columns * family.components <= kNarrowWidth)
      return {Feed::kNarrow, columns, 1};
    if (columns * family.components >= kLeastWidth) {
      const int64_t most = kWideWords / (family.components * family.kernels->planes);
      shape.feed = Feed::kWide;
      // Strips of nearly equal width, in whole cache lines.
      shape.width = ceil_div(ceil_div(columns, ceil_div(columns, most)), 64) * 64;
      shape.width = std::min(shape.width, most);
    }
  }
  // Columns closer together than rows are gathered row by row, else each column alone.
  const bool columns_closer =
      inner_in(kept) != 0 && (inner_in(reduced) == 0 || inner_in(kept) < inner_in(reduced));
  if (shape.feed == Feed::kTile && columns_closer)
    shape.width = std::min<int64_t>(columns, kTileWidth);
  shape.strips = ceil_div(columns, shape.width);
  return shape;
}

template <class T>
void gather(const char* from, const int64_t* row, int64_t rows, int64_t columns, int64_t stride,
            char* to) {
  const T* source = reinterpret_cast<const T*>(from);
  T* out = reinterpret_cast<T*>(to);
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < columns; ++c) *out++ = source[row[r] + c * stride];
  }
}

class ColumnReducer {
 public:
  ColumnReducer(const Job& job, const Shape& shape)
      : job_(job),
        feed_(shape.feed),
        most_(shape.width * job.family.components),
        tree_(job.kernels(), most_, job.span, feed_ == Feed::kWide ? most_ : kLanes * most_) {
    const int64_t tile = kCpuSegmentRows * shape.width;
    if (feed_ != Feed::kWide) raw_.reset(new char[tile * job.in_size()]);
    if (job.family.converts) converted_.reset(new char[tile * job.family.size]);
    if (feed_ == Feed::kWide) scratch_ = Words(kLanes / 2 * tree_.stride());
  }

  // The sums of `columns` columns from `offset` on over the segments [begin, end).
  const Word* reduce(int64_t offset, int64_t columns, int64_t begin, int64_t end) {
    const Problem& p = job_.problem;
    const int64_t last = std::min(end * kCpuSegmentRows, p.length);
    width_ = columns * job_.family.components;
    tree_.restart(width_);
    Cursor cursor(p.reduced, begin * kCpuSegmentRows);
    for (int64_t at = begin * kCpuSegmentRows; at < last; at += kCpuSegmentRows) {
      const int rows = int(std::min<int64_t>(kCpuSegmentRows, last - at));
      if (feed_ == Feed::kNarrow && cursor.run() >= rows) {
        const char* data = job_.in_at(offset + cursor.in);
        cursor.advance(rows);
        sum_narrow(data, rows);
      } else {
        int64_t row[kCpuSegmentRows];
        for (int done = 0; done < rows;) {
          const int run = int(std::min<int64_t>(cursor.run(), rows - done));
          for (int r = 0; r < run; ++r) row[done + r] = cursor.in + r * inner_in(p.reduced);
          cursor.advance(run);
          done += run;
        }
        if (feed_ != Feed::kWide)
          sum_narrow(make_tile(job_.in_at(offset), row, rows, columns), rows);
        else
          sum_wide(job_.in_at(offset), row, rows);
      }
      tree_.push();
    }
    return tree_.finish();
  }

  const StripTree& tree() const { return tree_; }

 private:
  const char* make_tile(const char* from, const int64_t* row, int rows, int64_t columns) {
    const int64_t stride = inner_in(job_.problem.kept);
    const auto fill = job_.in_size() == 1   ? gather<uint8_t>
                      : job_.in_size() == 2 ? gather<uint16_t>
                      : job_.in_size() == 4 ? gather<uint32_t>
                      : job_.in_size() == 8 ? gather<uint64_t>
                                            : gather<Chunk>;
    fill(from, row, rows, columns, stride, raw_.get());
    if (!job_.family.converts) return raw_.get();
    job_.family.convert(raw_.get(), rows * columns, converted_.get());
    return converted_.get();
  }

  // Contiguous rows: row r belongs to lane r % 8, so 8 rows are a row of 8 * width_ columns.
  void sum_narrow(const char* data, int rows) {
    const Kernels& kernels = job_.kernels();
    Word* acc = tree_.next();
    const int64_t pitch = kLanes * width_ * kernels.size;
    const int whole = rows / kLanes;
    const char* row[kRowsALane];
    for (int r = 0; r < whole; ++r) row[r] = data + r * pitch;
    if (whole > 0) {
      kernels.columns(row, whole, kLanes * width_, true, acc, nullptr, tree_.plane());
    } else {
      for (int p = 0; p < kernels.planes; ++p)
        memset(acc + p * tree_.plane(), 0, kLanes * width_ * sizeof(Word));
    }
    if (rows % kLanes) {
      const char* rest = data + whole * pitch;
      kernels.columns(&rest, 1, rows % kLanes * width_, false, acc, nullptr, tree_.plane());
    }
    for (int half = kLanes / 2; half > 0; half /= 2)
      kernels.merge(acc, acc + half * width_, half * width_, tree_.plane());
  }

  void sum_wide(const char* from, const int64_t* row, int rows) {
    for (int lane = 0; lane < kLanes; ++lane) {
      for (int r = lane; r < rows; r += kLanes)
        lane_row_[lane * kRowsALane + r / kLanes] = from + row[r] * job_.in_size();
    }
    // Lanes in order of their rows in memory; the upper half merges into the lower on the way.
    const Kernels& kernels = job_.kernels();
    constexpr int kHalf = kLanes / 2;
    const auto lane_sum = [&](int lane) {
      return lane == 0 ? tree_.next() : scratch_.get() + (lane - 1) * tree_.stride();
    };
    for (int lane = 0; lane < std::min(rows, kLanes); ++lane)
      kernels.columns(lane_row_ + lane * kRowsALane, (rows - lane + kLanes - 1) / kLanes, width_,
                      true, lane_sum(std::min(lane, kHalf)),
                      lane < kHalf ? nullptr : lane_sum(lane - kHalf), tree_.plane());
    for (int half = kHalf / 2; half > 0; half /= 2) {
      for (int lane = 0; lane < half && lane + half < rows; ++lane)
        kernels.merge(lane_sum(lane), lane_sum(lane + half), width_, tree_.plane());
    }
  }

  const Job& job_;
  const Feed feed_;
  const int64_t most_;  // components of the widest strip
  int64_t width_ = 0;   // components of the present strip
  StripTree tree_;
  std::unique_ptr<char[]> raw_, converted_;
  Words scratch_;
  const char* lane_row_[kCpuSegmentRows];
};

// Strip number `unit`: where it starts among the outputs, and its columns.
struct Strip {
  int64_t first;
  int64_t columns;
  Strip(const Job& job, const Shape& shape, int64_t unit) {
    const int64_t all = inner_size(job.problem.kept);
    const int64_t at = unit % shape.strips * shape.width;
    first = unit / shape.strips * all + at;
    columns = std::min(shape.width, all - at);
  }
};

void store(const Job& job, const Word* acc, int64_t plane, const Strip& strip) {
  const Problem& p = job.problem;
  store_results(job.family, acc, plane, strip.columns, p.out,
                job.out_at(Cursor(p.kept, strip.first).out), inner_out(p.kept));
}

}  // namespace

void run_columns(const Job& job) {
  const Problem& p = job.problem;
  const Shape shape = shape_of(job);
  const int64_t units = p.outputs / inner_size(p.kept) * shape.strips;
  if (job.parts == 1) {
    for_tasks(job, units, [&](int64_t begin, int64_t end) {
      ColumnReducer reducer(job, shape);
      for (int64_t unit = begin; unit < end; ++unit) {
        const Strip strip(job, shape, unit);
        const int64_t offset = Cursor(p.kept, strip.first).in;
        store(job, reducer.reduce(offset, strip.columns, 0, job.span), reducer.tree().plane(),
              strip);
      }
    });
    return;
  }
  // Several threads a strip: parts are aligned subtrees, kept until all are there.
  StripTree tree(job.kernels(), shape.width * job.family.components, job.parts);
  const Words sums(units * job.parts * tree.stride());
  const int planes = job.kernels().planes;
  for_tasks(job, units * job.parts, [&](int64_t begin, int64_t end) {
    ColumnReducer reducer(job, shape);
    for (int64_t task = begin; task < end; ++task) {
      const Strip strip(job, shape, task / job.parts);
      const int64_t part = task % job.parts;
      const Word* sum = reducer.reduce(Cursor(p.kept, strip.first).in, strip.columns,
                                       part * job.span, (part + 1) * job.span);
      for (int q = 0; q < planes; ++q)
        memcpy(sums.get() + task * tree.stride() + q * tree.plane(),
               sum + q * reducer.tree().plane(),
               strip.columns * job.family.components * sizeof(Word));
    }
  });
  for (int64_t unit = 0; unit < units; ++unit) {
    const Strip strip(job, shape, unit);
    tree.restart(strip.columns * job.family.components);
    for (int64_t part = 0; part < job.parts; ++part) {
      memcpy(tree.next(), sums.get() + (unit * job.parts + part) * tree.stride(),
             tree.stride() * sizeof(Word));
      tree.push();
    }
    store(job, tree.finish(), tree.plane(), strip);
  }
}

}  // namespace reduce_ops::cpu
