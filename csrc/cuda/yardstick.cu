#include <algorithm>

#include "cuda/launch.h"
#include "cuda/parts/load.cuh"

namespace reduce_ops::cuda {

namespace {

template <int kThreads, int kLoads, bool kThroughL1>
__global__ void __launch_bounds__(kThreads) read_only(const char* data, int64_t chunks, int* sink) {
  const int64_t first = int64_t(blockIdx.x) * kThreads * kLoads + threadIdx.x;
  Chunk chunk[kLoads] = {};
#pragma unroll
  for (int l = 0; l < kLoads; ++l) {
    const int64_t c = first + l * kThreads;
    if (c < chunks) chunk[l] = load_chunk<kThroughL1>(data + c * kChunkBytes);
  }
  uint32_t all = 0;
#pragma unroll
  for (int l = 0; l < kLoads; ++l)
    all ^= chunk[l].word[0] ^ chunk[l].word[1] ^ chunk[l].word[2] ^ chunk[l].word[3];
  // sink is null: the branch keeps the loads and is never taken.
  if (sink != nullptr && all == 0x9e3779b9u) *sink = 1;
}

template <int kThreads, int kLoads, bool kThroughL1>
cudaError_t launch(const void* data, int64_t chunks, cudaStream_t stream) {
  const int64_t blocks = std::max<int64_t>(1, ceil_div(chunks, int64_t(kThreads) * kLoads));
  read_only<kThreads, kLoads, kThroughL1>
      <<<unsigned(blocks), kThreads, 0, stream>>>(static_cast<const char*>(data), chunks, nullptr);
  return cudaGetLastError();
}

}  // namespace

// The fastest of the shapes that were tried on an H200: 128 … 1024 threads, 1 … 16 loads each, both
// ways of loading.
cudaError_t read_yardstick(const void* data, int64_t bytes, cudaStream_t stream) {
  const int64_t chunks = bytes / kChunkBytes;
  return bytes >= kThroughL1Bytes ? launch<512, 2, true>(data, chunks, stream)
                                  : launch<256, 8, false>(data, chunks, stream);
}

}  // namespace reduce_ops::cuda
