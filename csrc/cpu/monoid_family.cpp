// Which kernel computes an op, and what becomes of its accumulators.
#include "core/store.h"
#include "cpu/monoid_job.h"

namespace reduce_ops::cpu {

namespace {

uint64_t sign_of(DType type) { return uint64_t(1) << (8 * size_of(type) - 1); }

// Integers of one size have one kernel.
Kind kind_by_size(DType type) {
  switch (size_of(type)) {
    case 1:
      return Kind::kInt8;
    case 2:
      return Kind::kInt16;
    case 4:
      return Kind::kInt32;
    default:
      return Kind::kInt64;
  }
}

bool is_unsigned(DType type) {
  return type == DType::kBool || type == DType::kUInt8 || type == DType::kUInt16 ||
         type == DType::kUInt32 || type == DType::kUInt64;
}

Bits bits_of_keys(DType type, bool absolute, bool least) {
  Bits bits;
  if (is_integral(type)) {
    bits.flip = (is_unsigned(type) ? sign_of(type) : 0) ^ (least ? ~uint64_t(0) : 0);
    return bits;
  }
  if (absolute) bits.keep = ~sign_of(type);
  if (least) bits.flip = sign_of(type);
  bits.infinity = type == DType::kFloat16    ? 0x7c00
                  : type == DType::kBFloat16 ? 0x7f80
                  : type == DType::kFloat32  ? 0x7f800000
                                             : 0x7ff0000000000000;
  return bits;
}

// Elements of a floating dtype that are not cast, or to a dtype that holds them and has the same
// accumulator.
bool direct(const Recipe& r) {
  return is_floating(r.in) &&
         (r.cast == r.in || (r.cast == DType::kFloat32 && r.in != DType::kFloat64));
}

MonoidFamily make_family(MonoidKind kind, Kind elements, Bits bits = {}) {
  const MonoidKernels& kernels = monoid_table().kernels[int(kind)][int(elements)];
  return {kernels.rows ? &kernels : nullptr, kind, bits};
}

MonoidFamily keys_family(const Recipe& r, MonoidKind kind, bool absolute, bool least) {
  if (is_complex(r.in)) return {};
  return make_family(kind, is_integral(r.in) ? kind_by_size(r.in) : kind_of(r.in),
                     bits_of_keys(r.in, absolute, least));
}

MonoidFamily prod_family(const Recipe& r) {
  const bool integers =
      is_integral(r.cast) && is_integral(r.in) && (r.cast != DType::kBool || r.in == DType::kBool);
  if (!integers && !direct(r)) return {};
  return make_family(MonoidKind::kProd, kind_of(r.in));
}

MonoidFamily norm_family(const Recipe& r) {
  if (!is_finite(r.parameter)) return keys_family(r, MonoidKind::kExtremes, true, false);
  if (!is_floating(r.in)) return {};
  if (r.parameter == 1) return make_family(MonoidKind::kAbsoluteSum, kind_of(r.in));
  if (r.parameter == 2) return make_family(MonoidKind::kSquareSum, kind_of(r.in));
  return {};
}

MonoidFamily truth_family(const Recipe& r) {
  if (r.in == DType::kComplex128) return {};
  Bits bits;
  if (is_floating(r.in)) bits.keep = ~sign_of(r.in);
  if (is_complex(r.in)) bits.keep = 0x7fffffff7fffffff;
  return make_family(MonoidKind::kCount, kind_by_size(r.in), bits);
}

// The element whose key is as simd_keys.h makes it.
double float_of(uint64_t bits, DType type) {
  switch (type) {
    case DType::kFloat16:
      return to_float(Float16{uint16_t(bits)});
    case DType::kBFloat16:
      return to_float(BFloat16{uint16_t(bits)});
    case DType::kFloat32:
      return bit_cast<float>(uint32_t(bits));
    default:
      return bit_cast<double>(bits);
  }
}
int64_t integer_of(int64_t key, const Bits& bits, DType type) {
  const uint64_t flipped = uint64_t(key) ^ bits.flip;
  return AnyInteger{type}.at(reinterpret_cast<const char*>(&flipped));
}

// Of the largest key of many, or the smallest: NaN lies beyond the infinities.
double extreme_of(int64_t key, const Bits& bits, DType type) {
  const uint64_t magnitude = sign_of(type) - 1;
  return float_of((uint64_t(key) ^ (uint64_t(key >> 63) & magnitude)) ^ bits.flip, type);
}

// The largest element, with its sign changed where the smallest is sought.
double best_of(int64_t key, const Bits& bits, DType type) {
  if (uint64_t(key) == sign_of(type) - 1) return std::numeric_limits<double>::quiet_NaN();
  const uint64_t sign = key < 0 ? sign_of(type) : 0;
  return float_of(uint64_t(key < 0 ? -key : key) | sign, type);
}

// f(monoid, accumulator of output i) for each.
template <class Monoid, class F>
void store_each(const MonoidJob& job, const Cursor& kept, int64_t count, F&& acc_of) {
  const int64_t in_step = inner_in(job.problem.kept), out_step = inner_out(job.problem.kept);
  for (int64_t i = 0; i < count; ++i) {
    const int64_t in = kept.in + i * in_step;
    store_result<Monoid>(job.epilogue, in, kept.out + i * out_step, acc_of(i, in));
  }
}

// Accumulators whose parts are the planes' words one after the other.
template <class Monoid>
void store_words(const MonoidJob& job, const Word* acc, int64_t plane, const Cursor& kept,
                 int64_t count) {
  using acc_t = typename Monoid::acc_t;
  constexpr int kPlanes = sizeof(acc_t) / sizeof(Word);
  store_each<Monoid>(job, kept, count, [&](int64_t i, int64_t) {
    Word words[kPlanes];
    // NaN as one bit pattern: x86 would otherwise let the order of operands show.
    constexpr bool kFloats = !std::is_same_v<acc_t, int64_t>;
    for (int p = 0; p < kPlanes; ++p) {
      words[p] = acc[i + p * plane];
      if (kFloats && words[p].f != words[p].f)
        words[p].f = std::numeric_limits<double>::quiet_NaN();
    }
    acc_t value;
    memcpy(&value, words, sizeof(value));
    return value;
  });
}

// What extremes are stored as where that is the input's own dtype: as its bits.
template <class T>
void store_keys(const MonoidJob& job, const Word* low, const Word* high, bool want_high,
                const Cursor& kept, int64_t count) {
  const Bits bits = job.family.bits;
  const bool floats = bits.infinity != 0;
  const T magnitude = T(sign_of(job.problem.in) - 1), flip = T(bits.flip);
  const int64_t most = floats ? int64_t(bits.infinity) : std::numeric_limits<int64_t>::max();
  const T nan = T(job.problem.in == DType::kFloat16 ? 0x7e00 : bits.infinity | bits.infinity >> 1);
  const int64_t step = inner_out(job.problem.kept);
  T* out = static_cast<T*>(want_high ? job.epilogue.second : job.epilogue.out) + kept.out;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t key = want_high ? high[i].i : low[i].i;
    const T ordered = T(key) ^ (floats && key < 0 ? magnitude : T(0));
    out[i * step] = high[i].i > most || low[i].i < ~most ? nan : T(ordered ^ flip);
  }
}

// Whether that was possible.
bool store_keys(const MonoidJob& job, const Word* low, const Word* high, const Cursor& kept,
                int64_t count) {
  const Problem& p = job.problem;
  const Epilogue& e = job.epilogue;
  if (p.in == DType::kBool || (e.out && p.out != p.in) || (e.second && p.second != p.in))
    return false;
  for (const bool want_high : {false, true}) {
    if (!(want_high ? e.second : e.out)) continue;
    switch (size_of(p.in)) {
      case 1:
        store_keys<uint8_t>(job, low, high, want_high, kept, count);
        break;
      case 2:
        store_keys<uint16_t>(job, low, high, want_high, kept, count);
        break;
      case 4:
        store_keys<uint32_t>(job, low, high, want_high, kept, count);
        break;
      default:
        store_keys<uint64_t>(job, low, high, want_high, kept, count);
    }
  }
  return true;
}

template <class A>
void store_extremes(const MonoidJob& job, const Word* acc, int64_t plane, const Cursor& kept,
                    int64_t count) {
  if (store_keys(job, acc, acc + plane, kept, count)) return;
  const DType type = job.problem.in;
  const Bits bits = job.family.bits;
  store_each<Extremes<A>>(job, kept, count, [&](int64_t i, int64_t) {
    const int64_t low = acc[i].i, high = acc[i + plane].i;
    if constexpr (std::is_same_v<A, int64_t>) {
      return Extremes<int64_t>::acc_t{integer_of(low, bits, type), integer_of(high, bits, type)};
    } else {
      const int64_t infinity = int64_t(bits.infinity);
      constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
      if (high > infinity || low < ~infinity) return Extremes<double>::acc_t{kNan, kNan};
      return Extremes<double>::acc_t{extreme_of(low, bits, type), extreme_of(high, bits, type)};
    }
  });
}

template <class A>
void store_best(const MonoidJob& job, const Word* acc, int64_t plane, const Cursor& kept,
                int64_t count) {
  const DType type = job.problem.in;
  const Bits bits = job.family.bits;
  store_each<Best<A>>(job, kept, count, [&](int64_t i, int64_t in) {
    const int64_t key = acc[i].i, index = acc[i + plane].i;
    if constexpr (std::is_same_v<A, int64_t>) {
      const int64_t value = integer_of(key, bits, type);
      return Best<int64_t>::acc_t{finds_least(job.problem.op) ? ~value : value, index};
    } else {
      double value = best_of(key, bits, type);
      // The key does not tell what sign a zero has.
      if (key == 0 && job.epilogue.out) {
        const int64_t at = in + Cursor(job.problem.reduced, index).in;
        value = real_element(job.in_at(at), type);
        if (finds_least(job.problem.op)) value = -value;
      }
      return typename Best<double>::acc_t{value, index};
    }
  });
}

}  // namespace

MonoidFamily monoid_family_of(const Problem& p) {
  switch (p.op) {
    case Op::kProd:
      return prod_family(p);
    case Op::kNanSum:
    case Op::kNanMean:
      if (!direct(p)) return {};
      return make_family(p.op == Op::kNanSum ? MonoidKind::kNanSum : MonoidKind::kNanMean,
                         kind_of(p.in));
    case Op::kAmax:
    case Op::kAmin:
    case Op::kAminmax:
      return keys_family(p, MonoidKind::kExtremes, false, false);
    case Op::kMax:
    case Op::kMin:
    case Op::kArgmax:
    case Op::kArgmin:
      return keys_family(p, MonoidKind::kBest, false, finds_least(p.op));
    case Op::kVar:
    case Op::kStd:
    case Op::kVarMean:
    case Op::kStdMean:
      return make_family(MonoidKind::kMoments, kind_of(p.in));
    case Op::kLogSumExp:
      if (!is_floating(p.in)) return {};
      return make_family(MonoidKind::kLogSumExp, kind_of(p.in));
    case Op::kNorm:
      return norm_family(p);
    case Op::kDescribe:
      return {};  // one element after the other
    default:
      return truth_family(p);
  }
}

void store_results(const MonoidJob& job, const Word* acc, int64_t plane, const Cursor& kept,
                   int64_t count) {
  const bool pairs = job.problem.in == DType::kFloat64, integers = is_integral(job.problem.in);
  const auto store = [&](auto function) { function(job, acc, plane, kept, count); };
  switch (job.family.kind) {
    case MonoidKind::kMoments:
      return store(pairs ? store_words<Moments<DoublePair>> : store_words<Moments<double>>);
    case MonoidKind::kProd:
      return store(integers ? store_words<Prod<int64_t>>
                   : pairs  ? store_words<Prod<DoublePair>>
                            : store_words<Prod<double>>);
    case MonoidKind::kNanSum:
      return store(pairs ? store_words<Sum<DoublePair>> : store_words<Sum<double>>);
    case MonoidKind::kNanMean:
      return store(pairs ? store_words<NanSum<DoublePair>> : store_words<NanSum<double>>);
    case MonoidKind::kAbsoluteSum:
    case MonoidKind::kSquareSum:
      return store(pairs ? store_words<PowerSum<DoublePair>> : store_words<PowerSum<double>>);
    case MonoidKind::kLogSumExp:
      return store(store_words<LogSumExp<double>>);
    case MonoidKind::kExtremes:
      return store(integers ? store_extremes<int64_t> : store_extremes<double>);
    case MonoidKind::kBest:
      return store(integers ? store_best<int64_t> : store_best<double>);
    case MonoidKind::kCount:
      return store(store_words<Count>);
  }
}

}  // namespace reduce_ops::cpu
