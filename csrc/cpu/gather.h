// Copying strided elements into a small contiguous matrix.
#pragma once

#include "core/elements.h"
#include "cpu/cursor.h"

namespace reduce_ops::cpu {

// f(at, run) for each run of neighbours along the innermost axis among the next `count` elements;
// the cursor stands at the run's first element during the call.
template <class F>
void for_runs(Cursor& cursor, int64_t count, F&& f) {
  for (int64_t at = 0; at < count;) {
    const int64_t run = std::min(cursor.run(), count - at);
    f(at, run);
    cursor.advance(run);
    at += run;
  }
}

struct Stride {
  int64_t count;
  int64_t from;
  int64_t to;
};

template <class T>
void copy_as(Stride outer, Stride inner, const char* from, char* to) {
  const T* source = reinterpret_cast<const T*>(from);
  T* out = reinterpret_cast<T*>(to);
  for (int64_t i = 0; i < outer.count; ++i, source += outer.from, out += outer.to) {
    const T* s = source;
    T* o = out;
    for (int64_t j = 0; j < inner.count; ++j, s += inner.from, o += inner.to) *o = *s;
  }
}

// Copies a matrix of elements of `size` bytes, column after column or row after row.
inline void copy_strided(int size, Stride rows, Stride columns, bool by_column, const char* from,
                         char* to) {
  const Stride& outer = by_column ? columns : rows;
  const Stride& inner = by_column ? rows : columns;
  switch (size) {
    case 1:
      return copy_as<uint8_t>(outer, inner, from, to);
    case 2:
      return copy_as<uint16_t>(outer, inner, from, to);
    case 4:
      return copy_as<uint32_t>(outer, inner, from, to);
    case 8:
      return copy_as<uint64_t>(outer, inner, from, to);
    default: {
      struct Element {  // complex128, only aligned as its halves are
        double part[2];
      };
      return copy_as<Element>(outer, inner, from, to);
    }
  }
}

}  // namespace reduce_ops::cpu
