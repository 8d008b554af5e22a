#include "ops/gradients.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include <cmath>

namespace reduce_ops {

namespace {

using at::Tensor;

// A result with its reduced dims again, as size 1.
Tensor restored(const Reduced& r, Tensor t) {
  if (r.keepdim) return t;
  for (int64_t d = 0; d < r.self.dim(); ++d) {
    if (r.dims[d]) t = t.unsqueeze(d);
  }
  return t;
}

at::DimVector dim_list(const Reduced& r) {
  at::DimVector dims;
  for (int64_t d = 0; d < r.self.dim(); ++d) {
    if (r.dims[d]) dims.push_back(d);
  }
  return dims;
}

c10::SymInt count(const Reduced& r) {
  c10::SymInt n = 1;
  for (int64_t d = 0; d < r.self.dim(); ++d) {
    if (r.dims[d]) n *= r.self.sym_size(d);
  }
  return n;
}

// A sum over the reduced dims that keeps them; nothing to do for a 0-d tensor.
Tensor sum(const Reduced& r, const Tensor& t) {
  const at::DimVector dims = dim_list(r);
  return dims.empty() ? t : t.sum(dims, /*keepdim=*/true);
}

Tensor expanded(const Reduced& r, const Tensor& grad) {
  return restored(r, grad).expand_symint(r.self.sym_sizes());
}

// Products of all other elements of the last dim: right where elements are 0, too.
Tensor other_products(const Tensor& x) {
  const int64_t last = x.dim() - 1;
  const Tensor one = at::ones_like(x.narrow_symint(last, 0, 1));
  const c10::SymInt rest = x.sym_size(last) - 1;
  const Tensor before = at::cat({one, x.narrow_symint(last, 0, rest)}, last).cumprod(last);
  const Tensor after = at::cat({one, x.narrow_symint(last, 1, rest).flip(last)}, last);
  return before * after.cumprod(last).flip(last);
}

Tensor prod_gradient(const Reduced& r, const Tensor& grad) {
  const Tensor x = r.self.to(r.result[0].scalar_type());
  if (r.self.sym_numel() == 0) return at::zeros_like(x);
  at::DimVector order, back(r.self.dim());
  for (const bool reduced : {false, true}) {
    for (int64_t d = 0; d < r.self.dim(); ++d) {
      if (r.dims[d] != reduced) continue;
      back[d] = int64_t(order.size());
      order.push_back(d);
    }
  }
  const int64_t kept = r.self.dim() - int64_t(r.dims.count());
  const Tensor rows = x.permute(order);
  const Tensor flat = kept < r.self.dim() ? rows.flatten(kept) : rows.unsqueeze(-1);
  const Tensor others = other_products(flat).view_symint(rows.sym_sizes()).permute(back);
  return restored(r, grad) * others.conj();
}

// Evenly among the elements that equal the result. Without dims torch takes NaN for equal to NaN.
Tensor extreme_gradient(const Reduced& r, const Tensor& grad, const Tensor& result) {
  const Tensor best = restored(r, result);
  Tensor mask = r.self == best;
  const bool nan_too = r.op == r.row->op ? r.op == Op::kAminmax && r.whole : true;
  if (nan_too) mask = mask.logical_or(r.self.isnan().logical_and(best.isnan()));
  return restored(r, grad) * mask / sum(r, mask);
}

Tensor selected_gradient(const Reduced& r, const Tensor& grad) {
  if (r.self.dim() == 0) return grad;
  const int64_t dim = dim_list(r)[0];
  return at::zeros_symint(r.self.sym_sizes(), grad.options())
      .scatter(dim, restored(r, r.result[1]), restored(r, grad));
}

Tensor mean(const Reduced& r) {
  const at::DimVector dims = dim_list(r);
  return dims.empty() ? r.self : r.self.mean(dims, /*keepdim=*/true);
}

Tensor var_gradient(const Reduced& r, const Tensor& grad) {
  const c10::SymFloat freedom = c10::SymFloat(count(r)) - c10::SymFloat(r.parameter);
  const Tensor g = restored(r, grad);
  if (r.whole || r.self.dim() == 0 || freedom > c10::SymFloat(0.0))
    return g * at::Scalar(c10::SymFloat(2.0) / freedom) * (r.self - mean(r));
  const Tensor same = r.self == mean(r);
  const auto constant = [&](double value) { return at::full({}, value, g.options()); };
  return g * at::where(same, constant(NAN), constant(INFINITY));
}

Tensor moments_gradient(const Reduced& r, const Tensor (&grad)[2]) {
  Tensor total;
  if (grad[0].defined()) {
    const bool root = r.op == Op::kStd || r.op == Op::kStdMean;
    const Tensor g =
        root ? (grad[0] / (r.result[0] * 2)).masked_fill(r.result[0] == 0, 0) : grad[0];
    total = var_gradient(r, g);
  }
  if (grad[1].defined()) {
    const Tensor g = expanded(r, grad[1]) / at::Scalar(count(r));
    total = total.defined() ? total + g : g;
  }
  return total;
}

// Of sum(|x|^p)^(1/p); 0 where the norm is 0.
Tensor norm_gradient(const Reduced& r, const Tensor& grad) {
  const double p = r.parameter;
  const Tensor& self = r.self;
  const Tensor norm = restored(r, r.result[0]), g = restored(r, grad);
  if (p == 0) return Tensor();  // as for torch
  if (p == 1) return self.sgn() * g;
  if (p == 2) return g * (self / norm).masked_fill(norm == 0, 0);
  if (std::isinf(p)) {
    const Tensor size = self.abs();
    const Tensor mask = (size == norm).logical_or(size.isnan().logical_and(norm.isnan()));
    return self.sgn() * (g / sum(r, mask) * mask);
  }
  if (p < 1) {
    const Tensor scaled = self.sgn() * self.abs().pow(p - 1).masked_fill(self == 0, 0);
    return scaled * g * norm.pow(1 - p);
  }
  const Tensor scaled = p < 2 ? self.sgn() * self.abs().pow(p - 1) : self * self.abs().pow(p - 2);
  return scaled * (g / norm.pow(p - 1)).masked_fill(norm == 0, 0);
}

Tensor nan_gradient(const Reduced& r, const Tensor& grad) {
  const Tensor counts = r.self.isnan().logical_not();
  Tensor g = restored(r, grad);
  if (r.op == Op::kNanMean) g = g / sum(r, counts);
  return g * counts;
}

Tensor one_gradient(const Reduced& r, const Tensor& grad) {
  switch (r.op) {
    case Op::kProd:
      return prod_gradient(r, grad);
    case Op::kAmax:
    case Op::kAmin:
      return extreme_gradient(r, grad, r.result[0]);
    case Op::kMax:
    case Op::kMin:
      return selected_gradient(r, grad);
    case Op::kLogSumExp:
      return restored(r, grad) * (r.self - restored(r, r.result[0])).exp().conj();
    case Op::kNorm:
      return norm_gradient(r, grad);
    default:
      return nan_gradient(r, grad);
  }
}

}  // namespace

Tensor gradient(const Reduced& r, const Tensor (&grad)[2]) {
  if (!grad[0].defined() && !grad[1].defined()) return Tensor();
  Tensor total;
  if (r.op >= Op::kVar && r.op <= Op::kStdMean) {
    total = moments_gradient(r, grad);
  } else if (r.op == Op::kAminmax) {
    for (int i = 0; i < 2; ++i) {
      if (!grad[i].defined()) continue;
      const Tensor g = extreme_gradient(r, grad[i], r.result[i]);
      total = total.defined() ? total + g : g;
    }
  } else {
    total = one_gradient(r, grad[0]);
  }
  if (!total.defined()) return total;
  if (total.is_complex() && !r.self.is_complex()) total = at::real(total);
  return total.to(r.self.scalar_type());
}

Tensor tangent(const Reduced& r, const Tensor& input_tangent, int result) {
  const Tensor& value = r.result[result];
  Tensor ones[2];
  ones[result] = at::ones_like(value);
  const Tensor factors = gradient(r, ones);
  if (!factors.defined()) return at::zeros_like(value);
  Tensor terms = factors.conj() * input_tangent;
  if (terms.is_complex() && !value.is_complex()) terms = at::real(terms);
  const at::DimVector dims = dim_list(r);
  return dims.empty() ? terms.to(value.scalar_type())
                      : terms.sum(dims, r.keepdim, value.scalar_type());
}

}  // namespace reduce_ops
