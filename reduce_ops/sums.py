"""sum and mean. In eager mode they enter C++ at once; traced, they are their torch ops."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import torch
from torch.compiler import is_dynamo_compiling
from torch.overrides import handle_torch_function

from . import _C


def _shorten(op: str, packet: torch._ops.OpOverloadPacket) -> None:
    """Let calls of ``torch.ops.reduce_ops.<op>`` go straight to an argument parser of its own.

    The generic one costs more than the rest of a small call, and the way to it in Python as much as
    the new one. TorchScript finds an operator by its entry point, so that is made known there too.
    """
    name = packet._qualified_op_name
    packet._op = _C.entry(op, packet._op, True)
    torch.jit._builtins._register_builtin(packet._op, name)
    kind = type(packet)
    packet.__class__ = type(kind.__name__, (kind,), {"__call__": staticmethod(packet._op)})


def _reduction(described):
    """The op of that name, with the signature and the docstring of ``described``."""
    op = described.__name__
    packet = getattr(torch.ops.reduce_ops, op)
    with_dim, with_out = (getattr(packet, overload) for overload in _C.OPS[op])

    @functools.wraps(described)
    def reduce(input, dim=None, keepdim=False, *, dtype=None, out=None):
        if is_dynamo_compiling():
            if out is not None:
                return with_out(input, dim, keepdim, dtype=dtype, out=out)
            return with_dim(input, dim, keepdim, dtype=dtype)
        if dtype is None and out is None:
            return entry(input, dim, keepdim)
        return entry(input, dim, keepdim, dtype=dtype, out=out)

    # Called where a tensor overrides torch functions.
    def overridden(input, dim=None, keepdim=False, *, dtype=None, out=None):
        return handle_torch_function(
            reduce, (input, out), input, dim, keepdim, dtype=dtype, out=out
        )

    entry = _C.entry(op, overridden, False)
    _shorten(op, packet)
    return reduce


@_reduction
def sum(
    input: torch.Tensor,
    dim: int | Sequence[int] | None = None,
    keepdim: bool = False,
    *,
    dtype: torch.dtype | None = None,
    out: torch.Tensor | None = None,
) -> torch.Tensor:
    """Sum of the elements of ``input`` over ``dim``; a drop-in for :func:`torch.sum`.

    Args:
        input: tensor of any shape and strides; bool, integers, float16, bfloat16, float32,
            float64, complex64 or complex128, on the CPU or a CUDA device.
        dim: dim or dims to reduce, negative ones counted from the end. ``None`` and an empty
            sequence reduce all of them.
        keepdim: keep reduced dims with size 1.
        dtype: elements are cast to it before they are added, and it is the result's dtype.
            Default: int64 for bool and integers, else ``input.dtype`` (``out.dtype`` with ``out``).
        out: tensor to write the result into; resized where its shape differs. It may lie between
            the elements of ``input``.

    Returns:
        ``input``'s shape without ``dim`` (with size 1 there if ``keepdim``). An empty sum is 0.

    Floating-point sums are accumulated in float64, and those of float64 in a pair of float64
    (two-sum; Knuth, The Art of Computer Programming 2, section 4.2.2): the result is within 1 ulp
    of the exact sum while sum(abs(x)) / abs(sum(x)) <= 2**20, unless a partial sum overflows
    float64. The bits of a result depend on the elements it sums, their number, dtype and whether
    they lie contiguous, never on the other results of the call, the number of threads or the GPU.
    Integers wrap around.

    Raises:
        IndexError: a dim is out of range.
        RuntimeError: a dim appears twice; ``out`` has another dtype than ``dtype``, is on another
            device, shares memory with ``input`` or within itself, or would have to be resized in
            the storage of ``input``.
        TypeError: an argument has the wrong type.
        NotImplementedError: sparse or quantized input, or an unsupported dtype.
    """


@_reduction
def mean(
    input: torch.Tensor,
    dim: int | Sequence[int] | None = None,
    keepdim: bool = False,
    *,
    dtype: torch.dtype | None = None,
    out: torch.Tensor | None = None,
) -> torch.Tensor:
    """Mean of the elements of ``input`` over ``dim``; a drop-in for :func:`torch.mean`.

    Args:
        input: tensor of any shape and strides on the CPU or a CUDA device; float16, bfloat16,
            float32, float64, complex64 or complex128, or with ``dtype`` bool and integers too.
        dim: dim or dims to reduce, negative ones counted from the end. ``None`` and an empty
            sequence reduce all of them.
        keepdim: keep reduced dims with size 1.
        dtype: floating point or complex; elements are cast to it before they are added, and it is
            the result's dtype. Default: ``input.dtype`` (``out.dtype`` with ``out``).
        out: tensor to write the result into; resized where its shape differs. It may lie between
            the elements of ``input``.

    Returns:
        ``input``'s shape without ``dim`` (with size 1 there if ``keepdim``). The mean of no
        elements is NaN.

    The sum is that of :func:`reduce_ops.sum` before it is rounded, and is divided in float64 (the
    pair of float64 of a float64 sum with one more step of the division), so that the result is
    within 1 ulp of the exact mean where a sum is, float16 sums that overflow included.

    Raises:
        RuntimeError: ``input`` (or ``dtype``, ``out``) has an integer dtype; a dim appears twice;
            ``out`` as for :func:`reduce_ops.sum`.
        IndexError: a dim is out of range.
        TypeError: an argument has the wrong type.
        NotImplementedError: sparse or quantized input, or an unsupported dtype.
    """
