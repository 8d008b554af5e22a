"""Norms and logsumexp."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from ._public import all_dims, dims, reduction

_ops = torch.ops.reduce_ops

_NORM = """
    Returns:
        ``input``'s shape without ``dim`` (with size 1 there if ``keepdim``), of ``dtype`` or
        ``input``'s dtype, for complex ones their real dtype. The norm of no elements is 0.

    Powers are added in float64 (a pair of float64 for float64). Of order 0 it is the number of
    elements other than 0, of order inf and -inf the largest and smallest absolute value. The
    gradient is 0 where the norm is 0, and that of order 0 is 0.

    Raises:
        RuntimeError: integer or bool input; a complex order; ``dtype`` narrower than the input's or
            not of its kind; a negative or infinite order of no elements; a dim appears twice;
            ``out`` of a wrong dtype, device, or shared memory.
        IndexError: a dim is out of range.
        NotImplementedError: sparse or quantized input{more}.
        TypeError: an argument has the wrong type.
"""


@reduction
def vector_norm(
    input: torch.Tensor,
    ord: float = 2,
    dim: int | Sequence[int] | None = None,
    keepdim: bool = False,
    *,
    dtype: torch.dtype | None = None,
    out: torch.Tensor | None = None,
) -> torch.Tensor:
    """sum(abs(x)**ord) ** (1 / ord) over ``dim``; a drop-in for :func:`torch.linalg.vector_norm`.

    Args:
        input: tensor of any shape and strides; float16, bfloat16, float32, float64, complex64 or
            complex128, on the CPU or a CUDA device.
        ord: order of the norm, any real number or an infinity.
        dim: dim or dims to reduce. ``None`` and an empty sequence reduce all of them.
        keepdim: keep reduced dims with size 1.
        dtype: elements are cast to it first; not narrower than ``input.dtype``.
        out: tensor to write the result into; resized where its shape differs.
    """
    if out is not None:
        return _ops.vector_norm.out(input, ord, dims(dim), keepdim, dtype=dtype, out=out)
    return _ops.vector_norm.default(input, ord, dims(dim), keepdim, dtype=dtype)


@reduction
def norm(
    input: torch.Tensor,
    p: float | str | None = 2,
    dim: int | Sequence[int] | None = None,
    keepdim: bool = False,
    out: torch.Tensor | None = None,
    dtype: torch.dtype | None = None,
) -> torch.Tensor:
    """Vector norm of order ``p``; a drop-in for :func:`torch.norm`.

    Args:
        input: as for :func:`reduce_ops.vector_norm`.
        p: order of the norm; ``"fro"`` and ``None`` are 2. ``"nuc"`` is refused.
        dim: dim or dims to reduce. ``None`` and an empty sequence reduce all of them.
        keepdim: keep reduced dims with size 1.
        out: tensor to write the result into; resized where its shape differs.
        dtype: elements are cast to it first; not narrower than ``input.dtype``.
    """
    if isinstance(p, str):
        if p != "fro":
            raise NotImplementedError(f'reduce_ops.norm: p is {p!r}, expected a number or "fro"')
        p = 2
    if out is not None and dtype is not None:
        return _ops.norm.dtype_out(input, p, all_dims(dim), keepdim, dtype=dtype, out=out)
    if out is not None:
        return _ops.norm.out(input, p, all_dims(dim), keepdim, out=out)
    if dtype is not None:
        return _ops.norm.ScalarOpt_dim_dtype(input, p, all_dims(dim), keepdim, dtype=dtype)
    return _ops.norm.ScalarOpt_dim(input, p, all_dims(dim), keepdim)


@reduction
def logsumexp(
    input: torch.Tensor,
    dim: int | Sequence[int],
    keepdim: bool = False,
    *,
    out: torch.Tensor | None = None,
) -> torch.Tensor:
    """log(sum(exp(x))) over ``dim``; a drop-in for :func:`torch.logsumexp`.

    Args:
        input: tensor of any shape and strides and of any of the ops' dtypes, on the CPU or a CUDA
            device.
        dim: dim or dims to reduce. An empty sequence reduces all of them.
        keepdim: keep reduced dims with size 1.
        out: floating point or complex tensor to write the result into; resized where its shape
            differs.

    Returns:
        ``input``'s shape without ``dim`` (with size 1 there if ``keepdim``), of ``input``'s dtype;
        torch's default dtype for bool and integers. Of no elements it is -inf.

    Computed in one pass relative to the largest element so far (Milakov and Gimelshein, Online
    normalizer calculation for softmax, 2018), so that no exponential overflows; for complex input
    relative to the largest real part, with copies of the input's size.

    Raises:
        RuntimeError: a dim appears twice; ``out`` has an integer dtype, or one to which the result
            cannot be cast, is on another device or shares memory.
        IndexError: a dim is out of range.
        NotImplementedError: sparse or quantized input, or an unsupported dtype.
        TypeError: an argument has the wrong type.
    """
    if out is not None:
        return _ops.logsumexp.out(input, all_dims(dim), keepdim, out=out)
    return _ops.logsumexp.default(input, all_dims(dim), keepdim)


vector_norm.__doc__ += _NORM.format(more="")
norm.__doc__ += _NORM.format(more='; ``p="nuc"``')
