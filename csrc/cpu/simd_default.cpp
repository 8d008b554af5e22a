// Plain x86-64 or any other CPU.
#include "cpu/simd_includes.h"

#define RO_SIMD_WIDTH 2
#define RO_SIMD_MASKS 0
#include "cpu/simd_kernels.h"

namespace reduce_ops::cpu {

const SimdTable& simd_table_default() { return kTable; }

}  // namespace reduce_ops::cpu
