"""Fake kernels (shapes without data) and vmap rules of sum and mean."""

from __future__ import annotations

import torch
from torch._subclasses.functional_tensor import FunctionalTensorMode

from . import _C

# The ops whose overloads are typed in C++.
TYPED = ("sum", "mean")


def wrap(op: str, dim, ndim: int) -> set[int]:
    """The reduced dims as torch reads them, with its errors."""
    if not dim:
        return set(range(ndim))
    span = max(ndim, 1)
    wrapped = set()
    for d in dim:
        if not -span <= d < span:
            raise IndexError(
                f"reduce_ops.{op}: dim {d} is out of range for an input of {ndim} dims "
                f"(expected to be in range of [{-span}, {span - 1}])"
            )
        if d % span in wrapped:
            raise RuntimeError(
                f"reduce_ops.{op}: dim {d % span} appears multiple times in the list of dims "
                f"{list(dim)}"
            )
        wrapped.add(d % span)
    return wrapped


def _shape(op: str, x: torch.Tensor, dim, keepdim: bool) -> list:
    reduced = wrap(op, dim, x.dim())
    if keepdim:
        return [1 if d in reduced else n for d, n in enumerate(x.shape)]
    return [n for d, n in enumerate(x.shape) if d not in reduced]


def _dtype(op: str, x: torch.Tensor, dtype: torch.dtype | None) -> torch.dtype:
    result = x.dtype if dtype is None else dtype
    if result.is_floating_point or result.is_complex:
        return result
    if op == "mean":
        what = f"input has dtype {result}" if dtype is None else f"dtype is {result}"
        either = ", or one as dtype=" if dtype is None else ""
        raise RuntimeError(
            f"reduce_ops.mean: {what}, expected a floating point or complex dtype{either}"
        )
    return torch.int64 if dtype is None else dtype


def _prepare_out(op: str, x, shape: list, dtype: torch.dtype | None, out: torch.Tensor) -> None:
    """What the real op refuses is refused; an out of another shape is resized."""
    if dtype is not None and out.dtype != dtype:
        raise RuntimeError(
            f"reduce_ops.{op}: out has dtype {out.dtype}, expected {dtype} as dtype says"
        )
    _dtype(op, x, out.dtype)
    if out.device != x.device:
        raise RuntimeError(
            f"reduce_ops.{op}: out is on device {out.device}, expected the input's device "
            f"{x.device}"
        )
    if list(out.shape) != shape:
        out.resize_(shape)


def _register(op: str, with_dim: str, with_out: str) -> None:
    reduce = getattr(getattr(torch.ops.reduce_ops, op), with_dim)

    @torch.library.register_fake(f"reduce_ops::{op}.{with_dim}")
    def fake(x, dim=None, keepdim=False, *, dtype=None):
        return x.new_empty(_shape(op, x, dim, keepdim), dtype=_dtype(op, x, dtype))

    @torch.library.register_fake(f"reduce_ops::{op}.{with_out}")
    def fake_out(x, dim, keepdim=False, *, dtype=None, out):
        _prepare_out(op, x, _shape(op, x, dim, keepdim), dtype, out)
        return out

    @torch.library.register_vmap(f"reduce_ops::{op}.{with_dim}")
    def vmap(info, in_dims, x, dim=None, keepdim=False, *, dtype=None):
        x = x.movedim(in_dims[0], 0)
        reduced = wrap(op, dim, x.dim() - 1)
        if x.dim() == 1:  # a 0-d tensor in each sample
            return reduce(x.unsqueeze(1), [1], False, dtype=dtype), 0
        return reduce(x, sorted(d + 1 for d in reduced), keepdim, dtype=dtype), 0

    # Functionalization (torch.compile) refuses custom ops that return what they write: it gets the
    # op without out=, and a copy.
    @torch.library.register_torch_dispatch(f"reduce_ops::{op}.{with_out}", FunctionalTensorMode)
    def functional(mode, func, types, args=(), kwargs=None):
        def without_out(x, dim, keepdim=False, *, dtype=None, out):
            _prepare_out(op, x, _shape(op, x, dim, keepdim), dtype, out)
            return out.copy_(reduce(x, dim, keepdim, dtype=out.dtype))

        with mode:
            return without_out(*args, **kwargs)


for _op in TYPED:
    _register(_op, *_C.OPS[_op])
