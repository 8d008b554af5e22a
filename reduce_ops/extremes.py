"""The largest and smallest elements, and where they are."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from ._public import all_dims, reduction

_ops = torch.ops.reduce_ops

_RESULT = """
    Returns:
        ``input``'s shape without ``dim`` (with size 1 there if ``keepdim``), ``input``'s dtype.

    NaN counts as {kind} than every number. The result is one of the elements, so it is exact. The
    gradient is divided evenly among the elements that equal it.

    Raises:
        IndexError: a dim is out of range, or ``dim`` names one of size 0.
        RuntimeError: a dim appears twice; all dims are reduced and one has size 0; ``out`` has
            another dtype, is on another device, shares memory with ``input`` or within itself.
        NotImplementedError: complex, uint16, uint32, uint64, sparse or quantized input.
        TypeError: an argument has the wrong type.
"""


@reduction
def amax(
    input: torch.Tensor,
    dim: int | Sequence[int] | None = None,
    keepdim: bool = False,
    *,
    out: torch.Tensor | None = None,
) -> torch.Tensor:
    """Largest element of ``input`` over ``dim``; a drop-in for :func:`torch.amax`.

    Args:
        input: tensor of any shape and strides; bool, uint8, signed integers, float16, bfloat16,
            float32 or float64, on the CPU or a CUDA device.
        dim: dim or dims to reduce. ``None`` and an empty sequence reduce all of them.
        keepdim: keep reduced dims with size 1.
        out: tensor of ``input``'s dtype to write the result into; resized where its shape differs.
    """
    if out is not None:
        return _ops.amax.out(input, all_dims(dim), keepdim, out=out)
    return _ops.amax.default(input, all_dims(dim), keepdim)


@reduction
def amin(
    input: torch.Tensor,
    dim: int | Sequence[int] | None = None,
    keepdim: bool = False,
    *,
    out: torch.Tensor | None = None,
) -> torch.Tensor:
    """Smallest element of ``input`` over ``dim``; a drop-in for :func:`torch.amin`.

    Args:
        input: as for :func:`reduce_ops.amax`.
        dim: dim or dims to reduce. ``None`` and an empty sequence reduce all of them.
        keepdim: keep reduced dims with size 1.
        out: tensor of ``input``'s dtype to write the result into; resized where its shape differs.
    """
    if out is not None:
        return _ops.amin.out(input, all_dims(dim), keepdim, out=out)
    return _ops.amin.default(input, all_dims(dim), keepdim)


@reduction
def aminmax(
    input: torch.Tensor,
    *,
    dim: int | None = None,
    keepdim: bool = False,
    out: tuple[torch.Tensor, torch.Tensor] | None = None,
) -> torch.return_types.aminmax:
    """Smallest and largest element of ``input`` in one pass; a drop-in for :func:`torch.aminmax`.

    Args:
        input: as for :func:`reduce_ops.amax`.
        dim: dim to reduce; ``None`` reduces all of them.
        keepdim: keep reduced dims with size 1.
        out: (min, max) tensors of ``input``'s dtype to write the results into.

    Returns:
        A named tuple (min, max), each with ``input``'s shape without ``dim`` (with size 1 there if
        ``keepdim``) and ``input``'s dtype.

    NaN goes into both results. Gradients are divided evenly among equal elements.

    Raises:
        As :func:`reduce_ops.amax`.
    """
    if out is not None:
        low, high = out
        results = _ops.aminmax.out(input, dim=dim, keepdim=keepdim, min=low, max=high)
    else:
        results = _ops.aminmax.default(input, dim=dim, keepdim=keepdim)
    return torch.return_types.aminmax(results)


_MAX = """

    ``{op}(input)`` reduces all dims to one {word} element; ``{op}(input, dim)`` also says where it
    is. The elementwise ``torch.{op}(input, other)`` is refused: that is ``torch.{op}imum``.

    Args:
        input: tensor of any shape and strides; bool, uint8, signed integers, float16, bfloat16,
            float32 or float64, on the CPU or a CUDA device.
        dim: the one dim to reduce.
        keepdim: keep it with size 1.
        out: without ``dim`` a tensor; with ``dim`` two, (values, indices), of ``input``'s dtype and
            int64.

    Returns:
        Without ``dim`` a 0-d tensor, with ``dim`` a named tuple (values, indices) of ``input``'s
        shape without ``dim`` (with size 1 there if ``keepdim``). indices are positions along
        ``dim``, in elements: of the first one among equals. NaN counts as {kind} than every
        number.

    The gradient of values goes to the element at that index; without ``dim`` it is divided evenly
    among equal elements.

    Raises:
        IndexError: ``dim`` is out of range or names a dim of size 0.
        RuntimeError: complex input with ``dim``; no elements without ``dim``; ``out`` of a wrong
            dtype, device, or memory.
        NotImplementedError: an unsupported dtype; sparse or quantized input.
        TypeError: an argument has the wrong type, or is a second tensor.
    """


def max(input, dim=None, keepdim=False, *, out=None):
    if dim is None:
        if out is not None:
            return _ops.max.unary_out(input, out=out)
        return _ops.max.default(input)
    if out is not None:
        values, indices = out
        results = _ops.max.dim_max(input, dim, keepdim, max=values, max_values=indices)
    else:
        results = _ops.max.dim(input, dim, keepdim)
    return torch.return_types.max(results)


def min(input, dim=None, keepdim=False, *, out=None):
    if dim is None:
        if out is not None:
            return _ops.min.unary_out(input, out=out)
        return _ops.min.default(input)
    if out is not None:
        values, indices = out
        results = _ops.min.dim_min(input, dim, keepdim, min=values, min_indices=indices)
    else:
        results = _ops.min.dim(input, dim, keepdim)
    return torch.return_types.min(results)


_ARG = """

    Args:
        input: tensor of any shape and strides; uint8, signed integers, float16, bfloat16, float32
            or float64, on the CPU or a CUDA device.
        dim: dim to reduce; ``None`` reduces all of them, and the index is that into the flattened
            input.
        keepdim: keep reduced dims with size 1.
        out: int64 tensor to write the result into; resized where its shape differs.

    Returns:
        int64, ``input``'s shape without ``dim`` (with size 1 there if ``keepdim``): the position in
        elements of the first one among equals. NaN counts as {kind} than every number.

    Raises:
        IndexError: ``dim`` is out of range or names a dim of size 0; no elements.
        RuntimeError: bool or complex input; ``out`` of another dtype, device, or shared memory.
        NotImplementedError: uint16, uint32, uint64, sparse or quantized input.
        TypeError: an argument has the wrong type.
    """


def argmax(
    input: torch.Tensor,
    dim: int | None = None,
    keepdim: bool = False,
    *,
    out: torch.Tensor | None = None,
) -> torch.Tensor:
    if out is not None:
        return _ops.argmax.out(input, dim, keepdim, out=out)
    return _ops.argmax.default(input, dim, keepdim)


def argmin(
    input: torch.Tensor,
    dim: int | None = None,
    keepdim: bool = False,
    *,
    out: torch.Tensor | None = None,
) -> torch.Tensor:
    if out is not None:
        return _ops.argmin.out(input, dim, keepdim, out=out)
    return _ops.argmin.default(input, dim, keepdim)


amax.__doc__ += _RESULT.format(kind="larger")
amin.__doc__ += _RESULT.format(kind="smaller")
max.__doc__ = "Largest element of ``input``; a drop-in for :func:`torch.max`." + _MAX.format(
    op="max", word="largest", kind="larger"
)
min.__doc__ = "Smallest element of ``input``; a drop-in for :func:`torch.min`." + _MAX.format(
    op="min", word="smallest", kind="smaller"
)
argmax.__doc__ = "Where the largest element is; a drop-in for :func:`torch.argmax`." + _ARG.format(
    kind="larger"
)
argmin.__doc__ = "Where the smallest element is; a drop-in for :func:`torch.argmin`." + _ARG.format(
    kind="smaller"
)
max, min, argmax, argmin = map(reduction, (max, min, argmax, argmin))
