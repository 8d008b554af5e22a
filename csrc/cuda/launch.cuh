// Plan → kernel: the only place that launches the engines.
#pragma once

#include <algorithm>

#include "cuda/engines/column.cuh"
#include "cuda/engines/row.cuh"
#include "cuda/engines/split.cuh"

namespace reduce_ops::cuda {

inline int log2_of(int64_t power) {
  int log = 0;
  while ((int64_t(1) << log) < power) ++log;
  return log;
}

// Dtypes that most calls use get every kernel instance, the others share the fewest.
template <class Elements>
constexpr bool kIsHot = Elements::kSize == 2 || Elements::kSize == 4;

// Columns a thread where one load brings several: widest_vector() of the planner's.
template <class Elements>
constexpr int kVectorColumns = 1;
template <class T>
constexpr int kVectorColumns<Direct<T>> = sizeof(T) <= 4 ? 4 : 2;
template <class T>
constexpr int kVectorColumns<Direct<Complex<T>>> = 1;
template <>
constexpr int kVectorColumns<AnyInteger> = 4;

template <class... Params, class... Args>
cudaError_t launch(void (*kernel)(Params...), int64_t blocks, int threads, bool overlap,
                   cudaStream_t stream, Args... args) {
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(unsigned(blocks));
  config.blockDim = dim3(unsigned(threads));
  config.stream = stream;
  cudaLaunchAttribute attribute = {};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  config.attrs = &attribute;
  config.numAttrs = overlap ? 1 : 0;
  return cudaLaunchKernelEx(&config, kernel, static_cast<Params>(args)...);
}

template <class Monoid>
cudaError_t run_combine(const Problem& p, int64_t columns, int64_t parts, void* workspace,
                        void* out, cudaStream_t stream) {
  using acc_t = typename Monoid::acc_t;
  acc_t* partial = static_cast<acc_t*>(workspace);
  CombineArgs args;
  args.out = out;
  args.out_type = p.out;
  args.columns = columns;
  args.length = p.length;
  args.kept = AxesMap::of(p.kept);
  const int64_t across = combine_across(columns);
  args.log_across = log2_of(across);
  args.strips = Divider::of(ceil_div(columns, across));
  args.units = p.outputs / columns * args.strips.divisor;
  while (true) {
    const int64_t down = std::min(kCombineThreads / across, power_of_two_above(parts));
    args.segments =
        int(std::min<int64_t>(1 << kCombineLevels, power_of_two_above(ceil_div(parts, down))));
    args.log_down = log2_of(down);
    args.parts_in = parts;
    args.parts_out = combine_pass(columns, parts);
    const int threads = int(std::max<int64_t>(128, across * down));
    const int64_t blocks = ceil_div(args.units, threads / (across * down)) * args.parts_out;
    acc_t* next = partial + p.outputs * parts;
    const cudaError_t error = launch(combine<Monoid>, blocks, threads, true, stream, args,
                                     static_cast<const acc_t*>(partial), next);
    if (error != cudaSuccess || args.parts_out == 1) return error;
    partial = next;
    parts = args.parts_out;
  }
}

template <class Elements>
RowLoad row_load(const Problem& p, const Elements& elements) {
  const int size = elements.size();
  const int64_t per_chunk = kChunkBytes / size;
  const auto aligned = [&](const Axes& axes, int from) {
    for (int a = from; a < axes.count; ++a) {
      if (axes.axis[a].in % per_chunk) return false;
    }
    return p.alignment == 16;
  };
  if (p.reduced.count <= 1) return aligned(p.kept, 0) ? RowLoad::kAligned : RowLoad::kShifted;
  const bool pieces =
      p.reduced.axis[0].size % per_chunk == 0 && aligned(p.kept, 0) && aligned(p.reduced, 1);
  return pieces ? RowLoad::kPieces : RowLoad::kGathered;
}

template <class Elements, class Monoid>
RowArgs row_args(const Problem& p, const Elements& elements, const void* in, void* out) {
  RowArgs args;
  args.in = static_cast<const char*>(in);
  args.out = out;
  args.out_type = p.out;
  args.load = row_load(p, elements);
  args.rows = p.outputs;
  args.length = p.length;
  args.chunks = ceil_div(p.length * elements.size(), kChunkBytes);
  args.kept = AxesMap::of(p.kept);
  args.reduced = AxesMap::of(p.reduced);
  return args;
}

template <class Elements, class Monoid, bool kAligned>
cudaError_t run_warp_row(const RowArgs& args, const Elements& elements, int threads,
                         cudaStream_t stream) {
  const int log_threads = log2_of(threads);
  const auto go = [&](auto kernel, int rows) {
    const int64_t rows_a_block = int64_t(kBlockThreads / threads) * rows;
    return launch(kernel, ceil_div(args.rows, rows_a_block), kBlockThreads, false, stream, args,
                  elements, log_threads);
  };
  // Several chunks or several rows a thread, so that four loads are in flight.
  if constexpr (kIsHot<Elements>) {
    if (args.chunks <= threads) return go(warp_row<Elements, Monoid, kAligned, 1, 4>, 4);
    if (args.chunks <= threads * 2) return go(warp_row<Elements, Monoid, kAligned, 2, 2>, 2);
    if (args.chunks <= threads * 4) return go(warp_row<Elements, Monoid, kAligned, 4, 1>, 1);
  } else {
    if (args.chunks <= threads) return go(warp_row<Elements, Monoid, kAligned, 1, 1>, 1);
  }
  return go(warp_row<Elements, Monoid, kAligned, 8, 1>, 1);
}

template <class Elements, class Monoid>
cudaError_t run_rows(const Problem& p, const Plan& plan, const Elements& elements, const void* in,
                     void* out, void* workspace, cudaStream_t stream) {
  const RowArgs args = row_args<Elements, Monoid>(p, elements, in, out);
  const bool aligned = args.load == RowLoad::kAligned;
  if (plan.engine == Engine::kWarpRow) {
    return aligned ? run_warp_row<Elements, Monoid, true>(args, elements, plan.threads, stream)
                   : run_warp_row<Elements, Monoid, false>(args, elements, plan.threads, stream);
  }
  const int64_t parts = row_parts(p, plan);
  const int64_t group = parts > 1 ? plan.segments : ceil_div(args.chunks, int64_t(kSegmentChunks));
  auto* partial = static_cast<typename Monoid::acc_t*>(workspace);
  const cudaError_t error =
      launch(aligned ? block_row<Elements, Monoid, true> : block_row<Elements, Monoid, false>,
             args.rows * parts, kBlockThreads, false, stream, args, elements, group,
             uint32_t(parts), partial);
  if (error != cudaSuccess || parts == 1) return error;
  return run_combine<Monoid>(p, 1, parts, workspace, out, stream);
}

template <class Elements, class Monoid>
cudaError_t run_columns(const Problem& p, const Plan& plan, const Elements& elements,
                        const void* in, void* out, void* workspace, cudaStream_t stream) {
  ColumnArgs args;
  args.in = static_cast<const char*>(in);
  args.out = out;
  args.out_type = p.out;
  args.vector = plan.vector;
  args.log_across = log2_of(plan.across);
  args.log_down = log2_of(plan.down);
  args.segments = plan.segments;
  args.parts = column_parts(p, plan);
  args.columns = p.kept.count ? p.kept.axis[0].size : 1;
  args.strips = Divider::of(ceil_div(args.columns, int64_t(plan.across) * plan.vector));
  args.units = p.outputs / args.columns * args.strips.divisor;
  args.length = p.length;
  args.kept = AxesMap::of(p.kept);
  args.reduced = AxesMap::of(p.reduced);
  const int64_t blocks =
      ceil_div(args.units, kColumnThreads / (plan.across * plan.down)) * args.parts;
  auto* partial = static_cast<typename Monoid::acc_t*>(workspace);
  constexpr int kVector = kVectorColumns<Elements>;
  const cudaError_t error =
      launch(plan.vector > 1 ? column<Elements, Monoid, kVector> : column<Elements, Monoid, 1>,
             blocks, kColumnThreads, false, stream, args, elements, partial);
  if (error != cudaSuccess || args.parts == 1) return error;
  return run_combine<Monoid>(p, args.columns, args.parts, workspace, out, stream);
}

template <class Elements, class Monoid>
cudaError_t run(const Problem& p, const Plan& plan, const Elements& elements, const void* in,
                void* out, void* workspace, cudaStream_t stream) {
  const bool columns = plan.engine == Engine::kColumn || plan.engine == Engine::kSplitColumn;
  return columns ? run_columns<Elements, Monoid>(p, plan, elements, in, out, workspace, stream)
                 : run_rows<Elements, Monoid>(p, plan, elements, in, out, workspace, stream);
}

}  // namespace reduce_ops::cuda
