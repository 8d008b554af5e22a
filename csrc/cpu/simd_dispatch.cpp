#include <string>

#include "cpu/monoid_kernels.h"

// As ATen/Version.h declares it; that header takes twenty seconds to compile. Honours the
// environment variable ATEN_CPU_CAPABILITY.
namespace at {
std::string get_cpu_capability();
}

namespace reduce_ops::cpu {

const SimdTable& simd_table() {
  static const SimdTable& table = []() -> const SimdTable& {
#if defined(__x86_64__)
    const std::string capability = at::get_cpu_capability();
    if (capability == "AVX512") return simd_table_avx512();
    if (capability == "AVX2") return simd_table_avx2();
#endif
    return simd_table_default();
  }();
  return table;
}

const MonoidTable& monoid_table() {
  static const MonoidTable& table = []() -> const MonoidTable& {
#if defined(__x86_64__)
    const std::string capability = at::get_cpu_capability();
    if (capability == "AVX512" || capability == "AVX2") return monoid_table_avx2();
#endif
    return monoid_table_default();
  }();
  return table;
}

}  // namespace reduce_ops::cpu
