"""Contract A1: within 1 ulp of the exact sum while Σ|x| / |Σx| <= 2^20."""

import math
from fractions import Fraction

import pytest
import torch
from helpers import (
    COMPLEX,
    FLOATS,
    FORMAT,
    condition,
    exact_sum,
    name,
    small_values,
    ulp,
    ulp_error,
    wide_sum,
)

import reduce_ops

LENGTHS = (1, 2, 3, 10, 100, 1000, 4097, 70_001, 1_000_000)


def rows_with_condition(rows, length, log2_condition, dtype, seed=0) -> torch.Tensor:
    """Random numbers that cancel in pairs, and some that remain: Σ|x| / |Σx| is near, and at
    most, 2^log2_condition."""
    g = torch.Generator().manual_seed(seed)
    x = torch.randn((rows, length), generator=g, dtype=torch.float64).abs() + 0.1
    x = x * (0.01 if dtype == torch.float16 else 1)  # so that no sum overflows
    pairs = length * 2 // 5 if log2_condition else 0
    remaining = length - 2 * pairs
    x[:, pairs : 2 * pairs] = -x[:, :pairs][:, torch.randperm(pairs, generator=g)]
    if pairs:
        noise = x[:, : 2 * pairs].abs().sum(1, keepdim=True)
        wanted = noise * 2.0 ** (1 - log2_condition) / remaining
        x[:, 2 * pairs :] *= wanted / x[:, 2 * pairs :].mean(1, keepdim=True)
    return x[:, torch.randperm(length, generator=g)].to(dtype)


def test_the_measure_itself():
    for dtype, (precision, _) in FORMAT.items():
        assert ulp(1.0, dtype) == torch.finfo(dtype).eps == 2.0 ** (1 - precision)
        assert ulp(0.0, dtype) == ulp(torch.finfo(dtype).smallest_normal / 2, dtype)
    assert exact_sum([1e16, 1.0, -1e16, 2.0**-60]) == (1.0, 2.0**-60)
    assert ulp_error(1.0 + 2.0**-23, (1.0, 0.0), torch.float32) == 1
    assert ulp_error(1.0, (1.0, 2.0**-54), torch.float64) == 0.25
    values = rows_with_condition(1, 1000, 20, torch.float64)[0].tolist()
    exact = exact_sum(values)
    fraction = sum(map(Fraction, values))
    assert exact[0] == float(fraction)
    assert 2**18 < condition(values, exact) <= 2**20


def errors(x: torch.Tensor, dim: int, exact, dtype, device) -> list[float]:
    results = reduce_ops.sum(x.to(device), dim).tolist()
    return [ulp_error(r, e, dtype) for r, e in zip(results, exact, strict=True)]


@pytest.mark.parametrize("log2_condition", (0, 10, 20))
@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("dtype", FLOATS, ids=name)
def test_within_one_ulp(dtype, length, log2_condition, device):
    x = rows_with_condition(2 if length > 10_000 else 9, length, log2_condition, dtype)
    exact = [exact_sum(row) for row in x.tolist()]
    conditions = [condition(row, e) for row, e in zip(x.tolist(), exact, strict=True)]
    inside = [c <= 2**20 for c in conditions]
    # float16 has no numbers small enough for the worst conditions of long rows
    assert any(inside) or dtype == torch.float16
    limit = 0.5 + 1e-6 if max(conditions) <= 2 else 1.0
    gaps = x.repeat_interleave(2, dim=1)
    for view, dim in ((x, 1), (x.t().contiguous(), 0), (gaps[:, ::2], 1), (x.t(), 0)):
        for error, ok in zip(errors(view, dim, exact, dtype, device), inside, strict=True):
            assert error <= limit or not ok, f"{error} ulp, {dim=}, {view.stride()=}"


@pytest.mark.parametrize("dtype", FLOATS, ids=name)
def test_the_sum_of_all(dtype, device):
    x = rows_with_condition(1, 786_432, 18, dtype)
    exact = exact_sum(x[0].tolist())
    if condition(x[0].tolist(), exact) > 2**20:
        assert dtype == torch.float16
        return
    whole = x.view(3, 512, 512).to(device)
    for view in (whole, whole.transpose(0, 2), whole.permute(1, 2, 0), whole.view(-1, 1)):
        assert ulp_error(reduce_ops.sum(view).item(), exact, dtype) <= 1


@pytest.mark.parametrize("dtype", COMPLEX, ids=name)
def test_complex_parts(dtype, device):
    real = dtype.to_real()
    for length in (3, 1000, 70_001):
        parts = [rows_with_condition(2, length, 16, real, seed) for seed in (1, 2)]
        x = torch.complex(*parts).to(device)
        result = torch.view_as_real(reduce_ops.sum(x, 1)).tolist()
        columns = torch.view_as_real(reduce_ops.sum(x.t().contiguous(), 0)).tolist()
        for row in range(2):
            for part in range(2):
                exact = exact_sum(parts[part][row].tolist())
                assert ulp_error(result[row][part], exact, real) <= 1
                assert ulp_error(columns[row][part], exact, real) <= 1


@pytest.mark.parametrize("dtype", FLOATS, ids=name)
def test_several_dims(dtype, device):
    flat = rows_with_condition(6, 5 * 7 * 11, 16, dtype)
    exact = [exact_sum(row) for row in flat.tolist()]
    x = flat.view(6, 5, 7, 11).permute(1, 0, 2, 3).contiguous()
    for view, dims in (
        (x, (0, 2, 3)),
        (x.permute(3, 1, 2, 0), (0, 2, 3)),
        (x.permute(0, 2, 3, 1).contiguous(), (0, 1, 2)),
        (x.transpose(2, 3).contiguous().transpose(2, 3), (0, 2, 3)),
    ):
        results = reduce_ops.sum(view.to(device), dims).tolist()
        for result, e in zip(results, exact, strict=True):
            assert ulp_error(result, e, dtype) <= 1


def test_casting_to_a_wider_type_adds_in_the_wider_type(device):
    x = rows_with_condition(4, 5000, 12, torch.float32)
    for target in (torch.float64, torch.float32):
        exact = [exact_sum(row) for row in x.to(target).tolist()]
        for view, dim in ((x, 1), (x.t().contiguous(), 0)):
            results = reduce_ops.sum(view.to(device), dim, dtype=target).tolist()
            assert all(
                ulp_error(r, e, target) <= 0.5 + 1e-6 for r, e in zip(results, exact, strict=True)
            )


def test_one_rounding_to_16_bits(device):
    """2^8 + 1 is a tie in bfloat16, and 2^11 + 1 one in float16; 2^-30 more decides it."""
    for dtype, half in ((torch.bfloat16, 2.0**8), (torch.float16, 2.0**11)):
        least = 2.0**-20  # held by both dtypes, lost in float32 beside half
        up, even = half + 2, half
        x = torch.tensor([[half, 1, least], [half, 1, 0], [half, 1, -least]], dtype=dtype)
        assert reduce_ops.sum(x.to(device), 1).tolist() == [up, even, even]
        assert reduce_ops.sum(x.t().contiguous().to(device), 0).tolist() == [up, even, even]


def test_many_ones_do_not_stall(device):
    """A float32 or bfloat16 accumulator stops growing at 2^24 or 2^8."""
    count = 2**24 + 1026
    ones = torch.ones(1, dtype=torch.bfloat16, device=device).expand(count)
    assert reduce_ops.sum(ones, dtype=torch.float32).item() == count
    assert reduce_ops.sum(ones).item() == 2**24
    rows = torch.ones((3, 70_001), dtype=torch.float16, device=device) / 4
    assert reduce_ops.sum(rows, 1).tolist() == [17504.0] * 3


def test_float64_is_better_than_a_float64_accumulator(device):
    x = torch.tensor([1e16, 1.0, -1e16, 1.0] * 250, dtype=torch.float64)
    assert math.fsum(x.tolist()) == 500
    assert reduce_ops.sum(x.to(device)).item() == 500
    assert reduce_ops.sum(x[:, None].expand(-1, 5).contiguous().to(device), 0).tolist() == [500] * 5


@pytest.mark.parametrize("dtype", (torch.float16, torch.bfloat16, torch.float32), ids=name)
def test_large_exact_sums(dtype, device):
    """Whole numbers, whose float64 sum is exact: the result is that, rounded once."""
    x = small_values((65, 4099), dtype, device, seed=2)
    for dim in (0, 1, None):
        assert torch.equal(reduce_ops.sum(x, dim), wide_sum(x, dim).to(dtype))
