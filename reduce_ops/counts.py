"""Truth, counts, products, and sums that skip NaN."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from ._public import all_dims, dims, reduction

_ops = torch.ops.reduce_ops

_TRUTH = """

    Args:
        input: tensor of any shape and strides and of any of the ops' dtypes, on the CPU or a CUDA
            device. Everything but 0 is true, NaN included.
        dim: dim or dims to reduce. ``None`` reduces all of them, an empty sequence none.
        keepdim: keep reduced dims with size 1.
        out: bool or uint8 tensor to write the result into; resized where its shape differs.

    Returns:
        ``input``'s shape without ``dim`` (with size 1 there if ``keepdim``); bool, and uint8 for
        uint8. Of no elements it is {empty}.

    Raises:
        RuntimeError: a dim appears twice; ``out`` of another dtype, device, or shared memory.
        IndexError: a dim is out of range.
        NotImplementedError: sparse or quantized input, or an unsupported dtype.
        TypeError: an argument has the wrong type.
    """


def all(
    input: torch.Tensor,
    dim: int | Sequence[int] | None = None,
    keepdim: bool = False,
    *,
    out: torch.Tensor | None = None,
) -> torch.Tensor:
    if out is not None:
        return _ops.all.dims_out(input, dims(dim), keepdim, out=out)
    return _ops.all.dims(input, dims(dim), keepdim)


def any(
    input: torch.Tensor,
    dim: int | Sequence[int] | None = None,
    keepdim: bool = False,
    *,
    out: torch.Tensor | None = None,
) -> torch.Tensor:
    if out is not None:
        return _ops.any.dims_out(input, dims(dim), keepdim, out=out)
    return _ops.any.dims(input, dims(dim), keepdim)


all.__doc__ = "Whether all elements are true; a drop-in for :func:`torch.all`." + _TRUTH.format(
    empty="True"
)
any.__doc__ = "Whether any element is true; a drop-in for :func:`torch.any`." + _TRUTH.format(
    empty="False"
)
all, any = map(reduction, (all, any))


@reduction
def count_nonzero(input: torch.Tensor, dim: int | Sequence[int] | None = None) -> torch.Tensor:
    """Number of elements other than 0 (NaN counts); a drop-in for :func:`torch.count_nonzero`.

    Args:
        input: tensor of any shape and strides and of any of the ops' dtypes, on the CPU or a CUDA
            device.
        dim: dim or dims to reduce. ``None`` and an empty sequence reduce all of them.

    Returns:
        int64, ``input``'s shape without ``dim``.

    Raises:
        RuntimeError: a dim appears twice.
        IndexError: a dim is out of range.
        NotImplementedError: sparse or quantized input, or an unsupported dtype.
        TypeError: an argument has the wrong type.
    """
    return _ops.count_nonzero.dim_IntList(input, all_dims(dim))


@reduction
def prod(
    input: torch.Tensor,
    dim: int | Sequence[int] | None = None,
    keepdim: bool = False,
    *,
    dtype: torch.dtype | None = None,
    out: torch.Tensor | None = None,
) -> torch.Tensor:
    """Product of the elements of ``input`` over ``dim``; a drop-in for :func:`torch.prod`.

    Args:
        input: tensor of any shape and strides and of any of the ops' dtypes, on the CPU or a CUDA
            device.
        dim: dim or dims to reduce; torch takes one. ``None`` and an empty sequence reduce all.
        keepdim: keep reduced dims with size 1.
        dtype: elements are cast to it first, and it is the result's dtype. Default: int64 for bool
            and integers, else ``input.dtype`` (``out.dtype`` with ``out``).
        out: tensor to write the result into; resized where its shape differs.

    Returns:
        ``input``'s shape without ``dim`` (with size 1 there if ``keepdim``). An empty product is 1.

    Accumulated in float64, for float64 in a pair of float64 (two-product by fused multiply-add:
    Ogita, Rump and Oishi, Accurate sum and dot product, 2005). Integers wrap around. The gradient
    is right where elements are 0, too.

    Raises:
        RuntimeError: a dim appears twice; ``out`` of a wrong dtype, device, or shared memory.
        IndexError: a dim is out of range.
        NotImplementedError: sparse or quantized input, or an unsupported dtype.
        TypeError: an argument has the wrong type.
    """
    if out is not None:
        return _ops.prod.IntList_out(input, dims(dim), keepdim, dtype=dtype, out=out)
    return _ops.prod.dim_IntList(input, dims(dim), keepdim, dtype=dtype)


@reduction
def nansum(
    input: torch.Tensor,
    dim: int | Sequence[int] | None = None,
    keepdim: bool = False,
    *,
    dtype: torch.dtype | None = None,
    out: torch.Tensor | None = None,
) -> torch.Tensor:
    """Sum of the elements that are not NaN; a drop-in for :func:`torch.nansum`.

    Args:
        input: tensor of any shape and strides, on the CPU or a CUDA device; any of the ops' dtypes
            that is not complex.
        dim: dim or dims to reduce. ``None`` and an empty sequence reduce all of them.
        keepdim: keep reduced dims with size 1.
        dtype: elements are cast to it first, and it is the result's dtype; a floating point dtype
            for floating point input. Default: as for :func:`reduce_ops.sum`.
        out: tensor to write the result into; resized where its shape differs.

    Returns:
        ``input``'s shape without ``dim`` (with size 1 there if ``keepdim``); accuracy as for
        :func:`reduce_ops.sum`. The sum of no elements is 0.

    Raises:
        RuntimeError: complex input; a dim appears twice; ``out`` of a wrong dtype, device, or
            shared memory.
        IndexError: a dim is out of range.
        NotImplementedError: sparse or quantized input, or an unsupported dtype.
        TypeError: an argument has the wrong type.
    """
    if out is not None:
        return _ops.nansum.out(input, dims(dim), keepdim, dtype=dtype, out=out)
    return _ops.nansum.default(input, dims(dim), keepdim, dtype=dtype)


@reduction
def nanmean(
    input: torch.Tensor,
    dim: int | Sequence[int] | None = None,
    keepdim: bool = False,
    *,
    dtype: torch.dtype | None = None,
    out: torch.Tensor | None = None,
) -> torch.Tensor:
    """Mean of the elements that are not NaN; a drop-in for :func:`torch.nanmean`.

    Args:
        input: tensor of any shape and strides, on the CPU or a CUDA device; float16, bfloat16,
            float32 or float64.
        dim: dim or dims to reduce. ``None`` and an empty sequence reduce all of them.
        keepdim: keep reduced dims with size 1.
        dtype: floating point; elements are cast to it first, and it is the result's dtype.
        out: tensor to write the result into; resized where its shape differs.

    Returns:
        ``input``'s shape without ``dim`` (with size 1 there if ``keepdim``); accuracy as for
        :func:`reduce_ops.mean`. The mean of no elements is NaN.

    Raises:
        RuntimeError: complex, integer or bool input; a dim appears twice; ``out`` of a wrong dtype,
            device, or shared memory.
        IndexError: a dim is out of range.
        NotImplementedError: sparse or quantized input, or an unsupported dtype.
        TypeError: an argument has the wrong type.
    """
    if out is not None:
        return _ops.nanmean.out(input, dims(dim), keepdim, dtype=dtype, out=out)
    return _ops.nanmean.default(input, dims(dim), keepdim, dtype=dtype)
