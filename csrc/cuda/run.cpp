#include "cuda/run.h"
#include "cuda/launch.h"

namespace reduce_ops::cuda {

size_t workspace_bytes(const Problem& problem, const Plan& plan) {
  int64_t parts = 1;
  int64_t columns = 1;
  if (plan.engine == Engine::kSplitRow) {
    parts = row_parts(problem, plan);
  } else if (plan.engine == Engine::kSplitColumn || plan.engine == Engine::kNarrowColumn) {
    parts = column_parts(problem, plan);
    columns = columns_of(problem);
  }
  if (parts == 1) return 0;
  return visit_family(problem, [&](auto, auto monoid) {
    constexpr size_t kBytes = sizeof(typename decltype(monoid)::acc_t);
    int64_t all = 0;
    for (int64_t p = parts; p > 1; p = combine_pass(columns, p, combine_threads(kBytes))) all += p;
    return size_t(all * problem.outputs) * kBytes;
  });
}

cudaError_t run(const Problem& problem, const Plan& plan, const Operands& operands, void* workspace,
                cudaStream_t stream) {
  return visit_family(problem, [&](auto elements, auto monoid) {
    return run<decltype(elements), decltype(monoid)>(problem, plan, elements, operands, workspace,
                                                     stream);
  });
}

}  // namespace reduce_ops::cuda
