// Kernels::columns and Kernels::merge.
#pragma once

#include "cpu/simd_accumulators.h"

namespace reduce_ops::cpu {
namespace {

// Vectors side by side: enough that their additions hide each other's latency, few enough for 16
// registers.
template <class T>
constexpr int kBlockVectors = std::is_same_v<T, double> ? 4 : 8;

// How a group of rows begins and ends: see Kernels::columns.
struct Ends {
  bool fresh;
  Word* acc;
  Word* into;  // null but for the last group
  int64_t plane;
};

template <class T, int kVectors>
RO_INLINE void begin_block(Accumulator<T>* a, const Ends& ends, int64_t c) {
  static_for<kVectors>([&](auto v) RO_MEMBER {
    a[v] = ends.fresh ? Accumulator<T>::zero()
                      : Accumulator<T>::load(ends.acc + c + v * kWidth, ends.plane);
  });
}
template <class T, int kVectors>
RO_INLINE void end_block(const Accumulator<T>* a, const Ends& ends, int64_t c) {
  static_for<kVectors>([&](auto v) RO_MEMBER {
    const int64_t at = c + v * kWidth;
    if (ends.into) {
      Accumulator<T> sum = Accumulator<T>::load(ends.into + at, ends.plane);
      sum.merge(a[v]);
      sum.store(ends.into + at, ends.plane);
    } else {
      a[v].store(ends.acc + at, ends.plane);
    }
  });
}

// kVectors vectors of columns from column c on, whose accumulators stay in registers.
template <class T, int kRows, int kVectors>
RO_INLINE void sum_block(const char* const* row, int64_t c, int64_t next, const Ends& ends) {
  Accumulator<T> a[kVectors];
  begin_block<T, kVectors>(a, ends, c);
  static_for<kRows>([&](auto r) RO_MEMBER {
    const char* p = row[r] + c * int64_t(sizeof(T));
    if (next) {
      static_for<(kVectors * Decoder<T>::kBytes + 63) / 64>(
          [&](auto line) RO_MEMBER { __builtin_prefetch(p + next + line * 64); });
    }
    static_for<kVectors>([&](auto v) RO_MEMBER { a[v].add(load<T>(p + v * Decoder<T>::kBytes)); });
    asm("" ::: "memory");  // else the compiler reads down the columns, which memory likes less
  });
  end_block<T, kVectors>(a, ends, c);
}

// The last count < kWidth columns.
template <class T, int kRows>
RO_INLINE void sum_rest(const char* const* row, int64_t c, int count, const Ends& ends) {
  Accumulator<T> a[1];
  begin_block<T, 1>(a, ends, c);
  static_for<kRows>([&](auto r)
                        RO_MEMBER { a[0].add(load<T>(row[r] + c * int64_t(sizeof(T)), count)); });
  end_block<T, 1>(a, ends, c);
}

// 16-bit floats pass through a buffer of floats (see kStages), a block of columns ahead. Returns
// how many columns it did.
template <class T, int kRows>
RO_INLINE int64_t sum_staged(const char* const* row, int64_t width, const Ends& ends) {
  constexpr int kColumns = 32;
  constexpr int kVectors = kColumns / kWidth;
  const int64_t blocks = width / kColumns;
  if (!kStages || kRows < 8 || blocks == 0) return 0;
  alignas(32) float buffer[2][kRows * kColumns];
  const auto stage_row = [](const char* p, float* to) RO_MEMBER {
    stage<T>(p, to);
    stage<T>(p + 32, to + 16);
  };
  static_for<kRows>([&](auto r) RO_MEMBER { stage_row(row[r], buffer[0] + r * kColumns); });
  for (int64_t b = 0; b < blocks; ++b) {
    Accumulator<T> a[kVectors];
    begin_block<T, kVectors>(a, ends, b * kColumns);
    const float* from = buffer[b % 2];
    float* to = buffer[(b + 1) % 2];
    const int64_t next = std::min(b + 1, blocks - 1) * kColumns * 2;
    static_for<kRows>([&](auto r) RO_MEMBER {
      stage_row(row[r] + next, to + r * kColumns);
      static_for<kVectors>([&](auto v) RO_MEMBER { a[v].add(staged<T>(from + r * kColumns, v)); });
    });
    end_block<T, kVectors>(a, ends, b * kColumns);
  }
  return blocks * kColumns;
}

// Reads a few rows side by side, so that each stays a sequential stream and the accumulators are
// loaded and stored once for all of them. More rows, or fewer columns, at a time read slower.
template <class T, int kRows>
RO_INLINE void sum_group(const char* const* rows, int64_t width, const Ends& ends) {
  constexpr int kBlock = kBlockVectors<T> * kWidth;
  const char* row[kRows];
  static_for<kRows>([&](auto r) RO_MEMBER { row[r] = rows[r]; });
  int64_t c = 0;
  if constexpr (std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>)
    c = sum_staged<T, kRows>(row, width, ends);
  // Short rows are no streams to the processor: what comes next is asked for.
  constexpr int64_t kLongestShort = 2048;
  const int64_t step = kRows > 1 ? row[kRows - 1] - row[kRows - 2] : 0;
  if (step > 0 && step <= kLongestShort) {
    for (; c + kBlock <= width; c += kBlock)
      sum_block<T, kRows, kBlockVectors<T>>(row, c, kRows * step, ends);
  }
  for (; c + kBlock <= width; c += kBlock) sum_block<T, kRows, kBlockVectors<T>>(row, c, 0, ends);
  for (; c + kWidth <= width; c += kWidth) sum_block<T, kRows, 1>(row, c, 0, ends);
  if (c < width) sum_rest<T, kRows>(row, c, int(width - c), ends);
}

template <class T>
void sum_columns(const char* const* row, int rows, int64_t width, bool fresh, Word* acc, Word* into,
                 int64_t plane) {
  while (rows > 0) {
    const int group = rows >= 8 ? 8 : rows >= 4 ? 4 : 1;
    const Ends ends = {fresh, acc, rows == group ? into : nullptr, plane};
    if (group == 8)
      sum_group<T, 8>(row, width, ends);
    else if (group == 4)
      sum_group<T, 4>(row, width, ends);
    else
      sum_group<T, 1>(row, width, ends);
    row += group;
    rows -= group;
    fresh = false;
  }
}

// The lanes kFirst, kFirst + kStep, … of a block of columns, merged; load(row, v) returns vector v.
template <class T, int kVectors, int kFirst, int kStep, class Load>
RO_INLINE void sum_lanes(int rows, Accumulator<T>* a, Load&& load) {
  if constexpr (kStep == kCpuColumnLanes) {
    static_for<kVectors>([&](auto v) RO_MEMBER { a[v] = Accumulator<T>::zero(); });
    _Pragma("GCC unroll 1") for (int r = kFirst; r < rows; r += kStep)
        static_for<kVectors>([&](auto v) RO_MEMBER { a[v].add(load(r, v)); });
  } else {
    sum_lanes<T, kVectors, kFirst, 2 * kStep>(rows, a, load);
    if (kFirst + kStep >= rows) return;
    Accumulator<T> b[kVectors];
    sum_lanes<T, kVectors, kFirst + kStep, 2 * kStep>(rows, b, load);
    static_for<kVectors>([&](auto v) RO_MEMBER { a[v].merge(b[v]); });
  }
}

template <class T>
void sum_few_rows(const char* const* row, int rows, int64_t width, Word* acc, int64_t plane) {
  constexpr int kVectors = kBlockVectors<T> / 2;  // and as many again in each step of the tree
  constexpr int kBytes = Decoder<T>::kBytes;
  const auto block = [&](int64_t c, auto vectors, auto&& load) RO_MEMBER {
    Accumulator<T> a[vectors];
    sum_lanes<T, vectors, 0, 1>(rows, a, load);
    static_for<vectors>([&](auto v) RO_MEMBER { a[v].store(acc + c + v * kWidth, plane); });
  };
  int64_t c = 0;
  const auto whole = [&](int r, int v) RO_MEMBER {
    return load<T>(row[r] + c * int64_t(sizeof(T)) + v * kBytes);
  };
  for (; c + kVectors * kWidth <= width; c += kVectors * kWidth)
    block(c, std::integral_constant<int, kVectors>{}, whole);
  for (; c + kWidth <= width; c += kWidth) block(c, std::integral_constant<int, 1>{}, whole);
  if (c < width)
    block(c, std::integral_constant<int, 1>{}, [&](int r, int) RO_MEMBER {
      return load<T>(row[r] + c * int64_t(sizeof(T)), int(width - c));
    });
}

template <class T>
void finish_columns(Word* acc, int64_t width, int64_t plane) {
  if constexpr (std::is_floating_point_v<decltype(widen(T{}))>) {
    for (int64_t c = 0; c < width; c += kWidth) {
      const Doubles value = Accumulator<T>::load(acc + c, plane).value();
      memcpy(acc + c, &value, sizeof(value));
    }
  }
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
