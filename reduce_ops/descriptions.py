"""Several statistics of a tensor in one pass."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch

from ._fake import wrap
from ._public import dims, reduction

_ops = torch.ops.reduce_ops


class Description(NamedTuple):
    """What :func:`reduce_ops.describe` finds, one tensor a field, all of the same shape."""

    count: torch.Tensor
    mean: torch.Tensor
    var: torch.Tensor
    min: torch.Tensor
    max: torch.Tensor
    absmax: torch.Tensor
    norm: torch.Tensor
    nan: torch.Tensor
    inf: torch.Tensor
    zeros: torch.Tensor


def _planes(input, dim, keepdim):
    """The op itself: mean to norm and nan to zeros, each a tensor with the fields as its dim 0."""
    return _ops.describe(input, dims(dim), keepdim)


_planes.__name__ = "describe"
_planes = reduction(_planes)


def describe(
    input: torch.Tensor,
    dim: int | Sequence[int] | None = None,
    keepdim: bool = False,
) -> Description:
    """Statistics of ``input`` over ``dim`` that take one pass over the data.

    Args:
        input: tensor of any shape and strides; float16, bfloat16, float32, float64, bool or an
            integer dtype, on the CPU or a CUDA device. Bool and integers are cast to float64
            first, which is a copy.
        dim: dim or dims to reduce. ``None`` and an empty sequence reduce all of them.
        keepdim: keep reduced dims with size 1.

    Returns:
        A named tuple of tensors of ``input``'s shape without ``dim`` (with size 1 there if
        ``keepdim``). ``mean``, ``var`` (of correction 1), ``min``, ``max``, ``absmax`` (the largest
        absolute value) and ``norm`` (of order 2) are float32, or float64 for float64, bool and
        integers. The number of elements ``count``, and of these those that are NaN (``nan``),
        infinite (``inf``) or 0 (``zeros``) are int64.

        NaN among the elements makes ``mean`` to ``norm`` NaN, and infinities are to them what they
        are to the ops of those names. Of no elements, counts and ``norm`` are 0, the others NaN; of
        one element ``var`` is NaN.

    The results have no gradient. Sums are those of :func:`reduce_ops.var_mean`: in float64 (pairs
    of float64 for float64) relative to the first element, from which the norm follows as
    sum(x^2) = sum(d^2) + 2 f sum(d) + n f^2 with d = x - f.

    Raises:
        RuntimeError: complex input; a dim appears twice.
        IndexError: a dim is out of range.
        NotImplementedError: sparse or quantized input.
        TypeError: an argument has the wrong type.
    """
    statistics, counts = _planes(input, dim, keepdim)
    length = 1
    for d in sorted(wrap("describe", dims(dim), input.dim())):
        length *= input.shape[d] if input.dim() else 1
    count = torch.full_like(counts[0], length)
    return Description(count, *statistics.unbind(0), *counts.unbind(0))
