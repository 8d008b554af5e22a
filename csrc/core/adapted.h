// Elements that are changed on their way to the monoid (see core/elements.h):
//   Signs<T>      the sign bits of Direct<T> cleared and flipped, for |x| and -x
//   Flipped       any integer, as it is or as ~x, which reverses their order
//   Powers<T, V>  |x|^p of Direct<T>
//   Truth         1 where an element of any dtype is not zero, else 0
#pragma once

#include "core/elements.h"

namespace reduce_ops {

template <class T>
struct Signs {
  using value_t = double;
  static constexpr int kSize = sizeof(T);
  static constexpr int kColumns = Direct<T>::kColumns;
  static constexpr bool kLarge = false;
  uint32_t keep[2];  // of even and odd words of a chunk
  uint32_t flip[2];

  static Signs of(bool absolute, bool negative) {
    const uint32_t sign = sizeof(T) == 2 ? 0x80008000u : 0x80000000u;
    const uint32_t even = sizeof(T) == 8 ? 0 : sign;
    return {{absolute ? ~even : ~0u, absolute ? ~sign : ~0u},
            {negative ? even : 0, negative ? sign : 0}};
  }
  RO_HD int size() const { return kSize; }
  RO_HD constexpr bool is_complex() const { return false; }
  template <class F>
  RO_HD void typed(F&& f) const {
    f(*this);
  }
  RO_HD Chunk changed(Chunk chunk) const {
    RO_UNROLL
    for (int w = 0; w < 4; ++w) chunk.word[w] = (chunk.word[w] & keep[w % 2]) ^ flip[w % 2];
    return chunk;
  }
  template <class F>
  RO_HD void for_each(const Chunk& chunk, int count, F&& f) const {
    Direct<T>{}.for_each(changed(chunk), count, f);
  }
  RO_HD double at(const char* element) const {
    Chunk chunk = {};
    memcpy(chunk.word, element, sizeof(T));
    return widen(element_of<T>(changed(chunk), 0));
  }
};

// One element after the other, for small code.
struct Flipped {
  using value_t = int64_t;
  static constexpr int kSize = 0;
  static constexpr int kColumns = 4;
  static constexpr bool kLarge = true;
  AnyInteger inner;
  int64_t flip;  // 0 or -1
  RO_HD int size() const { return inner.size(); }
  RO_HD constexpr bool is_complex() const { return false; }
  template <class F>
  RO_HD void typed(F&& f) const {
    f(*this);
  }
  template <class F>
  RO_HD void for_each(const Chunk& chunk, int count, F&& f) const {
    const int bytes = size();
    const int end = count < 16 / bytes ? count : 16 / bytes;
    RO_NO_UNROLL
    for (int e = 0; e < end; ++e) f(e, at(reinterpret_cast<const char*>(chunk.word) + e * bytes));
  }
  RO_HD int64_t at(const char* element) const { return inner.at(element) ^ flip; }
};

#if defined(__CUDACC__)
static __host__ __device__ __noinline__
#else
inline
#endif
    double
    power_of(double magnitude, double p) {
  return std::pow(magnitude, p);
}
#if defined(__CUDACC__)
static __host__ __device__ __noinline__
#else
inline
#endif
    float
    power_of(float magnitude, float p) {
  return std::pow(magnitude, p);
}

// x^2 with the rounding error of a float64 product; that of narrower floats is exact.
RO_HD void set_square(double x, double& value) { value = x * x; }
RO_HD void set_square(double x, DoublePair& value) {
  const double square = x * x;
  value = {square, fused_multiply_add(x, x, -square)};
}
RO_HD void set_value(double x, double& value) { value = x; }
RO_HD void set_value(double x, DoublePair& value) { value = {x, 0}; }

enum class Power { kOne, kTwo, kAny };

// V is the accumulator's type: DoublePair for float64.
template <class T, class V, Power kPower>
struct PowerOf {
  using value_t = V;
  static constexpr int kSize = sizeof(T);
  static constexpr int kColumns = Direct<T>::kColumns;
  static constexpr bool kLarge = kPower == Power::kAny;
  double p;
  RO_HD int size() const { return kSize; }
  RO_HD constexpr bool is_complex() const { return false; }
  template <class F>
  RO_HD void typed(F&& f) const {
    f(*this);
  }
  RO_HD V power(double x) const {
    V value;
    if constexpr (kPower == Power::kOne)
      set_value(std::fabs(x), value);
    else if constexpr (kPower == Power::kTwo)
      set_square(x, value);
    else if constexpr (sizeof(T) <= 4)
      set_value(power_of(std::fabs(float(x)), float(p)), value);
    else
      set_value(power_of(std::fabs(x), p), value);
    return value;
  }
  template <class F>
  RO_HD void for_each(const Chunk& chunk, int count, F&& f) const {
    Direct<T>{}.for_each(chunk, count, [&](int e, double x) { f(e, power(x)); });
  }
  RO_HD V at(const char* element) const { return power(Direct<T>{}.at(element)); }
};

template <class T, class V>
struct Powers {
  using value_t = V;
  static constexpr int kSize = sizeof(T);
  static constexpr int kColumns = Direct<T>::kColumns;
  static constexpr bool kLarge = true;
  double p;
  RO_HD int size() const { return kSize; }
  RO_HD constexpr bool is_complex() const { return false; }
  template <class F>
  RO_HD void typed(F&& f) const {
    if (p == 2)
      f(PowerOf<T, V, Power::kTwo>{p});
    else if (p == 1)
      f(PowerOf<T, V, Power::kOne>{p});
    else
      f(PowerOf<T, V, Power::kAny>{p});
  }
  template <class F>
  RO_HD void for_each(const Chunk& chunk, int count, F&& f) const {
    typed([&](const auto& powers) { powers.for_each(chunk, count, f); });
  }
  RO_HD V at(const char* element) const {
    V value;
    typed([&](const auto& powers) { value = powers.at(element); });
    return value;
  }
};

RO_HD int count_bits(uint32_t word) {
#if defined(__CUDA_ARCH__)
  return __popc(word);
#else
  return __builtin_popcount(word);
#endif
}

// Elements as bits: not zero under a mask that leaves out the signs of floats.
template <class T>
RO_HD int64_t is_true(T bits, uint64_t mask) {
  return (bits & T(mask)) != 0;
}

template <class T>
struct TruthOf {
  using value_t = int64_t;
  static constexpr int kSize = sizeof(T);
  static constexpr int kColumns = sizeof(T) == 1 ? 8 : sizeof(T) == 8 ? 2 : 4;
  static constexpr bool kLarge = false;
  uint64_t mask;
  bool complex;
  RO_HD int size() const { return kSize; }
  RO_HD bool is_complex() const { return complex; }
  template <class F>
  RO_HD void typed(F&& f) const {
    f(*this);
  }
  template <class F>
  RO_HD void for_each(const Chunk& chunk, int count, F&& f) const {
    for_each_element<T>(chunk, count, [&](int e, T bits) { f(e, is_true(bits, mask)); });
  }
  // How many of the first `count` elements are true.
  RO_HD int count(const Chunk& chunk, int count) const {
    int found = 0;
    if constexpr (sizeof(T) <= 4) {
      // The top bit of each element: set by itself, or by a carry out of the bits below.
      constexpr uint32_t kTop = sizeof(T) == 1   ? 0x80808080u
                                : sizeof(T) == 2 ? 0x80008000u
                                                 : 0x80000000u;
      const uint32_t keep = sizeof(T) == 1   ? ~0u
                            : sizeof(T) == 2 ? uint32_t(mask) * 0x10001u
                                             : uint32_t(mask);
      RO_UNROLL
      for (int w = 0; w < 4; ++w) {
        const int left = count * int(8 * sizeof(T)) - 32 * w;  // bits of this word that count
        const uint32_t here = left >= 32 ? ~0u : left <= 0 ? 0u : (1u << left) - 1;
        const uint32_t bits = chunk.word[w] & keep & here;
        found += count_bits((((bits & ~kTop) + ~kTop) | bits) & kTop);
      }
    } else {
      for_each(chunk, count, [&](int, int64_t x) { found += int(x); });
    }
    return found;
  }
  RO_HD int64_t at(const char* element) const {
    T bits;
    memcpy(&bits, element, sizeof(T));
    return is_true(bits, mask);
  }
};

// complex128
template <>
struct TruthOf<Complex<double>> {
  using value_t = int64_t;
  static constexpr int kSize = 16;
  static constexpr int kColumns = 1;
  static constexpr bool kLarge = false;
  uint64_t mask;
  bool complex;
  RO_HD int size() const { return 16; }
  RO_HD bool is_complex() const { return true; }
  template <class F>
  RO_HD void typed(F&& f) const {
    f(*this);
  }
  template <class F>
  RO_HD void for_each(const Chunk& chunk, int count, F&& f) const {
    if (count > 0) f(0, at(reinterpret_cast<const char*>(chunk.word)));
  }
  RO_HD int count(const Chunk& chunk, int count) const {
    return count > 0 ? int(at(reinterpret_cast<const char*>(chunk.word))) : 0;
  }
  RO_HD int64_t at(const char* element) const {
    uint64_t parts[2];
    memcpy(parts, element, 16);
    return ((parts[0] | parts[1]) & mask) != 0;
  }
};

// Of 8 and 16 bytes.
struct Truth {
  using value_t = int64_t;
  static constexpr int kSize = 0;
  static constexpr int kColumns = 2;
  static constexpr bool kLarge = false;
  DType type;
  RO_HD int size() const { return size_of(type); }
  RO_HD bool is_complex() const { return reduce_ops::is_complex(type); }
  template <class F>
  RO_HD void typed(F&& f) const {
    const bool complex = reduce_ops::is_complex(type);
    const bool sign = is_floating(type) || complex;
    switch (size_of(type)) {
      case 8:
        return f(
            TruthOf<uint64_t>{complex ? 0x7fffffff7fffffffull : ~uint64_t(0) >> sign, complex});
      default:
        return f(TruthOf<Complex<double>>{~uint64_t(0) >> 1, true});
    }
  }
  template <class F>
  RO_HD void for_each(const Chunk& chunk, int count, F&& f) const {
    typed([&](const auto& truth) { truth.for_each(chunk, count, f); });
  }
  RO_HD int count(const Chunk& chunk, int count) const {
    int found = 0;
    typed([&](const auto& truth) { found = truth.count(chunk, count); });
    return found;
  }
  RO_HD int64_t at(const char* element) const {
    int64_t value = 0;
    typed([&](const auto& truth) { value = truth.at(element); });
    return value;
  }
};

}  // namespace reduce_ops
