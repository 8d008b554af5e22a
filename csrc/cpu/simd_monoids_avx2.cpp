// AVX2 and FMA. CPUs with AVX-512 take these too: wider masks would gain nothing here.
#include "cpu/monoid_kernels.h"
#include "cpu/simd_includes.h"

#if defined(__x86_64__)

#pragma GCC target("avx2,fma,f16c")

#define RO_SIMD_WIDTH 4
#define RO_SIMD_MASKS 0
#include "cpu/simd_monoid_table.h"

namespace reduce_ops::cpu {

const MonoidTable& monoid_table_avx2() { return kMonoidTable; }

}  // namespace reduce_ops::cpu

#endif
