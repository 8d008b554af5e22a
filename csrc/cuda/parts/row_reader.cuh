// How the chunks of rows are read, of one input or of two.
#pragma once

#include "core/op.h"
#include "core/products.h"
#include "cuda/parts/load.cuh"
#include "plan/order.h"

namespace reduce_ops::cuda {

enum class RowLoad : int {
  kAligned,    // every row starts at a multiple of 16 bytes
  kThroughL1,  // the same, for long streams (see parts/load.cuh)
  kShifted,    // rows are contiguous, at any alignment
  kPieces,     // several pieces a row, each whole aligned chunks
  kGathered,   // several pieces a row, of any size and alignment
};

struct RowArgs {
  const char* in;
  Epilogue epilogue;
  RowLoad load;
  int64_t rows;
  int64_t length;
  int64_t chunks;  // of 16 bytes, the last one possibly short
  AxesMap kept;
  AxesMap reduced;
  const char* other;  // the second input, where there is one, and its strides
  AxesMap other_kept;
  AxesMap other_reduced;
};

// Reads the chunks of one row: load() starts it, chunk() gives the bytes. kLoad is compiled in;
// kGathered serves kPieces too.
template <RowLoad kLoad>
struct RowReader {
  using Raw = std::conditional_t<kLoad == RowLoad::kShifted, Unaligned<kChunkBytes>, Chunk>;
  const char* row;

  template <class Elements>
  __device__ __forceinline__ Raw load(const RowArgs& args, const Elements& elements,
                                      int64_t chunk) const {
    return load(args, args.reduced, elements, chunk);
  }
  template <class Elements>
  __device__ __forceinline__ Raw load(const RowArgs& args, const AxesMap& reduced,
                                      const Elements& elements, int64_t chunk) const {
    const int size = elements.size();
    if constexpr (kLoad == RowLoad::kAligned || kLoad == RowLoad::kThroughL1) {
      return load_chunk<kLoad == RowLoad::kThroughL1>(row + chunk * kChunkBytes);
    } else if constexpr (kLoad == RowLoad::kShifted) {
      const int64_t left = args.length * size - chunk * kChunkBytes;
      return load_unaligned<kChunkBytes>(row + chunk * kChunkBytes,
                                         int(min(left, int64_t(kChunkBytes))));
    } else {
      const int per_chunk = kChunkBytes / size;
      const int64_t first = chunk * per_chunk;
      if (args.load == RowLoad::kPieces)
        return load_chunk<false>(row + reduced.locate(first).in * size);
      const int64_t rest = args.length - first;
      return gather_chunk(row, reduced, size, first, int(rest < per_chunk ? rest : per_chunk));
    }
  }

  // f(to_chunk) with the function that gives a load's bytes. One decision for a batch of loads,
  // where chunk() decides for each.
  template <class Elements, class F>
  __device__ __forceinline__ void with_chunks(const Elements& elements, F&& f) const {
    if constexpr (kLoad == RowLoad::kShifted && Elements::kSize != 0) {
      constexpr bool kAligned4 = Elements::kSize % 4 == 0;
      const int words = int(reinterpret_cast<intptr_t>(row) >> 2) & 3;
      if (words == 0) {
        f([&](const Raw& raw) { return shifted_by<kAligned4, 0>(raw, row); });
      } else if (words == 1) {
        f([&](const Raw& raw) { return shifted_by<kAligned4, 1>(raw, row); });
      } else if (words == 2) {
        f([&](const Raw& raw) { return shifted_by<kAligned4, 2>(raw, row); });
      } else {
        f([&](const Raw& raw) { return shifted_by<kAligned4, 3>(raw, row); });
      }
    } else {
      f([&](const Raw& raw) { return chunk(raw, elements); });
    }
  }

  template <class Elements>
  __device__ __forceinline__ Chunk chunk(const Raw& raw, const Elements&) const {
    constexpr bool kAligned4 = Elements::kSize != 0 && Elements::kSize % 4 == 0;
    if constexpr (kLoad == RowLoad::kShifted)
      return shifted<kAligned4>(raw, row);
    else
      return raw;
  }
};

// The same for two inputs.
template <RowLoad kLoad>
struct RowPairReader {
  struct Raw {
    typename RowReader<kLoad>::Raw first, second;
  };
  const char* row;
  const char* other;

  template <class Elements>
  __device__ __forceinline__ Raw load(const RowArgs& args, const Elements& elements,
                                      int64_t chunk) const {
    return {RowReader<kLoad>{row}.load(args, args.reduced, elements, chunk),
            RowReader<kLoad>{other}.load(args, args.other_reduced, elements, chunk)};
  }
  template <class Elements, class F>
  __device__ __forceinline__ void with_chunks(const Elements& elements, F&& f) const {
    f([&](const Raw& raw) { return chunk(raw, elements); });
  }
  template <class Elements>
  __device__ __forceinline__ ChunkPair chunk(const Raw& raw, const Elements& elements) const {
    return {RowReader<kLoad>{row}.chunk(raw.first, elements),
            RowReader<kLoad>{other}.chunk(raw.second, elements)};
  }
};

template <class Elements, RowLoad kLoad>
using row_reader_t =
    std::conditional_t<kTakesTwo<Elements>, RowPairReader<kLoad>, RowReader<kLoad>>;

template <RowLoad kLoad, class Elements>
__device__ __forceinline__ row_reader_t<Elements, kLoad> reader_of(const RowArgs& args,
                                                                   const Elements& elements,
                                                                   int64_t row) {
  const char* in = args.in + args.kept.locate(row).in * elements.size();
  if constexpr (kTakesTwo<Elements>)
    return {in, args.other + args.other_kept.locate(row).in * elements.size()};
  else
    return {in};
}

}  // namespace reduce_ops::cuda
