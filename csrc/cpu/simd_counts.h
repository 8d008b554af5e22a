// How many elements are true, on elements' bits.
#pragma once

#include "cpu/simd_keys.h"

namespace reduce_ops::cpu {
namespace {

// One plane: how many elements are not zero.
template <class T>
struct CountOf {
  using K = Keys<T>;
  using V = typename K::V;
  // Vectors whose counts a lane holds.
  static constexpr int kMost = sizeof(T) == 1 ? 127 : 4096;

  static void rows(const Bits& bits, const char* x, int64_t pitch, int64_t count, int64_t n,
                   const char*, int64_t, Word* out, int64_t) {
    const V keep = V{} + T(bits.keep), zero = {};
    for (int64_t r = 0; r < count; ++r) {
      const char* p = x + r * pitch;
      int64_t left = n, total = 0;
      while (left > 0) {
        V some[4] = {};  // of -1 for each
        for (int i = 0; i < kMost && left >= 4 * K::kCount; ++i) {
          static_for<4>(
              [&](auto v) RO_MEMBER { some[v] += (K::load(p + v * kVectorBytes) & keep) != zero; });
          p += 4 * kVectorBytes;
          left -= 4 * K::kCount;
        }
        Ints sums[4] = {};
        if (left > 0 && left < 4 * K::kCount) {
          static_for<4>([&](auto v) RO_MEMBER {
            const int64_t here = std::min<int64_t>(left - v * K::kCount, K::kCount);
            if (here > 0) some[v] += (K::load(p + v * kVectorBytes, here) & keep) != zero;
          });
          left = 0;
        }
        if constexpr (sizeof(T) == 1) {
#if defined(__x86_64__)
          static_for<4>([&](auto v) RO_MEMBER {
#if RO_SIMD_WIDTH == 4
            sums[v] = (Ints)_mm256_sad_epu8((__m256i)-some[v], __m256i{});
#else
            sums[v] = (Ints)_mm_sad_epu8((__m128i)-some[v], __m128i{});
#endif
          });
#else
          static_for<4>([&](auto v) RO_MEMBER {
            for (int l = 0; l < K::kCount; ++l) sums[0][0] += uint64_t(-some[v][l]);
          });
#endif
        } else {
          const V all = (some[0] + some[1]) + (some[2] + some[3]);
          for_wide<T>(all, [&](int, Ints counts) RO_MEMBER { sums[0] -= counts; });
        }
        const Ints sum = (sums[0] + sums[1]) + (sums[2] + sums[3]);
        for (int l = 0; l < kWidth; ++l) total += int64_t(sum[l]);
      }
      out[r].i = total;
    }
  }

  static void columns(const Bits& bits, const char* const* row, int rows, int64_t width,
                      const double*, int64_t, int64_t, bool fresh, Word* acc, int64_t) {
    const V keep = V{} + T(bits.keep), zero = {};
    if (fresh) memset(static_cast<void*>(acc), 0, width * sizeof(Word));
    constexpr int kMostRows = 128;  // that a byte counts
    for (; rows > 0; rows -= kMostRows, row += kMostRows) {
      for_panels<T, 1>(
          row, std::min(rows, kMostRows), width,
          [&](V* state, bool first, V loaded, int) RO_MEMBER {
            const V one = (V)((loaded & keep) != zero);
            state[0] = first ? one : state[0] + one;
          },
          [&](int64_t c, const V* state) RO_MEMBER {
            for_wide<T>(state[0], [&](int j, Ints counts) RO_MEMBER {
              set_words(acc + c + j, (Ints)words_at(acc + c + j) - counts);
            });
          });
    }
  }

  static void merge(Word* a, const Word* b, int64_t width, int64_t) {
    for (int64_t c = 0; c < width; c += kWidth)
      set_words(a + c, (Ints)words_at(a + c) + (Ints)words_at(b + c));
  }

  static constexpr int kPlanes = 1;
  static constexpr int kIndex = -1;
};

}  // namespace
}  // namespace reduce_ops::cpu
