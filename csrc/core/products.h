// Products of two inputs' elements, for dot products: exact where the accumulator holds the product
// of two elements (float64 for float32 and 16-bit floats), else with the product's rounding error.
#pragma once

#include "core/elements.h"
#include "core/monoids.h"

namespace reduce_ops {

// What the engines load for elements: a chunk, or one of each input.
struct ChunkPair {
  Chunk first;
  Chunk second;
};

template <class Elements>
constexpr bool kTakesTwo = false;

RO_HD double product(double x, double y, double) { return x * y; }
RO_HD DoublePair product(double x, double y, DoublePair) {
  const double p = x * y;
  return {p, fused_multiply_add(x, y, -p)};
}
RO_HD int64_t product(int64_t x, int64_t y, int64_t) { return multiply(x, y); }
// x * y, or conj(x) * y where `sign` is -1. The products of complex64 are exact, their sum of two
// rounds once.
template <class A>
RO_HD Complex<A> product(Complex<double> x, Complex<double> y, double sign) {
  const double im = sign * x.im;
  return {add(product(x.re, y.re, A{}), product(-im, y.im, A{})),
          add(product(x.re, y.im, A{}), product(im, y.re, A{}))};
}

// V is the accumulator's type.
template <class T, class V>
struct Products {
  using value_t = V;
  static constexpr int kSize = sizeof(T);
  static constexpr int kColumns = Direct<T>::kColumns;
  static constexpr bool kLarge = false;
  double sign;  // -1: the first input is conjugated
  RO_HD int size() const { return kSize; }
  RO_HD constexpr bool is_complex() const { return Direct<T>{}.is_complex(); }
  template <class F>
  RO_HD void typed(F&& f) const {
    f(*this);
  }
  RO_HD V of(T x, T y) const {
    if constexpr (std::is_same_v<typename Direct<T>::value_t, Complex<double>>)
      return product_of_complex(widen(x), widen(y), V{});
    else
      return product(widen(x), widen(y), V{});
  }
  template <class F>
  RO_HD void for_each(const ChunkPair& pair, int count, F&& f) const {
    for_each_element<T>(pair.first, count,
                        [&](int e, T x) { f(e, of(x, element_of<T>(pair.second, e))); });
  }
  RO_HD V at(const char* first, const char* second) const {
    return of(read_element<T>(first), read_element<T>(second));
  }

 private:
  template <class A>
  RO_HD Complex<A> product_of_complex(Complex<double> x, Complex<double> y, Complex<A>) const {
    return product<A>(x, y, sign);
  }
};

template <class T, class V>
constexpr bool kTakesTwo<Products<T, V>> = true;

// One pair after the other, for small code.
struct AnyIntegerProducts {
  using value_t = int64_t;
  static constexpr int kSize = 0;
  static constexpr int kColumns = 1;
  static constexpr bool kLarge = true;
  DType type;
  RO_HD int size() const { return size_of(type); }
  RO_HD constexpr bool is_complex() const { return false; }
  template <class F>
  RO_HD void typed(F&& f) const {
    f(*this);
  }
  template <class F>
  RO_HD void for_each(const ChunkPair& pair, int count, F&& f) const {
    const int bytes = size();
    const int end = count < 16 / bytes ? count : 16 / bytes;
    RO_NO_UNROLL
    for (int e = 0; e < end; ++e)
      f(e, at(reinterpret_cast<const char*>(pair.first.word) + e * bytes,
              reinterpret_cast<const char*>(pair.second.word) + e * bytes));
  }
  RO_HD int64_t at(const char* first, const char* second) const {
    return multiply(AnyInteger{type}.at(first), AnyInteger{type}.at(second));
  }
};

template <>
constexpr bool kTakesTwo<AnyIntegerProducts> = true;

}  // namespace reduce_ops
