// AVX2 and FMA. CPUs with AVX-512 take these too.
#include "cpu/dot_kernels.h"
#include "cpu/simd_includes.h"

#if defined(__x86_64__)

#pragma GCC target("avx2,fma,f16c")

#define RO_SIMD_WIDTH 4
#define RO_SIMD_MASKS 0
#include "cpu/simd_dot.h"

namespace reduce_ops::cpu {

const DotKernels* dot_table_avx2() { return kDotTable; }

}  // namespace reduce_ops::cpu

#endif
