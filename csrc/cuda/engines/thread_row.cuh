// Narrow rows that lie side by side: a thread computes a row. The block first copies its rows to
// shared memory, whole vectors at a time, since threads that read rows from global memory
// themselves would each touch every cache line of their neighbours.
#pragma once

#include "core/store.h"
#include "cuda/parts/combine.cuh"
#include "cuda/parts/load.cuh"
#include "plan/order.h"

namespace reduce_ops::cuda {

constexpr int kThreadRowThreads = 256;

struct ThreadRowArgs {
  const char* in;
  Epilogue epilogue;
  int length;
  int pitch;  // bytes from row to row, at most kThreadRowBytes
  int rows_a_thread;
  int64_t rows;
  int64_t out_stride;
};

template <class Elements, class Monoid>
__global__ void __launch_bounds__(kThreadRowThreads)
    thread_row(const __grid_constant__ ThreadRowArgs args, Elements elements) {
  using acc_t = typename Monoid::acc_t;
  constexpr int kLanes = kThreadRowBytes / kChunkBytes;
  extern __shared__ __align__(16) char tile[];
  const int tile_rows = args.rows_a_thread * kThreadRowThreads;
  const int64_t first_row = int64_t(blockIdx.x) * tile_rows;
  const int rows = int(min(int64_t(tile_rows), args.rows - first_row));
  const char* begin = args.in + first_row * args.pitch;
  const char* aligned = begin - (reinterpret_cast<uintptr_t>(begin) & 15);
  const int shift = int(begin - aligned);
  const int chunks = (shift + rows * args.pitch + kChunkBytes - 1) / kChunkBytes;
#pragma unroll 4
  for (int c = threadIdx.x; c < chunks; c += kThreadRowThreads)
    reinterpret_cast<Chunk*>(tile)[c] = load_chunk<false>(aligned + int64_t(c) * kChunkBytes);
  __syncthreads();

  const int size = elements.size();
  const int per_chunk = kChunkBytes / size;
  for (int row = threadIdx.x; row < rows; row += kThreadRowThreads) {
    const char* data = tile + shift + row * args.pitch;
    const auto state = start_of<Monoid>(elements, data);
    acc_t lane[kLanes];
#pragma unroll
    for (int l = 0; l < kLanes; ++l) {
      lane[l] = Monoid::identity();
      const int end = min(args.length, (l + 1) * per_chunk);
#pragma unroll 4
      for (int e = l * per_chunk; e < end; ++e)
        lane[l] = Monoid::accumulate(lane[l], elements.at(data + e * size), e, state);
    }
    store_result<Monoid>(args.epilogue, (first_row + row) * args.length,
                         (first_row + row) * args.out_stride, halve<Monoid, kLanes>(lane));
  }
}

}  // namespace reduce_ops::cuda
