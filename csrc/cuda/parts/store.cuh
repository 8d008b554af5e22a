// Writing several neighbouring results of one thread.
#pragma once

#include "core/store.h"
#include "cuda/parts/axes.cuh"

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

// The index of the first element that equals `value`, from `index` on, where there is one.
template <class A>
static __device__ __noinline__ int64_t first_equal(const Epilogue& e, const AxesMap& reduced,
                                                   int64_t in, A value, int64_t index) {
  const A wanted = finds_least(e.op) ? flipped(value) : value;
  int64_t found = index;
  visit_dtype(e.in_type, [&](auto* tag) {
    using T = std::remove_pointer_t<decltype(tag)>;
    if constexpr (std::is_integral_v<T> == std::is_same_v<A, int64_t> &&
                  !std::is_same_v<decltype(widen(T{})), Complex<double>>) {
      constexpr int kTogether = 4;
      bool searching = true;
      for (int64_t i = index; searching && i < e.length; i += kTogether) {
        A x[kTogether];
#pragma unroll
        for (int k = 0; k < kTogether; ++k) {
          const int64_t offset = in + reduced.locate(min(i + k, e.length - 1)).in;
          x[k] = A(widen(read_element<T>(e.in + offset * int64_t(sizeof(T)))));
        }
#pragma unroll
        for (int k = kTogether - 1; k >= 0; --k) {
          if (x[k] == wanted || (is_nan(x[k]) && is_nan(wanted))) {
            found = i + k;
            searching = false;
          }
        }
      }
    }
  });
  return found;
}

// store_result() once indices are exact.
template <class Monoid>
__device__ __forceinline__ void store_final(const Epilogue& e, const AxesMap& /*reduced*/,
                                            const Offsets& at, const typename Monoid::acc_t& acc,
                                            Monoid) {
  store_result<Monoid>(e, at.in, at.out, acc);
}
template <class A>
__device__ __forceinline__ void store_final(const Epilogue& e, const AxesMap& reduced,
                                            const Offsets& at, typename Best<A>::acc_t acc,
                                            Best<A>) {
  acc.index = first_equal<A>(e, reduced, at.in, acc.value, acc.index);
  store_result<Best<A>>(e, at.in, at.out, acc);
}

template <class V>
constexpr bool kIsTwo = false;
template <class A, class B>
constexpr bool kIsTwo<Two<A, B>> = true;

// Finalizes and stores a thread's results: `count` neighbours, `stride` apart from each other.
template <class Monoid, int kCount>
__device__ __forceinline__ void store_results(const Epilogue& e, const AxesMap& reduced,
                                              const Offsets& at, const Offsets& stride,
                                              const typename Monoid::acc_t (&acc)[kCount],
                                              int count) {
  using value_t = decltype(Monoid::finalize(acc[0], e, {}));
  if constexpr (kIsTwo<value_t>) {
#pragma unroll
    for (int c = 0; c < kCount; ++c) {
      const Offsets here = {at.in + c * stride.in, at.out + c * stride.out};
      if (c < count) store_final(e, reduced, here, acc[c], Monoid{});
    }
  } else {
    value_t value[kCount];
#pragma unroll
    for (int c = 0; c < kCount; ++c) value[c] = Monoid::finalize(acc[c], e, {});
    visit_output(e.out_type, value[0], [&](auto convert) {
      store_converted(convert, e.out, at.out, stride.out, value, count);
    });
  }
}

}  // namespace reduce_ops::cuda
