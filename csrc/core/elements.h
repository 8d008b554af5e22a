// How raw bytes become the values that a monoid accumulates. An Elements type has a value_t, the
// element's size, for_each over a 16-byte chunk, and at() for one element in memory. kColumns is
// how many columns a thread takes at most: as many as one load of 16 bytes brings, up to four.
//   Direct<T>   elements of T, widened exactly; compiled for the dtypes that matter most
//   AnyInteger  every integer dtype and bool, chosen at run time, as int64
//   Cast<V>     any dtype, first cast to another as torch's Tensor.to does
// typed(f) calls f with elements whose dtype is known at compile time where that pays: a loop then
// asks for it once.
// kLarge marks code that is worth a function of its own in a kernel, not a copy at every use.
#pragma once

#include <type_traits>

#include "core/dtype.h"
#include "core/math.h"

namespace reduce_ops {

struct alignas(16) Chunk {
  uint32_t word[4];
};

RO_HD double widen(float x) { return x; }
RO_HD double widen(double x) { return x; }
RO_HD double widen(Float16 x) { return to_float(x); }
RO_HD double widen(BFloat16 x) { return to_float(x); }
RO_HD Complex<double> widen(Complex<float> x) { return {x.re, x.im}; }
RO_HD Complex<double> widen(Complex<double> x) { return x; }
RO_HD int64_t widen(bool x) { return x; }
RO_HD int64_t widen(uint8_t x) { return x; }
RO_HD int64_t widen(int8_t x) { return x; }
RO_HD int64_t widen(uint16_t x) { return x; }
RO_HD int64_t widen(int16_t x) { return x; }
RO_HD int64_t widen(uint32_t x) { return x; }
RO_HD int64_t widen(int32_t x) { return x; }
RO_HD int64_t widen(uint64_t x) { return int64_t(x); }
RO_HD int64_t widen(int64_t x) { return x; }

// Element e of a chunk read as T; e is a compile-time constant once loops are unrolled.
template <class T>
RO_HD T element_of(const Chunk& chunk, int e) {
  if constexpr (sizeof(T) < 4) {
    constexpr int kPerWord = 4 / sizeof(T);
    const uint32_t word = chunk.word[e / kPerWord] >> (e % kPerWord * 8 * int(sizeof(T)));
    if constexpr (sizeof(T) == 2) return bit_cast<T>(uint16_t(word));
    if constexpr (sizeof(T) == 1 && std::is_same_v<T, bool>) return uint8_t(word) != 0;
    if constexpr (sizeof(T) == 1 && !std::is_same_v<T, bool>) return bit_cast<T>(uint8_t(word));
  } else {
    constexpr int kWords = sizeof(T) / 4;
    uint32_t words[kWords];
    RO_UNROLL
    for (int i = 0; i < kWords; ++i) words[i] = chunk.word[e * kWords + i];
    T value;
    memcpy(&value, words, sizeof(T));
    return value;
  }
}

// An element in memory, at its natural alignment.
template <class T>
RO_HD T read_element(const char* address) {
  if constexpr (std::is_same_v<T, bool>) return *reinterpret_cast<const uint8_t*>(address) != 0;
  return *reinterpret_cast<const T*>(address);
}

// f(e, element) for the first `count` elements of a chunk.
template <class T, class F>
RO_HD void for_each_element(const Chunk& chunk, int count, F&& f) {
  constexpr int kCount = 16 / sizeof(T);
  if (count >= kCount) {
    RO_UNROLL
    for (int e = 0; e < kCount; ++e) f(e, element_of<T>(chunk, e));
  } else {
    RO_UNROLL
    for (int e = 0; e < kCount; ++e) {
      if (e < count) f(e, element_of<T>(chunk, e));
    }
  }
}

// Calls f with a null pointer of the C++ type that stands for an integer dtype.
template <class F>
RO_HD void visit_integer(DType type, F&& f) {
  switch (type) {
    case DType::kBool:
      return f(static_cast<bool*>(nullptr));
    case DType::kUInt8:
      return f(static_cast<uint8_t*>(nullptr));
    case DType::kInt8:
      return f(static_cast<int8_t*>(nullptr));
    case DType::kUInt16:
      return f(static_cast<uint16_t*>(nullptr));
    case DType::kInt16:
      return f(static_cast<int16_t*>(nullptr));
    case DType::kUInt32:
      return f(static_cast<uint32_t*>(nullptr));
    case DType::kInt32:
      return f(static_cast<int32_t*>(nullptr));
    case DType::kUInt64:
      return f(static_cast<uint64_t*>(nullptr));
    default:
      return f(static_cast<int64_t*>(nullptr));
  }
}

template <class F>
RO_HD void visit_dtype(DType type, F&& f) {
  switch (type) {
    case DType::kFloat16:
      return f(static_cast<Float16*>(nullptr));
    case DType::kBFloat16:
      return f(static_cast<BFloat16*>(nullptr));
    case DType::kFloat32:
      return f(static_cast<float*>(nullptr));
    case DType::kFloat64:
      return f(static_cast<double*>(nullptr));
    case DType::kComplex64:
      return f(static_cast<Complex<float>*>(nullptr));
    case DType::kComplex128:
      return f(static_cast<Complex<double>*>(nullptr));
    default:
      return visit_integer(type, f);
  }
}

template <class T>
struct Direct {
  using element_t = T;
  using value_t = decltype(widen(T{}));
  static constexpr int kSize = sizeof(T);
  static constexpr int kColumns = std::is_same_v<value_t, Complex<double>> ? 1
                                  : sizeof(T) <= 4                         ? 4
                                                                           : 2;
  static constexpr bool kLarge = false;
  RO_HD int size() const { return kSize; }
  RO_HD constexpr bool is_complex() const { return std::is_same_v<value_t, Complex<double>>; }
  template <class F>
  RO_HD void typed(F&& f) const {
    f(*this);
  }
  template <class F>
  RO_HD void for_each(const Chunk& chunk, int count, F&& f) const {
    for_each_element<T>(chunk, count, [&](int e, T x) { f(e, widen(x)); });
  }
  RO_HD value_t at(const char* element) const { return widen(read_element<T>(element)); }
};

struct AnyInteger {
  using value_t = int64_t;
  static constexpr int kSize = 0;  // known at run time only
  static constexpr int kColumns = 4;
  static constexpr bool kLarge = false;
  DType type;
  RO_HD int size() const { return size_of(type); }
  RO_HD constexpr bool is_complex() const { return false; }
  template <class F>
  RO_HD void typed(F&& f) const {
    visit_integer(type, [&](auto* tag) { f(Direct<std::remove_pointer_t<decltype(tag)>>{}); });
  }
  template <class F>
  RO_HD void for_each(const Chunk& chunk, int count, F&& f) const {
    visit_integer(type, [&](auto* tag) {
      using T = std::remove_pointer_t<decltype(tag)>;
      for_each_element<T>(chunk, count, [&](int e, T x) { f(e, widen(x)); });
    });
  }
  RO_HD int64_t at(const char* element) const {
    int64_t value = 0;
    visit_integer(type, [&](auto* tag) {
      value = widen(read_element<std::remove_pointer_t<decltype(tag)>>(element));
    });
    return value;
  }
};

// Casting as Tensor.to does: a complex number loses its imaginary part, 16-bit floats are reached
// through float32, a float becomes an integer by truncation and a bool by comparing with zero.
RO_HD double real_of(float x) { return x; }
RO_HD double real_of(double x) { return x; }
RO_HD double real_of(Float16 x) { return to_float(x); }
RO_HD double real_of(BFloat16 x) { return to_float(x); }
template <class T>
RO_HD double real_of(Complex<T> x) {
  return x.re;
}
template <class T, std::enable_if_t<std::is_integral_v<T>, int> = 0>
RO_HD T real_of(T x) {
  return x;
}

RO_HD double round_to(double x, DType to) {
  switch (to) {
    case DType::kFloat16:
      return to_float(to_float16(float(x)));
    case DType::kBFloat16:
      return to_float(to_bfloat16(float(x)));
    case DType::kFloat32:
    case DType::kComplex64:
      return float(x);
    default:
      return x;
  }
}

template <class T>
RO_HD void cast_to(T real, double /*imaginary*/, DType to, double& out) {
  const bool wide = to == DType::kFloat64 || to == DType::kComplex128;
  out = wide ? double(real) : round_to(double(float(real)), to);
}
template <class T>
RO_HD void cast_to(T real, double imaginary, DType to, int64_t& out) {
  out = to == DType::kBool ? int64_t(real != 0 || imaginary != 0) : int64_t(real);
}
template <class T>
RO_HD void cast_to(T real, double imaginary, DType to, Complex<double>& out) {
  cast_to(real, 0.0, to, out.re);
  out.im = round_to(imaginary, to);
}

// V is double, int64_t or Complex<double>, the family of the dtype `to`.
template <class V>
struct Cast {
  using value_t = V;
  static constexpr int kSize = 0;
  static constexpr int kColumns = 1;
  static constexpr bool kLarge = true;
  DType from;
  DType to;
  RO_HD int size() const { return size_of(from); }
  RO_HD bool is_complex() const { return reduce_ops::is_complex(from); }
  template <class F>
  RO_HD void typed(F&& f) const {
    f(*this);
  }
  // One element at a time: this is for dtypes few calls use, and small code matters more.
  template <class F>
  RO_HD void for_each(const Chunk& chunk, int count, F&& f) const {
    const int bytes = size();
    const int end = count < 16 / bytes ? count : 16 / bytes;
    RO_NO_UNROLL
    for (int e = 0; e < end; ++e) f(e, at(reinterpret_cast<const char*>(chunk.word) + e * bytes));
  }

  RO_HD V at(const char* element) const {
    V value{};
    const DType target = to;
    visit_dtype(from, [&](auto* tag) {
      using T = std::remove_pointer_t<decltype(tag)>;
      const T x = read_element<T>(element);
      double imaginary = 0;
      if constexpr (std::is_same_v<T, Complex<float>> || std::is_same_v<T, Complex<double>>)
        imaginary = x.im;
      cast_to(real_of(x), imaginary, target, value);
    });
    return value;
  }
};

}  // namespace reduce_ops
