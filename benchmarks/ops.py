"""How each op is called in the benchmark, ours and torch's, and when its result is right."""

from __future__ import annotations

from collections.abc import Callable

import torch

import reduce_ops
from benchmarks.records import Dims

# Ops with other arguments than (input, dim), and what torch calls those that it has elsewhere.
BY_KEYWORD = ("aminmax", "vector_norm")
ELSEWHERE = {"vector_norm": torch.linalg.vector_norm}


def _all_dims(op: str, x: torch.Tensor, dim: Dims) -> Dims:
    return tuple(range(x.dim())) if dim is None and op == "logsumexp" else dim


def call(of: str, op: str, dim: Dims) -> Callable[[torch.Tensor], object]:
    """f(x), the op over `dim` by `of`: "reduce_ops" or "torch"."""
    ours = getattr(reduce_ops, op)
    function = ours if of == "reduce_ops" else ELSEWHERE.get(op) or getattr(torch, op)
    if op in BY_KEYWORD:
        return lambda x: function(x, dim=dim)
    if op in ("max", "min", "prod") and dim is None:
        return lambda x: function(x)
    return lambda x: function(x, _all_dims(op, x, dim))


EXACT = ("amax", "amin", "aminmax", "max", "min", "argmax", "argmin")
EXACT += ("any", "all", "count_nonzero")


def is_right(x: torch.Tensor, op: str, dim: Dims) -> bool:
    """Whether our result is torch's in double precision, within our ulp and its rounding."""
    got = call("reduce_ops", op, dim)(x)
    floating = x.is_floating_point() or x.is_complex()
    wide = torch.complex128 if x.is_complex() else torch.float64
    exact = op in EXACT or not floating
    if op in ("max", "min", "aminmax"):
        # Of equal elements torch's kernels do not always take the first: values decide.
        want = call("torch", op, dim)(x)
        got, want = (t if isinstance(t, torch.Tensor) else t[0] for t in (got, want))
    elif op in ("argmax", "argmin"):
        best = getattr(torch, "a" + op[3:])  # amax, amin
        if dim is None:
            return bool(x.flatten()[got] == best(x))
        return torch.equal(x.gather(dim, got.unsqueeze(dim)).squeeze(dim), best(x, dim))
    elif exact:
        want = call("torch", op, dim)(x)
    elif op in ("sum", "mean"):
        want = getattr(torch, op)(x, dim, dtype=wide)
    else:
        want = call("torch", op, dim)(x.to(wide))
        got, want = (t if isinstance(t, torch.Tensor) else t[0] for t in (got, want))
    if exact:
        return torch.equal(got, want)
    slack = torch.finfo(x.dtype).eps * want.abs() + 1e-13 * x.numel() / max(want.numel(), 1)
    close = (got.to(wide) - want).abs() <= slack
    return bool((close | (got == want.to(got.dtype))).all())
