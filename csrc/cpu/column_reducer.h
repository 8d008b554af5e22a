// Columns: neighbouring outputs are neighbours in memory, or nothing is contiguous. A task reduces
// a strip of columns over a range of segments. Three ways to feed one segment to the kernels, all
// in the order of plan/cpu_order.h:
//   wide    lane after lane, its rows read side by side as sequential streams
//   narrow  the strip is contiguous over its rows: 8 rows make one virtual row
//   tile    anything else is gathered (and cast) into a small contiguous matrix, then narrow
#pragma once

#include "cpu/gather.h"
#include "cpu/job.h"

namespace reduce_ops::cpu {

constexpr int kLanes = kCpuColumnLanes;
constexpr int kRowsALane = kCpuSegmentRows / kLanes;
// Accumulator words of a wide strip, 32 KiB: longer rows are better streams than narrower strips
// that would fit the L1 cache.
constexpr int kWideWords = 4096;
constexpr int64_t kLeastStrip = 256;
constexpr int kNarrowWidth = 64;  // components; wider strips gain nothing from virtual rows
// Columns of a tile: several a cache line; where it is filled by columns, each of which walks
// through all of it, bytes of its rows such that it stays in L1.
constexpr int kTileColumns = 16;
constexpr int kTileBytesByColumn = 32;
constexpr int kMostTogether = 8;  // segments of a single column side by side
constexpr int kMostApart = 4;     // summing what lies between columns costs less than gathering
constexpr int kFewRows = 24;      // below four a lane, lanes one after the other are slow
constexpr int kLeastWidth = 16;   // components; below, a row of the strip fills no vector

enum class Feed { kWide, kNarrow, kTile };

struct Shape {
  Feed feed;
  bool by_column;  // tile: the rows of a column lie closer together than the columns
  int apart;       // wide: elements from column to column
  int64_t width;   // columns (outputs) of a strip
  int64_t strips;  // of the innermost kept axis
};

inline Shape shape_of(const Job& job) {
  const Axes& kept = job.problem.kept;
  const Axes& reduced = job.problem.reduced;
  const Family& family = job.family;
  const int64_t columns = inner_size(kept);
  Shape shape = {Feed::kTile, false, 1, columns, 1};
  const int64_t apart = inner_in(kept);
  if (!family.converts && apart == 1 && reduced.count > 0 && inner_in(reduced) == columns &&
      columns * family.components <= kNarrowWidth)
    return {Feed::kNarrow, false, 1, columns, 1};
  if (!family.converts && apart >= 1 && apart <= kMostApart &&
      columns * apart * family.components >= kLeastWidth &&
      (apart == 1 || inner_in(reduced) == 0 || inner_in(reduced) >= columns * apart)) {
    int64_t most = kWideWords / (apart * family.components * family.kernels->planes);
    const int64_t tasks = job.problem.outputs / columns * job.parts;
    // Narrower, where threads would have no task or far from the same number of tasks.
    if (job.threads > 1 && ceil_div(tasks, job.threads) * job.threads * 4 > tasks * 5)
      most = std::min(most, std::max(kLeastStrip, ceil_div(columns, job.threads)));
    shape.feed = Feed::kWide;
    shape.apart = int(apart);
    // Strips of nearly equal width, in whole cache lines.
    shape.width = ceil_div(ceil_div(columns, ceil_div(columns, most)), 64) * 64;
    shape.width = std::min(shape.width, most);
  }
  if (shape.feed == Feed::kTile) {
    shape.by_column =
        inner_in(kept) == 0 || (inner_in(reduced) != 0 && inner_in(reduced) < inner_in(kept));
    const int64_t most =
        shape.by_column ? std::max(kTileBytesByColumn / family.size, 1) : kTileColumns;
    shape.width = std::min(columns, most);
  }
  shape.strips = ceil_div(columns, shape.width);
  return shape;
}

class ColumnReducer {
 public:
  ColumnReducer(const Job& job, const Shape& shape)
      : job_(job),
        feed_(shape.feed),
        by_column_(shape.by_column),
        apart_(shape.apart),
        most_(shape.width * apart_ * job.family.components),
        tree_(job.kernels(), most_, job.span,
              feed_ == Feed::kWide
                  ? most_
                  : std::max<int64_t>(kLanes * most_, kLanes * kMostTogether * 2)) {
    const int64_t tile = kCpuSegmentRows * std::max<int64_t>(shape.width, kMostTogether);
    // A narrow strip is seldom gathered: only where its rows are in several pieces.
    if (feed_ == Feed::kTile || (feed_ == Feed::kNarrow && job.problem.reduced.count > 1))
      raw_.reset(new char[tile * job.in_size()]);
    if (job.family.converts) converted_.reset(new char[tile * job.family.size]);
    if (feed_ == Feed::kWide) scratch_ = Words(kLanes / 2 * tree_.stride());
  }

  // The sums of `columns` columns from `offset` on over the segments [begin, end).
  Word* reduce(int64_t offset, int64_t columns, int64_t begin, int64_t end) {
    const Problem& p = job_.problem;
    const int64_t last = std::min(end * kCpuSegmentRows, p.length);
    width_ = ((columns - 1) * apart_ + 1) * job_.family.components;
    tree_.restart(width_);
    Cursor cursor(p.reduced, begin * kCpuSegmentRows);
    for (int64_t at = begin * kCpuSegmentRows; at < last; at += kCpuSegmentRows) {
      const int rows = int(std::min<int64_t>(kCpuSegmentRows, last - at));
      if (feed_ == Feed::kNarrow && cursor.run() >= rows) {
        const char* data = job_.in_at(offset + cursor.in);
        cursor.advance(rows);
        sum_narrow(data, rows, width_);
      } else if (feed_ == Feed::kWide) {
        int64_t row[kCpuSegmentRows];
        find_rows(cursor, rows, row);
        sum_wide(job_.in_at(offset), row, rows);
      } else if (columns == 1 && last - at >= 2 * kCpuSegmentRows) {
        const int together = int(std::min<int64_t>((last - at) / kCpuSegmentRows, kMostTogether));
        sum_together(job_.in_at(offset), cursor, together);
        at += (together - 1) * kCpuSegmentRows;
        continue;
      } else {
        gather(job_.in_at(offset), cursor, rows, columns);
        sum_narrow(tile(rows * columns), rows, width_);
      }
      tree_.push();
    }
    Word* sum = tree_.finish();
    if (apart_ > 1) close_up(sum, columns);
    return sum;
  }

  int64_t plane() const { return tree_.plane(); }

 private:
  void find_rows(Cursor& cursor, int rows, int64_t* row) const {
    const int64_t step = inner_in(job_.problem.reduced);
    for_runs(cursor, rows, [&](int64_t at, int64_t run) {
      for (int64_t r = 0; r < run; ++r) row[at + r] = cursor.in + r * step;
    });
  }

  // Copies the next rows of the strip into the tile.
  void gather(const char* from, Cursor& cursor, int rows, int64_t columns) {
    const Problem& p = job_.problem;
    const int size = job_.in_size();
    for_runs(cursor, rows, [&](int64_t at, int64_t run) {
      copy_strided(size, {run, inner_in(p.reduced), columns}, {columns, inner_in(p.kept), 1},
                   by_column_, from + cursor.in * size, raw_.get() + at * columns * size);
    });
  }

  // Drops the sums of what lies between the columns.
  void close_up(Word* sum, int64_t columns) const {
    const int64_t components = job_.family.components;
    for (int p = 0; p < job_.kernels().planes; ++p) {
      Word* plane = sum + p * tree_.plane();
      for (int64_t c = 0; c < columns; ++c) {
        for (int64_t i = 0; i < components; ++i)
          plane[c * components + i] = plane[c * apart_ * components + i];
      }
    }
  }

  // A few segments of a single column, side by side like columns: their sums go to the tree in
  // turn. Fills vectors that one column leaves empty.
  void sum_together(const char* from, Cursor& cursor, int together) {
    const int size = job_.in_size();
    for (int s = 0; s < together; ++s) {
      for_runs(cursor, kCpuSegmentRows, [&](int64_t at, int64_t run) {
        copy_strided(size, {run, inner_in(job_.problem.reduced), together}, {1, 0, 0}, true,
                     from + cursor.in * size, raw_.get() + (at * together + s) * size);
      });
    }
    const Kernels& kernels = job_.kernels();
    const int components = job_.family.components;
    sum_narrow(tile(kCpuSegmentRows * together), kCpuSegmentRows, together * components);
    Word sums[2][2 * kMostTogether];
    for (int p = 0; p < kernels.planes; ++p)
      memcpy(sums[p], tree_.next() + p * plane(), together * components * sizeof(Word));
    for (int s = 0; s < together; ++s) {
      for (int p = 0; p < kernels.planes; ++p)
        memcpy(tree_.next() + p * plane(), sums[p] + s * components, components * sizeof(Word));
      tree_.push();
    }
  }

  // The gathered elements as the kernel reads them.
  const char* tile(int64_t elements) {
    if (!job_.family.converts) return raw_.get();
    job_.family.convert(raw_.get(), elements, converted_.get());
    return converted_.get();
  }

  // Contiguous rows: row r belongs to lane r % 8, so 8 rows are a row of 8 * width columns.
  void sum_narrow(const char* data, int rows, int64_t width) {
    const Kernels& kernels = job_.kernels();
    Word* acc = tree_.next();
    const int64_t pitch = kLanes * width * kernels.size;
    const int whole = rows / kLanes;
    const char* row[kRowsALane];
    for (int r = 0; r < whole; ++r) row[r] = data + r * pitch;
    if (whole > 0) {
      kernels.columns(row, whole, kLanes * width, true, acc, nullptr, tree_.plane());
    } else {
      for (int p = 0; p < kernels.planes; ++p)
        memset(acc + p * tree_.plane(), 0, kLanes * width * sizeof(Word));
    }
    if (rows % kLanes) {
      const char* rest = data + whole * pitch;
      kernels.columns(&rest, 1, rows % kLanes * width, false, acc, nullptr, tree_.plane());
    }
    for (int half = kLanes / 2; half > 0; half /= 2)
      kernels.merge(acc, acc + half * width, half * width, tree_.plane());
  }

  void sum_wide(const char* from, const int64_t* row, int rows) {
    if (rows <= kFewRows) {
      for (int r = 0; r < rows; ++r) lane_row_[r] = from + row[r] * job_.in_size();
      return job_.kernels().few_rows(lane_row_, rows, width_, tree_.next(), tree_.plane());
    }
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
  const bool by_column_;
  const int apart_;
  const int64_t most_;  // components of the widest strip
  int64_t width_ = 0;   // components of the present strip
  StripTree tree_;
  std::unique_ptr<char[]> raw_, converted_;
  Words scratch_;
  const char* lane_row_[kCpuSegmentRows];
};

}  // namespace reduce_ops::cpu
