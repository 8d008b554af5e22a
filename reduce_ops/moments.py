"""Variances and standard deviations, with and without the mean."""

from __future__ import annotations

import torch

from ._public import correction as _correction
from ._public import dims, reduction

_ops = torch.ops.reduce_ops

_DOC = """

    Also called as ``{op}(input, dim, unbiased, keepdim)`` and ``{op}(input, unbiased)``:
    ``unbiased=True`` is ``correction=1``, ``unbiased=False`` is ``correction=0``.

    Args:
        input: tensor of any shape and strides; float16, bfloat16, float32, float64, complex64 or
            complex128, on the CPU or a CUDA device.
        dim: dim or dims to reduce. ``None`` and an empty sequence reduce all of them.
        correction: subtracted from the number of elements n in the divisor n - correction.
            Default 1 (Bessel's correction).
        keepdim: keep reduced dims with size 1.{out}

    Returns:
        {result}

    Computed in one pass from sums of d = x - (first element) and d^2, in float64 (a pair of
    float64 for float64): sum(d^2) - sum(d)^2 / n (Chan, Golub and LeVeque, Algorithms for Computing
    the Sample Variance, 1983). That of a complex input is the sum of its two parts'.
    Where n <= correction, torch's warning is given and the result is infinite or NaN.

    Raises:
        RuntimeError: integer or bool input; a dim appears twice; ``out`` of a wrong dtype, device,
            or shared memory.
        IndexError: a dim is out of range.
        NotImplementedError: sparse or quantized input.
        TypeError: an argument has the wrong type.
    """
_OUT = """
        out: tensor to write the result into; resized where its shape differs."""
_ONE = """``input``'s shape without ``dim`` (with size 1 there if ``keepdim``), of ``input``'s
        dtype, for complex ones their real dtype."""
_TWO = """A tuple of two tensors of ``input``'s shape without ``dim`` (with size 1 there if
        ``keepdim``): the first real, the mean of ``input``'s dtype."""


def var(input, dim=None, unbiased=None, keepdim=False, *, correction=None, out=None):
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    number = _correction(unbiased, correction)
    if out is not None:
        return _ops.var.correction_out(
            input, dims(dim), correction=number, keepdim=keepdim, out=out
        )
    return _ops.var.correction(input, dims(dim), correction=number, keepdim=keepdim)


def std(input, dim=None, unbiased=None, keepdim=False, *, correction=None, out=None):
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    number = _correction(unbiased, correction)
    if out is not None:
        return _ops.std.correction_out(
            input, dims(dim), correction=number, keepdim=keepdim, out=out
        )
    return _ops.std.correction(input, dims(dim), correction=number, keepdim=keepdim)


def var_mean(input, dim=None, unbiased=None, keepdim=False, *, correction=None):
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    number = _correction(unbiased, correction)
    return _ops.var_mean.correction(input, dims(dim), correction=number, keepdim=keepdim)


def std_mean(input, dim=None, unbiased=None, keepdim=False, *, correction=None):
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    number = _correction(unbiased, correction)
    return _ops.std_mean.correction(input, dims(dim), correction=number, keepdim=keepdim)


def _described(function, what: str, out: str, result: str):
    op = function.__name__
    function.__doc__ = f"{what} of ``input`` over ``dim``; a drop-in for :func:`torch.{op}`."
    function.__doc__ += _DOC.format(op=op, out=out, result=result)
    return reduction(function)


var = _described(var, "Variance", _OUT, _ONE)
std = _described(std, "Standard deviation", _OUT, _ONE)
var_mean = _described(var_mean, "Variance and mean", "", _TWO)
std_mean = _described(std_mean, "Standard deviation and mean", "", _TWO)
