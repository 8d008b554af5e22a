// Plan → kernel: the only place that launches the engines.
#pragma once

#include <algorithm>
#include <limits>

#include "cuda/engines/column.cuh"
#include "cuda/engines/map.cuh"
#include "cuda/engines/narrow_column.cuh"
#include "cuda/engines/row.cuh"
#include "cuda/engines/split.cuh"
#include "cuda/engines/thread_row.cuh"
#include "plan/features.h"

namespace reduce_ops::cuda {

inline int log2_of(int64_t power) {
  int log = 0;
  while ((int64_t(1) << log) < power) ++log;
  return log;
}

// Log2 of the units in a block: small units share one where that leaves many blocks.
inline int units_a_block(int64_t unit_threads, int64_t units) {
  constexpr int64_t kManyBlocks = 512;
  const int64_t room = std::max<int64_t>(1, kBlockThreads / unit_threads);
  return log2_of(std::min(room, power_of_two_above(ceil_div(units, kManyBlocks))));
}
// Whole warps only.
inline int64_t block_threads(int64_t threads) { return std::max<int64_t>(32, threads); }

inline bool through_l1(const Problem& p) { return least_bytes(p) >= kThroughL1Bytes; }

// Of dynamic shared memory without asking for more.
constexpr int64_t kDefaultSharedBytes = 48 << 10;

struct Grid {
  int64_t blocks;
  int64_t threads;       // a block
  int64_t shared = 0;    // bytes of dynamic shared memory a block
  bool overlap = false;  // start while the stream's previous kernel still runs
};

template <class... Params, class... Args>
cudaError_t launch(void (*kernel)(Params...), const Grid& grid, cudaStream_t stream,
                   const Args&... args) {
  if (grid.blocks > std::numeric_limits<int32_t>::max()) return cudaErrorInvalidConfiguration;
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(unsigned(grid.blocks));
  config.blockDim = dim3(unsigned(grid.threads));
  config.dynamicSmemBytes = size_t(grid.shared);
  config.stream = stream;
  cudaLaunchAttribute attribute = {};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  config.attrs = &attribute;
  config.numAttrs = grid.overlap ? 1 : 0;
  if (grid.shared > kDefaultSharedBytes) {
    // Always the same number: another thread may be about to launch the kernel with less.
    const cudaError_t error =
        cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel),
                             cudaFuncAttributeMaxDynamicSharedMemorySize, int(kMaxSharedBytes));
    if (error != cudaSuccess) return error;
  }
  return cudaLaunchKernelEx(&config, kernel, args...);
}

template <class Monoid>
cudaError_t run_combine(const Problem& p, int64_t columns, int64_t parts, void* workspace,
                        const Epilogue& epilogue, cudaStream_t stream) {
  using acc_t = typename Monoid::acc_t;
  constexpr int kThreads = combine_threads(sizeof(acc_t));
  acc_t* partial = static_cast<acc_t*>(workspace);
  CombineArgs args;
  args.epilogue = epilogue;
  args.columns = columns;
  args.kept = AxesMap::of(p.kept);
  args.reduced = AxesMap::of(p.reduced);
  args.exact = is_rows(p);
  args.passes = 2;
  const int64_t across = combine_across(columns);
  args.log_across = log2_of(across);
  args.strips = Divider::of(ceil_div(columns, across));
  args.units = p.outputs / columns * args.strips.divisor;
  while (true) {
    const int64_t down = std::min(kThreads / across, power_of_two_above(parts));
    args.log_down = log2_of(down);
    args.log_units = units_a_block(across * down, args.units);
    args.unit_blocks = uint32_t(ceil_div(args.units, int64_t(1) << args.log_units));
    args.segments = int(
        std::min<int64_t>(combine_segments(columns), power_of_two_above(ceil_div(parts, down))));
    args.parts_in = parts;
    args.parts_out = combine_pass(columns, parts, kThreads);
    const int64_t threads = block_threads((across * down) << args.log_units);
    acc_t* next = partial + p.outputs * parts;
    Grid grid = {args.unit_blocks * args.parts_out, threads};
    grid.shared = 2 * threads * int64_t(sizeof(acc_t));
    grid.overlap = true;
    const cudaError_t error =
        launch(combine<Monoid>, grid, stream, args, static_cast<const acc_t*>(partial), next);
    if (error != cudaSuccess || args.parts_out == 1) return error;
    partial = next;
    parts = args.parts_out;
  }
}

template <class Args>
void set_axes(Args& args, const Problem& p, const Epilogue& epilogue) {
  args.kept = AxesMap::of(p.kept);
  args.reduced = AxesMap::of(p.reduced);
  args.other = epilogue.other;
  if (!epilogue.other) return;
  args.other_kept = AxesMap::of_other(p.kept);
  args.other_reduced = AxesMap::of_other(p.reduced);
}

// Elements that few calls use have the rows' kernels for any layout only.
template <class Elements, class Monoid>
constexpr bool kGathersAll =
    Elements::kLarge && !Elements::kSize && !features<Elements, Monoid>().maps;

template <class Elements, class Monoid>
RowLoad row_load(const Problem& p, const Elements& elements) {
  if (kGathersAll<Elements, Monoid>) return RowLoad::kGathered;
  if (p.reduced.count <= 1) {
    if (!aligned_rows(p)) return RowLoad::kShifted;
    return through_l1(p) ? RowLoad::kThroughL1 : RowLoad::kAligned;
  }
  const int64_t per_chunk = kChunkBytes / elements.size();
  const bool pieces = p.reduced.axis[0].size % per_chunk == 0 && aligned_rows(p);
  return pieces ? RowLoad::kPieces : RowLoad::kGathered;
}

template <class Elements, class Monoid>
RowArgs row_args(const Problem& p, const Elements& elements, const Epilogue& epilogue) {
  RowArgs args;
  args.in = epilogue.in;
  args.epilogue = epilogue;
  args.load = row_load<Elements, Monoid>(p, elements);
  args.rows = p.outputs;
  args.length = p.length;
  args.chunks = ceil_div(p.length * elements.size(), kChunkBytes);
  set_axes(args, p, epilogue);
  if (args.load == RowLoad::kGathered && p.reduced.count == 1) {  // gather() divides by it
    args.reduced.axis[0].size = Divider::of(p.reduced.axis[0].size);
    args.other_reduced.axis[0].size = args.reduced.axis[0].size;
  }
  return args;
}

template <class Elements, class Monoid, RowLoad kLoad>
cudaError_t run_warp_row(const RowArgs& args, const Elements& elements, int threads,
                         cudaStream_t stream) {
  const int log_threads = log2_of(threads);
  const auto go = [&](auto kernel, int rows) {
    const int64_t rows_a_block = int64_t(kBlockThreads / threads) * rows;
    return launch(kernel, {ceil_div(args.rows, rows_a_block), kBlockThreads}, stream, args,
                  elements, log_threads);
  };
  // Several chunks or several rows a thread, so that enough loads are in flight.
  const int64_t lanes = row_lanes(args.chunks) / threads;
  if constexpr (features<Elements, Monoid>().hot && kLoad != RowLoad::kGathered) {
    constexpr bool kWide = kTakesTwo<Elements> || features<Elements, Monoid>().lanes < 8;
    constexpr int kRows = kWide ? 1 : 4;
    if (lanes <= 1) return go(warp_row<Elements, Monoid, kLoad, 1, kRows>, kRows);
    if (lanes <= 4) return go(warp_row<Elements, Monoid, kLoad, 4, 1>, 1);
  } else {
    if (lanes <= 1) return go(warp_row<Elements, Monoid, kLoad, 1, 1>, 1);
  }
  if constexpr (features<Elements, Monoid>().lanes == 8)
    return go(warp_row<Elements, Monoid, kLoad, 8, 1>, 1);
  else
    return go(warp_row<Elements, Monoid, kLoad, 4, 1>, 1);
}

template <class Elements, class Monoid, RowLoad kLoad>
cudaError_t run_rows(const Problem& p, const Plan& plan, const RowArgs& args,
                     const Elements& elements, void* workspace, cudaStream_t stream) {
  if (plan.engine == Engine::kWarpRow) {
    constexpr bool kThrough = kLoad == RowLoad::kThroughL1 && features<Elements, Monoid>().maps;
    constexpr RowLoad kHere = kLoad == RowLoad::kThroughL1 && !kThrough ? RowLoad::kAligned : kLoad;
    return run_warp_row<Elements, Monoid, kHere>(args, elements, plan.threads, stream);
  }
  const int64_t parts = row_parts(p, plan);
  const int64_t group = parts > 1 ? plan.segments : ceil_div(args.chunks, int64_t(kSegmentChunks));
  auto* partial = static_cast<typename Monoid::acc_t*>(workspace);
  const auto go = [&](auto kernel) {
    return launch(kernel, {args.rows * parts, kBlockThreads}, stream, args, elements, group,
                  uint32_t(parts), partial);
  };
  cudaError_t error = cudaSuccess;
  constexpr bool kAligned = kLoad == RowLoad::kAligned || kLoad == RowLoad::kThroughL1;
  if constexpr (features<Elements, Monoid>().hot && kAligned && !kIsBest<Monoid>) {
    error = group == 1 ? go(block_row<Elements, Monoid, kLoad, true>)
                       : go(block_row<Elements, Monoid, kLoad, false>);
  } else {
    error = go(block_row<Elements, Monoid, kLoad, false>);
  }
  if (error != cudaSuccess || parts == 1) return error;
  return run_combine<Monoid>(p, 1, parts, workspace, args.epilogue, stream);
}

template <class Elements, class Monoid>
cudaError_t run_map(const Problem& p, const Elements& elements, const Epilogue& epilogue,
                    cudaStream_t stream) {
  MapArgs args;
  args.in = epilogue.in;
  args.epilogue = epilogue;
  args.count = p.outputs;
  args.out_stride = p.kept.count ? p.kept.axis[0].out : 0;
  const int64_t loads = ceil_div(args.count, int64_t(kMapElements<Elements>));
  const int64_t blocks = ceil_div(loads, int64_t(kMapThreads * kMapLoads));
  return launch(map<Elements, Monoid>, {blocks, kMapThreads}, stream, args, elements);
}

template <class Elements, class Monoid>
cudaError_t run_thread_row(const Problem& p, const Elements& elements, const Epilogue& epilogue,
                           cudaStream_t stream) {
  ThreadRowArgs args;
  args.in = epilogue.in;
  args.epilogue = epilogue;
  args.length = int(p.length);
  args.pitch = args.length * elements.size();
  // About 8 KiB a block.
  args.rows_a_thread = std::clamp(8192 / (kThreadRowThreads * args.pitch), 1, 16);
  args.rows = p.outputs;
  args.out_stride = p.kept.count ? p.kept.axis[0].out : 0;
  const int64_t rows_a_block = int64_t(args.rows_a_thread) * kThreadRowThreads;
  return launch(thread_row<Elements, Monoid>,
                {ceil_div(args.rows, rows_a_block), kThreadRowThreads,
                 rows_a_block * args.pitch + 2 * kChunkBytes},
                stream, args, elements);
}

template <class Elements, class Monoid>
cudaError_t run_columns(const Problem& p, const Plan& plan, const Elements& elements,
                        const Epilogue& epilogue, void* workspace, cudaStream_t stream) {
  using acc_t = typename Monoid::acc_t;
  ColumnArgs args;
  args.in = epilogue.in;
  args.epilogue = epilogue;
  args.vector = plan.vector;
  args.segments = plan.segments;
  args.log_across = log2_of(plan.across);
  args.log_down = log2_of(plan.down);
  args.segment_rows = segment_rows(p.length);
  args.parts = column_parts(p, plan);
  args.columns = columns_of(p);
  constexpr int kVector = Elements::kColumns;
  args.strips = Divider::of(ceil_div(args.columns, int64_t(plan.across) * plan.vector));
  args.units = p.outputs / args.columns * args.strips.divisor;
  args.log_units = units_a_block(plan.across * plan.down, args.units);
  args.unit_blocks = uint32_t(ceil_div(args.units, int64_t(1) << args.log_units));
  args.length = p.length;
  set_axes(args, p, epilogue);
  const int64_t threads = block_threads((plan.across * plan.down) << args.log_units);
  auto* partial = static_cast<acc_t*>(workspace);
  const auto go = [&](auto kernel, int columns) {
    const int64_t shared = threads * column_shared_bytes(columns, plan.segments, sizeof(acc_t));
    return launch(kernel, {args.unit_blocks * args.parts, threads, shared}, stream, args, elements,
                  partial);
  };
  cudaError_t error = cudaErrorInvalidValue;
  constexpr bool kHot = features<Elements, Monoid>().hot;
  constexpr bool kEvery = features<Elements, Monoid>().every;
  const auto go_vectors = [&](auto load) {
    constexpr ColumnLoad kLoad = decltype(load)::value;
    if constexpr (kHot && kEvery) {
      if (plan.deep) return go(column<Elements, Monoid, kVector, kLoad, true>, kVector);
    }
    return go(column<Elements, Monoid, kVector, kLoad, false>, kVector);
  };
  using std::integral_constant;
  if (plan.vector == 1) {
    error = go(column<Elements, Monoid, 1, ColumnLoad::kElement, false>, 1);
  } else if constexpr (kVector > 1) {
    if (aligned_columns(p, plan.vector)) {
      bool through = false;
      if constexpr (kEvery) {
        through = through_l1(p);
        if (through) error = go_vectors(integral_constant<ColumnLoad, ColumnLoad::kThroughL1>{});
      }
      if (!through) error = go_vectors(integral_constant<ColumnLoad, ColumnLoad::kAligned>{});
    } else if constexpr (kHot) {
      error = go_vectors(integral_constant<ColumnLoad, ColumnLoad::kShifted>{});
    }
  }
  if (error != cudaSuccess || args.parts == 1) return error;
  return run_combine<Monoid>(p, args.columns, args.parts, workspace, epilogue, stream);
}

template <class Elements, class Monoid>
cudaError_t run_narrow_columns(const Problem& p, const Plan& plan, const Elements& elements,
                               const Epilogue& epilogue, void* workspace, cudaStream_t stream) {
  using acc_t = typename Monoid::acc_t;
  NarrowColumnArgs args;
  args.in = epilogue.in;
  args.epilogue = epilogue;
  args.columns = int(p.outputs);
  args.segments = plan.segments;
  args.segment_rows = segment_rows(p.length);
  args.length = p.length;
  args.out_stride = p.kept.axis[0].out;
  const int pitch = narrow_pitch(args.segment_rows * args.columns * elements.size());
  const int64_t shared =
      std::max<int64_t>(int64_t(args.segments) * pitch, int64_t(kNarrowThreads) * sizeof(acc_t));
  const int64_t parts = column_parts(p, plan);
  const cudaError_t error = launch(narrow_column<Elements, Monoid>, {parts, kNarrowThreads, shared},
                                   stream, args, elements, static_cast<acc_t*>(workspace));
  if (error != cudaSuccess || parts == 1) return error;
  return run_combine<Monoid>(p, args.columns, parts, workspace, epilogue, stream);
}

template <class Elements, class Monoid>
cudaError_t run_loaded_rows(const Problem& p, const Plan& plan, const RowArgs& args,
                            const Elements& elements, void* workspace, cudaStream_t stream) {
  switch (args.load) {
    case RowLoad::kThroughL1:
      if constexpr (features<Elements, Monoid>().every)
        return run_rows<Elements, Monoid, RowLoad::kThroughL1>(p, plan, args, elements, workspace,
                                                               stream);
      [[fallthrough]];
    case RowLoad::kAligned:
      return run_rows<Elements, Monoid, RowLoad::kAligned>(p, plan, args, elements, workspace,
                                                           stream);
    case RowLoad::kShifted:
      return run_rows<Elements, Monoid, RowLoad::kShifted>(p, plan, args, elements, workspace,
                                                           stream);
    default:
      return run_rows<Elements, Monoid, RowLoad::kGathered>(p, plan, args, elements, workspace,
                                                            stream);
  }
}

template <class Elements, class Monoid>
cudaError_t run(const Problem& p, const Plan& plan, const Elements& elements,
                const Operands& operands, void* workspace, cudaStream_t stream) {
  const Epilogue epilogue = epilogue_of(p, operands);
  if constexpr (features<Elements, Monoid>().maps) {
    if (plan.engine == Engine::kMap)
      return run_map<Elements, Monoid>(p, elements, epilogue, stream);
  }
  if constexpr (!kTakesTwo<Elements>) {
    if (plan.engine == Engine::kThreadRow)
      return run_thread_row<Elements, Monoid>(p, elements, epilogue, stream);
    if (plan.engine == Engine::kNarrowColumn)
      return run_narrow_columns<Elements, Monoid>(p, plan, elements, epilogue, workspace, stream);
  }
  if (plan.engine == Engine::kColumn || plan.engine == Engine::kSplitColumn)
    return run_columns<Elements, Monoid>(p, plan, elements, epilogue, workspace, stream);
  const RowArgs args = row_args<Elements, Monoid>(p, elements, epilogue);
  if constexpr (kGathersAll<Elements, Monoid>)
    return run_rows<Elements, Monoid, RowLoad::kGathered>(p, plan, args, elements, workspace,
                                                          stream);
  else
    return run_loaded_rows<Elements, Monoid>(p, plan, args, elements, workspace, stream);
}

}  // namespace reduce_ops::cuda
