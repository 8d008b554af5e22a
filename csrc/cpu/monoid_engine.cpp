#include "cpu/monoid_engine.h"

#include "core/store.h"
#include "cpu/monoid_job.h"

namespace reduce_ops::cpu {

namespace {

constexpr int kLevels = 31;  // TreeStack counts in 32 bits

// One element after the other: for dtypes and norms that few calls use. Segments and their tree are
// those of the kernels.
template <class Elements, class Monoid>
void reduce_slowly(const MonoidJob& job, const Elements& elements) {
  using acc_t = typename Monoid::acc_t;
  const Problem& p = job.problem;
  const char* in = job.epilogue.in;
  const int size = elements.size();
  const int64_t segment = cpu_segment_length(p);
  const auto reduce = [&](int64_t offset, int64_t part) {
    typename Monoid::state_t state{};
    if constexpr (kHasState<Monoid>) state = Monoid::start(elements.at(in + offset * size));
    TreeStack<Monoid, kLevels> tree;
    int64_t i = part * job.span * segment;
    const int64_t end = std::min(p.length, i + job.span * segment);
    for (Cursor reduced(p.reduced, i); i < end;) {
      acc_t acc = Monoid::identity();
      for (const int64_t last = std::min(end, i + segment); i < last; ++i) {
        acc = Monoid::accumulate(acc, elements.at(in + (offset + reduced.in) * size), i, state);
        reduced.advance(1);
      }
      tree.push(acc);
    }
    return tree.finish();
  };
  const std::unique_ptr<acc_t[]> parts(job.parts > 1 ? new acc_t[p.outputs * job.parts] : nullptr);
  for_tasks(job, p.outputs * job.parts, [&](int64_t begin, int64_t end) {
    Cursor kept(p.kept, begin / job.parts);
    for (int64_t task = begin; task < end; ++task) {
      const acc_t acc = reduce(kept.in, task % job.parts);
      if (parts)
        parts[task] = acc;
      else
        store_result<Monoid>(job.epilogue, kept.in, kept.out, acc);
      if ((task + 1) % job.parts == 0) kept.advance(1);
    }
  });
  if (!parts) return;
  Cursor kept(p.kept, 0);
  for (int64_t o = 0; o < p.outputs; ++o, kept.advance(1)) {
    TreeStack<Monoid, kLevels> tree;
    for (int64_t part = 0; part < job.parts; ++part) tree.push(parts[o * job.parts + part]);
    store_result<Monoid>(job.epilogue, kept.in, kept.out, tree.finish());
  }
}

}  // namespace

void run_monoid(const Problem& p, const Plan& plan, const Operands& operands,
                const ParallelFor& parallel_for) {
  const int64_t segments = cpu_segments(p);
  const int64_t wanted = std::clamp<int64_t>(plan.parts, 1, segments);
  const int64_t span = power_of_two_above(ceil_div(segments, wanted));
  const MonoidJob job = {p,    epilogue_of(p, operands), monoid_family_of(p), plan.threads,
                         span, ceil_div(segments, span), parallel_for};
  if (!job.family.kernels) {
    visit_family(p, [&](auto elements, auto monoid) {
      using Elements = decltype(elements);
      if constexpr (!kTakesTwo<Elements>) reduce_slowly<Elements, decltype(monoid)>(job, elements);
    });
  } else if (is_rows(p)) {
    run_rows(job);
  } else {
    run_columns(job);
  }
}

}  // namespace reduce_ops::cpu
