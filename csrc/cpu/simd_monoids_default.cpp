// Plain x86-64 or any other CPU.
#include "cpu/monoid_kernels.h"
#include "cpu/simd_includes.h"

#define RO_SIMD_WIDTH 2
#define RO_SIMD_MASKS 0
#include "cpu/simd_monoid_table.h"

namespace reduce_ops::cpu {

const MonoidTable& monoid_table_default() { return kMonoidTable; }

}  // namespace reduce_ops::cpu
