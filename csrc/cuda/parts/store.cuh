// Writing several neighbouring results of one thread.
#pragma once

#include "core/store.h"

namespace reduce_ops::cuda {

// value[0 … count) to out[index + i * stride], in one store where those are an aligned vector of a
// dtype that sums of floats usually have.
template <int kCount, class V>
__device__ __forceinline__ void store_values(void* out, int64_t index, int64_t stride, DType type,
                                             const V (&value)[kCount], int count) {
  if constexpr (kCount == 4 && std::is_same_v<V, double>) {
    const int size = size_of(type);
    char* address = static_cast<char*>(out) + index * size;
    if (count == 4 && stride == 1 && size <= 4 &&
        reinterpret_cast<uintptr_t>(address) % (4 * size) == 0) {
      if (type == DType::kFloat32) {
        *reinterpret_cast<float4*>(address) =
            make_float4(float(value[0]), float(value[1]), float(value[2]), float(value[3]));
        return;
      }
      uint32_t bits[4];
#pragma unroll
      for (int i = 0; i < 4; ++i)
        bits[i] = type == DType::kFloat16 ? to_float16(value[i]).bits : to_bfloat16(value[i]).bits;
      *reinterpret_cast<uint2*>(address) =
          make_uint2(bits[0] | bits[1] << 16, bits[2] | bits[3] << 16);
      return;
    }
  }
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    if (i < count) store_as(out, index + i * stride, type, value[i]);
  }
}

}  // namespace reduce_ops::cuda
