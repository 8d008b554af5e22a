"""Exact sums, and errors in units of the last place (ulp), for checking reductions.

How a sum is made exact with ordinary float64 additions: take the largest magnitude 2^e and a
guard of g bits with 2^g >= numel + 2, and let s = 2^(e+g). Then `part = (x + s) - s` keeps of each
x its bits down to s * 2^-53, and `x - part` (exact) keeps the rest. Every part is a multiple of
s * 2^-53 and at most 2^e, so any partial sum of parts is a multiple of s * 2^-53 and at most s: it
fits in the 53 bits of a float64, and adding parts in any order, over any dims, never rounds. Repeat
on the rest until it is zero (two or three times for a model's weights). The exact sum is the
unevaluated sum of these few float64 numbers, and `math.fsum` takes its difference from a result
with one rounding.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import torch

FLOATS = (torch.float64, torch.float32, torch.float16, torch.bfloat16)
INTEGERS = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool)
CONDITION_LIMIT = 2.0**20  # the accuracy contract holds for sum|x| / |sum x| up to this


@dataclass
class ExactSum:
    """The sum over one dim (None: all): `parts` add up to it exactly, one array entry an output."""

    parts: list[np.ndarray] = field(default_factory=list)
    magnitude: np.ndarray | None = None  # the sum of |x|, in float64
    special: np.ndarray | None = None  # inf or nan where the input holds one, else 0
    integer: np.ndarray | None = None  # for integers: the sum modulo 2^64, as torch defines it

    @cached_property
    def value(self) -> np.ndarray:
        """The exact sum, rounded once to float64 (for integers: as it is)."""
        if self.integer is not None:
            return self.integer
        rounded = [math.fsum(terms) for terms in zip(*map(np.ravel, self.parts), strict=True)]
        return np.array(rounded).reshape(self.parts[0].shape)


def slices(values: np.ndarray) -> Iterator[np.ndarray]:
    """Float64 arrays that add up to `values`, each of which sums without rounding in any order."""
    rest = values.astype(np.float64)
    guard = (rest.size + 1).bit_length()
    while (top := float(np.max(np.abs(rest), initial=0.0))) > 0.0:
        exponent = math.frexp(top)[1] + guard
        if exponent > 1022:
            raise OverflowError(f"the largest magnitude {top:g} leaves no room for an exact sum")
        sigma = math.ldexp(1.0, exponent)
        part = rest + sigma
        part -= sigma
        rest -= part
        yield part


def exact_sums(x: torch.Tensor, dims: Sequence[int | None]) -> dict[int | None, ExactSum]:
    """The exact sum of a CPU tensor over each dim of `dims` (None: over all of it)."""
    if x.dtype in INTEGERS:
        whole = x.to(torch.int64).numpy()
        return {d: ExactSum(integer=np.asarray(whole.sum(axis=d, dtype=np.int64))) for d in dims}
    if x.dtype not in FLOATS:
        raise TypeError(f"exact_sums takes real floating and integer tensors, not {x.dtype}")
    values = x.to(torch.float64).numpy()
    finite = np.isfinite(values)
    unusual = None if finite.all() else np.where(finite, 0.0, values)
    if unusual is not None:
        values = np.where(finite, values, 0.0)
    magnitudes = np.abs(values)
    with np.errstate(over="ignore"):
        sums = {d: ExactSum(magnitude=np.asarray(magnitudes.sum(axis=d))) for d in dims}
    del magnitudes
    for part in slices(values):
        for d, exact in sums.items():
            exact.parts.append(np.asarray(part.sum(axis=d)))
    for d, exact in sums.items():
        if not exact.parts:
            exact.parts.append(np.zeros_like(exact.magnitude))
        if unusual is not None:
            with np.errstate(invalid="ignore"):
                exact.special = np.asarray(unusual.sum(axis=d))
    return sums


def ulp(value: np.ndarray, dtype: torch.dtype) -> np.ndarray:
    """The distance between neighbouring numbers of `dtype` at |value|, as float64."""
    info = torch.finfo(dtype)
    size = np.maximum(np.abs(value), info.tiny)  # below it all neighbours are equally far
    return np.ldexp(info.eps, np.frexp(size)[1] - 1)


def ulp_errors(result: torch.Tensor, exact: ExactSum) -> np.ndarray:
    """|result - exact| in ulp of the result's dtype, an entry an output; integers: the difference.

    An inf or nan that IEEE arithmetic asks for (from the input, or because the exact sum is beyond
    the dtype's range) counts as 0; any other one as inf.
    """
    if exact.integer is not None:
        wrong = result.cpu().numpy() != exact.integer
        return np.where(wrong, np.inf, 0.0)
    info = torch.finfo(result.dtype)
    got = result.detach().cpu().to(torch.float64).numpy()
    target = exact.value
    columns = [np.ravel(got), *(-np.ravel(part) for part in exact.parts)]
    gap = np.array([math.fsum(terms) for terms in zip(*columns, strict=True)]).reshape(got.shape)
    errors = np.abs(gap) / ulp(target, result.dtype)
    overflow = info.max + float(ulp(np.array(info.max), result.dtype)) / 2
    right = np.isinf(got) & (np.abs(target) >= overflow) & (np.sign(got) == np.sign(target))
    errors = np.where(right, 0.0, np.where(np.isfinite(got), errors, np.inf))
    if exact.special is not None:
        same = (got == exact.special) | (np.isnan(got) & np.isnan(exact.special))
        errors = np.where(exact.special == 0.0, errors, np.where(same, 0.0, np.inf))
    return errors


def in_contract(exact: ExactSum) -> np.ndarray:
    """Which outputs the accuracy contract covers: sum|x| / |sum x| at most 2^20."""
    if exact.integer is not None:
        return np.ones(exact.integer.shape, dtype=bool)
    return exact.magnitude <= CONDITION_LIMIT * np.abs(exact.value)


def worst_ulp(result: torch.Tensor, exact: ExactSum) -> float:
    """The largest error in ulp over the outputs that the contract covers (0 if there is none)."""
    return float(np.max(ulp_errors(result, exact), where=in_contract(exact), initial=0.0))


def same_bits(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Whether two tensors hold the same bits; unlike `==`, a nan equals itself and -0 is not 0."""
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    left, right = (t.contiguous().reshape(-1).view(torch.uint8) for t in (a, b))
    return torch.equal(left, right)
