#include "plan/problem.h"

namespace reduce_ops {

namespace {

bool append(Axes& axes, Axis* all, int count) {
  // A stable sort by insertion: the few axes are mostly in order, and std::stable_sort allocates.
  // As unsigned numbers, 0 - 1 is the largest: stride 0 sorts outermost.
  for (int i = 1; i < count; ++i) {
    const Axis axis = all[i];
    int to = i;
    for (; to > 0 && uint64_t(axis.in) - 1 < uint64_t(all[to - 1].in) - 1; --to)
      all[to] = all[to - 1];
    all[to] = axis;
  }
  for (int i = 0; i < count; ++i) {
    if (axes.count > 0) {
      Axis& last = axes.axis[axes.count - 1];
      if (all[i].in == last.in * last.size && all[i].out == last.out * last.size &&
          all[i].other == last.other * last.size) {
        last.size *= all[i].size;
        continue;
      }
    }
    if (axes.count == kMaxAxes) return false;
    axes.axis[axes.count++] = all[i];
  }
  return true;
}

}  // namespace

bool make_problem(const TensorView& view, const Recipe& recipe, DType out, DType second, bool cuda,
                  uintptr_t address, Problem& problem) {
  static_cast<Recipe&>(problem) = recipe;
  problem.out = out;
  problem.second = second;
  problem.cuda = cuda;
  problem.alignment = 16;
  while (address & uintptr_t(problem.alignment - 1)) problem.alignment /= 2;
  problem.outputs = 1;
  problem.length = 1;
  problem.kept.count = 0;
  problem.reduced.count = 0;
  Axis kept[kMaxDims], reduced[kMaxDims];
  int kept_count = 0, reduced_count = 0;
  // Last dim first: the usual order of strides, which leaves little to sort.
  for (int d = view.dims - 1; d >= 0; --d) {
    const int64_t size = view.sizes[d];
    (view.reduced[d] ? problem.length : problem.outputs) *= size;
    if (size == 1) continue;
    const int64_t other = view.other_strides ? view.other_strides[d] : 0;
    if (view.reduced[d])
      reduced[reduced_count++] = {size, view.in_strides[d], 0, other};
    else
      kept[kept_count++] = {size, view.in_strides[d], view.out_strides[d], other};
  }
  if (problem.outputs == 0 || problem.length == 0) return true;  // no axis is ever looked at
  return append(problem.kept, kept, kept_count) && append(problem.reduced, reduced, reduced_count);
}

}  // namespace reduce_ops
