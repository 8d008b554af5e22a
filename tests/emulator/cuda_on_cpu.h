// Compiles the CUDA engines as plain C++, to run them where there is no GPU: included before
// everything else. Kernels run one block after another, a fiber for each of its threads.
#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <tuple>
#include <type_traits>

#undef __global__
#undef __device__
#undef __shared__
#undef __grid_constant__
#undef __launch_bounds__
#undef __forceinline__
#undef __noinline__
#define __global__
#define __device__
#define __shared__
#define __grid_constant__
#define __launch_bounds__(...)
#define __forceinline__ inline
#define __noinline__
#define RO_MAX_REGISTERS(count, threads)

namespace emulator {

void barrier();
uint32_t shuffle_down(uint32_t value, unsigned distance, int width);
uint32_t shuffle_xor(uint32_t value, unsigned mask);
cudaError_t run(const cudaLaunchConfig_t& config, const std::function<void()>& thread);

}  // namespace emulator

extern uint3 threadIdx, blockIdx;
extern dim3 blockDim, gridDim;

inline void __syncthreads() { emulator::barrier(); }
inline uint32_t __shfl_down_sync(unsigned, uint32_t value, unsigned distance, int width) {
  return emulator::shuffle_down(value, distance, width);
}
inline uint32_t __shfl_xor_sync(unsigned, uint32_t value, unsigned mask) {
  return emulator::shuffle_xor(value, mask);
}
inline bool __any_sync(unsigned, bool value) {
  uint32_t any = value;
  for (unsigned mask = 1; mask < 32; mask *= 2) any |= emulator::shuffle_xor(any, mask);
  return any;
}
inline uint32_t atomicMin(uint32_t* address, uint32_t value) {
  const uint32_t before = *address;
  *address = before < value ? before : value;
  return before;
}
template <class T>
T __ldg(const T* address) {
  return *address;
}
inline uint32_t __funnelshift_r(uint32_t low, uint32_t high, uint32_t shift) {
  return uint32_t((uint64_t(high) << 32 | low) >> (shift & 31));
}
inline uint64_t __umul64hi(uint64_t a, uint64_t b) {
  using Wide = unsigned __int128;
  return uint64_t(Wide(a) * b >> 64);
}
using std::max;
using std::min;

inline cudaError_t cudaFuncSetAttribute(const void*, cudaFuncAttribute, int) { return cudaSuccess; }

template <class... Params, class... Args>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* config, void (*kernel)(Params...),
                               Args&&... args) {
  const std::tuple<std::decay_t<Params>...> copies(args...);
  return emulator::run(*config, [&] { std::apply(kernel, copies); });
}
