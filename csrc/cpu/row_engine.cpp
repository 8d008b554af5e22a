// Rows: the innermost reduced axis is contiguous. A row within one segment goes to the kernel
// directly, many rows a call; longer rows are taken segment by segment. A segment that does not lie
// in one piece of memory, or needs a cast, is first gathered into a small buffer, so every layout
// meets the same kernel and gets the same bits.
#include "cpu/job.h"

namespace reduce_ops::cpu {

namespace {

constexpr int kBatch = 256;  // rows whose results are stored together
constexpr int kSegmentsACall = 64;

class RowReducer {
 public:
  explicit RowReducer(const Job& job)
      : job_(job),
        length_(cpu_segment_length(job.problem)),
        tree_(job.kernels(), job.family.components, job.span) {
    const bool pieces = job.problem.reduced.count > 1;
    if (pieces) raw_.reset(new char[length_ * job.in_size()]);
    if (job.family.converts) converted_.reset(new char[kCpuSegmentBytes]);
  }

  // The sum of the segments [begin, end) of the row at `offset`, at out[0 … components) of every
  // plane.
  void reduce(int64_t offset, int64_t begin, int64_t end, Word* out, int64_t plane) {
    const Family& family = job_.family;
    const int64_t last = std::min(end * length_, job_.problem.length);
    const int64_t inner = inner_size(job_.problem.reduced);
    tree_.restart();
    for (int64_t at = begin * length_; at < last;) {
      const int64_t in_run = inner - at % inner;
      if (!family.converts && std::min(in_run, last - at) >= length_) {
        const int64_t segments =
            std::min<int64_t>(std::min(in_run, last - at) / length_, kSegmentsACall);
        push(run_start(offset, at), segments, length_);
        at += segments * length_;
      } else {
        const int64_t n = std::min(length_, last - at);
        push(segment(offset, at, n), 1, n);
        at += n;
      }
    }
    const Word* sum = tree_.finish();
    for (int p = 0; p < family.kernels->planes; ++p) {
      for (int c = 0; c < family.components; ++c) out[p * plane + c] = sum[p * tree_.plane() + c];
    }
  }

 private:
  const char* run_start(int64_t offset, int64_t at) const {
    return job_.in_at(offset + Cursor(job_.problem.reduced, at).in);
  }

  // n elements from `at` on, contiguous and ready for the kernel.
  const char* segment(int64_t offset, int64_t at, int64_t n) {
    const char* data = nullptr;
    Cursor cursor(job_.problem.reduced, at);
    if (cursor.run() >= n) {
      data = job_.in_at(offset + cursor.in);
    } else {
      for (int64_t done = 0; done < n;) {
        const int64_t run = std::min(cursor.run(), n - done);
        memcpy(raw_.get() + done * job_.in_size(), job_.in_at(offset + cursor.in),
               run * job_.in_size());
        cursor.advance(run);
        done += run;
      }
      data = raw_.get();
    }
    if (!job_.family.converts) return data;
    job_.family.convert(data, n, converted_.get());
    return converted_.get();
  }

  void push(const char* data, int64_t segments, int64_t n) {
    const Kernels& kernels = job_.kernels();
    const int components = job_.family.components;
    Word sums[2 * 2 * kSegmentsACall];
    constexpr int kPlane = 2 * kSegmentsACall;
    kernels.rows(data, length_ * job_.family.size, segments, n * components, components, sums,
                 kPlane);
    for (int64_t s = 0; s < segments; ++s) {
      for (int p = 0; p < kernels.planes; ++p) {
        for (int c = 0; c < components; ++c)
          tree_.next()[p * tree_.plane() + c] = sums[p * kPlane + s * components + c];
      }
      tree_.push();
    }
  }

  const Job& job_;
  const int64_t length_;
  StripTree tree_;
  std::unique_ptr<char[]> raw_, converted_;
};

// Rows of one piece of memory and one segment, which the kernel takes many at a time.
void short_rows(const Job& job, int64_t begin, int64_t end) {
  const Problem& p = job.problem;
  const Family& family = job.family;
  constexpr int kPlane = 2 * kBatch;
  Word sums[2 * kPlane];
  Cursor kept(p.kept, begin);
  for (int64_t at = begin; at < end;) {
    const int64_t rows = std::min({kept.run(), end - at, int64_t(kBatch)});
    family.kernels->rows(job.in_at(kept.in), inner_in(p.kept) * family.size, rows,
                         p.length * family.components, family.components, sums, kPlane);
    store_results(family, sums, kPlane, rows, p.out, job.out_at(kept.out), inner_out(p.kept));
    kept.advance(rows);
    at += rows;
  }
}

// One thread a row.
void whole_rows(const Job& job, int64_t begin, int64_t end) {
  const Problem& p = job.problem;
  const Family& family = job.family;
  if (!family.converts && p.reduced.count <= 1 && job.span == 1) return short_rows(job, begin, end);
  RowReducer reducer(job);
  constexpr int kPlane = 2 * kBatch;
  Word sums[2 * kPlane];
  Cursor kept(p.kept, begin);
  for (int64_t at = begin; at < end;) {
    const int64_t rows = std::min({kept.run(), end - at, int64_t(kBatch)});
    for (int64_t r = 0; r < rows; ++r)
      reducer.reduce(kept.in + r * inner_in(p.kept), 0, job.span, sums + r * family.components,
                     kPlane);
    store_results(family, sums, kPlane, rows, p.out, job.out_at(kept.out), inner_out(p.kept));
    kept.advance(rows);
    at += rows;
  }
}

// Several threads a row: parts are aligned subtrees, kept until all are there.
void split_rows(const Job& job) {
  const Problem& p = job.problem;
  const Family& family = job.family;
  const int64_t plane = p.outputs * job.parts * family.components;
  const std::unique_ptr<Word[]> sums(new Word[plane * family.kernels->planes]);
  for_tasks(job, p.outputs * job.parts, [&](int64_t begin, int64_t end) {
    RowReducer reducer(job);
    for (int64_t task = begin; task < end; ++task) {
      const int64_t part = task % job.parts;
      reducer.reduce(Cursor(p.kept, task / job.parts).in, part * job.span, (part + 1) * job.span,
                     sums.get() + task * family.components, plane);
    }
  });
  StripTree tree(*family.kernels, family.components, job.parts);
  Cursor kept(p.kept, 0);
  for (int64_t o = 0; o < p.outputs; ++o) {
    tree.restart();
    for (int64_t part = 0; part < job.parts; ++part) {
      for (int q = 0; q < family.kernels->planes; ++q) {
        for (int c = 0; c < family.components; ++c)
          tree.next()[q * tree.plane() + c] =
              sums[q * plane + (o * job.parts + part) * family.components + c];
      }
      tree.push();
    }
    store_results(family, tree.finish(), tree.plane(), 1, p.out, job.out_at(kept.out), 1);
    kept.advance(1);
  }
}

}  // namespace

void run_rows(const Job& job) {
  if (job.parts > 1)
    split_rows(job);
  else
    for_tasks(job, job.problem.outputs,
              [&](int64_t begin, int64_t end) { whole_rows(job, begin, end); });
}

}  // namespace reduce_ops::cpu
