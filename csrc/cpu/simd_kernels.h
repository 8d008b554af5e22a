// The table of kernels of a translation unit.
#pragma once

#include "cpu/simd_columns.h"
#include "cpu/simd_rows_bytes.h"
#include "cpu/simd_rows_double.h"
#include "cpu/simd_rows_half.h"

namespace reduce_ops::cpu {
namespace {

// Rows of kCount <= 8 components: lanes without vectors.
template <class T, int kCount>
RO_INLINE void sum_short_rows(const char* x, int64_t pitch, int64_t count, Word* out,
                              int64_t plane) {
  using Lane = typename AccumulatorOf<T, 1>::type;
  for (int64_t r = 0; r < count; ++r) {
    Lane lane[8];
    static_for<kCount>([&](auto c) RO_MEMBER {
      // A bool's byte may be any: it is true unless it is 0.
      std::conditional_t<std::is_same_v<T, bool>, uint8_t, T> stored;
      memcpy(&stored, x + r * pitch + c * sizeof(T), sizeof(T));
      const T value = T(stored);
      lane[c] = Lane::zero();
      lane[c].add(typename Lane::vector_t(widen(value)));
    });
    static_for<3>([&](auto step) RO_MEMBER {
      constexpr int kHalf = 4 >> step;
      static_for<kHalf>([&](auto c) RO_MEMBER {
        if constexpr (c + kHalf < kCount) lane[c].merge(lane[c + kHalf]);
      });
    });
    lane[0].store(out + r, plane);
  }
}

template <class T>
void sum_rows(const char* x, int64_t pitch, int64_t count, int64_t n, int components, Word* out,
              int64_t plane) {
  if (components == 1) {
    switch (n) {
      case 1:
        return sum_short_rows<T, 1>(x, pitch, count, out, plane);
      case 2:
        return sum_short_rows<T, 2>(x, pitch, count, out, plane);
      case 3:
        return sum_short_rows<T, 3>(x, pitch, count, out, plane);
      case 4:
        return sum_short_rows<T, 4>(x, pitch, count, out, plane);
      case 5:
        return sum_short_rows<T, 5>(x, pitch, count, out, plane);
      case 6:
        return sum_short_rows<T, 6>(x, pitch, count, out, plane);
      case 7:
        return sum_short_rows<T, 7>(x, pitch, count, out, plane);
      case 8:
        return sum_short_rows<T, 8>(x, pitch, count, out, plane);
    }
  }
  for (int64_t r = 0; r < count; ++r)
    sum_row<T>(x + r * pitch, n, components, out + r * components, plane);
}

uint64_t read_all(const char* data, int64_t bytes) {
  constexpr int kVectors = 8;
  constexpr int kBytes = int(sizeof(Ints));
  Ints seen[kVectors];
  static_for<kVectors>([&](auto v) RO_MEMBER { seen[v] = Ints{}; });
  for (; bytes >= kVectors * kBytes; bytes -= kVectors * kBytes, data += kVectors * kBytes)
    static_for<kVectors>([&](auto v)
                             RO_MEMBER { seen[v] |= (Ints)load_full<kBytes>(data + v * kBytes); });
  uint64_t all = 0;
  for (; bytes > 0; --bytes, ++data) all |= uint8_t(*data);
  static_for<kVectors>([&](auto v) RO_MEMBER {
    for (int l = 0; l < kWidth; ++l) all |= seen[v][l];
  });
  return all;
}

template <class T>
constexpr Kernels kernels_of() {
  return {sum_rows<T>,
          sum_columns<T>,
          sum_few_rows<T>,
          merge_columns<T>,
          finish_columns<T>,
          sizeof(T),
          std::is_same_v<T, double> ? 2 : 1};
}

// In the order of Kind.
constexpr SimdTable kTable = {
    {kernels_of<float>(), kernels_of<Float16>(), kernels_of<BFloat16>(), kernels_of<double>(),
     kernels_of<int64_t>(), kernels_of<int32_t>(), kernels_of<uint32_t>(), kernels_of<int16_t>(),
     kernels_of<uint16_t>(), kernels_of<int8_t>(), kernels_of<uint8_t>(), kernels_of<bool>()},
    read_all};

}  // namespace
}  // namespace reduce_ops::cpu
