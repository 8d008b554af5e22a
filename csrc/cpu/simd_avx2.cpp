// AVX2 and FMA.
#include "cpu/simd_includes.h"

#if defined(__x86_64__)

#pragma GCC target("avx2,fma,f16c")

#define RO_SIMD_WIDTH 4
#define RO_SIMD_MASKS 0
#include "cpu/simd_kernels.h"

namespace reduce_ops::cpu {

const SimdTable& simd_table_avx2() { return kTable; }

}  // namespace reduce_ops::cpu

#endif
