// Monoids of core/ that accumulate doubles or int64, on vectors, and the loops over rows and
// columns that they share. A policy has an accumulator `Acc` for kWidth neighbouring lanes, add()
// for elements of T widened to a vector, and idle(): the element that changes no accumulator.
#pragma once

#include "cpu/monoid_kernels.h"
#include "cpu/simd_accumulators.h"
#include "cpu/simd_rows.h"

namespace reduce_ops::cpu {
namespace {

// a * b + c with one rounding.
template <class V>
RO_INLINE V multiply_add(V a, V b, V c) {
  V r;
  for (int l = 0; l < int(sizeof(V) / 8); ++l) r[l] = __builtin_fma(a[l], b[l], c[l]);
  return r;
}
RO_INLINE double multiply_add(double a, double b, double c) { return __builtin_fma(a, b, c); }
#if RO_SIMD_WIDTH == 4
RO_INLINE Doubles multiply_add(Doubles a, Doubles b, Doubles c) { return _mm256_fmadd_pd(a, b, c); }
RO_INLINE Vector<double, 2> multiply_add(Vector<double, 2> a, Vector<double, 2> b,
                                         Vector<double, 2> c) {
  return _mm_fmadd_pd(a, b, c);
}
#endif

// Two accumulators side by side, the first of kPlanes planes.
template <class A, class B, int kPlanes>
struct Both {
  using vector_t = typename A::vector_t;
  A a;
  B b;
  RO_INLINE Both zero() { return {A::zero(), B::zero()}; }
  RO_INLINE Both load(const Word* acc, int64_t plane) {
    return {A::load(acc, plane), B::load(acc + kPlanes * plane, plane)};
  }
  RO_MEMBER void store(Word* acc, int64_t plane) const {
    a.store(acc, plane);
    b.store(acc + kPlanes * plane, plane);
  }
  RO_MEMBER void merge(const Both& o) {
    a.merge(o.a);
    b.merge(o.b);
  }
  RO_MEMBER auto halve() const {
    return Both<decltype(a.halve()), decltype(b.halve()), kPlanes>{a.halve(), b.halve()};
  }
};

template <class T, int N>
struct Product {  // double, or int64 as uint64
  using vector_t = Vector<T, N>;
  vector_t value;
  RO_INLINE Product zero() { return {vector_t{} + T(1)}; }
  RO_INLINE Product load(const Word* acc, int64_t /*plane*/) {
    Product a;
    memcpy(&a.value, acc, sizeof(a.value));
    return a;
  }
  RO_MEMBER void store(Word* acc, int64_t /*plane*/) const { memcpy(acc, &value, sizeof(value)); }
  RO_MEMBER void merge(Product b) { value *= b.value; }
  RO_MEMBER Product<T, N / 2> halve() const { return {low<T>(value) * high<T>(value)}; }
};

template <int N>
struct ProductPair {
  using vector_t = Vector<double, N>;
  vector_t hi, lo;
  RO_INLINE ProductPair zero() { return {vector_t{} + 1.0, vector_t{}}; }
  RO_INLINE ProductPair load(const Word* acc, int64_t plane) {
    const Pair<N> a = Pair<N>::load(acc, plane);
    return {a.hi, a.lo};
  }
  RO_MEMBER void store(Word* acc, int64_t plane) const { Pair<N>{hi, lo}.store(acc, plane); }
  RO_MEMBER void merge(ProductPair b) {
    const vector_t p = hi * b.hi;
    const vector_t error = multiply_add(hi, b.hi, -p);
    lo = error + multiply_add(hi, b.lo, lo * b.hi);
    hi = p;
  }
  RO_MEMBER ProductPair<N / 2> halve() const {
    ProductPair<N / 2> a = {low<double>(hi), low<double>(lo)};
    a.merge({high<double>(hi), high<double>(lo)});
    return a;
  }
};

template <class T>
constexpr bool kPairs = std::is_same_v<T, double>;

// core/moments.h. Its squares are rounded before they are added, so that no instruction set needs
// a fused multiplication: of 53 bits that costs nothing that a float32 could show.
template <class T>
struct MomentsOf {
  using A = Accumulator<T>;
  using Acc = Both<A, A, kPairs<T> ? 2 : 1>;
  static constexpr int kPlanes = kPairs<T> ? 4 : 2;
  static constexpr int kVectors = kPairs<T> ? 2 : 4;  // side by side, in a block of columns
  static constexpr bool kNumbers = false;
  static constexpr bool kShifts = true;
  RO_INLINE void add(Acc& acc, Doubles x, Doubles shift) {
    if constexpr (kPairs<T>) {
      A d;
      d.hi = A::sum_of(x, -shift, d.lo);
      acc.a.merge(d);
      const Doubles square = d.hi * d.hi;
      const Doubles error = multiply_add(d.hi, d.hi, -square);
      acc.b.merge({square, multiply_add(d.hi + d.hi, d.lo, error)});
    } else {
      const Doubles d = x - shift;
      acc.a.add(d);
      acc.b.sum += d * d;
    }
  }
  // The shift itself, or 0 where it stands for an infinity or NaN.
  RO_INLINE T idle(T first) {
    const double x = widen(first);
    return x - x == 0 ? first : T{};
  }
};

template <class T>
struct ProdOf {
  static constexpr bool kFloats = std::is_same_v<typename Decoder<T>::vector_t, Doubles>;
  using Acc = std::conditional_t<
      kPairs<T>, ProductPair<kWidth>,
      std::conditional_t<kFloats, Product<double, kWidth>, Product<uint64_t, kWidth>>>;
  static constexpr int kPlanes = kPairs<T> ? 2 : 1;
  static constexpr int kVectors = 4;
  static constexpr bool kNumbers = false;
  static constexpr bool kShifts = false;
  template <class V>
  RO_INLINE void add(Acc& acc, V x, Doubles) {
    if constexpr (kPairs<T>) {
      const Doubles p = acc.hi * x;
      acc.lo = multiply_add(acc.lo, x, multiply_add(acc.hi, x, -p));
      acc.hi = p;
    } else {
      acc.value *= x;
    }
  }
  RO_INLINE T idle(T) {
    if constexpr (std::is_same_v<T, BFloat16>)
      return {0x3f80};
    else if constexpr (std::is_same_v<T, Float16>)
      return {0x3c00};
    else
      return T(1);
  }
};

// For a sum alone nobody asks how many there were.
template <class T, bool kCounts>
struct NanSumOf {
  using A = Accumulator<T>;
  using Acc = std::conditional_t<kCounts, Both<A, Plain<uint64_t, kWidth>, kPairs<T> ? 2 : 1>, A>;
  static constexpr int kPlanes = (kPairs<T> ? 2 : 1) + kCounts;
  static constexpr int kVectors = kPairs<T> ? 2 : 4;
  static constexpr bool kNumbers = !kCounts;
  static constexpr bool kShifts = false;
  RO_INLINE void add(Acc& acc, Doubles x, Doubles) {
    const Ints counts = (Ints)(x == x);
    const Doubles number = (Doubles)((Ints)x & counts);
    if constexpr (kCounts) {
      acc.a.add(number);
      acc.b.sum -= counts;
    } else {
      acc.add(number);
    }
  }
  RO_INLINE T idle(T) {
    if constexpr (std::is_floating_point_v<T>)
      return std::numeric_limits<T>::quiet_NaN();
    else
      return {0x7fff};
  }
};
template <class T>
using SumOfNumbers = NanSumOf<T, false>;
template <class T>
using MeanOfNumbers = NanSumOf<T, true>;

template <class T, bool kSquares>
struct PowerSumOf {
  using Acc = Accumulator<T>;
  static constexpr int kPlanes = kPairs<T> ? 2 : 1;
  static constexpr int kVectors = kPairs<T> ? 2 : 4;
  static constexpr bool kNumbers = false;
  static constexpr bool kShifts = false;
  RO_INLINE void add(Acc& acc, Doubles x, Doubles) {
    if constexpr (!kSquares)
      acc.add((Doubles)((Ints)x & ~uint64_t(0) >> 1));
    else if constexpr (kPairs<T>)
      acc.merge({x * x, multiply_add(x, x, -(x * x))});
    else
      acc.sum = fused(acc.sum, x, x);
  }
  RO_INLINE T idle(T) { return T{}; }
};
template <class T>
using AbsoluteSumOf = PowerSumOf<T, false>;
template <class T>
using SquareSumOf = PowerSumOf<T, true>;

// Conversions from float to double are twice as fast from memory as from registers, so 16-bit
// floats pass through a small buffer of floats, in which kNumbers makes zeros of NaN.
constexpr int kStagedFloats = 256;
template <class T>
constexpr bool kStagesFloats = std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>;

template <class T>
RO_INLINE Vector<float, 2 * kWidth> load_floats(const char* p) {
  const Vector<uint16_t, 2 * kWidth> bits = (Vector<uint16_t, 2 * kWidth>)load_full<4 * kWidth>(p);
#if RO_SIMD_WIDTH == 4
  if constexpr (std::is_same_v<T, Float16>) return _mm256_cvtph_ps((__m128i)bits);
  return (__m256)_mm256_slli_epi32(_mm256_cvtepu16_epi32((__m128i)bits), 16);
#else
  Vector<float, 2 * kWidth> x;
  for (int i = 0; i < 2 * kWidth; ++i) x[i] = to_float(T{bits[i]});
  return x;
#endif
}
template <class T, bool kNumbers>
RO_INLINE void stage_floats(const char* p, int64_t n, float* to) {
  constexpr int kCount = 2 * kWidth;
  using V = Vector<float, kCount>;
  const auto put = [](V x, float* at) RO_MEMBER {
    using Bits32 = Vector<uint32_t, kCount>;
    if (kNumbers) x = (V)((Bits32)x & (Bits32)(x == x));
    memcpy(at, &x, sizeof(x));
  };
  int64_t i = 0;
  for (; i + kCount <= n; i += kCount) put(load_floats<T>(p + 2 * i), to + i);
  if (i < n) {
    uint16_t some[kCount] = {};
    memcpy(some, p + 2 * i, 2 * (n - i));
    put(load_floats<T>(reinterpret_cast<const char*>(some)), to + i);
  }
}

// Element i of a segment belongs to lane i % kLanesOf, lanes merge by halving: the order of a row.
template <class Policy>
constexpr int kLanesOf = Policy::kPlanes > 2 ? 8 : 16;

// What takes the floats that elements of T were staged as.
template <template <class> class Monoid, class T>
struct StagedOf {
  using type = Monoid<float>;
};

template <class T>
struct PlainSumOf : NanSumOf<T, false> {
  RO_INLINE void add(Accumulator<T>& acc, Doubles x, Doubles) { acc.add(x); }
};
template <class T>
struct StagedOf<SumOfNumbers, T> {
  using type = PlainSumOf<float>;
};

template <template <class> class Monoid, class T>
void reduce_rows(const Bits&, const char* x, int64_t pitch, int64_t count, int64_t n,
                 const char* whole, int64_t, Word* out, int64_t plane) {
  using Policy = Monoid<T>;
  using Staged = typename StagedOf<Monoid, T>::type;
  using Acc = typename Policy::Acc;
  constexpr int kStep = kLanesOf<Policy>;
  constexpr int kVectors = kStep / kWidth;
  constexpr int kBytes = Decoder<T>::kBytes;
  for (int64_t r = 0; r < count; ++r) {
    const char* p = x + r * pitch;
    std::conditional_t<std::is_same_v<T, bool>, uint8_t, T> first;
    memcpy(&first, whole ? whole : p, sizeof(T));
    const T idle = Policy::idle(T(first));
    Doubles shift = {};
    if constexpr (Policy::kShifts) shift += widen(idle);
    Acc acc[kVectors];
    static_for<kVectors>([&](auto v) RO_MEMBER { acc[v] = Acc::zero(); });
    const auto step = [&](const char* from) RO_MEMBER {
      static_for<kVectors>(
          [&](auto v) RO_MEMBER { Policy::add(acc[v], load<T>(from + v * kBytes), shift); });
    };
    int64_t left = n;
    if constexpr (kStagesFloats<T>) {
      alignas(64) float staged[kStagedFloats];
      while (left >= kStep) {
        const int64_t now = std::min<int64_t>(left / kStep * kStep, kStagedFloats);
        stage_floats<T, Policy::kNumbers>(p, now, staged);
        _Pragma("GCC unroll 1") for (int64_t i = 0; i < now; i += kStep) {
          static_for<kVectors>([&](auto v) RO_MEMBER {
            Staged::add(acc[v], load<float>(reinterpret_cast<const char*>(staged + i + v * kWidth)),
                        shift);
          });
        }
        p += 2 * now;
        left -= now;
      }
    }
    _Pragma("GCC unroll 1") for (; left >= kStep; left -= kStep, p += kVectors * kBytes) step(p);
    if (left > 0) {
      T rest[kStep];
      for (int i = 0; i < kStep; ++i) rest[i] = idle;
      memcpy(static_cast<void*>(rest), p, left * sizeof(T));
      step(reinterpret_cast<const char*>(rest));
    }
    merge_vectors<kVectors>(acc, kVectors);
    store_merged(acc[0], 1, out + r, plane);
  }
}
template <class Policy, class T, int kRows, int kVectors>
RO_INLINE void reduce_block(const char* const* row, int64_t c, int count, const double* shift,
                            bool fresh, Word* out, int64_t plane) {
  using Acc = typename Policy::Acc;
  Acc acc[kVectors];
  Doubles shifts[kVectors];
  static_for<kVectors>([&](auto v) RO_MEMBER {
    const int64_t at = c + v * kWidth;
    acc[v] = fresh ? Acc::zero() : Acc::load(out + at, plane);
    if constexpr (Policy::kShifts) memcpy(&shifts[v], shift + at, sizeof(Doubles));
  });
  static_for<kRows>([&](auto r) RO_MEMBER {
    const char* p = row[r] + c * int64_t(sizeof(T));
    static_for<kVectors>([&](auto v) RO_MEMBER {
      const char* from = p + v * Decoder<T>::kBytes;
      Policy::add(acc[v], kVectors == 1 && count < kWidth ? load<T>(from, count) : load<T>(from),
                  shifts[v]);
    });
    asm("" ::: "memory");  // else the compiler reads down the columns, which memory likes less
  });
  static_for<kVectors>([&](auto v) RO_MEMBER { acc[v].store(out + c + v * kWidth, plane); });
}
template <class Policy, class T, int kRows>
RO_INLINE void reduce_group(const char* const* row, int64_t width, const double* shift, bool fresh,
                            Word* acc, int64_t plane) {
  constexpr int kBlock = Policy::kVectors * kWidth;
  int64_t c = 0;
  for (; c + kBlock <= width; c += kBlock)
    reduce_block<Policy, T, kRows, Policy::kVectors>(row, c, kWidth, shift, fresh, acc, plane);
  for (; c < width; c += kWidth)
    reduce_block<Policy, T, kRows, 1>(row, c, int(std::min<int64_t>(kWidth, width - c)), shift,
                                      fresh, acc, plane);
}
template <template <class> class Monoid, class T>
void reduce_columns(const Bits&, const char* const* row, int rows, int64_t width,
                    const double* shift, int64_t, int64_t, bool fresh, Word* acc, int64_t plane) {
  using Policy = Monoid<T>;
  if (rows == 0 && fresh) {
    for (int64_t c = 0; c < width; c += kWidth) Policy::Acc::zero().store(acc + c, plane);
  }
  const auto take = [&](auto count) RO_MEMBER {
    if constexpr (kStagesFloats<T>) {
      using Staged = typename StagedOf<Monoid, T>::type;
      alignas(64) float staged[count][kStagedFloats];
      for (int64_t c = 0; c < width; c += kStagedFloats) {
        const int64_t columns = std::min<int64_t>(width - c, kStagedFloats);
        const char* floats[count];
        static_for<count>([&](auto r) RO_MEMBER {
          stage_floats<T, Policy::kNumbers>(row[r] + 2 * c, columns, staged[r]);
          floats[r] = reinterpret_cast<const char*>(staged[r]);
        });
        // The buffer goes on behind the last column.
        reduce_group<Staged, float, count>(floats, (columns + kWidth - 1) / kWidth * kWidth,
                                           shift + c, fresh, acc + c, plane);
      }
    } else {
      reduce_group<Policy, T, count>(row, width, shift, fresh, acc, plane);
    }
    row += count;
    rows -= count;
    fresh = false;
  };
  while (rows >= 4) take(std::integral_constant<int, 4>{});
  while (rows > 0) take(std::integral_constant<int, 1>{});
}
template <class Acc>
void merge_monoids(Word* a, const Word* b, int64_t width, int64_t plane) {
  for (int64_t c = 0; c < width; c += kWidth) {
    Acc sum = Acc::load(a + c, plane);
    sum.merge(Acc::load(b + c, plane));
    sum.store(a + c, plane);
  }
}
template <template <class> class Monoid, class T>
constexpr MonoidKernels monoid_kernels_of() {
  using Policy = Monoid<T>;
  return {reduce_rows<Monoid, T>,
          reduce_columns<Monoid, T>,
          nullptr,
          merge_monoids<typename Policy::Acc>,
          sizeof(T),
          Policy::kPlanes,
          -1,
          true,
          Policy::kShifts ? Before::kFirst : Before::kNothing};
}

}  // namespace
}  // namespace reduce_ops::cpu
