// Included by dot_avx2.cpp and dot_default.cpp only, after every other header and after the target
// pragma.
#pragma once

#include "cpu/simd_vectors.h"

namespace reduce_ops::cpu {
namespace {

// Lane i with lane i + count / 2 and so on, down to the first.
template <class A>
RO_INLINE A merge_lanes(A* lanes, int count) {
  for (int half = count / 2; half > 0; half /= 2) {
    for (int i = 0; i < half; ++i) lanes[i] = Sum<A>::combine(lanes[i], lanes[i + half]);
  }
  return lanes[0];
}

// Any dtype, one element after the other.
template <class T, class A, int kLanes>
void row_of_any(const char* x, const char* y, int64_t count, double sign, void* out) {
  const Products<T, A> products = {sign};
  constexpr int64_t kBytes = sizeof(T);
  A lanes[kLanes] = {};
  for (; count >= kLanes; count -= kLanes, x += kLanes * kBytes, y += kLanes * kBytes) {
    for (int i = 0; i < kLanes; ++i)
      lanes[i] = add(lanes[i], products.at(x + i * kBytes, y + i * kBytes));
  }
  for (int i = 0; i < count; ++i)
    lanes[i] = add(lanes[i], products.at(x + i * kBytes, y + i * kBytes));
  *static_cast<A*>(out) = merge_lanes(lanes, kLanes);
}

RO_INLINE double sum_of(Vector<double, 2> v) { return v[0] + v[1]; }
#if RO_SIMD_WIDTH == 4
RO_INLINE double sum_of(Vector<double, 4> v) { return sum_of(low<double>(v) + high<double>(v)); }
#endif

// Dtypes whose products float64 holds exactly.
template <class T, int kVectors>
RO_INLINE double sum_of_row(const char* x, const char* y, int64_t count) {
  constexpr int kLanes = kVectors * kWidth, kBytes = kWidth * sizeof(T);
  Doubles acc[kVectors] = {};
  for (; count >= kLanes; count -= kLanes, x += kVectors * kBytes, y += kVectors * kBytes) {
    static_for<kVectors>([&](auto v) RO_MEMBER {
      acc[v] = fused(acc[v], load<T>(x + v * kBytes), load<T>(y + v * kBytes));
    });
  }
  static_for<kVectors>([&](auto v) RO_MEMBER {
    const int64_t rest = count - v * kWidth;
    if (rest >= kWidth)
      acc[v] = fused(acc[v], load<T>(x + v * kBytes), load<T>(y + v * kBytes));
    else if (rest > 0)
      acc[v] =
          fused(acc[v], load<T>(x + v * kBytes, int(rest)), load<T>(y + v * kBytes, int(rest)));
  });
  _Pragma("GCC unroll 8") for (int half = kVectors / 2; half > 0; half /= 2) {
    _Pragma("GCC unroll 16") for (int v = 0; v < half; ++v) acc[v] += acc[v + half];
  }
  return sum_of(acc[0]);
}

// Lanes that nothing reaches are 0 and may be left out.
template <class T>
void row_of_floats(const char* x, const char* y, int64_t count, double /*sign*/, void* out) {
  *static_cast<double*>(out) = count <= 2 * kWidth   ? sum_of_row<T, 2>(x, y, count)
                               : count <= 4 * kWidth ? sum_of_row<T, 4>(x, y, count)
                                                     : sum_of_row<T, 32 / kWidth>(x, y, count);
}

constexpr int kPairLanes = 16;

#if RO_SIMD_WIDTH == 4
void row_of_doubles(const char* x, const char* y, int64_t count, double /*sign*/, void* out) {
  constexpr int kVectors = kPairLanes / kWidth, kBytes = kWidth * sizeof(double);
  Doubles hi[kVectors] = {}, lo[kVectors] = {};
  const auto step = [&](int v, Doubles a, Doubles b) RO_MEMBER {
    const Doubles p = a * b;
    const Doubles rest = (Doubles)_mm256_fmsub_pd((__m256d)a, (__m256d)b, (__m256d)p);
    const Doubles s = hi[v] + p;
    const Doubles t = s - hi[v];
    const Doubles error = (hi[v] - (s - t)) + (p - t);
    hi[v] = s;
    lo[v] = (lo[v] + rest) + error;
  };
  for (; count >= kPairLanes; count -= kPairLanes, x += kVectors * kBytes, y += kVectors * kBytes) {
    static_for<kVectors>([&](auto v) RO_MEMBER {
      step(v, load<double>(x + v * kBytes), load<double>(y + v * kBytes));
    });
  }
  static_for<kVectors>([&](auto v) RO_MEMBER {
    const int64_t rest = count - v * kWidth;
    if (rest >= kWidth)
      step(v, load<double>(x + v * kBytes), load<double>(y + v * kBytes));
    else if (rest > 0)
      step(v, load<double>(x + v * kBytes, int(rest)), load<double>(y + v * kBytes, int(rest)));
  });
  DoublePair lanes[kPairLanes];
  for (int i = 0; i < kPairLanes; ++i)
    lanes[i] = {hi[i / kWidth][i % kWidth], lo[i / kWidth][i % kWidth]};
  *static_cast<DoublePair*>(out) = merge_lanes(lanes, kPairLanes);
}
#else
void row_of_doubles(const char* x, const char* y, int64_t count, double sign, void* out) {
  row_of_any<double, DoublePair, kPairLanes>(x, y, count, sign, out);
}
#endif

// Steps of 0 or one element are compiled on their own.
template <class T, class A, int64_t kFirst, int64_t kSecond>
void strip(const char* x, const char* y, const DotRows& rows, const DotSteps& steps, int64_t width,
           double sign, A* out) {
  const Products<T, A> products = {sign};
  const int64_t first = kFirst < 0 ? steps.first : kFirst;
  const int64_t second = kSecond < 0 ? steps.second : kSecond;
  A lanes[kCpuColumnLanes][kDotColumns];
  const int used = int(std::min<int64_t>(rows.count, kCpuColumnLanes));
  for (int i = 0; i < used; ++i) {
    for (int64_t c = 0; c < width; ++c) lanes[i][c] = A{};
  }
  for (int64_t r = 0; r < rows.count; ++r) {
    A* lane = lanes[r % kCpuColumnLanes];
    const char* a = x + rows.first[r];
    const char* b = y + rows.second[r];
    for (int64_t c = 0; c < width; ++c)
      lane[c] = add(lane[c], products.at(a + c * first, b + c * second));
  }
  for (int half = kCpuColumnLanes / 2; half > 0; half /= 2) {
    for (int i = 0; i + half < used && i < half; ++i) {  // the others are 0
      for (int64_t c = 0; c < width; ++c)
        lanes[i][c] = Sum<A>::combine(lanes[i][c], lanes[i + half][c]);
    }
  }
  for (int64_t c = 0; c < width; ++c) out[c] = lanes[0][c];
}

// Steps of 0 or one element, of dtypes whose products float64 holds exactly.
template <class T, bool kFirstMoves, bool kSecondMoves>
void strip_of_floats(const char* x, const char* y, const DotRows& rows, int64_t width,
                     double* out) {
  constexpr int kBytes = kWidth * sizeof(T), kVectors = kDotColumns / kWidth;
  const int used = int(std::min<int64_t>(rows.count, kCpuColumnLanes));
  const int full = int(width / kWidth), rest = int(width % kWidth), count = full + (rest > 0);
  Doubles lanes[kCpuColumnLanes][kVectors];
  for (int i = 0; i < used; ++i) {
    for (int v = 0; v < count; ++v) lanes[i][v] = Doubles{};
  }
  for (int64_t r = 0; r < rows.count; ++r) {
    Doubles* lane = lanes[r % kCpuColumnLanes];
    const char* a = x + rows.first[r];
    const char* b = y + rows.second[r];
    Doubles same = {};
    if constexpr (!kFirstMoves || !kSecondMoves)
      same += widen(read_element<T>(kFirstMoves ? b : a));
    for (int v = 0; v < full; ++v) {
      const Doubles first = kFirstMoves ? load<T>(a + v * kBytes) : same;
      const Doubles second = kSecondMoves ? load<T>(b + v * kBytes) : same;
      lane[v] = fused(lane[v], first, second);
    }
    if (rest) {
      const Doubles first = kFirstMoves ? load<T>(a + full * kBytes, rest) : same;
      const Doubles second = kSecondMoves ? load<T>(b + full * kBytes, rest) : same;
      lane[full] = fused(lane[full], first, second);
    }
  }
  for (int half = kCpuColumnLanes / 2; half > 0; half /= 2) {
    for (int i = 0; i + half < used && i < half; ++i) {  // the others are 0
      for (int v = 0; v < count; ++v) lanes[i][v] += lanes[i + half][v];
    }
  }
  memcpy(out, lanes[0], width * sizeof(double));
}

template <class T, class A>
void lone_column(const char* x, const char* y, const DotRows& rows, double sign, A* out) {
  const Products<T, A> products = {sign};
  A lanes[kCpuColumnLanes] = {};
  int64_t r = 0;
  for (; r + kCpuColumnLanes <= rows.count; r += kCpuColumnLanes) {
    for (int i = 0; i < kCpuColumnLanes; ++i)
      lanes[i] = add(lanes[i], products.at(x + rows.first[r + i], y + rows.second[r + i]));
  }
  for (int i = 0; r < rows.count; ++r, ++i)
    lanes[i] = add(lanes[i], products.at(x + rows.first[r], y + rows.second[r]));
  *out = merge_lanes(lanes, kCpuColumnLanes);
}

template <class T, class A>
void columns_of(const char* x, const char* y, const DotRows& rows, const DotSteps& steps,
                int64_t width, double sign, void* out) {
  constexpr int64_t kBytes = sizeof(T);
  A* to = static_cast<A*>(out);
  if (width == 1) return lone_column<T>(x, y, rows, sign, to);
  if (steps.first == kBytes && steps.second == kBytes)
    return strip<T, A, kBytes, kBytes>(x, y, rows, steps, width, sign, to);
  if (steps.first == kBytes && steps.second == 0)
    return strip<T, A, kBytes, 0>(x, y, rows, steps, width, sign, to);
  if (steps.first == 0 && steps.second == kBytes)
    return strip<T, A, 0, kBytes>(x, y, rows, steps, width, sign, to);
  strip<T, A, -1, -1>(x, y, rows, steps, width, sign, to);
}

template <class T>
void columns_of_floats(const char* x, const char* y, const DotRows& rows, const DotSteps& steps,
                       int64_t width, double sign, void* out) {
  constexpr int64_t kBytes = sizeof(T);
  double* to = static_cast<double*>(out);
  if (width >= kWidth && steps.first == kBytes && steps.second == kBytes)
    return strip_of_floats<T, true, true>(x, y, rows, width, to);
  if (width >= kWidth && steps.first == kBytes && steps.second == 0)
    return strip_of_floats<T, true, false>(x, y, rows, width, to);
  if (width >= kWidth && steps.first == 0 && steps.second == kBytes)
    return strip_of_floats<T, false, true>(x, y, rows, width, to);
  columns_of<T, double>(x, y, rows, steps, width, sign, out);
}

template <class T>
constexpr DotKernels kFloatKernels = {row_of_floats<T>, columns_of_floats<T>};
template <class T, class A>
constexpr DotKernels kAnyKernels = {row_of_any<T, A, 8>, columns_of<T, A>};

// One a DType, in its order.
constexpr DotKernels kDotTable[kDotTypes] = {
    kAnyKernels<bool, int64_t>,
    kAnyKernels<uint8_t, int64_t>,
    kAnyKernels<int8_t, int64_t>,
    kAnyKernels<uint16_t, int64_t>,
    kAnyKernels<int16_t, int64_t>,
    kAnyKernels<uint32_t, int64_t>,
    kAnyKernels<int32_t, int64_t>,
    kAnyKernels<uint64_t, int64_t>,
    kAnyKernels<int64_t, int64_t>,
    kFloatKernels<Float16>,
    kFloatKernels<BFloat16>,
    kFloatKernels<float>,
    {row_of_doubles, columns_of<double, DoublePair>},
    kAnyKernels<Complex<float>, Complex<double>>,
    kAnyKernels<Complex<double>, Complex<DoublePair>>,
};

}  // namespace
}  // namespace reduce_ops::cpu
