// What the CPU engines share: the problem at hand, its division among threads, and the tree over
// segments.
#pragma once

#include <cstring>
#include <memory>

#include "cpu/cursor.h"
#include "cpu/engine.h"
#include "cpu/family.h"
#include "plan/cpu_order.h"

namespace reduce_ops::cpu {

struct Job {
  const Problem& problem;
  const char* in;
  char* out;
  Family family;
  int threads;   // at most; 0 for as many as there are
  int64_t span;  // segments in one part of a result: a power of two
  int64_t parts;
  const ParallelFor& parallel_for;

  const Kernels& kernels() const { return *family.kernels; }
  int in_size() const { return size_of(problem.in); }
  const char* in_at(int64_t offset) const { return in + offset * in_size(); }
  char* out_at(int64_t offset) const { return out + offset * size_of(problem.out); }
};

void run_rows(const Job& job);
void run_columns(const Job& job);

// body(begin, end) over [0, count), on the calling thread alone where the plan says so.
template <class J, class F>
void for_tasks(const J& job, int64_t count, F&& body) {
  if (job.threads == 1 || count <= 1) {
    body(int64_t(0), count);
    return;
  }
  const int64_t grain = job.threads ? ceil_div(count, job.threads) : 1;
  job.parallel_for(count, grain, std::function<void(int64_t, int64_t)>(std::ref(body)));
}

// Words on a cache line boundary: vectors that straddle lines cost a third of the speed.
class Words {
 public:
  Words() = default;
  explicit Words(int64_t count) : lines_(new Line[(count + 7) / 8]) {}
  Word* get() const { return lines_ ? lines_[0].word : nullptr; }

 private:
  struct alignas(64) Line {
    Word word[8];
  };
  std::unique_ptr<Line[]> lines_;
};

// plan/order.h's TreeStack for strips: the accumulators of `width` neighbouring components.
// next() is where the caller leaves those of a segment before push().
class StripTree {
 public:
  // `room` (at least width) components may be written to next().
  template <class K>
  StripTree(const K& kernels, int64_t width, int64_t segments, int64_t room)
      : merge_(kernels.merge),
        width_(width),
        plane_(ceil_div(room, kColumnPad) * kColumnPad + kColumnPad),
        stride_(plane_ * kernels.planes) {
    int levels = 2;
    while (int64_t(1) << (levels - 2) < segments) ++levels;
    words_ = Words(stride_ * levels);
  }
  template <class K>
  StripTree(const K& kernels, int64_t width, int64_t segments)
      : StripTree(kernels, width, segments, width) {}

  void restart() { filled_ = 0, top_ = 0; }
  void restart(int64_t width) {
    restart();
    width_ = width;
  }
  int64_t plane() const { return plane_; }
  int64_t stride() const { return stride_; }
  // The stack keeps complete subtrees from the largest to the smallest, one strip each.
  Word* next() { return words_.get() + top_ * stride_; }

  void push() {
    ++top_;
    for (int64_t merged = ++filled_; merged % 2 == 0; merged /= 2) pop();
  }
  // The strip with everything that was pushed.
  Word* finish() {
    while (top_ > 1) pop();
    return words_.get();
  }

 private:
  void pop() {
    --top_;
    Word* left = words_.get() + (top_ - 1) * stride_;
    merge_(left, left + stride_, width_, plane_);
  }

  void (*merge_)(Word*, const Word*, int64_t, int64_t);
  int64_t width_, plane_, stride_;
  int64_t filled_ = 0;
  int top_ = 0;
  Words words_;
};

}  // namespace reduce_ops::cpu
