// Writing several neighbouring results of one thread.
#pragma once

#include "core/store.h"

namespace reduce_ops::cuda {

// convert(value[0 … count)) to out[index + i * stride]: by vectors where all of them are there,
// side by side and aligned. `convert` is one of visit_output()'s.
template <int kCount, class V, class Convert>
__device__ __forceinline__ void store_converted(const Convert& convert, void* out, int64_t index,
                                                int64_t stride, const V (&value)[kCount],
                                                int count) {
  using T = decltype(convert(value[0]));
  constexpr int kBytes = kCount * sizeof(T);
  using Vector = std::conditional_t<kBytes % 16 == 0, uint4,
                                    std::conditional_t<kBytes % 8 == 0, uint2, uint32_t>>;
  T* to = static_cast<T*>(out) + index;
  if constexpr (kCount > 1 && kBytes % sizeof(Vector) == 0) {
    if (count == kCount && stride == 1 && reinterpret_cast<uintptr_t>(to) % sizeof(Vector) == 0) {
      T converted[kCount];
#pragma unroll
      for (int i = 0; i < kCount; ++i) converted[i] = convert(value[i]);
      Vector vector[kBytes / sizeof(Vector)];
      memcpy(vector, converted, kBytes);
#pragma unroll
      for (int i = 0; i < int(kBytes / sizeof(Vector)); ++i)
        reinterpret_cast<Vector*>(to)[i] = vector[i];
      return;
    }
  }
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    if (i < count) to[i * stride] = convert(value[i]);
  }
}

// The same for an output of any dtype.
template <int kCount, class V>
__device__ __forceinline__ void store_values(void* out, int64_t index, int64_t stride, DType type,
                                             const V (&value)[kCount], int count) {
  visit_output(type, value[0],
               [&](auto convert) { store_converted(convert, out, index, stride, value, count); });
}

}  // namespace reduce_ops::cuda
