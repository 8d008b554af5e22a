#include "cpu/dot.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>
#include <string>

#include "core/store.h"
#include "cpu/dot_kernels.h"
#include "cpu/job.h"

// As in simd_dispatch.cpp.
namespace at {
std::string get_cpu_capability();
}

namespace reduce_ops::cpu {

namespace {

// plan/order.h's TreeStack of up to `width` <= kWidth neighbours, for any number of segments.
template <class A, int kWidth>
class Tree {
 public:
  void restart(int64_t width) { width_ = width, top_ = 0, filled_ = 0; }
  // Where the next segment's accumulators belong before push().
  A* next() { return level_[top_]; }
  void push() {
    ++top_;
    for (int64_t merged = ++filled_; merged % 2 == 0; merged /= 2) pop();
  }
  const A* finish() {
    while (top_ > 1) pop();
    return level_[0];
  }

 private:
  void pop() {
    --top_;
    for (int64_t c = 0; c < width_; ++c)
      level_[top_ - 1][c] = Sum<A>::combine(level_[top_ - 1][c], level_[top_][c]);
  }

  int64_t width_ = kWidth, filled_ = 0;
  int top_ = 0;
  A level_[64][kWidth];
};

const DotKernels& kernels_of(DType type) {
  static const DotKernels* const table = [] {
#if defined(__x86_64__)
    const std::string capability = at::get_cpu_capability();
    if (capability == "AVX512" || capability == "AVX2") return dot_table_avx2();
#endif
    return dot_table_default();
  }();
  return table[int(type)];
}

// A position among the kept or reduced elements, in both inputs and the output.
class PairCursor {
 public:
  PairCursor(const Axes& axes, int64_t position) : axes_(axes) {
    for (int a = 0; a < axes.count; ++a) {
      if (position == 0) return;
      index_[a] = position % axes.axis[a].size;
      position /= axes.axis[a].size;
      move(axes.axis[a], index_[a]);
    }
  }
  // Elements from here to the end of the innermost axis.
  int64_t run() const { return axes_.count ? axes_.axis[0].size - index_[0] : 1; }
  // Moves on by n <= run() elements.
  void advance(int64_t n) {
    if (axes_.count == 0) return;
    index_[0] += n;
    move(axes_.axis[0], n);
    for (int a = 0; index_[a] == axes_.axis[a].size && a + 1 < axes_.count; ++a) {
      move(axes_.axis[a], -index_[a]);
      index_[a] = 0;
      ++index_[a + 1];
      move(axes_.axis[a + 1], 1);
    }
  }

  int64_t in = 0, other = 0, out = 0;  // in elements

 private:
  void move(const Axis& axis, int64_t n) {
    in += n * axis.in;
    other += n * axis.other;
    out += n * axis.out;
  }

  const Axes& axes_;
  int64_t index_[kMaxAxes] = {};
};

struct DotJob {
  const Problem& problem;
  const char* first;
  const char* second;
  void* out;
  const DotKernels& kernels;
  int threads;
  int64_t span;  // segments in one part of a result: a power of two
  int64_t parts;
  const ParallelFor& parallel_for;

  int64_t segment() const { return cpu_segment_length(problem); }
  int size() const { return size_of(problem.in); }
};

// Every instruction set has NaN of its own sign.
double one_nan(double x) { return x == x ? x : std::numeric_limits<double>::quiet_NaN(); }
int64_t one_nan(int64_t x) { return x; }
Complex<double> one_nan(Complex<double> x) { return {one_nan(x.re), one_nan(x.im)}; }

template <class A>
void store(const DotJob& job, int64_t out, const A& acc) {
  store_as(job.out, out, job.problem.out, one_nan(value_of(acc, 1)));
}

template <class A>
void store_strip(const DotJob& job, int64_t out, int64_t stride, int64_t width, const A* acc) {
  using V = decltype(value_of(*acc, 1));
  visit_output(job.problem.out, V{}, [&](auto convert) {
    auto* to = static_cast<decltype(convert(V{}))*>(job.out) + out;
    for (int64_t c = 0; c < width; ++c) to[c * stride] = convert(one_nan(value_of(acc[c], 1)));
  });
}

// The elements from `begin` to `end` of the result whose inputs begin at x and y. Pieces of more
// than one axis pass through buffers of one segment each.
template <class A>
A reduce_row(const DotJob& job, const char* x, const char* y, int64_t begin, int64_t end,
             char* buffer) {
  const Problem& p = job.problem;
  const int64_t segment = job.segment();
  const int size = job.size();
  Tree<A, 1> tree;
  PairCursor at(p.reduced, begin);
  for (int64_t i = begin; i < end;) {
    const int64_t count = std::min(segment, end - i);
    const char *a = x + at.in * size, *b = y + at.other * size;
    if (p.reduced.count > 1) {
      char* other = buffer + segment * size;
      for (int64_t done = 0; done < count;) {
        const int64_t run = std::min(at.run(), count - done);
        memcpy(buffer + done * size, x + at.in * size, run * size);
        memcpy(other + done * size, y + at.other * size, run * size);
        at.advance(run);
        done += run;
      }
      a = buffer;
      b = other;
    } else {
      at.advance(count);
    }
    job.kernels.row(a, b, count, p.parameter, tree.next());
    tree.push();
    i += count;
  }
  return *tree.finish();
}

// Merges the parts of each result.
template <class A>
void store_parts(const DotJob& job, const A* parts) {
  const Problem& p = job.problem;
  Tree<A, 1> tree;
  PairCursor kept(p.kept, 0);
  for (int64_t o = 0; o < p.outputs; ++o, kept.advance(1)) {
    tree.restart(1);
    for (int64_t part = 0; part < job.parts; ++part) {
      *tree.next() = parts[o * job.parts + part];
      tree.push();
    }
    store(job, kept.out, *tree.finish());
  }
}

template <class A>
void run_rows_of(const DotJob& job, A* parts) {
  const Problem& p = job.problem;
  const int size = job.size();
  const int64_t length = job.span * job.segment();
  for_tasks(job, p.outputs * job.parts, [&](int64_t begin, int64_t end) {
    const std::unique_ptr<char[]> buffer(p.reduced.count > 1 ? new char[2 * job.segment() * size]
                                                             : nullptr);
    PairCursor kept(p.kept, begin / job.parts);
    for (int64_t task = begin; task < end; ++task) {
      const int64_t from = task % job.parts * length;
      const char *x = job.first + kept.in * size, *y = job.second + kept.other * size;
      A acc;
      if (p.reduced.count == 1 && p.length <= job.segment())
        job.kernels.row(x, y, p.length, p.parameter, &acc);
      else
        acc = reduce_row<A>(job, x, y, from, std::min(p.length, from + length), buffer.get());
      if (parts)
        parts[task] = acc;
      else
        store(job, kept.out, acc);
      if ((task + 1) % job.parts == 0) kept.advance(1);
    }
  });
}

// Strips of neighbouring results.
template <class A>
void run_columns_of(const DotJob& job, A* parts) {
  const Problem& p = job.problem;
  const int64_t size = job.size(), segment = kCpuSegmentRows, length = job.span * segment;
  const int64_t columns = columns_of(p), strips = ceil_div(columns, kDotColumns);
  const Axis axis = p.kept.count ? p.kept.axis[0] : Axis{1, 0, 0, 0};
  const Axis inner = p.reduced.count ? p.reduced.axis[0] : Axis{1, 0, 0, 0};
  const DotSteps steps = {axis.in * size, axis.other * size};
  for_tasks(job, p.outputs / columns * strips * job.parts, [&](int64_t begin, int64_t end) {
    int64_t first[kCpuSegmentRows], second[kCpuSegmentRows];
    const std::unique_ptr<Tree<A, kDotColumns>> tree(new Tree<A, kDotColumns>);
    for (int64_t task = begin; task < end; ++task) {
      const int64_t part = task % job.parts, strip = task / job.parts;
      const int64_t output = strip / strips * columns + strip % strips * kDotColumns;
      const int64_t width = std::min<int64_t>(kDotColumns, columns - strip % strips * kDotColumns);
      const PairCursor kept(p.kept, output);
      const char* x = job.first + kept.in * size;
      const char* y = job.second + kept.other * size;
      tree->restart(width);
      const int64_t last = std::min(p.length, (part + 1) * length);
      PairCursor at(p.reduced, part * length);
      for (int64_t i = part * length; i < last;) {
        const int64_t count = std::min(segment, last - i);
        for (int64_t done = 0; done < count;) {
          const int64_t run = std::min(at.run(), count - done);
          for (int64_t r = 0; r < run; ++r) {
            first[done + r] = (at.in + r * inner.in) * size;
            second[done + r] = (at.other + r * inner.other) * size;
          }
          at.advance(run);
          done += run;
        }
        job.kernels.columns(x, y, {count, first, second}, steps, width, p.parameter, tree->next());
        tree->push();
        i += count;
      }
      const A* acc = tree->finish();
      if (parts) {
        for (int64_t c = 0; c < width; ++c) parts[(output + c) * job.parts + part] = acc[c];
      } else {
        store_strip(job, kept.out, axis.out, width, acc);
      }
    }
  });
}

}  // namespace

void run_dot(const Problem& p, const Plan& plan, const Operands& operands,
             const ParallelFor& parallel_for) {
  const int64_t segments = cpu_segments(p);
  const int64_t wanted = std::clamp<int64_t>(plan.parts, 1, segments);
  const int64_t span = power_of_two_above(ceil_div(segments, wanted));
  const DotJob job = {p,
                      static_cast<const char*>(operands.in),
                      static_cast<const char*>(operands.other),
                      operands.out,
                      kernels_of(p.in),
                      plan.threads,
                      span,
                      ceil_div(segments, span),
                      parallel_for};
  visit_products(p, [&](auto, auto monoid) {
    using A = typename decltype(monoid)::acc_t;
    const std::unique_ptr<A[]> parts(job.parts > 1 ? new A[p.outputs * job.parts] : nullptr);
    // Of one element each, results have the same bits in every order.
    if (is_rows(p) && p.length > 1)
      run_rows_of(job, parts.get());
    else
      run_columns_of(job, parts.get());
    if (parts) store_parts(job, parts.get());
  });
}

}  // namespace reduce_ops::cpu
