// What the split engines share: a second kernel combines the parts of each result.
#pragma once

#include "core/store.h"
#include "cuda/parts/combine.cuh"
#include "cuda/parts/load.cuh"
#include "cuda/run.h"

namespace reduce_ops::cuda {

// The second kernel of the split engines: partial[outer][part][column] over `part`. More
// parts than a block can take at once need another pass.
struct CombineArgs {
  void* out;
  DType out_type;
  int log_across;
  int log_down;
  int segments;  // parts a thread, a power of two
  int64_t parts_in;
  int64_t parts_out;  // 1: store the results
  int64_t columns;
  Divider strips;
  int64_t units;
  int64_t length;
  AxesMap kept;
};

template <class Monoid>
__global__ void __launch_bounds__(kCombineThreads)
    combine(const __grid_constant__ CombineArgs args, const typename Monoid::acc_t* partial,
            typename Monoid::acc_t* next) {
  using acc_t = typename Monoid::acc_t;
  __shared__ alignas(16) char storage[kCombineThreads * sizeof(acc_t)];
  const int across = threadIdx.x & ((1 << args.log_across) - 1);
  const int down = (threadIdx.x >> args.log_across) & ((1 << args.log_down) - 1);
  const int units_a_block = blockDim.x >> (args.log_across + args.log_down);
  const int64_t unit_blocks = (args.units + units_a_block - 1) / units_a_block;
  const int64_t part = blockIdx.x / uint32_t(unit_blocks);
  const int64_t unit = (blockIdx.x - part * unit_blocks) * units_a_block +
                       (threadIdx.x >> (args.log_across + args.log_down));
  const int64_t outer = args.strips.quotient(unit);
  const int64_t column = ((unit - outer * args.strips.divisor) << args.log_across) + across;
  const bool valid = unit < args.units && column < args.columns;

  acc_t result[1] = {Monoid::identity()};
  const int64_t first = ((part << args.log_down) + down) * args.segments;
  wait_for_previous_kernel();
  if (valid && first < args.parts_in) {
    const acc_t* source = partial + (outer * args.parts_in + first) * args.columns + column;
    const int count = int(min(int64_t(args.segments), args.parts_in - first));
    TreeStack<Monoid, kCombineLevels> tree;
#pragma unroll 4
    for (int s = 0; s < count; ++s) tree.push(source[s * args.columns]);
    result[0] = tree.finish();
  }
  merge_down<Monoid, 1>(result, storage, down, args.log_across, args.log_down);
  if (!valid || down != 0) return;
  if (args.parts_out > 1)
    next[(outer * args.parts_out + part) * args.columns + column] = result[0];
  else
    store_as(args.out, args.kept.locate(outer * args.columns + column).out, args.out_type,
             Monoid::finalize(result[0], args.length));
}

}  // namespace reduce_ops::cuda
