#include "ops/call.h"

#include <ATen/core/Formatting.h>
#include <ATen/core/dispatch/Dispatcher.h>

namespace reduce_ops {

namespace {

void read_dims(Call& call, const c10::IValue& value) {
  if (value.isNone()) return;
  if (value.isInt()) {
    call.dim = at::DimVector({value.toInt()});
  } else {
    const std::vector<int64_t> dims = value.toIntVector();
    call.dim = at::DimVector(dims.begin(), dims.end());
  }
}

bool takes(const Overload& overload, const Call& call) {
  const OpRow& row = *call.row;
  // max and min are two ops each, with and without dim.
  if (row.op != row.whole && overload.has_dim != (call.op == row.op)) return false;
  const size_t dims = call.dim ? call.dim->size() : 0;
  return overload.has_out == !call.out.empty() && (overload.has_dim || !call.dim) &&
         (overload.several_dims || dims <= 1) && (!overload.needs_dim || dims == 1) &&
         (overload.has_keepdim || !call.keepdim) && (overload.has_dtype || !call.dtype) &&
         (!overload.needs_dtype || call.dtype) && (overload.has_number || !call.number);
}

c10::IValue dims_value(const Overload& overload, const c10::Argument& argument, const Call& call) {
  if (!overload.several_dims)
    return call.dim && !call.dim->empty() ? c10::IValue(call.dim->front()) : c10::IValue();
  const bool optional = argument.type()->kind() == c10::TypeKind::OptionalType;
  if (!call.dim && optional) return c10::IValue();
  return call.dim ? std::vector<int64_t>(call.dim->begin(), call.dim->end())
                  : std::vector<int64_t>();
}

c10::IValue value_of(const Overload& overload, const c10::Argument& argument, Field field,
                     const Call& call, size_t& outs) {
  switch (field) {
    case Field::kSelf:
      return call.self;
    case Field::kDim:
      return dims_value(overload, argument, call);
    case Field::kKeepdim:
      return call.keepdim;
    case Field::kDtype:
      return call.dtype ? c10::IValue(*call.dtype) : c10::IValue();
    case Field::kNumber:
      return call.number || call.row->op == Op::kNorm ? c10::IValue(call.parameter())
                                                      : c10::IValue();
    case Field::kUnbiased:
      return true;
    default:
      return call.out[outs++];
  }
}

}  // namespace

Dims Call::dims() const {
  const bool none = dim && dim->empty() && (op == Op::kAll || op == Op::kAny);  // as for torch
  if (none) return Dims();
  return wrap_dims(function(), dim ? at::OptionalIntArrayRef(*dim) : at::OptionalIntArrayRef(),
                   self.dim());
}

void set_number(Call& call, const at::Scalar& number) {
  const char* what = call.row->op != Op::kNorm  ? "correction"
                     : call.row->name == "norm" ? "p"
                                                : "ord";
  TORCH_CHECK(!number.isComplex(), call.function(), ": ", what, " is ", number,
              ", expected a number that is not complex");
  call.number = number.toDouble();
}

Call read_call(const Overload& overload, const torch::jit::Stack& stack) {
  Call call;
  call.row = overload.row;
  call.op = overload.has_dim ? overload.row->op : overload.row->whole;
  const size_t count = overload.fields.size();
  for (size_t i = 0; i < count; ++i) {
    const c10::IValue& value = torch::jit::peek(stack, i, count);
    switch (overload.fields[i]) {
      case Field::kSelf:
        call.self = value.toTensor();
        break;
      case Field::kDim:
        read_dims(call, value);
        break;
      case Field::kKeepdim:
        call.keepdim = value.toBool();
        break;
      case Field::kDtype:
        if (!value.isNone()) call.dtype = value.toScalarType();
        break;
      case Field::kNumber:
        if (!value.isNone()) set_number(call, value.toScalar());
        break;
      case Field::kUnbiased:
        call.number = value.toBool() ? 1 : 0;
        break;
      case Field::kOut:
        call.out.push_back(value.toTensor());
        break;
    }
  }
  return call;
}

c10::SmallVector<at::Tensor, 2> dispatch(const Call& call) {
  for (const Overload& overload : call.row->overloads) {
    if (!takes(overload, call)) continue;
    const c10::OperatorHandle op = c10::Dispatcher::singleton().findSchemaOrThrow(
        ("reduce_ops::" + call.row->name).c_str(), overload.name.c_str());
    torch::jit::Stack stack;
    size_t outs = 0;
    for (size_t i = 0; i < overload.fields.size(); ++i)
      stack.push_back(
          value_of(overload, op.schema().arguments()[i], overload.fields[i], call, outs));
    op.callBoxed(&stack);
    c10::SmallVector<at::Tensor, 2> results;
    for (c10::IValue& value : stack) results.push_back(std::move(value).toTensor());
    return results;
  }
  TORCH_CHECK_NOT_IMPLEMENTED(false, call.function(), ": no overload takes these arguments");
}

}  // namespace reduce_ops
