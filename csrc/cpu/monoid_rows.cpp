// Rows of the ops but sum and mean, as row_engine.cpp takes them.
#include "cpu/gather.h"
#include "cpu/monoid_job.h"

namespace reduce_ops::cpu {

namespace {

constexpr int kBatch = 256;  // rows whose results are stored together
constexpr int kSegmentsACall = 64;

class RowReducer {
 public:
  explicit RowReducer(const MonoidJob& job)
      : job_(job), tree_(job.kernels(), 1, job.span), length_(job.problem.length) {
    if (job.problem.reduced.count > 1) raw_.reset(new char[kCpuMonoidSegment * job.in_size()]);
  }

  // The segments [begin, end) of the row at `offset`, at out[0] of every plane.
  void reduce(int64_t offset, int64_t begin, int64_t end, Word* out, int64_t plane) {
    const int64_t last = std::min(end * kCpuMonoidSegment, length_);
    const int64_t inner = inner_size(job_.problem.reduced);
    const char* first = job_.in_at(offset);
    tree_.restart();
    for (int64_t at = begin * kCpuMonoidSegment; at < last && !decided_;) {
      const int64_t run = std::min(inner - at % inner, last - at);
      if (run >= kCpuMonoidSegment) {
        const int64_t segments = std::min<int64_t>(run / kCpuMonoidSegment, kSegmentsACall);
        push(job_.in_at(offset + Cursor(job_.problem.reduced, at).in), segments, kCpuMonoidSegment,
             first, at);
        at += segments * kCpuMonoidSegment;
      } else {
        const int64_t n = std::min<int64_t>(kCpuMonoidSegment, last - at);
        push(segment(offset, at, n), 1, n, first, at);
        at += n;
      }
    }
    decided_ = false;
    const Word* sum = tree_.finish();
    for (int p = 0; p < job_.kernels().planes; ++p) out[p * plane] = sum[p * tree_.plane()];
  }

 private:
  // n elements from `at` on, in one piece.
  const char* segment(int64_t offset, int64_t at, int64_t n) {
    Cursor cursor(job_.problem.reduced, at);
    if (cursor.run() >= n) return job_.in_at(offset + cursor.in);
    const int size = job_.in_size();
    for_runs(cursor, n, [&](int64_t done, int64_t run) {
      memcpy(raw_.get() + done * size, job_.in_at(offset + cursor.in), run * size);
    });
    return raw_.get();
  }

  void push(const char* data, int64_t segments, int64_t n, const char* first, int64_t index) {
    const MonoidKernels& kernels = job_.kernels();
    Word some[kMostPlanes * kSegmentsACall];
    kernels.rows(job_.family.bits, data, n * job_.in_size(), segments, n, first, index, some,
                 kSegmentsACall);
    for (int64_t s = 0; s < segments; ++s) {
      for (int p = 0; p < kernels.planes; ++p)
        tree_.next()[p * tree_.plane()] = some[p * kSegmentsACall + s];
      tree_.push();
      // The first true element decides any(), the first false one all().
      if (job_.problem.op == Op::kAny) decided_ |= some[s].i != 0;
      if (job_.problem.op == Op::kAll) decided_ |= some[s].i != n;
    }
  }

  const MonoidJob& job_;
  StripTree tree_;
  const int64_t length_;
  bool decided_ = false;
  std::unique_ptr<char[]> raw_;
};

// One thread a row.
void whole_rows(const MonoidJob& job, int64_t begin, int64_t end) {
  const Problem& p = job.problem;
  const bool in_one_piece = p.reduced.count <= 1 && job.span == 1;
  std::unique_ptr<RowReducer> reducer;
  if (!in_one_piece) reducer.reset(new RowReducer(job));
  Word acc[kMostPlanes * kBatch];
  Cursor kept(p.kept, begin);
  for (int64_t at = begin; at < end;) {
    const int64_t rows = std::min({kept.run(), end - at, int64_t(kBatch)});
    if (in_one_piece) {
      job.kernels().rows(job.family.bits, job.in_at(kept.in), inner_in(p.kept) * job.in_size(),
                         rows, p.length, nullptr, 0, acc, kBatch);
    } else {
      for (int64_t r = 0; r < rows; ++r)
        reducer->reduce(kept.in + r * inner_in(p.kept), 0, job.span, acc + r, kBatch);
    }
    store_results(job, acc, kBatch, kept, rows);
    kept.advance(rows);
    at += rows;
  }
}

// Several threads a row: parts are aligned subtrees, kept until all are there.
void split_rows(const MonoidJob& job) {
  const Problem& p = job.problem;
  const int64_t plane = p.outputs * job.parts;
  const std::unique_ptr<Word[]> acc(new Word[plane * job.kernels().planes]);
  for_tasks(job, plane, [&](int64_t begin, int64_t end) {
    RowReducer reducer(job);
    for (int64_t task = begin; task < end; ++task) {
      const int64_t part = task % job.parts;
      reducer.reduce(Cursor(p.kept, task / job.parts).in, part * job.span, (part + 1) * job.span,
                     acc.get() + task, plane);
    }
  });
  StripTree tree(job.kernels(), 1, job.parts);
  Cursor kept(p.kept, 0);
  for (int64_t o = 0; o < p.outputs; ++o) {
    tree.restart();
    for (int64_t part = 0; part < job.parts; ++part) {
      for (int q = 0; q < job.kernels().planes; ++q)
        tree.next()[q * tree.plane()] = acc[q * plane + o * job.parts + part];
      tree.push();
    }
    store_results(job, tree.finish(), tree.plane(), kept, 1);
    kept.advance(1);
  }
}

}  // namespace

void run_rows(const MonoidJob& job) {
  if (job.parts > 1)
    split_rows(job);
  else
    for_tasks(job, job.problem.outputs,
              [&](int64_t begin, int64_t end) { whole_rows(job, begin, end); });
}

}  // namespace reduce_ops::cpu
