// Columns: strips of outputs are tasks, or parts of strips where outputs are few.
#include "cpu/column_reducer.h"

namespace reduce_ops::cpu {

namespace {

// Where a strip lies: units in order go along the innermost kept axis, then over the others.
class StripCursor {
 public:
  StripCursor(const Job& job, const Shape& shape, int64_t unit)
      : job_(job),
        width_(shape.width),
        all_(inner_size(job.problem.kept)),
        at_(unit % shape.strips * shape.width),
        kept_(job.problem.kept, unit / shape.strips * all_ + at_) {}

  int64_t columns() const { return std::min(width_, all_ - at_); }
  int64_t offset() const { return kept_.in; }
  void next() {
    const int64_t moved = columns();
    kept_.advance(moved);
    at_ = at_ + moved == all_ ? 0 : at_ + moved;
  }
  void store(Word* acc, int64_t plane) const {
    const Problem& p = job_.problem;
    store_results(job_.family, acc, plane, columns(), p.out, job_.out_at(kept_.out),
                  inner_out(p.kept));
  }

 private:
  const Job& job_;
  const int64_t width_, all_;
  int64_t at_;
  Cursor kept_;
};

}  // namespace

void run_columns(const Job& job) {
  const Problem& p = job.problem;
  const Shape shape = shape_of(job);
  const int64_t units = p.outputs / inner_size(p.kept) * shape.strips;
  if (job.parts == 1) {
    for_tasks(job, units, [&](int64_t begin, int64_t end) {
      ColumnReducer reducer(job, shape);
      StripCursor strip(job, shape, begin);
      for (int64_t unit = begin; unit < end; ++unit, strip.next())
        strip.store(reducer.reduce(strip.offset(), strip.columns(), 0, job.span), reducer.plane());
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
      const StripCursor strip(job, shape, task / job.parts);
      const int64_t part = task % job.parts;
      const Word* sum =
          reducer.reduce(strip.offset(), strip.columns(), part * job.span, (part + 1) * job.span);
      for (int q = 0; q < planes; ++q)
        memcpy(sums.get() + task * tree.stride() + q * tree.plane(), sum + q * reducer.plane(),
               strip.columns() * job.family.components * sizeof(Word));
    }
  });
  StripCursor strip(job, shape, 0);
  for (int64_t unit = 0; unit < units; ++unit, strip.next()) {
    tree.restart(strip.columns() * job.family.components);
    for (int64_t part = 0; part < job.parts; ++part) {
      memcpy(tree.next(), sums.get() + (unit * job.parts + part) * tree.stride(),
             tree.stride() * sizeof(Word));
      tree.push();
    }
    strip.store(tree.finish(), tree.plane());
  }
}

}  // namespace reduce_ops::cpu
