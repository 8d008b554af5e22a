"""vmap rules and functional forms of the ops' overloads, made from their schemas."""

from __future__ import annotations

import torch
from torch._subclasses.functional_tensor import FunctionalTensorMode

from . import _C
from ._fake import TYPED, wrap

# The overload that a vmap rule calls, where it is not the first.
_ONE_DIM = {"aminmax", "max", "min", "argmax", "argmin"}
_TARGET = {"max": "dim", "min": "dim", "count_nonzero": "dim_IntList"}
# Products of two tensors.
_PAIRS = {"dot", "vecdot"}


def _written(overload) -> list[str]:
    arguments = overload._schema.arguments
    return [a.name for a in arguments if a.alias_info is not None and a.alias_info.is_write]


def _bind(overload, args, kwargs) -> dict:
    """A call's arguments by name, defaults included."""
    bound = {}
    for i, argument in enumerate(overload._schema.arguments):
        if i < len(args):
            bound[argument.name] = args[i]
        elif argument.name in kwargs:
            bound[argument.name] = kwargs[argument.name]
        else:
            bound[argument.name] = argument.default_value
    return bound


def _call(overload, given: dict):
    """The overload with those of the given arguments that it has."""
    names = [argument.name for argument in overload._schema.arguments]
    x, *rest = names
    return overload(given[x], **{name: given[name] for name in rest if name in given})


def _target(op: str, call: dict):
    if "dim" not in call and op in ("max", "min"):
        return torch.ops.reduce_ops.amax if op == "max" else torch.ops.reduce_ops.amin
    packet = getattr(torch.ops.reduce_ops, op)
    name = _TARGET.get(op, _C.OPS[op][0])
    if op == "norm" and call.get("dtype") is not None:
        name = "ScalarOpt_dim_dtype"
    return getattr(packet, name)


def _vmap_rule(op: str, overload):
    def rule(info, in_dims, *args, **kwargs):
        call = _bind(overload, args, kwargs)
        if "unbiased" in call:
            call["correction"] = int(call["unbiased"])
        x = call["self"].movedim(in_dims[0], 0)
        samples, ndim = x.shape[0], x.dim() - 1
        keepdim = call.get("keepdim", False)
        dim = call.get("dim")
        target = _target(op, call)
        shape = None
        if isinstance(dim, int):
            dim = [dim]
        if op in ("all", "any") and dim == [] and ndim:
            dims = []
        else:
            dims = sorted(d + 1 for d in wrap(op, dim, ndim))
        if ndim == 0:
            x, dims, keepdim = x.unsqueeze(1), [1], False
        elif op in _ONE_DIM and "dim" in call and len(dims) != 1:
            shape = [samples] + [1] * (ndim if keepdim else 0)
            x, dims, keepdim = x.flatten(1), [1], False
        one = op in _ONE_DIM and "dim" in call
        call.update(self=x, keepdim=keepdim, dim=dims[0] if one else dims)
        overloaded = target.default if hasattr(target, "default") else target
        results = _call(overloaded, call)
        if op == "describe":  # its results' first dim is that of the statistics
            return tuple(results), (1, 1)
        if isinstance(results, torch.Tensor):
            return (results.reshape(shape) if shape else results), 0
        if shape:
            results = [result.reshape(shape) for result in results]
        return tuple(results), (0,) * len(results)

    return rule


def _pair_rule(op: str):
    """The vmap rule of a product of two tensors: batched ones get a dim in front."""
    vecdot = torch.ops.reduce_ops.vecdot.default

    def rule(info, in_dims, x, y, *, dim=-1):
        pair = []
        ndims = []
        for t, batch in zip((x, y), in_dims, strict=True):
            pair.append(t if batch is None else t.movedim(batch, 0))
            ndims.append(t.dim() - (batch is not None))
        ndim = max(ndims)
        sizes = [t.shape[-1] if n else 1 for t, n in zip(pair, ndims, strict=True)]
        vectors = ndims == [1, 1]
        if (op == "dot" and not vectors) or (vectors and sizes[0] != sizes[1]):
            raise RuntimeError(
                f"reduce_ops.{op}: samples have {ndims} dims and rows of {sizes} elements, "
                "expected vectors of equal sizes"
            )
        if vectors:
            dim = -1
        elif not -max(ndim, 1) <= dim < max(ndim, 1):
            raise IndexError(
                f"reduce_ops.{op}: dim {dim} is out of range for inputs of {ndim} dims"
            )
        for i, batch in enumerate(in_dims):
            if batch is not None:  # broadcasting aligns the samples' dims
                missing = ndim - ndims[i]
                pair[i] = pair[i].reshape(pair[i].shape[:1] + (1,) * missing + pair[i].shape[1:])
        if ndim == 0:
            pair, dim = [t.unsqueeze(-1) for t in pair], -1
        dim = dim - max(ndim, 1) if dim >= 0 else dim
        x, y = pair
        if not (x.is_floating_point() or x.is_complex()):  # of dot
            return torch.ops.reduce_ops.sum.dim_IntList(x * y, [-1], dtype=x.dtype), 0
        return vecdot(x.conj() if op == "dot" else x, y, dim=dim), 0

    return rule


def _functional_form(overload, plain):
    """What tracing gets for an overload with out=, which as a custom op may not return what it
    writes: the overload without, and copies."""
    names = _written(overload)

    def functional(mode, func, types, args=(), kwargs=None):
        with mode:
            call = _bind(overload, args, kwargs or {})
            outs = [call.pop(name) for name in names]
            if "dtype" in call and call["dtype"] is None:
                call["dtype"] = outs[0].dtype
            results = _call(plain, call)
            results = [results] if isinstance(results, torch.Tensor) else results
            for out, result in zip(outs, results, strict=True):
                if out.shape != result.shape:
                    out.resize_(result.shape)
                out.copy_(result)
            return outs[0] if len(outs) == 1 else tuple(outs)

    return functional


def _plain(packet, overload):
    """The overload with the same arguments but those that are written."""
    names = [a.name for a in overload._schema.arguments]
    rest = [name for name in names if name not in _written(overload)]
    for name in packet.overloads():
        candidate = getattr(packet, name)
        if [a.name for a in candidate._schema.arguments] == rest:
            return candidate
    raise AssertionError(f"no overload of {overload} without out=")


def _register(op: str) -> None:
    packet = getattr(torch.ops.reduce_ops, op)
    for name in _C.OPS[op]:
        overload = getattr(packet, name)
        qualified = f"reduce_ops::{op}" + ("" if name == "default" else f".{name}")
        if _written(overload):
            form = _functional_form(overload, _plain(packet, overload))
            torch.library.register_torch_dispatch(qualified, FunctionalTensorMode, form)
        else:
            rule = _pair_rule(op) if op in _PAIRS else _vmap_rule(op, overload)
            torch.library.register_vmap(qualified, rule)


for _op in _C.OPS:
    if _op not in TYPED:
        _register(_op)
