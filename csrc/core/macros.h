// Marks functions shared by the CPU and the CUDA kernels.
#pragma once

#if defined(__CUDACC__)
#define RO_HD __host__ __device__ __forceinline__
#define RO_UNROLL _Pragma("unroll")
#define RO_NO_UNROLL _Pragma("unroll 1")
// Registers a thread of a kernel may use, and threads of its largest block, by which alone older
// compilers bound them.
#if __CUDACC_VER_MAJOR__ * 100 + __CUDACC_VER_MINOR__ >= 1204
#define RO_MAX_REGISTERS(count, threads) __maxnreg__(count)
#else
#define RO_MAX_REGISTERS(count, threads) __launch_bounds__(threads)
#endif
#else
#define RO_HD inline __attribute__((always_inline))
#define RO_UNROLL
#define RO_NO_UNROLL
#endif
