// Plain x86-64 or any other CPU.
#include "cpu/dot_kernels.h"
#include "cpu/simd_includes.h"

#define RO_SIMD_WIDTH 2
#define RO_SIMD_MASKS 0
#include "cpu/simd_dot.h"

namespace reduce_ops::cpu {

const DotKernels* dot_table_default() { return kDotTable; }

}  // namespace reduce_ops::cpu
