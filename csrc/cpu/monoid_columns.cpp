// Columns of the ops but sum and mean: strips of neighbouring outputs, over segments of rows. As in
// column_reducer.h a strip is read in place where it is wide, eight rows as one where its rows
// follow each other in memory (narrow), and is gathered into such a form otherwise (tile).
#include "core/moments.h"
#include "core/store.h"
#include "cpu/gather.h"
#include "cpu/monoid_job.h"

namespace reduce_ops::cpu {

namespace {

constexpr int kLanes = kCpuColumnLanes;
constexpr int kRowsALane = kCpuSegmentRows / kLanes;
constexpr int kWideWords = 2048;         // of a strip's accumulators, which stay in L1
constexpr int kTwiceReadBytes = 262144;  // of a segment that is read twice, which stays in L2
constexpr int64_t kLeastStrip = 256;
constexpr int kNarrowWidth = 64;
constexpr int kLeastWidth = 16;
constexpr int kTileColumns = 16;
constexpr int kTileBytesByColumn = 32;

enum class Feed { kWide, kNarrow, kTile };

struct Shape {
  Feed feed;
  bool by_column;  // tile: the rows of a column lie closer together than the columns
  int64_t width;   // columns of a strip
  int64_t strips;  // of the innermost kept axis
};

Shape shape_of(const MonoidJob& job) {
  const Axes& kept = job.problem.kept;
  const Axes& reduced = job.problem.reduced;
  const int64_t columns = inner_size(kept);
  Shape shape = {Feed::kTile, false, columns, 1};
  if (inner_in(kept) == 1 && reduced.count > 0 && inner_in(reduced) == columns &&
      columns <= kNarrowWidth) {
    shape.feed = Feed::kNarrow;
  } else if (inner_in(kept) == 1 && columns >= kLeastWidth) {
    int64_t most = kWideWords / job.kernels().planes;
    if (job.kernels().before == Before::kLargest)
      most = std::min<int64_t>(most, kTwiceReadBytes / kCpuSegmentRows / job.in_size());
    // Narrower, where threads would have no task or far from the same number of tasks.
    const int64_t tasks = job.problem.outputs / columns * job.parts;
    if (job.threads > 1 && ceil_div(tasks, job.threads) * job.threads * 4 > tasks * 5)
      most = std::min(most, std::max(kLeastStrip, ceil_div(columns, job.threads)));
    shape.feed = Feed::kWide;
    // Strips of nearly equal width, in whole cache lines.
    shape.width = ceil_div(ceil_div(columns, ceil_div(columns, most)), 64) * 64;
    shape.width = std::min(shape.width, most);
  } else {
    shape.by_column =
        inner_in(kept) == 0 || (inner_in(reduced) != 0 && inner_in(reduced) < inner_in(kept));
    shape.width = std::min<int64_t>(
        columns, shape.by_column ? std::max(kTileBytesByColumn / job.in_size(), 1) : kTileColumns);
  }
  shape.strips = ceil_div(columns, shape.width);
  return shape;
}

class StripReducer {
 public:
  StripReducer(const MonoidJob& job, const Shape& shape)
      : job_(job),
        kernels_(job.kernels()),
        bits_(job.family.bits),
        feed_(shape.feed),
        by_column_(shape.by_column),
        tree_(kernels_, shape.width, job.span * kLanes,
              feed_ == Feed::kWide ? shape.width : kLanes * shape.width) {
    if (feed_ != Feed::kWide) raw_.reset(new char[kCpuSegmentRows * shape.width * job.in_size()]);
    if (kernels_.before != Before::kNothing) shift_ = Words(tree_.plane());
  }

  // The accumulators of `columns` columns from `offset` on over the segments [begin, end).
  const Word* reduce(int64_t offset, int64_t columns, int64_t begin, int64_t end) {
    const Problem& p = job_.problem;
    const int64_t last = std::min(end * kCpuSegmentRows, p.length);
    const char* from = job_.in_at(offset);
    tree_.restart(columns);
    if (kernels_.before == Before::kFirst) set_shifts(from, columns);
    Cursor cursor(p.reduced, begin * kCpuSegmentRows);
    for (int64_t at = begin * kCpuSegmentRows; at < last; at += kCpuSegmentRows) {
      const int rows = int(std::min<int64_t>(kCpuSegmentRows, last - at));
      if (feed_ == Feed::kWide) {
        const int64_t step = inner_in(p.reduced) * job_.in_size();
        for_runs(cursor, rows, [&](int64_t done, int64_t run) {
          const char* row = from + cursor.in * job_.in_size();
          for (int64_t r = 0; r < run; ++r) row_[done + r] = row + r * step;
        });
        reduce_wide(rows, columns, at);
      } else if (feed_ == Feed::kNarrow && cursor.run() >= rows) {
        const char* data = from + cursor.in * job_.in_size();
        cursor.advance(rows);
        reduce_narrow(data, rows, columns, at);
      } else {
        gather(from, cursor, rows, columns);
        reduce_narrow(raw_.get(), rows, columns, at);
      }
    }
    return tree_.finish();
  }

  int64_t plane() const { return tree_.plane(); }

 private:
  double* shift() const { return reinterpret_cast<double*>(shift_.get()); }

  void set_shifts(const char* from, int64_t columns) {
    const int64_t step = inner_in(job_.problem.kept) * job_.in_size();
    for (int64_t c = 0; c < columns; ++c)
      shift()[c] = Moments<double>::start(real_element(from + c * step, job_.problem.in));
    if (feed_ != Feed::kWide) repeat_shifts(columns);
  }
  // The same for the columns that the other lanes of a narrow strip make.
  void repeat_shifts(int64_t columns) {
    for (int64_t c = columns; c < kLanes * columns; ++c) shift()[c] = shift()[c - columns];
  }

  void gather(const char* from, Cursor& cursor, int rows, int64_t columns) {
    const Problem& p = job_.problem;
    const int size = job_.in_size();
    for_runs(cursor, rows, [&](int64_t done, int64_t run) {
      copy_strided(size, {run, inner_in(p.reduced), columns}, {columns, inner_in(p.kept), 1},
                   by_column_, from + cursor.in * size, raw_.get() + done * columns * size);
    });
  }

  void reduce_wide(int rows, int64_t width, int64_t index) {
    if (!kernels_.ordered) {
      kernels_.columns(bits_, row_, rows, width, nullptr, index, 1, true, tree_.next(), plane());
      return tree_.push();
    }
    if (kernels_.largest) kernels_.largest(row_, rows, width, true, shift());
    // In this order the lanes' tree is the one that halving makes: 0 with 4, 2 with 6, …
    for (const int lane : {0, 4, 2, 6, 1, 5, 3, 7}) {
      const char* row[kRowsALane];
      int count = 0;
      for (int r = lane; r < rows; r += kLanes) row[count++] = row_[r];
      kernels_.columns(bits_, row, count, width, shift(), 0, 0, true, tree_.next(), plane());
      tree_.push();
    }
  }

  // Contiguous rows: row r belongs to lane r % 8, so 8 rows are a row of 8 * width columns.
  void reduce_narrow(const char* data, int rows, int64_t width, int64_t index) {
    Word* acc = tree_.next();
    const int64_t all = kLanes * width;
    const int64_t pitch = all * job_.in_size();
    const int whole = rows / kLanes;
    const char* row[kRowsALane];
    for (int r = 0; r < whole; ++r) row[r] = data + r * pitch;
    const char* rest = data + whole * pitch;
    const int64_t rest_width = rows % kLanes * width;
    if (kernels_.largest) find_largest(row, whole, rest, rest_width, width);
    kernels_.columns(bits_, row, whole, all, shift(), index, kLanes, true, acc, plane());
    if (rest_width > 0) {
      // A kernel's last vector reaches into the lanes that have no row here.
      constexpr int kReach = 32;
      Word kept[kMostPlanes * kReach];
      const size_t bytes = std::min<int64_t>(all - rest_width, kReach) * sizeof(Word);
      for (int p = 0; p < kernels_.planes; ++p)
        memcpy(kept + p * kReach, acc + p * plane() + rest_width, bytes);
      kernels_.columns(bits_, &rest, 1, rest_width, shift(), index + whole * kLanes, kLanes, false,
                       acc, plane());
      for (int p = 0; p < kernels_.planes; ++p)
        memcpy(acc + p * plane() + rest_width, kept + p * kReach, bytes);
    }
    if (kernels_.index >= 0) {
      Word* indices = acc + kernels_.index * plane();
      for (int lane = 1; lane < kLanes; ++lane) {
        for (int64_t c = 0; c < width; ++c) indices[lane * width + c].i += lane;
      }
    }
    for (int half = kLanes / 2; half > 0; half /= 2)
      kernels_.merge(acc, acc + half * width, half * width, plane());
    tree_.push();
  }

  void find_largest(const char* const* row, int whole, const char* rest, int64_t rest_width,
                    int64_t width) {
    std::fill_n(shift(), kLanes * width, -std::numeric_limits<double>::infinity());
    kernels_.largest(row, whole, kLanes * width, false, shift());
    kernels_.largest(&rest, 1, rest_width, false, shift());
    for (int lane = 1; lane < kLanes; ++lane) {
      for (int64_t c = 0; c < width; ++c)
        shift()[c] = std::max(shift()[c], shift()[lane * width + c]);
    }
    repeat_shifts(width);
  }

  const MonoidJob& job_;
  const MonoidKernels& kernels_;
  const Bits bits_;
  const Feed feed_;
  const bool by_column_;
  StripTree tree_;
  std::unique_ptr<char[]> raw_;
  Words shift_;
  const char* row_[kCpuSegmentRows];
};

// Where a strip lies: units in order go along the innermost kept axis, then over the others.
class Strip {
 public:
  Strip(const Problem& p, const Shape& shape, int64_t unit)
      : all_(inner_size(p.kept)),
        at_(unit % shape.strips * shape.width),
        columns(std::min(shape.width, all_ - at_)),
        kept(p.kept, unit / shape.strips * all_ + at_) {}

 private:
  const int64_t all_, at_;

 public:
  const int64_t columns;
  const Cursor kept;
};

}  // namespace

void run_columns(const MonoidJob& job) {
  const Problem& p = job.problem;
  const Shape shape = shape_of(job);
  const int64_t units = p.outputs / inner_size(p.kept) * shape.strips;
  if (job.parts == 1) {
    for_tasks(job, units, [&](int64_t begin, int64_t end) {
      StripReducer reducer(job, shape);
      for (int64_t unit = begin; unit < end; ++unit) {
        const Strip strip(p, shape, unit);
        const Word* acc = reducer.reduce(strip.kept.in, strip.columns, 0, job.span);
        store_results(job, acc, reducer.plane(), strip.kept, strip.columns);
      }
    });
    return;
  }
  // Several threads a strip: parts are aligned subtrees, kept until all are there.
  StripTree tree(job.kernels(), shape.width, job.parts);
  const Words parts(units * job.parts * tree.stride());
  for_tasks(job, units * job.parts, [&](int64_t begin, int64_t end) {
    StripReducer reducer(job, shape);
    for (int64_t task = begin; task < end; ++task) {
      const Strip strip(p, shape, task / job.parts);
      const int64_t part = task % job.parts;
      const Word* acc =
          reducer.reduce(strip.kept.in, strip.columns, part * job.span, (part + 1) * job.span);
      for (int q = 0; q < job.kernels().planes; ++q)
        memcpy(parts.get() + task * tree.stride() + q * tree.plane(), acc + q * reducer.plane(),
               strip.columns * sizeof(Word));
    }
  });
  for (int64_t unit = 0; unit < units; ++unit) {
    const Strip strip(p, shape, unit);
    tree.restart(strip.columns);
    for (int64_t part = 0; part < job.parts; ++part) {
      memcpy(tree.next(), parts.get() + (unit * job.parts + part) * tree.stride(),
             tree.stride() * sizeof(Word));
      tree.push();
    }
    store_results(job, tree.finish(), tree.plane(), strip.kept, strip.columns);
  }
}

}  // namespace reduce_ops::cpu
