"""What the public functions share: in eager mode they enter C++ at once; traced, they run their
Python bodies, which are calls of their torch ops."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import torch
from torch.compiler import is_dynamo_compiling
from torch.overrides import handle_torch_function

from . import _C


def reduction(traced):
    """The op of that name, with the signature, the docstring and, traced, the body of `traced`."""

    @functools.wraps(traced)
    def reduce(*args, **kwargs):
        if is_dynamo_compiling():
            return traced(*args, **kwargs)
        return entry(*args, **kwargs)

    # Called where a tensor overrides torch functions.
    def overridden(*args, **kwargs):
        given = [*args, *kwargs.values()]
        for value in list(given):
            if isinstance(value, (tuple, list)):
                given.extend(value)
        tensors = [value for value in given if isinstance(value, torch.Tensor)]
        return handle_torch_function(reduce, tensors, *args, **kwargs)

    entry = _C.entry(traced.__name__, overridden)
    return reduce


def dims(dim) -> list[int] | None:
    """`dim` as the ops' overloads with several dims take it."""
    if dim is None or isinstance(dim, (list, tuple)):
        return dim
    return [dim]


def all_dims(dim) -> Sequence[int]:
    """The same for overloads to which an empty list means all dims."""
    return dims(dim) or []


def correction(unbiased: bool | None, given: float | None) -> float:
    if unbiased is not None:
        return int(unbiased)
    return 1 if given is None else given
