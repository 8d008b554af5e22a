// Reading global memory: plain vectors, vectors at any byte offset, elements at any stride.
#pragma once

#include "core/elements.h"
#include "cuda/parts/axes.cuh"
#include "plan/order.h"

namespace reduce_ops::cuda {

// How whole vectors are read. Past L1 is 2 … 5 us faster on an H200 up to some 256 MiB; longer
// streams are read faster through L1 (512 MiB: 4.19 against 4.03 TB/s).
constexpr int64_t kThroughL1Bytes = int64_t(384) << 20;

// 16 aligned bytes. The assembly keeps the choice of cache and a load from global memory.
template <bool kThroughL1>
__device__ __forceinline__ Chunk load_chunk(const char* aligned) {
  Chunk c;
#if !defined(__CUDA_ARCH__)
  memcpy(&c, aligned, sizeof(c));
#else
  if constexpr (kThroughL1) {
    asm("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];"
        : "=r"(c.word[0]), "=r"(c.word[1]), "=r"(c.word[2]), "=r"(c.word[3])
        : "l"(aligned));
  } else {
    asm("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
        : "=r"(c.word[0]), "=r"(c.word[1]), "=r"(c.word[2]), "=r"(c.word[3])
        : "l"(aligned));
  }
#endif
  return c;
}

// The same for 8 aligned bytes.
template <bool kThroughL1>
__device__ __forceinline__ uint2 load_half_chunk(const char* aligned) {
  uint2 v;
#if !defined(__CUDA_ARCH__)
  memcpy(&v, aligned, sizeof(v));
#else
  if constexpr (kThroughL1) {
    asm("ld.global.v2.u32 {%0, %1}, [%2];" : "=r"(v.x), "=r"(v.y) : "l"(aligned));
  } else {
    asm("ld.global.nc.L1::no_allocate.v2.u32 {%0, %1}, [%2];"
        : "=r"(v.x), "=r"(v.y)
        : "l"(aligned));
  }
#endif
  return v;
}

// kBytes (8 or 16) at any address, as the two aligned vectors that hold them; the second is its
// neighbour's first and comes from L1. Loading and shifting are apart so that several loads can be
// in flight. Only the first `bytes` (1 … kBytes) count: vectors that hold none of them are not
// read.
template <int kBytes>
struct Unaligned {
  static constexpr int kWords = kBytes / 4;
  uint32_t word[2 * kWords];
};

template <int kBytes>
__device__ __forceinline__ Unaligned<kBytes> load_unaligned(const char* address, int bytes) {
  using Vector = std::conditional_t<kBytes == 16, uint4, uint2>;
  constexpr intptr_t kMask = ~intptr_t(kBytes - 1);
  const intptr_t first = reinterpret_cast<intptr_t>(address);
  const Vector vector[2] = {__ldg(reinterpret_cast<const Vector*>(first & kMask)),
                            __ldg(reinterpret_cast<const Vector*>((first + bytes - 1) & kMask))};
  Unaligned<kBytes> raw;
  memcpy(raw.word, vector, sizeof(raw));
  return raw;
}

// kAligned4: the address is a multiple of 4.
template <bool kAligned4, int kBytes>
__device__ __forceinline__ Chunk shifted(const Unaligned<kBytes>& raw, const char* address) {
  constexpr int kWords = kBytes / 4;
  const int offset = int(reinterpret_cast<intptr_t>(address));
  uint32_t word[2 * kWords];
#pragma unroll
  for (int k = 0; k < 2 * kWords; ++k) word[k] = raw.word[k];
#pragma unroll
  for (int step = kWords / 2; step > 0; step /= 2) {
    // By half of the vector, by a quarter, …, down to whole words,
#pragma unroll
    for (int k = 0; k + step < 2 * kWords; ++k) {
      if (offset & (4 * step)) word[k] = word[k + step];
    }
  }
  // then by bytes.
  Chunk out = {};
#pragma unroll
  for (int k = 0; k < kWords; ++k)
    out.word[k] = kAligned4 ? word[k] : __funnelshift_r(word[k], word[k + 1], (offset & 3) * 8);
  return out;
}

// The same where the address's words within its vector are known when compiled.
template <bool kAligned4, int kWords, int kBytes>
__device__ __forceinline__ Chunk shifted_by(const Unaligned<kBytes>& raw, const char* address) {
  const int bytes = int(reinterpret_cast<intptr_t>(address)) & 3;
  Chunk out = {};
#pragma unroll
  for (int k = 0; k < kBytes / 4; ++k) {
    const uint32_t low = raw.word[k + kWords];
    out.word[k] = kAligned4 ? low : __funnelshift_r(low, raw.word[k + kWords + 1], bytes * 8);
  }
  return out;
}

// Starts a copy of 16 aligned bytes to shared memory, and waits for those a thread has started.
__device__ __forceinline__ void copy_chunk(char* shared, const char* aligned) {
#if !defined(__CUDA_ARCH__)
  memcpy(shared, aligned, kChunkBytes);
#else
  asm volatile(
      "cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(uint32_t(__cvta_generic_to_shared(shared))),
      "l"(aligned)
      : "memory");
#endif
}
__device__ __forceinline__ void wait_for_copies() {
#if defined(__CUDA_ARCH__)
  asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}

// One element of 1 … 8 bytes into the chunk's position e. A complex number of 8 bytes is only
// aligned as its halves are.
template <class T>
__device__ __forceinline__ void place(Chunk& chunk, int e, const char* address) {
  if constexpr (sizeof(T) < 4) {
    constexpr int kPerWord = 4 / sizeof(T);
    const uint32_t value = __ldg(reinterpret_cast<const T*>(address));
    chunk.word[e / kPerWord] |= value << (e % kPerWord * 8 * int(sizeof(T)));
  } else {
    constexpr int kWords = sizeof(T) / 4;
#pragma unroll
    for (int w = 0; w < kWords; ++w)
      chunk.word[kWords * e + w] = __ldg(reinterpret_cast<const uint32_t*>(address) + w);
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
      return shifted<false>(load_unaligned<kChunkBytes>(address, kChunkBytes), address);
    }
  }
}

}  // namespace reduce_ops::cuda
