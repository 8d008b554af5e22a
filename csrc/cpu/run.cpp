#include <atomic>

#include "cpu/dot.h"
#include "cpu/job.h"
#include "cpu/monoid_engine.h"

namespace reduce_ops::cpu {

void run(const Problem& problem, const Plan& plan, const Operands& operands,
         const ParallelFor& parallel_for) {
  if (problem.outputs == 0 || problem.length == 0) return;
  if (problem.op == Op::kDot) return run_dot(problem, plan, operands, parallel_for);
  if (problem.op != Op::kSum && problem.op != Op::kMean)
    return run_monoid(problem, plan, operands, parallel_for);
  const int64_t segments = cpu_segments(problem);
  const int64_t wanted = std::clamp<int64_t>(plan.parts, 1, segments);
  const int64_t span = power_of_two_above(ceil_div(segments, wanted));
  const Job job = {problem,
                   static_cast<const char*>(operands.in),
                   static_cast<char*>(operands.out),
                   family_of(problem),
                   plan.threads,
                   span,
                   ceil_div(segments, span),
                   parallel_for};
  // Nothing to add up: a copy, which the column engine does many at a time. A single addition to
  // zero has the same bits in every order.
  if (plan.engine == Engine::kCpuColumn || problem.length == 1)
    run_columns(job);
  else
    run_rows(job);
}

void read_yardstick(const void* data, int64_t bytes, const ParallelFor& parallel_for) {
  static std::atomic<uint64_t> sink;
  constexpr int64_t kBlock = 65536;
  const char* from = static_cast<const char*>(data);
  const SimdTable& table = simd_table();
  parallel_for(ceil_div(bytes, kBlock), 16, [&](int64_t begin, int64_t end) {
    const int64_t first = begin * kBlock;
    sink |= table.read(from + first, std::min(end * kBlock, bytes) - first);
  });
}

}  // namespace reduce_ops::cpu
