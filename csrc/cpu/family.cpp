#include "cpu/family.h"

#include <algorithm>

#include "core/store.h"
#include "plan/cpu_order.h"

namespace reduce_ops::cpu {

Kind kind_of(DType type) {
  switch (type) {
    case DType::kFloat32:
    case DType::kComplex64:
      return Kind::kFloat32;
    case DType::kFloat16:
      return Kind::kFloat16;
    case DType::kBFloat16:
      return Kind::kBFloat16;
    case DType::kFloat64:
    case DType::kComplex128:
      return Kind::kFloat64;
    case DType::kInt32:
      return Kind::kInt32;
    case DType::kUInt32:
      return Kind::kUInt32;
    case DType::kInt16:
      return Kind::kInt16;
    case DType::kUInt16:
      return Kind::kUInt16;
    case DType::kInt8:
      return Kind::kInt8;
    case DType::kUInt8:
      return Kind::kUInt8;
    case DType::kBool:
      return Kind::kBool;
    default:
      return Kind::kInt64;
  }
}

namespace {

// The type that the kernel reads.
template <class T>
DType read_as(Direct<T>, DType in) {
  return in;
}
DType read_as(AnyInteger, DType in) { return in; }
DType read_as(Cast<int64_t>, DType) { return DType::kInt64; }
DType read_as(Cast<double>, DType) { return DType::kFloat64; }
DType read_as(Cast<Complex<double>>, DType) { return DType::kComplex128; }

template <class E>
void convert_chunks(E, const char*, int64_t, char*) {}
template <class V>
void convert_chunks(Cast<V> elements, const char* from, int64_t count, char* to) {
  const int64_t per_chunk = kChunkBytes / elements.size();
  V* out = reinterpret_cast<V*>(to);
  for (int64_t i = 0; i < count; i += per_chunk) {
    const int n = int(std::min(per_chunk, count - i));
    Chunk chunk = {};
    memcpy(&chunk, from + i * elements.size(), n * elements.size());
    elements.for_each(chunk, n, [&](int e, V value) { out[i + e] = value; });
  }
}

// As to_bfloat16, quickly: rounding through float32 is wrong only where that lands on a tie.
BFloat16 quick_bfloat16(double x) {
  const float f = float(x);
  const uint32_t bits = bit_cast<uint32_t>(f);
  if ((bits & 0xffffu) == 0x8000u || f != f) return to_bfloat16(x);
  return {uint16_t((bits + 0x8000u) >> 16)};
}

// As to_float16, likewise for results that are normal numbers away from the largest.
Float16 quick_float16(double x) {
  const uint32_t bits = bit_cast<uint32_t>(float(x));
  const uint32_t magnitude = bits & 0x7fffffffu;
  constexpr uint32_t kLeast = 113u << 23, kEnd = 142u << 23;  // 2^-14, 2^15
  if (magnitude - kLeast >= kEnd - kLeast || (bits & 0x1fffu) == 0x1000u) return to_float16(x);
  return {uint16_t((bits >> 16 & 0x8000u) | ((magnitude + 0x1000u - (112u << 23)) >> 13))};
}

template <class T, class F>
void store_each(char* out, int64_t stride, int64_t count, F&& value) {
  T* to = reinterpret_cast<T*>(out);
  if (stride == 1) {
    for (int64_t i = 0; i < count; ++i) to[i] = value(i);
  } else {
    for (int64_t i = 0; i < count; ++i) to[i * stride] = value(i);
  }
}

}  // namespace

Family family_of(const Problem& p) {
  Family family;
  family.recipe = p;
  const DType read = visit_sums(p, [&](auto elements, auto) { return read_as(elements, p.in); });
  family.converts = visit_sums(p, [](auto elements, auto) {
    using E = decltype(elements);
    return std::is_same_v<E, Cast<int64_t>> || std::is_same_v<E, Cast<double>> ||
           std::is_same_v<E, Cast<Complex<double>>>;
  });
  family.kernels = &simd_table().kernels[int(kind_of(read))];
  family.components = is_complex(read) ? 2 : 1;
  family.size = size_of(read);
  family.divisor = p.op == Op::kMean ? p.length : 1;
  return family;
}

void Family::convert(const char* from, int64_t count, char* to) const {
  visit_sums(recipe, [&](auto elements, auto) { convert_chunks(elements, from, count, to); });
}

void store_results(const Family& family, Word* acc, int64_t plane, int64_t count, DType type,
                   char* out, int64_t stride) {
  const int64_t width = count * family.components;
  if (family.divisor != 1) {
    const bool pairs = family.kernels->planes == 2;
    for (int64_t i = 0; i < width; ++i) {
      acc[i].f = pairs ? value_of(DoublePair{acc[i].f, acc[plane + i].f}, family.divisor)
                       : value_of(acc[i].f, family.divisor);
      if (pairs) acc[plane + i].f = 0;
    }
  }
  family.kernels->finish(acc, width, plane);
  const auto value = [=](int64_t i) { return acc[i].f; };
  switch (type) {
    case DType::kFloat32:
      return store_each<float>(out, stride, count, [=](int64_t i) { return float(value(i)); });
    case DType::kFloat64:
      return store_each<double>(out, stride, count, value);
    case DType::kBFloat16:
      return store_each<BFloat16>(out, stride, count,
                                  [=](int64_t i) { return quick_bfloat16(value(i)); });
    case DType::kFloat16:
      return store_each<Float16>(out, stride, count,
                                 [=](int64_t i) { return quick_float16(value(i)); });
    case DType::kInt64:
      return store_each<int64_t>(out, stride, count, [=](int64_t i) { return acc[i].i; });
    case DType::kComplex64:
    case DType::kComplex128:
      for (int64_t i = 0; i < count; ++i)
        store_as(out, i * stride, type, Complex<double>{value(2 * i), value(2 * i + 1)});
      return;
    default:
      for (int64_t i = 0; i < count; ++i) store_as(out, i * stride, type, acc[i].i);
  }
}

}  // namespace reduce_ops::cpu
