"""Dot products."""

from __future__ import annotations

import torch

from ._public import reduction

_ops = torch.ops.reduce_ops

_NOTES = """
    Products and their sum are in float64: exact products for float32 and 16-bit floats, pairs of
    float64 (the product's rounding error is kept) for float64; complex numbers in their parts.
    Integers wrap around. Neither input is copied, whatever its strides, unless more than 8 axes
    remain. The canonical order of the additions depends on the length, the dtype and on whether
    both inputs are contiguous along the reduction.

    Gradients of any order and forward mode are torch's: products of the other input.
"""


@reduction
def dot(
    input: torch.Tensor, tensor: torch.Tensor, *, out: torch.Tensor | None = None
) -> torch.Tensor:
    """Sum of the products of two vectors' elements; a drop-in for :func:`torch.dot`.

    Args:
        input: 1-D tensor of shape (n,), any stride; uint8, a signed integer, a floating point or
            a complex dtype, on the CPU or a CUDA device.
        tensor: 1-D tensor of the same size, dtype and device.
        out: tensor to write the result into; resized where its shape differs.

    Returns:
        A 0-d tensor of the inputs' dtype: 0 where n is 0.

    Raises:
        RuntimeError: an input is not 1-D; sizes, dtypes or devices differ; ``out`` of a wrong
            dtype, device, or shared memory.
        NotImplementedError: bool, uint16, uint32 or uint64; sparse or quantized input.
        TypeError: an argument has the wrong type.
    """
    if out is not None:
        return _ops.dot.out(input, tensor, out=out)
    return _ops.dot.default(input, tensor)


@reduction
def vecdot(
    x: torch.Tensor, y: torch.Tensor, *, dim: int = -1, out: torch.Tensor | None = None
) -> torch.Tensor:
    """Sum of conj(x) * y over ``dim``; a drop-in for :func:`torch.linalg.vecdot`.

    Args:
        x: tensor of any shape and strides; a floating point or complex dtype, on the CPU or a CUDA
            device.
        y: tensor of the same dtype and device, to whose shape ``x``'s broadcasts. Two vectors have
            equal sizes.
        dim: dim of the broadcast shape to reduce; of two vectors any, as for torch.
        out: tensor to write the result into; resized where its shape differs.

    Returns:
        The broadcast shape without ``dim``, of the inputs' dtype.

    Raises:
        RuntimeError: an integer or bool dtype; dtypes or devices differ; shapes that do not
            broadcast; ``out`` of a wrong dtype, device, or shared memory.
        IndexError: ``dim`` is out of range.
        NotImplementedError: sparse or quantized input.
        TypeError: an argument has the wrong type.
    """
    if out is not None:
        return _ops.vecdot.out(x, y, dim=dim, out=out)
    return _ops.vecdot.default(x, y, dim=dim)


dot.__doc__ += _NOTES
vecdot.__doc__ += _NOTES
