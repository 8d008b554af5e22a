// Kernels::columns and Kernels::merge.
#pragma once

#include "cpu/simd_accumulators.h"

namespace reduce_ops::cpu {
namespace {

// One block of columns: kVectors wide, kRows rows deep.
template <class T, int kRows, int kVectors>
RO_INLINE void sum_block(const char* const* row, int64_t c, bool first, Word* acc, int64_t plane) {
  Accumulator<T> a[kVectors];
  static_for<kVectors>([&](auto v) RO_MEMBER {
    a[v] = first ? Accumulator<T>::zero() : Accumulator<T>::load(acc + c + v * kWidth, plane);
  });
  static_for<kRows>([&](auto r) RO_MEMBER {
    const char* p = row[r] + c * int64_t(sizeof(T));
    static_for<kVectors>([&](auto v) RO_MEMBER { a[v].add(load<T>(p + v * Decoder<T>::kBytes)); });
  });
  static_for<kVectors>([&](auto v) RO_MEMBER { a[v].store(acc + c + v * kWidth, plane); });
}

// Reads a few rows side by side, so that each stays a sequential stream and the accumulators are
// loaded and stored once for all of them.
template <class T, int kRows>
RO_INLINE void sum_few_rows(const char* const* rows, int64_t width, bool first, Word* acc,
                            int64_t plane) {
  constexpr int kVectors = Decoder<T>::kBytes < 64 ? 2 : 1;
  const char* row[kRows];
  static_for<kRows>([&](auto r) RO_MEMBER { row[r] = rows[r]; });
  int64_t c = 0;
  for (; c + kVectors * kWidth <= width; c += kVectors * kWidth)
    sum_block<T, kRows, kVectors>(row, c, first, acc, plane);
  for (; c + kWidth <= width; c += kWidth) sum_block<T, kRows, 1>(row, c, first, acc, plane);
  if (c == width) return;
  Accumulator<T> a = first ? Accumulator<T>::zero() : Accumulator<T>::load(acc + c, plane);
  static_for<kRows>(
      [&](auto r) RO_MEMBER { a.add(load<T>(row[r] + c * int64_t(sizeof(T)), int(width - c))); });
  a.store(acc + c, plane);
}

template <class T>
void sum_columns(const char* const* row, int rows, int64_t width, bool first, Word* acc,
                 int64_t plane) {
  for (; rows >= 8; rows -= 8, row += 8, first = false)
    sum_few_rows<T, 8>(row, width, first, acc, plane);
  if (rows & 4) {
    sum_few_rows<T, 4>(row, width, first, acc, plane);
    row += 4;
    first = false;
  }
  for (rows &= 3; rows > 0; --rows, ++row, first = false)
    sum_few_rows<T, 1>(row, width, first, acc, plane);
}

template <class T>
void merge_columns(Word* a, const Word* b, int64_t width, int64_t plane) {
  for (int64_t c = 0; c < width; c += kWidth) {
    Accumulator<T> sum = Accumulator<T>::load(a + c, plane);
    sum.merge(Accumulator<T>::load(b + c, plane));
    sum.store(a + c, plane);
  }
}

}  // namespace
}  // namespace reduce_ops::cpu
