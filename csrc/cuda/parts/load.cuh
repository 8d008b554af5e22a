// Reading global memory: plain vectors, vectors at any byte offset, elements at any stride.
#pragma once

#include "core/elements.h"
#include "cuda/parts/axes.cuh"

namespace reduce_ops::cuda {

// 16 bytes that are read once: past L1, through the read-only path.
__device__ __forceinline__ Chunk load_chunk(const char* aligned) {
  Chunk c;
  asm("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
      : "=r"(c.word[0]), "=r"(c.word[1]), "=r"(c.word[2]), "=r"(c.word[3])
      : "l"(aligned));
  return c;
}

// The same, kept in L1: neighbouring threads read the same 16 bytes again.
__device__ __forceinline__ Chunk load_shared_chunk(const char* aligned) {
  const uint4 v = __ldg(reinterpret_cast<const uint4*>(aligned));
  return {{v.x, v.y, v.z, v.w}};
}

// The 16 bytes that start `shift` bytes into the 32 bytes lo, hi.
__device__ __forceinline__ Chunk shift_chunk(const Chunk& lo, const Chunk& hi, int shift) {
  uint32_t w[8];
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    w[k] = lo.word[k];
    w[k + 4] = hi.word[k];
  }
  if (shift & 8) {
#pragma unroll
    for (int k = 0; k < 6; ++k) w[k] = w[k + 2];
  }
  if (shift & 4) {
#pragma unroll
    for (int k = 0; k < 5; ++k) w[k] = w[k + 1];
  }
  Chunk out;
#pragma unroll
  for (int k = 0; k < 4; ++k) out.word[k] = __funnelshift_r(w[k], w[k + 1], (shift & 3) * 8);
  return out;
}

// 16 bytes at any address. `end` is the first byte past the data: the second aligned vector is
// read only where it holds data, and an aligned vector that holds data never leaves its page.
__device__ __forceinline__ Chunk load_unaligned_chunk(const char* address, const char* end) {
  const int shift = int(reinterpret_cast<uintptr_t>(address) & 15);
  const char* aligned = address - shift;
  const Chunk lo = load_shared_chunk(aligned);
  Chunk hi = {};
  if (shift != 0 && aligned + 16 < end) hi = load_shared_chunk(aligned + 16);
  return shift_chunk(lo, hi, shift);
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
      return load_unaligned_chunk(address, address + 16);
    }
  }
}

}  // namespace reduce_ops::cuda
