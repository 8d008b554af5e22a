"""How to call each op, and its counterpart in torch, for tests over all of them."""

from __future__ import annotations

import math

import torch
from helpers import COMPLEX, FLOATS, SIGNED, UNSIGNED

import reduce_ops

INF = math.inf
ORDERED = (*FLOATS, *SIGNED, torch.uint8, torch.bool)
NUMBERS = (*FLOATS, *SIGNED, torch.uint8, torch.bool, *COMPLEX)
ALL = (*NUMBERS, *UNSIGNED[1:])


class Case:
    """An op with fixed arguments beside dim and keepdim."""

    def __init__(self, op, dtypes, torch_op=None, one_dim=False, keepdim=True, label="", **more):
        self.op, self.dtypes, self.one_dim, self.keepdim = op, dtypes, one_dim, keepdim
        self.more = more
        self.ours = getattr(reduce_ops, op)
        self.theirs = torch_op or getattr(torch, op)
        self.id = op + label

    def dims(self, ndim: int) -> list:
        """Values of dim, with `...` where it is left out."""
        ints = list(range(-max(ndim, 1), max(ndim, 1)))
        if self.one_dim:
            return [..., *ints]
        several = [(0, 1), (0, 2), (-1, -2), (2, 1, 0)] if ndim >= 3 else []
        whole = [tuple(range(ndim))] if self.op == "logsumexp" else [...]
        return [*whole, *ints, *several]

    def arguments(self, dim, keepdim) -> dict | None:
        """Keyword arguments, or None where the op does not take these."""
        given = dict(self.more)
        if dim is not ...:
            given["dim"] = dim
        whole_only = self.op in ("max", "min") and dim is ...
        if keepdim and (not self.keepdim or whole_only):
            return None
        if keepdim:
            given["keepdim"] = True
            if self.op in ("all", "any") and dim is ...:
                given["dim"] = None
        return given


def _prod(x, dim=None, keepdim=False, **more):
    """torch.prod over several dims."""
    if isinstance(dim, tuple):
        ndim = x.dim()
        for d in sorted((d % ndim for d in dim), reverse=True):
            x = torch.prod(x, d, keepdim, **more)
        return x
    if dim is None and keepdim:
        return torch.prod(x, **more).reshape([1] * x.dim())
    return torch.prod(x, **more) if dim is None else torch.prod(x, dim, keepdim, **more)


CASES = [
    Case("prod", ALL, _prod),
    Case("amax", ORDERED),
    Case("amin", ORDERED),
    Case("aminmax", ORDERED, one_dim=True),
    Case("max", ORDERED, one_dim=True),
    Case("min", ORDERED, one_dim=True),
    Case("argmax", ORDERED[:-1], one_dim=True),
    Case("argmin", ORDERED[:-1], one_dim=True),
    Case("var", (*FLOATS, *COMPLEX)),
    Case("var", (*FLOATS, *COMPLEX), label="0", correction=0),
    Case("std", (*FLOATS, *COMPLEX), label="1.5", correction=1.5),
    Case("var_mean", (*FLOATS, *COMPLEX)),
    Case("std_mean", (*FLOATS, *COMPLEX), label="0", correction=0),
    Case("logsumexp", ALL),
    *(
        Case("vector_norm", (*FLOATS, *COMPLEX), torch.linalg.vector_norm, label=str(p), ord=p)
        for p in (0, 1, 2, 3, 0.5, -1, INF, -INF)
    ),
    Case("norm", (*FLOATS, *COMPLEX), p=2),
    Case("norm", (*FLOATS, *COMPLEX), label="1", p=1),
    Case("all", ALL),
    Case("any", ALL),
    Case("count_nonzero", NUMBERS, keepdim=False),
    Case("nansum", (*ORDERED, *UNSIGNED[1:])),
    Case("nanmean", FLOATS),
]
# One a public op.
OPS = {case.op: case for case in reversed(CASES)}
OPS = dict(reversed(OPS.items()))


def results(value) -> tuple[torch.Tensor, ...]:
    return (value,) if isinstance(value, torch.Tensor) else tuple(value)


# How far torch and the ops may be apart, relatively: torch adds in float32, its 16-bit results are
# rounded once more.
TOLERANCE = {
    torch.float16: 2e-3,
    torch.bfloat16: 1.6e-2,
    torch.float32: 2e-6,
    torch.float64: 1e-13,
    torch.complex64: 4e-6,
    torch.complex128: 1e-13,
}


def assert_like(actual, expected, what: str, exact: bool = False) -> None:
    """Types, dtypes, shapes, strides and values, but for rounding, are the same."""
    assert type(actual) is type(expected), what
    for a, e in zip(results(actual), results(expected), strict=True):
        for attribute in ("dtype", "shape", "device", "layout"):
            mine, theirs = getattr(a, attribute), getattr(e, attribute)
            assert mine == theirs, f"{what}: {attribute} is {mine}, expected {theirs}"
        assert a.stride() == e.stride(), f"{what}: strides are {a.stride()}, not {e.stride()}"
        rtol = 0 if exact else TOLERANCE.get(a.dtype, 0)
        torch.testing.assert_close(
            a, e, rtol=rtol, atol=rtol, equal_nan=True, msg=lambda text: f"{what}: {text}"
        )
