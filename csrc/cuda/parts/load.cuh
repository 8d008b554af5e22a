// Reading global memory: plain vectors, vectors at any byte offset, elements at any stride.
#pragma once

#include "core/elements.h"
#include "cuda/parts/axes.cuh"
#include "plan/order.h"

namespace reduce_ops::cuda {

// How whole vectors are read. Past L1, a stream also leaves alone what other kernels left in L2,
// which is worth 2 … 5 us on an H200 up to some 256 MiB; longer streams are read faster through L1
// (512 MiB: 4.19 against 4.03 TB/s).
constexpr int64_t kThroughL1Bytes = int64_t(384) << 20;

// 16 aligned bytes. The assembly keeps the choice of cache and a load from global memory.
template <bool kThroughL1>
__device__ __forceinline__ Chunk load_chunk(const char* aligned) {
  Chunk c;
  if constexpr (kThroughL1) {
    asm("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];"
        : "=r"(c.word[0]), "=r"(c.word[1]), "=r"(c.word[2]), "=r"(c.word[3])
        : "l"(aligned));
  } else {
    asm("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
        : "=r"(c.word[0]), "=r"(c.word[1]), "=r"(c.word[2]), "=r"(c.word[3])
        : "l"(aligned));
  }
  return c;
}

// 16 bytes at any address, as the two aligned vectors that hold them; the second is its neighbour's
// first and comes from L1. Loading and shifting are apart so that several loads can be in flight.
// A vector that holds data can be read whole; past `end`, the first byte after the data, the last
// such vector is read again.
struct UnalignedChunk {
  Chunk low;
  Chunk high;
};

__device__ __forceinline__ Chunk load_cached_chunk(intptr_t aligned) {
  const uint4 v = __ldg(reinterpret_cast<const uint4*>(aligned));
  return {{v.x, v.y, v.z, v.w}};
}

__device__ __forceinline__ UnalignedChunk load_unaligned(const char* address, const char* end) {
  const intptr_t first = reinterpret_cast<intptr_t>(address) & ~intptr_t(kChunkBytes - 1);
  const intptr_t last = (reinterpret_cast<intptr_t>(end) - 1) & ~intptr_t(kChunkBytes - 1);
  return {load_cached_chunk(first), load_cached_chunk(min(first + kChunkBytes, last))};
}

// kWords: the address is a multiple of 4.
template <bool kWords>
__device__ __forceinline__ Chunk shifted(const UnalignedChunk& raw, const char* address) {
  const int offset = int(reinterpret_cast<intptr_t>(address)) & (kChunkBytes - 1);
  const uint32_t word[8] = {raw.low.word[0],  raw.low.word[1],  raw.low.word[2],  raw.low.word[3],
                            raw.high.word[0], raw.high.word[1], raw.high.word[2], raw.high.word[3]};
  uint32_t by_two[6];
  uint32_t by_one[5];
#pragma unroll
  for (int k = 0; k < 6; ++k) by_two[k] = offset & 8 ? word[k + 2] : word[k];
#pragma unroll
  for (int k = 0; k < 5; ++k) by_one[k] = offset & 4 ? by_two[k + 1] : by_two[k];
  Chunk out;
#pragma unroll
  for (int k = 0; k < 4; ++k)
    out.word[k] = kWords ? by_one[k] : __funnelshift_r(by_one[k], by_one[k + 1], (offset & 3) * 8);
  return out;
}

// One element of 1 … 16 bytes into the chunk's position e.
template <class T>
__device__ __forceinline__ void place(Chunk& chunk, int e, const char* address) {
  const T value = __ldg(reinterpret_cast<const T*>(address));
  if constexpr (sizeof(T) < 4) {
    constexpr int kPerWord = 4 / sizeof(T);
    chunk.word[e / kPerWord] |= uint32_t(value) << (e % kPerWord * 8 * int(sizeof(T)));
  } else if constexpr (sizeof(T) == 4) {
    chunk.word[e] = value;
  } else {
    chunk.word[2 * e] = uint32_t(value);
    chunk.word[2 * e + 1] = uint32_t(value >> 32);
  }
}

template <class T>
__device__ __forceinline__ Chunk gather(const char* row, const AxesMap& axes, int64_t first,
                                        int count) {
  constexpr int kCount = 16 / sizeof(T);
  Chunk chunk = {};
  const int64_t inner = axes.axis[0].size.divisor;
  int64_t offset = axes.locate(first).in;
  int64_t left = inner - axes.axis[0].size.remainder(first);  // elements of this piece
#pragma unroll
  for (int e = 0; e < kCount; ++e) {
    if (e >= count) continue;
    if (left == 0) {
      offset = axes.locate(first + e).in;
      left = inner;
    }
    place<T>(chunk, e, row + offset * int64_t(sizeof(T)));
    ++offset;
    --left;
  }
  return chunk;
}

// Elements first … first + count of a row whose reduced axes are several pieces of memory. A
// function of its own, since it is long and is used wherever a chunk is loaded.
static __device__ __noinline__ Chunk gather_chunk(const char* row, const AxesMap& axes, int size,
                                                  int64_t first, int count) {
  switch (size) {
    case 1:
      return gather<uint8_t>(row, axes, first, count);
    case 2:
      return gather<uint16_t>(row, axes, first, count);
    case 4:
      return gather<uint32_t>(row, axes, first, count);
    case 8:
      return gather<uint64_t>(row, axes, first, count);
    default: {
      const char* address = row + axes.locate(first).in * 16;
      return shifted<false>(load_unaligned(address, address + 16), address);
    }
  }
}

}  // namespace reduce_ops::cuda
