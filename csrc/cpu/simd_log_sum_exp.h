// Log-sum-exp (core/log_sum_exp.h) with one exponential an element: a segment is read twice, first
// for its largest element, from which the exponents are taken. Narrow floats are exponentiated as
// floats and summed as doubles; in a row, float sums of four elements 8 apart go to lane i % 8.
#pragma once

#include "cpu/simd_exp.h"

namespace reduce_ops::cpu {
namespace {

// What exponents are relative to: the largest number where it is finite. Infinities have no
// difference; with 0 their own exponentials are clamped to 0 and 1.
template <class V>
RO_INLINE V base_of(V high) {
  return high - high == 0 ? high : V{};
}

struct LogSumExpAcc {
  Doubles high, sum;
  RO_INLINE LogSumExpAcc load(const Word* acc, int64_t plane) {
    LogSumExpAcc a;
    memcpy(&a.high, acc, sizeof(Doubles));
    memcpy(&a.sum, acc + plane, sizeof(Doubles));
    return a;
  }
  RO_MEMBER void store(Word* acc, int64_t plane) const {
    memcpy(acc, &high, sizeof(Doubles));
    memcpy(acc + plane, &sum, sizeof(Doubles));
  }
  RO_MEMBER void merge(LogSumExpAcc o) {
    const Ints same = (Ints)(high == o.high);
    bool all = true;
    for (int l = 0; l < kWidth; ++l) all = all && same[l];
    if (all) {  // the exponential would be 1
      sum += o.sum;
      return;
    }
    const auto swap = o.high > high;
    const Doubles more = swap ? o.high : high, less = swap ? high : o.high;
    const Doubles more_sum = swap ? o.sum : sum, less_sum = swap ? sum : o.sum;
    const Doubles difference = (Doubles)((Ints)(less - more) & ~same);
    high = more;
    sum = more_sum + less_sum * exp_of_clamped(difference);
  }
};

// kCount elements of T at p, as vectors of the type that is exponentiated.
template <class T>
struct Exponents {
  using V = Floats;
  static constexpr int kCount = kFloats;
  RO_INLINE Floats load(const char* p) {
    if constexpr (std::is_same_v<T, float>) {
      return (Floats)load_full<sizeof(Floats)>(p);
    } else {
      return load_floats<T>(p);
    }
  }
  RO_INLINE Floats term(Floats x, Floats base) { return exp_of_clamped<T>(x - base); }
  RO_INLINE void add(Doubles* sum, Floats x) {
    sum[0] += low_doubles(x);
    sum[1] += high_doubles(x);
  }
  RO_INLINE Floats from_doubles(const Doubles* x) { return to_floats(x[0], x[1]); }
};
template <>
struct Exponents<double> {
  using V = Doubles;
  static constexpr int kCount = kWidth;
  RO_INLINE Doubles load(const char* p) { return (Doubles)load_full<sizeof(Doubles)>(p); }
  RO_INLINE Doubles term(Doubles x, Doubles base) { return exp_of_clamped(x - base); }
  RO_INLINE void add(Doubles* sum, Doubles x) { sum[0] += x; }
  RO_INLINE Doubles from_doubles(const Doubles* x) { return x[0]; }
};

template <class T>
RO_INLINE T minus_infinity() {
  if constexpr (std::is_same_v<T, BFloat16>)
    return {0xff80};
  else if constexpr (std::is_same_v<T, Float16>)
    return {0xfc00};
  else
    return -std::numeric_limits<T>::infinity();
}

template <class T>
void log_sum_exp_rows(const Bits&, const char* x, int64_t pitch, int64_t count, int64_t n,
                      const char*, int64_t, Word* out, int64_t plane) {
  using E = Exponents<T>;
  using V = typename E::V;
  constexpr int kLanes = 8, kTogether = 4, kStep = kLanes * kTogether;
  constexpr int kBytes = E::kCount * sizeof(T);
  constexpr int kVectors = kStep / E::kCount;            // in a step
  constexpr int kLaneVectors = kLanes / E::kCount;       // of the lanes
  constexpr int kSums = kLanes / kWidth / kLaneVectors;  // vectors of double for one of them
  const V none = V{} - std::numeric_limits<double>::infinity();
  T rest[kStep];
  for (int64_t r = 0; r < count; ++r) {
    const char* row = x + r * pitch;
    const int64_t whole = n / kStep * kStep;
    if (whole < n) {
      for (int i = 0; i < kStep; ++i) rest[i] = minus_infinity<T>();
      memcpy(static_cast<void*>(rest), row + whole * sizeof(T), (n - whole) * sizeof(T));
    }
    V most[4] = {none, none, none, none};
    const auto look = [&](const char* p) RO_MEMBER {
      static_for<kVectors>([&](auto v) RO_MEMBER {
        most[v % 4] = larger_or_second(E::load(p + v * kBytes), most[v % 4]);
      });
    };
    const char* const end = row + whole * sizeof(T);
    _Pragma("GCC unroll 1") for (const char* p = row; p < end; p += kStep * sizeof(T)) look(p);
    if (whole < n) look(reinterpret_cast<const char*>(rest));
    most[0] =
        larger_or_second(larger_or_second(most[0], most[1]), larger_or_second(most[2], most[3]));
    double high = most[0][0];
    for (int l = 1; l < E::kCount; ++l) high = most[0][l] > high ? most[0][l] : high;

    const double base = high - high == 0 ? high : 0;
    const V bases = V{} + decltype(V{}[0] + 0)(base);
    Plain<double, kWidth> sum[kLanes / kWidth];
    static_for<kLanes / kWidth>([&](auto v) RO_MEMBER { sum[v] = Plain<double, kWidth>::zero(); });
    const auto add = [&](const char* p) RO_MEMBER {
      static_for<kLaneVectors>([&](auto l) RO_MEMBER {
        V term[kTogether];
        static_for<kTogether>([&](auto t) RO_MEMBER {
          term[t] = E::term(E::load(p + (t * kLaneVectors + l) * kBytes), bases);
        });
        Doubles sums[kSums];
        static_for<kSums>([&](auto s) RO_MEMBER { sums[s] = sum[l * kSums + s].sum; });
        E::add(sums, (term[0] + term[1]) + (term[2] + term[3]));
        static_for<kSums>([&](auto s) RO_MEMBER { sum[l * kSums + s].sum = sums[s]; });
      });
    };
    _Pragma("GCC unroll 1") for (const char* p = row; p < end; p += kStep * sizeof(T)) add(p);
    if (whole < n) add(reinterpret_cast<const char*>(rest));
    merge_vectors<kLanes / kWidth>(sum, kLanes / kWidth);
    out[r].f = high;
    store_merged(sum[0], 1, out + r + plane, plane);
  }
}

// Elements of a row from column c on, as many as there are, else -inf.
template <class T>
RO_INLINE typename Exponents<T>::V load_columns(const char* p, int64_t count) {
  using E = Exponents<T>;
  if (count >= E::kCount) return E::load(p);
  T some[E::kCount];
  for (int i = 0; i < E::kCount; ++i) some[i] = minus_infinity<T>();
  memcpy(static_cast<void*>(some), p, count * sizeof(T));
  return E::load(reinterpret_cast<const char*>(some));
}

template <class T>
void largest_columns(const char* const* row, int rows, int64_t width, bool fresh, double* high) {
  using E = Exponents<T>;
  using V = typename E::V;
  constexpr int kDoubles = E::kCount / kWidth;
  constexpr int kGroup = 16;
  for (; rows > 0; rows -= kGroup, row += kGroup, fresh = false) {
    for (int64_t c = 0; c < width; c += E::kCount) {
      V most = V{} - std::numeric_limits<double>::infinity();
      for (int r = 0; r < std::min(rows, kGroup); ++r)
        most = larger_or_second(load_columns<T>(row[r] + c * int64_t(sizeof(T)), width - c), most);
      Doubles now[kDoubles] = {};
      E::add(now, most);
      static_for<kDoubles>([&](auto d) RO_MEMBER {
        Doubles before;
        memcpy(&before, high + c + d * kWidth, sizeof(before));
        if (!fresh) now[d] = larger_or_second(before, now[d]);
        memcpy(high + c + d * kWidth, &now[d], sizeof(before));
      });
    }
  }
}

template <class T>
void log_sum_exp_columns(const Bits&, const char* const* row, int rows, int64_t width,
                         const double* shift, int64_t, int64_t, bool fresh, Word* acc,
                         int64_t plane) {
  using E = Exponents<T>;
  using V = typename E::V;
  constexpr int kDoubles = E::kCount / kWidth;
  constexpr int kGroup = 8;
  if (fresh) {
    for (int64_t c = 0; c < width; c += kWidth) {
      LogSumExpAcc none = {};
      memcpy(&none.high, shift + c, sizeof(Doubles));
      none.store(acc + c, plane);
    }
  }
  Word* const sums = acc + plane;
  for (; rows > 0; rows -= kGroup, row += kGroup) {
    for (int64_t c = 0; c < width; c += E::kCount) {
      Doubles base[kDoubles], sum[kDoubles];
      static_for<kDoubles>([&](auto d) RO_MEMBER {
        memcpy(&base[d], shift + c + d * kWidth, sizeof(Doubles));
        memcpy(&sum[d], sums + c + d * kWidth, sizeof(Doubles));
        base[d] = base_of(base[d]);
      });
      const V bases = E::from_doubles(base);
      for (int r = 0; r < std::min(rows, kGroup); ++r)
        E::add(sum, E::term(load_columns<T>(row[r] + c * int64_t(sizeof(T)), width - c), bases));
      static_for<kDoubles>(
          [&](auto d) RO_MEMBER { memcpy(sums + c + d * kWidth, &sum[d], sizeof(Doubles)); });
    }
  }
}

template <class T>
constexpr MonoidKernels log_sum_exp_kernels_of() {
  return {log_sum_exp_rows<T>,
          log_sum_exp_columns<T>,
          largest_columns<T>,
          merge_monoids<LogSumExpAcc>,
          sizeof(T),
          2,
          -1,
          true,
          Before::kLargest};
}

}  // namespace
}  // namespace reduce_ops::cpu
