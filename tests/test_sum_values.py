"""NaN, infinities, overflow, signed zeros, subnormals and a large mean."""

import math

import pytest
import torch
from helpers import COMPLEX, FLOATS, assert_equal, exact_sum, name, ulp_error

import reduce_ops

INF, NAN = math.inf, math.nan
LENGTHS = (1, 2, 8, 33, 257, 1025, 4097, 20001)


def both_ways(rows: torch.Tensor):
    """(view, dim) such that row i of `rows` is reduced: as rows, columns, spread out."""
    return (
        (rows, 1),
        (rows.t().contiguous(), 0),
        (rows.repeat_interleave(2, dim=1)[:, ::2], 1),
        (rows.t(), 0),
    )


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("dtype", FLOATS, ids=name)
def test_special_values_anywhere_in_a_row(dtype, length, device):
    places = sorted({0, 1, length // 3, length // 2, length - 2, length - 1} & set(range(length)))
    cases = [[NAN], [INF], [-INF], [INF, INF], [INF, -INF], [NAN, INF]]
    rows, expected = [], []
    for place in places:
        for case in cases:
            if len(case) > length:
                continue
            row = torch.ones(length, dtype=dtype)
            row[place], row[(place + length // 2) % length] = case[0], case[-1]
            rows.append(row)
            special = case if length > 1 else case[-1:]
            expected.append(sum(special))
    x = torch.stack(rows).to(device)
    want = torch.tensor(expected, dtype=dtype, device=device)
    for view, dim in both_ways(x):
        assert_equal(reduce_ops.sum(view, dim), want, f"{length=}, {dim=}")


@pytest.mark.parametrize("dtype", COMPLEX, ids=name)
def test_special_values_of_complex_parts(dtype, device):
    x = torch.ones((4, 70), dtype=dtype)
    x[0, 3], x[1, 5], x[2, 69] = complex(NAN, 1), complex(2, INF), complex(-INF, 0)
    x = x.to(device)
    for view, dim in both_ways(x):
        result = reduce_ops.sum(view, dim).cpu()
        assert result[0].real.isnan()
        assert result[0].imag == 1
        assert (result[1].real, result[1].imag) == (71, INF)
        assert (result[2].real, result[2].imag) == (-INF, 0)
        assert result[3] == 70


@pytest.mark.parametrize("dtype", FLOATS, ids=name)
def test_a_sum_too_large_is_infinite(dtype, device):
    largest = torch.finfo(dtype).max
    for length in (2, 100, 5000):
        x = torch.full((3, length), largest, dtype=dtype)
        x[1] = -largest
        x[2] = 0
        x = x.to(device)
        for view, dim in both_ways(x):
            assert reduce_ops.sum(view, dim).tolist() == [INF, -INF, 0]


@pytest.mark.parametrize("dtype", (torch.float32, torch.float16, torch.bfloat16), ids=name)
def test_intermediate_sums_may_leave_the_range(dtype, device):
    largest = torch.finfo(dtype).max
    x = torch.cat([torch.full((1, 64), s * largest, dtype=dtype) for s in (1, -1)], 1).to(device)
    x[0, 0] = 0
    for view, dim in both_ways(x):
        assert reduce_ops.sum(view, dim).item() == -largest


def test_the_largest_float16_is_the_last_before_infinity(device):
    x = torch.tensor([[65504, 15], [65504, 16]], dtype=torch.float16, device=device)
    assert reduce_ops.sum(x, 1).tolist() == [65504, INF]


@pytest.mark.parametrize("dtype", (*FLOATS, *COMPLEX), ids=name)
def test_a_zero_result_is_positive(dtype, device):
    for shape, dim in (((5,), 0), ((3, 1), 1), ((1, 3), 0), ((3, 300), 1), ((300, 3), 0), ((), 0)):
        x = torch.full(shape, -0.0, dtype=dtype, device=device)
        if dtype.is_complex:
            x = torch.complex(x.real, x.real)
        result = reduce_ops.sum(x, dim)
        parts = torch.view_as_real(result) if dtype.is_complex else result
        assert not parts.signbit().any(), f"{shape=}, {dim=}"
        assert (parts == 0).all()
    x = torch.tensor([1.5, -1.5], dtype=dtype, device=device)
    result = reduce_ops.sum(x)
    assert not (result.real if dtype.is_complex else result).signbit()


@pytest.mark.parametrize("dtype", FLOATS, ids=name)
def test_subnormals_count(dtype, device):
    tiny = torch.finfo(dtype).smallest_normal * torch.finfo(dtype).eps
    x = torch.full((2, 96), tiny, dtype=dtype)
    x[1] *= -1
    x = x.to(device)
    for view, dim in both_ways(x):
        assert reduce_ops.sum(view, dim).tolist() == [96 * tiny, -96 * tiny]


@pytest.mark.parametrize("dtype", (torch.float32, torch.float64, torch.bfloat16), ids=name)
@pytest.mark.parametrize("mean", (1e8, -3e4), ids=str)
def test_a_large_mean(dtype, mean, device):
    g = torch.Generator().manual_seed(3)
    x = (mean + torch.randn((3, 100_003), generator=g, dtype=torch.float64)).to(dtype)
    exact = [exact_sum(row) for row in x.tolist()]
    x = x.to(device)
    for view, dim in both_ways(x):
        for result, value in zip(reduce_ops.sum(view, dim).tolist(), exact, strict=True):
            assert ulp_error(result, value, dtype) <= 0.5 + 1e-6
