"""Fake kernels (shapes without data) and vmap rules of the ops."""

from __future__ import annotations

import torch
from torch._subclasses.functional_tensor import FunctionalTensorMode


def _wrap(dim, ndim: int) -> set[int]:
    """The reduced dims as torch.sum reads them, with its errors."""
    if not dim:
        return set(range(ndim))
    span = max(ndim, 1)
    wrapped = set()
    for d in dim:
        if not -span <= d < span:
            raise IndexError(
                f"reduce_ops.sum: dim {d} is out of range for an input of {ndim} dims "
                f"(expected to be in range of [{-span}, {span - 1}])"
            )
        if d % span in wrapped:
            raise RuntimeError(
                f"reduce_ops.sum: dim {d % span} appears multiple times in the list of dims "
                f"{list(dim)}"
            )
        wrapped.add(d % span)
    return wrapped


def _shape(x: torch.Tensor, dim, keepdim: bool) -> list:
    reduced = _wrap(dim, x.dim())
    if keepdim:
        return [1 if d in reduced else n for d, n in enumerate(x.shape)]
    return [n for d, n in enumerate(x.shape) if d not in reduced]


def _dtype(x: torch.Tensor, dtype: torch.dtype | None) -> torch.dtype:
    if dtype is not None:
        return dtype
    return x.dtype if x.dtype.is_floating_point or x.dtype.is_complex else torch.int64


@torch.library.register_fake("reduce_ops::sum.dim_IntList")
def _sum_dim(x, dim=None, keepdim=False, *, dtype=None):
    return x.new_empty(_shape(x, dim, keepdim), dtype=_dtype(x, dtype))


def _prepare_out(x, shape: list, dtype: torch.dtype | None, out: torch.Tensor) -> None:
    """What the real op refuses is refused; an out of another shape is resized."""
    if dtype is not None and out.dtype != dtype:
        raise RuntimeError(
            f"reduce_ops.sum: out has dtype {out.dtype}, expected {dtype} as dtype says"
        )
    if out.device != x.device:
        raise RuntimeError(
            f"reduce_ops.sum: out is on device {out.device}, expected the input's device {x.device}"
        )
    if list(out.shape) != shape:
        out.resize_(shape)


@torch.library.register_fake("reduce_ops::sum.IntList_out")
def _sum_dim_out(x, dim, keepdim=False, *, dtype=None, out):
    _prepare_out(x, _shape(x, dim, keepdim), dtype, out)
    return out


@torch.library.register_vmap("reduce_ops::sum.dim_IntList")
def _sum_dim_vmap(info, in_dims, x, dim=None, keepdim=False, *, dtype=None):
    x = x.movedim(in_dims[0], 0)
    reduced = _wrap(dim, x.dim() - 1)
    if x.dim() == 1:  # a 0-d tensor in each sample
        return torch.ops.reduce_ops.sum.dim_IntList(x.unsqueeze(1), [1], False, dtype=dtype), 0
    reduced = sorted(d + 1 for d in reduced)
    return torch.ops.reduce_ops.sum.dim_IntList(x, reduced, keepdim, dtype=dtype), 0


# Functionalization (torch.compile) refuses custom ops that return what they write: it gets the op
# without out=, and a copy.
@torch.library.register_torch_dispatch("reduce_ops::sum.IntList_out", FunctionalTensorMode)
def _sum_dim_out_functional(mode, func, types, args=(), kwargs=None):
    def without_out(x, dim, keepdim=False, *, dtype=None, out):
        _prepare_out(x, _shape(x, dim, keepdim), dtype, out)
        result = torch.ops.reduce_ops.sum.dim_IntList(x, dim, keepdim, dtype=out.dtype)
        return out.copy_(result)

    with mode:
        return without_out(*args, **kwargs)
