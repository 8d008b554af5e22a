// Columns of a narrow matrix whose rows lie side by side in memory. A block copies several segments
// to shared memory, whole vectors at a time, and a thread there adds up one column of one segment:
// threads that read such columns from global memory would each touch every cache line.
#pragma once

#include "core/store.h"
#include "cuda/parts/combine.cuh"
#include "cuda/parts/load.cuh"
#include "plan/order.h"

namespace reduce_ops::cuda {

struct NarrowColumnArgs {
  const char* in;
  Epilogue epilogue;
  int columns;
  int segments;  // a block, a power of two; times columns at most kNarrowThreads
  int segment_rows;
  int64_t length;
  int64_t out_stride;
};

template <class Elements, class Monoid>
__global__ void __launch_bounds__(kNarrowThreads)
    narrow_column(const __grid_constant__ NarrowColumnArgs args, Elements elements,
                  typename Monoid::acc_t* partial) {
  using acc_t = typename Monoid::acc_t;
  constexpr int kUnroll = Elements::kSize ? 8 : 1;
  extern __shared__ __align__(16) char tile[];
  if (gridDim.x > 1) allow_next_kernel();

  const int size = elements.size();
  const int row_bytes = args.columns * size;
  const int segment_bytes = args.segment_rows * row_bytes;
  const int pitch = narrow_pitch(segment_bytes);
  const int64_t first_row = int64_t(blockIdx.x) * args.segments * args.segment_rows;
  const int rows = int(min(args.length - first_row, int64_t(args.segments) * args.segment_rows));
  const char* from = args.in + first_row * row_bytes;
  for (int s = threadIdx.x / 32; s < args.segments; s += kNarrowThreads / 32) {
    const int bytes = min(segment_bytes, rows * row_bytes - s * segment_bytes);
    for (int b = threadIdx.x % 32 * kChunkBytes; b < bytes; b += 32 * kChunkBytes)
      copy_chunk(tile + s * pitch + b, from + s * segment_bytes + b);
  }
  wait_for_copies();
  __syncthreads();

  const int segment = threadIdx.x / args.columns;
  const int column = threadIdx.x - segment * args.columns;
  const bool active = segment < args.segments;
  acc_t acc = Monoid::identity();
  if (active) {
    const int begin = segment * args.segment_rows;
    const int count = min(args.segment_rows, rows - begin);
    const char* data = tile + segment * pitch + column * size;
    const auto state = start_of<Monoid>(elements, args.in + column * size);
#pragma unroll kUnroll
    for (int r = 0; r < count; ++r)
      acc =
          Monoid::accumulate(acc, elements.at(data + r * row_bytes), first_row + begin + r, state);
  }
  __syncthreads();  // the tile is used anew
  acc_t* merged = reinterpret_cast<acc_t*>(tile);
  if (active) merged[threadIdx.x] = acc;
  for (int step = 1; step < args.segments; step *= 2) {
    __syncthreads();
    if (active && (segment & (2 * step - 1)) == 0) {
      acc = Monoid::combine(acc, merged[threadIdx.x + step * args.columns]);
      merged[threadIdx.x] = acc;
    }
  }
  if (threadIdx.x >= args.columns) return;
  if (gridDim.x > 1)
    partial[int64_t(blockIdx.x) * args.columns + column] = acc;
  else
    store_result<Monoid>(args.epilogue, column, column * args.out_stride, acc);
}

}  // namespace reduce_ops::cuda
