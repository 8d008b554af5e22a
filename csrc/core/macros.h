// Marks functions shared by the CPU and the CUDA kernels.
#pragma once

#if defined(__CUDACC__)
#define RO_HD __host__ __device__ __forceinline__
#define RO_UNROLL _Pragma("unroll")
#define RO_NO_UNROLL _Pragma("unroll 1")
#else
#define RO_HD inline __attribute__((always_inline))
#define RO_UNROLL
#define RO_NO_UNROLL
#endif
