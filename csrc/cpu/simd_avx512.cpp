// AVX-512.
#include "cpu/simd_includes.h"

#if defined(__x86_64__)

#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c")

#define RO_SIMD_WIDTH 4
#define RO_SIMD_MASKS 1
#include "cpu/simd_kernels.h"

namespace reduce_ops::cpu {

const SimdTable& simd_table_avx512() { return kTable; }

}  // namespace reduce_ops::cpu

#endif
