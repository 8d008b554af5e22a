"""Every engine of every op, forced through its plans: the same bits in all of them, and correct.

The CUDA engines run here too, compiled for the CPU (tests/emulator); on a GPU they run as they are.
"""

import math
import sys

import cuda_on_cpu
import pytest
import torch
from helpers import (
    FLOATS,
    accepted_plans,
    assert_same_bits,
    engine_of,
    expected_engines,
    name,
)
from test_sum_engines import column_problems, row_problems

from reduce_ops import _C

INF = math.inf
INTEGERS = (torch.int64, torch.int8, torch.uint8)
OPS = [
    *(("nansum", 0.0, FLOATS), ("nanmean", 0.0, FLOATS), ("prod", 0.0, (*FLOATS, *INTEGERS))),
    *((op, 0.0, (*FLOATS, *INTEGERS)) for op in ("amax", "amin", "aminmax", "max", "min")),
    *((op, 0.0, (*FLOATS, *INTEGERS)) for op in ("argmax", "argmin")),
    *((op, n, FLOATS) for op, n in (("var", 1.0), ("std", 0.0), ("var_mean", 1.5))),
    *(("std_mean", 1.0, FLOATS), ("logsumexp", 0.0, FLOATS)),
    *(("vector_norm", p, FLOATS) for p in (1.0, 2.0, 3.0, -0.5, INF, -INF)),
    *((op, 0.0, (*FLOATS, *INTEGERS, torch.bool)) for op in ("any", "all", "count_nonzero")),
]
CASES = [
    pytest.param(op, number, dtype, id=f"{op}-{number:g}-{name(dtype)}")
    for op, number, dtypes in OPS
    for dtype in dtypes
]
ORDER = ("amax", "amin", "aminmax", "max", "min", "argmax", "argmin")
KINDS = ("normal", "ties", "nan", "infinite", "lowest", "offset")


def values(op: str, kind: str, shape, dtype) -> torch.Tensor:
    g = torch.Generator().manual_seed(KINDS.index(kind))
    if dtype == torch.bool:
        return torch.rand(shape, generator=g) < (0.01 if kind == "ties" else 0.9)
    if not dtype.is_floating_point:
        low = 0 if dtype == torch.uint8 else -100
        x = torch.randint(low, 100, shape, generator=g)
        if kind == "ties":
            x = x // 50
        return (x.clamp(-1, 1) if op == "prod" else x).to(dtype)
    x = torch.randn(shape, generator=g, dtype=torch.float64)
    if op == "prod":
        x = x.sign() * (1 + x / 64)  # a product that stays in range
    if kind == "ties":
        x = x.round() if op != "prod" else x.sign()
    elif kind == "nan":
        x[torch.rand(shape, generator=g) < 0.05] = math.nan
    elif kind == "infinite":
        x[torch.rand(shape, generator=g) < 0.05] = INF
        x[torch.rand(shape, generator=g) < 0.05] = -INF
    elif kind == "lowest":
        x.fill_(-INF)
    elif kind == "offset" and op != "prod":
        x += 1000
    return x.to(dtype)


def reference(op: str, number: float, rows: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """The results of each row, exact for the ops that round nothing."""
    wide = rows.double() if rows.dtype.is_floating_point else rows.long()
    match op:
        case "nansum":
            return (wide.nansum(1),)
        case "nanmean":
            return (wide.nanmean(1),)
        case "prod":
            return (wide.prod(1),)
        case "amax" | "amin" | "argmax" | "argmin":
            return (getattr(rows, op)(1),)
        case "aminmax" | "max" | "min":
            return tuple(getattr(rows, op)(dim=1))
        case "var" | "std":
            return (getattr(wide, op)(1, correction=number),)
        case "var_mean" | "std_mean":
            return getattr(wide, op[:3])(1, correction=number), wide.mean(1)
        case "logsumexp":
            return (wide.logsumexp(1),)
        case "vector_norm":
            return (torch.linalg.vector_norm(wide, number, 1),)
        case "any" | "all":
            return (getattr(rows.bool(), op)(1),)
        case "count_nonzero":
            return (torch.count_nonzero(rows, 1),)
    raise AssertionError(op)


# Relative to the exact result: half a unit in the last place, and what float64 references lack.
TOLERANCE = {
    torch.float32: 1.2e-7,
    torch.float64: 4e-14,
    torch.float16: 4.9e-4,
    torch.bfloat16: 3.92e-3,
}


def check_values(op, got, expected, what):
    for mine, exact in zip(got, expected, strict=True):
        mine = mine.cpu()
        if not mine.dtype.is_floating_point or op in ORDER:
            equal = torch.equal(mine.nan_to_num(7.5), exact.to(mine.dtype).nan_to_num(7.5))
            assert equal, (what, mine, exact)
            continue
        rtol = TOLERANCE[mine.dtype] * (8 if op in ("logsumexp", "vector_norm") else 1)
        atol = 1e-12 if op in ("logsumexp", "var_mean", "std_mean", "nanmean") else 0.0
        atol += torch.finfo(mine.dtype).smallest_normal * torch.finfo(mine.dtype).eps
        if op in ("logsumexp", "nansum", "nanmean", "var_mean", "std_mean"):
            atol += 1e-15 * float(exact.nan_to_num(0, 0, 0).abs().max())
        close = torch.isclose(mine.double(), exact, rtol=rtol, atol=atol, equal_nan=True)
        # A result beyond the dtype's range is infinite.
        over = exact.abs() > torch.finfo(mine.dtype).max
        assert (close | (over & mine.isinf())).all(), (what, mine, exact)


def parts(value) -> tuple[torch.Tensor, ...]:
    value = (value,) if isinstance(value, torch.Tensor) else tuple(value)
    return tuple(v[0] if v.dim() == 2 else v for v in value)


def engines_of(op: str, x: torch.Tensor, dims, device: str) -> set[str]:
    """Those that must accept the problem."""
    engines = expected_engines(x, dims, device) - {"map"}
    if op == "logsumexp":
        engines.discard("thread_row")
    return engines


def check_op(op, number, rows, kind, run, device):
    """`run(op, x, dims, plan, number)`, with the planner's own plan where `plan` is empty."""
    expected = reference(op, number, rows.cpu())
    for problems in (row_problems, column_problems):
        if problems is column_problems and rows.size(1) == 1:
            continue
        first = None
        for what, x, dims in problems(rows):
            default = parts(run(op, x, dims, "", number))
            what = f"{op} {kind} {what} {tuple(x.shape)} {x.stride()}"
            check_values(op, default, expected, what)
            first = first or default
            results = accepted_plans(device, lambda p: run(op, x, dims, p, number))  # noqa: B023
            missing = engines_of(op, x, dims, device) - {engine_of(plan) for plan in results}
            assert not missing, what
            for plan, result in {"default": default, **results}.items():
                for mine, other in zip(parts(result), first, strict=True):
                    assert_same_bits(mine, other, f"{plan}, {what}")


def run_on_device(op, x, dims, plan, number):
    if plan:
        return _C.run_with_plan(op, x, dims, False, None, plan, number=number)
    facts = _C.explain(op, x, dims, False, None, number=number)
    return _C.run_with_plan(op, x, dims, False, None, facts["plan"], number=number)


LENGTHS = (1, 2, 7, 33, 257, 1000, 4099)


@pytest.mark.parametrize(("op", "number", "dtype"), CASES)
def test_all_plans_agree(op, number, dtype, device):
    for length in (*LENGTHS, 70_001):
        for kind in KINDS if length in (33, 1000) else ("normal", "ties"):
            if length > 1000 and op == "prod" and kind == "normal":
                continue
            rows = values(op, kind, (3, length), dtype).to(device)
            if op in ("var", "std", "std_mean", "var_mean") and length <= number:
                continue
            check_op(op, number, rows, kind, run_on_device, device)


@pytest.fixture(scope="module")
def emulator():
    if sys.platform != "linux":
        pytest.skip("needs ucontext")
    return cuda_on_cpu.Emulator(cuda_on_cpu.build())


@pytest.mark.parametrize(("op", "number", "dtype"), CASES)
def test_all_cuda_plans_agree_on_the_cpu(op, number, dtype, emulator):
    if dtype in (torch.float16, torch.uint8):
        pytest.skip("as bfloat16 and int8")

    def run(op, x, dims, plan, number):
        return emulator.run(op, x, dims, None, plan, number)

    for length, kind in ((7, "ties"), (33, "nan"), (257, "normal"), (1000, "infinite")):
        if op in ("var", "std", "std_mean", "var_mean") and length <= number:
            continue
        check_op(op, number, values(op, kind, (3, length), dtype), kind, run, "cuda")


@pytest.mark.parametrize(("op", "number", "dtype"), CASES)
def test_bits_do_not_depend_on_other_rows(op, number, dtype, device):
    for length in (7, 40, 300, 5000):
        many = values(op, "normal", (700, length), dtype).to(device)
        for x, dim in ((many, 1), (many.t().contiguous(), 0)):
            all_rows = parts(run_on_device(op, x, (dim,), "", number))
            for count in (1, 2, 33, 257):
                few = x.narrow(1 - dim, 100, count)
                for mine, all_of_them in zip(
                    parts(run_on_device(op, few, (dim,), "", number)), all_rows, strict=True
                ):
                    assert_same_bits(mine, all_of_them[100 : 100 + count], f"{op} {length}")
