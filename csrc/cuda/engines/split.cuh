// What the split engines share: a second kernel combines the parts of each result.
#pragma once

#include "core/store.h"
#include "cuda/parts/axes.cuh"
#include "cuda/parts/combine.cuh"
#include "cuda/parts/store.cuh"
#include "cuda/run.h"

namespace reduce_ops::cuda {

struct CombineArgs {
  Epilogue epilogue;
  int log_across;
  int log_down;
  int log_units;  // units a block
  bool exact;     // indices are (see first_equal)
  int passes;     // 2: not a constant, so that both run the same code
  int segments;   // parts a thread, a power of two
  uint32_t unit_blocks;
  int64_t parts_in;
  int64_t parts_out;  // 1: store the results, else another pass follows
  int64_t columns;
  Divider strips;  // of `across` columns
  int64_t units;
  AxesMap kept;
  AxesMap reduced;
};

// partial[outer][part][column] over `part`.
template <class Monoid>
__global__ void __launch_bounds__(combine_threads(sizeof(typename Monoid::acc_t)))
    combine(const __grid_constant__ CombineArgs args, const typename Monoid::acc_t* partial,
            typename Monoid::acc_t* next) {
  using acc_t = typename Monoid::acc_t;
  constexpr int kLoads = sizeof(acc_t) == 8 ? 4 : 2;  // parts in flight
  extern __shared__ __align__(16) char storage[];
  const int across = threadIdx.x & ((1 << args.log_across) - 1);
  const int down = (threadIdx.x >> args.log_across) & ((1 << args.log_down) - 1);
  const int64_t part = blockIdx.x / args.unit_blocks;
  const int64_t first_unit = int64_t(blockIdx.x % args.unit_blocks) << args.log_units;
  const int64_t unit = first_unit + (threadIdx.x >> (args.log_across + args.log_down));
  const int64_t outer = args.strips.quotient(unit);
  const int64_t column = ((unit - outer * args.strips.divisor) << args.log_across) + across;
  const int64_t first = ((part << args.log_down) + down) * args.segments;

  // The first pass merges identities and stores nothing: it brings the code from memory while the
  // previous kernel still runs. `partial` is what that kernel writes, so no load may move up.
  if (args.parts_out > 1) allow_next_kernel();
#pragma unroll 1
  for (int pass = 0; pass < args.passes; ++pass) {
    const bool last = pass + 1 == args.passes;
    if (last) wait_for_previous_kernel();
    acc_t acc[1] = {Monoid::identity()};
    if (last && unit < args.units && column < args.columns && first < args.parts_in) {
      const acc_t* source = partial + (outer * args.parts_in + first) * args.columns + column;
      const int count = int(min(int64_t(args.segments), args.parts_in - first));
      TreeStack<Monoid, kCombineLevels> tree;
      for (int base = 0; base < count; base += kLoads) {
        acc_t part[kLoads];
#pragma unroll
        for (int s = 0; s < kLoads; ++s) {
          if (base + s < count) part[s] = source[(base + s) * args.columns];
        }
#pragma unroll
        for (int s = 0; s < kLoads; ++s) {
          if (base + s < count) tree.push(part[s]);
        }
      }
      acc[0] = tree.finish();
    }
    merge_down<Monoid, 1>(
        acc, storage, args.log_across, args.log_down, [&](int unit_here, int slot, acc_t result) {
          const int64_t its_unit = first_unit + unit_here;
          const int64_t its_outer = args.strips.quotient(its_unit);
          const int64_t its_column =
              ((its_unit - its_outer * args.strips.divisor) << args.log_across) + slot;
          if (!last || its_unit >= args.units || its_column >= args.columns) return;
          if (args.parts_out > 1) {
            next[(its_outer * args.parts_out + part) * args.columns + its_column] = result;
            return;
          }
          const Offsets at = args.kept.locate(its_outer * args.columns + its_column);
          if (args.exact)
            store_result<Monoid>(args.epilogue, at.in, at.out, result);
          else
            store_final(args.epilogue, args.reduced, at, result, Monoid{});
        });
    __syncthreads();  // the storage is used anew
  }
}

}  // namespace reduce_ops::cuda
