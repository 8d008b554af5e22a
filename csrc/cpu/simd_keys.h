// Extremes and the first largest element: on elements' bits, as many a vector as fit.
// Nothing here rounds, so any order of combining gives the same bits.
//
// Floats as signed integers that order as they do: the bits of a negative number other than the
// sign are inverted (extremes, where -0 is less than 0), or the integer is its magnitude's negative
// (indices, where -0 is 0 and every NaN is the largest key).
#pragma once

#include "cpu/simd_monoids.h"

// A panel's states are set where its first rows are, which the compiler does not see.
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"

namespace reduce_ops::cpu {
namespace {

constexpr int kVectorBytes = 8 * kWidth;

// T: signed integers of the element's size.
template <class T>
struct Keys {
  static constexpr int kCount = kVectorBytes / sizeof(T);
  static constexpr int kSign = 8 * sizeof(T) - 1;
  static constexpr T kMost = std::numeric_limits<T>::max();
  static constexpr T kLeast = std::numeric_limits<T>::min();
  using V = Vector<T, kCount>;
  V keep, flip, infinity;

  RO_MEMBER explicit Keys(const Bits& b)
      : keep(V{} + T(b.keep)), flip(V{} + T(b.flip)), infinity(V{} + T(b.infinity)) {}
  RO_INLINE V load(const char* p) { return (V)load_full<kVectorBytes>(p); }
  // The first `count` elements, then zeros.
  RO_INLINE V load(const char* p, int64_t count) {
    return count >= kCount ? load(p) : (V)load_part<kVectorBytes>(p, int(count * sizeof(T)));
  }
  // The first count < kCount elements, then the first one again.
  RO_INLINE V load_repeated(const char* p, int64_t count) {
    T some[kCount];
    T first;
    memcpy(&first, p, sizeof(T));
    for (int i = 0; i < kCount; ++i) some[i] = first;
    memcpy(some, p, count * sizeof(T));
    return load(reinterpret_cast<const char*>(some));
  }

  template <bool kFloat>
  RO_MEMBER V ordered(V x) const {
    x = (x & keep) ^ flip;
    return kFloat ? x ^ ((x >> kSign) & kMost) : x;
  }
  template <bool kFloat>
  RO_MEMBER V ranked(V x) const {
    if (!kFloat) return x ^ flip;
    x = (x & keep) ^ flip;
    const V magnitude = x & kMost, sign = x >> kSign;
    return magnitude > infinity ? V{} + kMost : (magnitude ^ sign) - sign;
  }
};

template <class V>
RO_INLINE V larger_key(V a, V b) {
  return a > b ? a : b;
}
template <class V>
RO_INLINE V smaller_key(V a, V b) {
  return a < b ? a : b;
}

// f(a, b) over all lanes.
template <class T, int N, class F>
RO_INLINE T fold(Vector<T, N> v, F&& f) {
  if constexpr (N == 1) {
    return v;
  } else if constexpr (N == 2) {
    return f(v[0], v[1]);
  } else {
    Vector<T, N / 2> a, b;
    memcpy(&a, &v, sizeof(a));
    memcpy(&b, reinterpret_cast<const char*>(&v) + sizeof(a), sizeof(b));
    if constexpr (sizeof(a) >= 8) {
      return fold<T, N / 2>(f(a, b), f);
    } else {  // vectors shorter than a register are taken apart
      T most = v[0];
      for (int i = 1; i < N; ++i) most = f(most, T(v[i]));
      return most;
    }
  }
}

// f(j, lanes) for groups of kWidth lanes of v, widened to int64.
template <class T, class V, class F>
RO_INLINE void for_wide(V v, F&& f) {
  char raw[sizeof(V)];
  memcpy(raw, &v, sizeof(V));
  static_for<int(sizeof(V) / sizeof(T)) / kWidth>([&](auto j) RO_MEMBER {
    f(j * kWidth, reduce_ops::cpu::load<T>(raw + j * Decoder<T>::kBytes));
  });
}

// f(vector) for a row of n elements, the last vectors of which may overlap or repeat.
template <class T, class F>
RO_INLINE void for_row(const char* p, int64_t n, F&& f) {
  using K = Keys<T>;
  if (n < K::kCount) return f(0, K::load_repeated(p, n));
  constexpr int kTogether = 4;
  const char* const last = p + n * sizeof(T) - kVectorBytes;
  _Pragma("GCC unroll 1") for (; p + (kTogether - 1) * kVectorBytes <= last;
                               p += kTogether * kVectorBytes) {
    static_for<kTogether>([&](auto v) RO_MEMBER { f(v, K::load(p + v * kVectorBytes)); });
  }
  for (; p < last; p += kVectorBytes) f(0, K::load(p));
  f(1, K::load(last));
}

RO_INLINE Vector<int64_t, kWidth> words_at(const Word* p) {
  Vector<int64_t, kWidth> v;
  memcpy(&v, p, sizeof(v));
  return v;
}
template <class V>
RO_INLINE void set_words(Word* p, V v) {
  memcpy(p, &v, sizeof(v));
}
using WideKeys = Vector<int64_t, kWidth>;

// A strip's columns in panels: `states` vectors a vector of columns stay as narrow as the elements
// until all rows (at most 256) are through. A few rows at a time, each of which stays a stream.
// step(state, first, loaded, r) takes row r, the first one where `first`; end(column, state).
template <class T, int kStates, class Step, class End>
RO_INLINE void for_panels(const char* const* row, int rows, int64_t width, Step&& step, End&& end) {
  using K = Keys<T>;
  using V = typename K::V;
  constexpr int kPanel = 2048 / kVectorBytes;  // vectors
  constexpr int kGroup = 8;
  V states[kPanel][kStates];
  for (int64_t from = 0; from < width; from += kPanel * K::kCount) {
    const int64_t columns = std::min<int64_t>(width - from, kPanel * K::kCount);
    for (int first = 0; first < rows; first += kGroup) {
      const int now = std::min(rows - first, kGroup);
      const char* const* const group = row + first;
      const auto take = [&](int v, auto&& load) RO_MEMBER {
        V state[kStates];  // in registers
        if (first > 0) memcpy(state, states[v], sizeof(state));
        step(state, first == 0, load(0), first);
        for (int r = 1; r < now; ++r) step(state, false, load(r), first + r);
        memcpy(states[v], state, sizeof(state));
      };
      int v = 0;
      for (; (v + 1) * K::kCount <= columns; ++v) {
        const int64_t at = (from + v * K::kCount) * int64_t(sizeof(T));
        take(v, [&](int r) RO_MEMBER { return K::load(group[r] + at); });
      }
      if (v * K::kCount < columns) {
        const int64_t at = (from + v * K::kCount) * int64_t(sizeof(T));
        take(v, [&](int r) RO_MEMBER { return K::load(group[r] + at, columns - v * K::kCount); });
      }
    }
    for (int v = 0; v * K::kCount < columns; ++v) end(from + v * K::kCount, states[v]);
  }
}

// Planes: smallest, largest key.
template <class T, bool kFloat>
struct ExtremesOf {
  using K = Keys<T>;
  using V = typename K::V;

  static void rows(const Bits& bits, const char* x, int64_t pitch, int64_t count, int64_t n,
                   const char*, int64_t, Word* out, int64_t plane) {
    const K keys(bits);
    for (int64_t r = 0; r < count; ++r) {
      V low[4], high[4];
      static_for<4>([&](auto v) RO_MEMBER { low[v] = V{} + K::kMost, high[v] = V{} + K::kLeast; });
      for_row<T>(x + r * pitch, n, [&](auto v, V loaded) RO_MEMBER {
        const V key = keys.template ordered<kFloat>(loaded);
        low[v] = smaller_key(low[v], key);
        high[v] = larger_key(high[v], key);
      });
      const auto least = [](auto a, auto b) RO_MEMBER { return smaller_key(a, b); };
      const auto most = [](auto a, auto b) RO_MEMBER { return larger_key(a, b); };
      out[r].i = fold<T, K::kCount>(least(least(low[0], low[1]), least(low[2], low[3])), least);
      out[r + plane].i =
          fold<T, K::kCount>(most(most(high[0], high[1]), most(high[2], high[3])), most);
    }
  }

  static void columns(const Bits& bits, const char* const* row, int rows, int64_t width,
                      const double*, int64_t, int64_t, bool fresh, Word* acc, int64_t plane) {
    const K keys(bits);
    if (fresh) {
      for (int64_t c = 0; c < width; ++c)
        acc[c].i = std::numeric_limits<int64_t>::max(),
        acc[c + plane].i = std::numeric_limits<int64_t>::min();
    }
    if (rows == 0) return;
    for_panels<T, 2>(
        row, rows, width,
        [&](V* state, bool first, V loaded, int) RO_MEMBER {
          const V key = keys.template ordered<kFloat>(loaded);
          state[0] = first ? key : smaller_key(state[0], key);
          state[1] = first ? key : larger_key(state[1], key);
        },
        [&](int64_t c, const V* state) RO_MEMBER {
          for_wide<T>(state[0], [&](int j, Ints key) RO_MEMBER {
            set_words(acc + c + j, smaller_key(words_at(acc + c + j), (WideKeys)key));
          });
          for_wide<T>(state[1], [&](int j, Ints key) RO_MEMBER {
            Word* at = acc + c + j + plane;
            set_words(at, larger_key(words_at(at), (WideKeys)key));
          });
        });
  }

  static void merge(Word* a, const Word* b, int64_t width, int64_t plane) {
    for (int64_t c = 0; c < width; c += kWidth) {
      set_words(a + c, smaller_key(words_at(a + c), words_at(b + c)));
      Word* high = a + c + plane;
      set_words(high, larger_key(words_at(high), words_at(b + c + plane)));
    }
  }

  static constexpr int kPlanes = 2;
  static constexpr int kIndex = -1;
};

// Planes: key, index.
template <class T, bool kFloat>
struct BestOf {
  using K = Keys<T>;
  using V = typename K::V;
  static constexpr int64_t kBlock = 2048 / sizeof(T);  // elements that are looked through together

  // The first of n elements whose key is `key`.
  RO_INLINE int64_t find(const K& keys, const char* p, int64_t n, T key) {
    const auto places = [&](V loaded) RO_MEMBER {
      return (Vector<int8_t, kVectorBytes>)(keys.template ranked<kFloat>(loaded) == V{} + key);
    };
    for (int64_t at = 0; at < n; at += K::kCount) {
      const int64_t left = n - at;
      const auto found = places(left >= K::kCount ? K::load(p + at * sizeof(T))
                                                  : K::load_repeated(p + at * sizeof(T), left));
#if RO_SIMD_WIDTH == 4
      const uint32_t mask = uint32_t(_mm256_movemask_epi8((__m256i)found));
      if (mask) return at + __builtin_ctz(mask) / int(sizeof(T));
#else
      uint64_t any = 0;
      for (int w = 0; w < kVectorBytes / 8; ++w)
        any |= ((Vector<uint64_t, kVectorBytes / 8>)found)[w];
      int first = 0;
      while (any && !found[first]) ++first;
      if (any) return at + first / int(sizeof(T));
#endif
    }
    return 0;
  }

  static void rows(const Bits& bits, const char* x, int64_t pitch, int64_t count, int64_t n,
                   const char* whole, int64_t index, Word* out, int64_t plane) {
    const K keys(bits);
    const auto most = [](auto a, auto b) RO_MEMBER { return larger_key(a, b); };
    bool any = false;  // an element was seen, whose key is `best` at most
    T best = K::kLeast;
    for (int64_t r = 0; r < count; ++r) {
      const char* p = x + r * pitch;
      if (!whole) any = false, best = K::kLeast;
      int64_t block = -1;
      for (int64_t at = 0; at < n; at += kBlock) {
        V high[4];
        static_for<4>([&](auto v) RO_MEMBER { high[v] = V{} + K::kLeast; });
        for_row<T>(p + at * sizeof(T), std::min(kBlock, n - at), [&](auto v, V loaded) RO_MEMBER {
          high[v] = larger_key(high[v], keys.template ranked<kFloat>(loaded));
        });
        const T key =
            fold<T, K::kCount>(most(most(high[0], high[1]), most(high[2], high[3])), most);
        if (key > best || !any) any = true, best = key, block = at;
      }
      // A segment that is no better than one before it has nothing to say.
      const int64_t first = whole ? index + r * n : 0;
      out[r].i = best;
      out[r + plane].i =
          block < 0 ? kNoIndex
                    : first + block +
                          find(keys, p + block * sizeof(T), std::min(kBlock, n - block), best);
    }
  }

  static void columns(const Bits& bits, const char* const* row, int rows, int64_t width,
                      const double*, int64_t index, int64_t step, bool fresh, Word* acc,
                      int64_t plane) {
    const K keys(bits);
    if (fresh) {
      for (int64_t c = 0; c < width; ++c)
        acc[c].i = std::numeric_limits<int64_t>::min(), acc[c + plane].i = kNoIndex;
    }
    if (rows == 0) return;
    for_panels<T, 2>(
        row, rows, width,
        [&](V* state, bool first, V loaded, int r) RO_MEMBER {
          const V key = keys.template ranked<kFloat>(loaded);
          const V better = key > state[0];
          if (first) {
            state[0] = key, state[1] = V{};
          } else {
            state[0] = better ? key : state[0];
            state[1] = better ? V{} + T(r) : state[1];
          }
        },
        [&](int64_t c, const V* state) RO_MEMBER {
          Ints wide[K::kCount / kWidth];
          for_wide<T>(state[0], [&](int j, Ints key) RO_MEMBER { wide[j / kWidth] = key; });
          for_wide<T>(state[1], [&](int j, Ints at) RO_MEMBER {
            Word* to = acc + c + j;
            const WideKeys key = (WideKeys)wide[j / kWidth], before = words_at(to);
            // Of 256 places; 32 bits times 32 bits are one instruction.
            const Ints row_index = uint64_t(index) + (at & 255) * uint64_t(uint32_t(step));
            const WideKeys better = key > before, none = words_at(to + plane);
            set_words(to, better ? key : before);
            set_words(to + plane, (better | (none == kNoIndex)) ? (WideKeys)row_index : none);
          });
        });
  }

  static void merge(Word* a, const Word* b, int64_t width, int64_t plane) {
    for (int64_t c = 0; c < width; c += kWidth) {
      const WideKeys key = words_at(a + c), other = words_at(b + c);
      const WideKeys index = words_at(a + c + plane), other_index = words_at(b + c + plane);
      const WideKeys takes = (other > key) | ((other == key) & (other_index < index));
      set_words(a + c, takes ? other : key);
      set_words(a + c + plane, takes ? other_index : index);
    }
  }

  static constexpr int kPlanes = 2;
  static constexpr int kIndex = 1;
};

template <class M, int kSize>
constexpr MonoidKernels key_kernels_of() {
  return {M::rows,    M::columns, nullptr, M::merge,        kSize,
          M::kPlanes, M::kIndex,  false,   Before::kNothing};
}

}  // namespace
}  // namespace reduce_ops::cpu
