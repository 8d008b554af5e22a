"""Contracts D1 (same call, same bits) and D2 (a row's bits do not depend on the batch)."""

import pytest
import torch
from helpers import (
    COMPLEX,
    FLOATS,
    assert_same_bits,
    at_offset,
    hard_values,
    name,
)

import reduce_ops

DTYPES = (*FLOATS, *COMPLEX, torch.int32)
LENGTHS = (1, 2, 33, 250, 1024, 4099, 20_003)
BATCHES = (1, 2, 3, 7, 64, 1000, 65_537)
BASE = 24  # different rows to pick from


def batches(length: int, device: str):
    """Batch sizes that fit the time for this length."""
    limit = 2**26 if device == "cuda" else 2**21
    return [m for m in BATCHES if m * length <= limit]


def picks(count: int, seed: int, device: str) -> torch.Tensor:
    g = torch.Generator().manual_seed(seed)
    return torch.randint(0, BASE, (count,), generator=g).to(device)


def pair_sum(x: torch.Tensor) -> torch.Tensor:
    """Row sums of float64 with a second float64 that collects the rounding errors, in order."""
    hi = lo = torch.zeros(len(x), dtype=torch.float64)
    for value in x.t():
        total = hi + value
        part = total - hi
        lo = lo + ((hi - (total - part)) + (value - part))
        hi = total
    return hi + lo


def test_the_values_expose_the_order_of_additions():
    """Without this the tests below could not fail for a reordered sum."""
    for dtype in (torch.float32, torch.bfloat16):
        x = hard_values(20, 4099, dtype).double()
        forwards, backwards = x.cumsum(1)[:, -1], x.flip(1).cumsum(1)[:, -1]
        assert (forwards.to(dtype) != backwards.to(dtype)).sum() >= 15
    x = hard_values(20, 1025, torch.float64)
    assert (pair_sum(x) != pair_sum(x.flip(1))).sum() >= 15


@pytest.mark.parametrize("dtype", DTYPES, ids=name)
def test_the_same_call_gives_the_same_bits(dtype, device):
    for shape in ((1, 300_007), (300, 1000), (100_003, 3), (3, 17, 1025)):
        rows = shape[0]
        x = hard_values(rows, shape[-1] * (shape[1] if len(shape) == 3 else 1), dtype, device)
        x = x.view(shape)
        for dim in (None, 0, 1, -1):
            first = reduce_ops.sum(x, dim)
            for _ in range(5):
                assert_same_bits(reduce_ops.sum(x, dim), first, f"{shape}, {dim=}")
            assert_same_bits(reduce_ops.sum(x.clone(), dim), first, f"a copy of {shape}, {dim=}")


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("dtype", DTYPES, ids=name)
def test_rows_do_not_see_their_batch(dtype, length, device):
    base = hard_values(BASE, length, dtype, device)
    expected = torch.cat([reduce_ops.sum(base[i : i + 1], 1) for i in range(BASE)])
    for count in batches(length, device):
        pick = picks(count, count, device)
        assert_same_bits(reduce_ops.sum(base[pick], 1), expected[pick], f"{count} rows of {length}")
    assert_same_bits(torch.stack([reduce_ops.sum(row) for row in base]), expected, "as vectors")


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("dtype", DTYPES, ids=name)
def test_rows_do_not_see_how_they_are_stored(dtype, length, device):
    base = hard_values(BASE, length, dtype, device)
    expected = reduce_ops.sum(base, 1)
    for offset in (1, 2, 3, 5, 8):
        assert_same_bits(reduce_ops.sum(at_offset(base, offset), 1), expected, f"{offset=}")
    for pad in (1, 3, 8):
        padded = torch.cat([base[:, :1].expand(-1, pad), base], 1)[:, pad:]
        assert_same_bits(reduce_ops.sum(padded, 1), expected, f"{pad=}")
    assert_same_bits(reduce_ops.sum(base.t(), 0), expected, "transposed view")
    assert_same_bits(reduce_ops.sum(base[::2], 1), expected[::2], "every second row")
    assert_same_bits(reduce_ops.sum(base[-1:], 1), expected[-1:], "the last row alone")
    repeated = base[3:4].expand(50, length)
    assert_same_bits(reduce_ops.sum(repeated, 1), expected[3:4].expand(50), "expanded")
    cube = base.view(2, 3, 4, length).permute(2, 0, 1, 3)
    assert_same_bits(
        reduce_ops.sum(cube, -1), expected.view(2, 3, 4).permute(2, 0, 1).contiguous(), "permuted"
    )
    assert_same_bits(reduce_ops.sum(base, 1, True).squeeze(1), expected, "keepdim")


@pytest.mark.parametrize("dtype", DTYPES, ids=name)
def test_a_row_in_pieces_has_the_bits_of_the_whole(dtype, device):
    for pieces, piece in ((2, 3), (5, 64), (33, 33), (7, 4099), (4099, 7)):
        base = hard_values(BASE, pieces * piece, dtype, device)
        expected = reduce_ops.sum(base, 1)
        x = base.view(BASE, pieces, piece).transpose(0, 1).contiguous()
        what = f"{pieces} pieces of {piece}"
        assert_same_bits(reduce_ops.sum(x, (0, 2)), expected, what)
        assert_same_bits(reduce_ops.sum(x[:, 5:6], (0, 2)), expected[5:6], what)
        assert_same_bits(reduce_ops.sum(x.permute(2, 1, 0), (0, 2)), expected, what)
        odd = torch.cat([x, x[..., :1]], 2)[..., :piece]
        assert_same_bits(reduce_ops.sum(odd, (0, 2)), expected, what)


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("dtype", DTYPES, ids=name)
def test_columns_do_not_see_their_batch(dtype, length, device):
    base = hard_values(BASE, length, dtype, device).t().contiguous()
    expected = torch.cat([reduce_ops.sum(base[:, j : j + 1], 0) for j in range(BASE)])
    assert_same_bits(reduce_ops.sum(base, 0), expected, "all together")
    for count in batches(length, device):
        if count == 1:
            continue  # a single contiguous column is a row
        pick = picks(count, count, device)
        x = base[:, pick]
        assert_same_bits(reduce_ops.sum(x, 0), expected[pick], f"{count} columns of {length}")
        assert_same_bits(reduce_ops.sum(x[:, 1:], 0), expected[pick][1:], f"{count=}, shifted")


@pytest.mark.parametrize("length", (2, 33, 1024, 4099))
@pytest.mark.parametrize("dtype", DTYPES, ids=name)
def test_columns_do_not_see_how_they_are_stored(dtype, length, device):
    base = hard_values(BASE, length, dtype, device).t().contiguous()
    expected = reduce_ops.sum(base, 0)
    for offset in (1, 2, 3, 5, 8):
        assert_same_bits(reduce_ops.sum(at_offset(base, offset), 0), expected, f"{offset=}")
    assert_same_bits(reduce_ops.sum(base[:, 5:6].expand(-1, 9), 0), expected[5:6].expand(9), "one")
    assert_same_bits(reduce_ops.sum(base[:, ::3], 0), expected[::3], "every third column")
    spread = base.repeat_interleave(2, dim=1)
    assert_same_bits(reduce_ops.sum(spread[:, ::2], 0), expected, "gaps between columns")
    gaps = base.repeat_interleave(2, dim=0)
    assert_same_bits(reduce_ops.sum(gaps[::2], 0), expected, "gaps between elements")
    middle = torch.stack([base, base.flip(1)])
    assert_same_bits(
        reduce_ops.sum(middle, 1), torch.stack([expected, expected.flip(0)]), "middle dim"
    )
    strided_rows = base.t().contiguous().repeat_interleave(2, dim=1)[:, ::2]
    assert_same_bits(reduce_ops.sum(strided_rows, 1), expected, "rows with gaps")
    if length % 3 == 0:
        split = base.view(3, length // 3, BASE)
        assert_same_bits(reduce_ops.sum(split, (0, 1)), expected, "two dims that merge")
    apart = base.view(1, length, BASE).expand(2, length, BASE).transpose(0, 1)
    assert_same_bits(reduce_ops.sum(apart, 0), expected.expand(2, BASE), "an expanded batch")


def test_other_rows_do_not_matter_even_if_they_are_nan(device):
    for length in (33, 4099):
        base = hard_values(BASE, length, torch.float32, device)
        expected = reduce_ops.sum(base, 1)
        base[1::2] = float("nan")
        assert_same_bits(reduce_ops.sum(base, 1)[::2], expected[::2])
        columns = base.t().contiguous()
        assert reduce_ops.sum(columns, 0)[1::2].isnan().all()
        clean = columns[:, ::2].contiguous()
        assert_same_bits(reduce_ops.sum(columns, 0)[::2], reduce_ops.sum(clean, 0))


@pytest.mark.parametrize("dtype", DTYPES, ids=name)
def test_the_number_of_threads_does_not_matter(dtype, set_threads):
    shapes = ((1, 1_000_003), (3, 100_003), (2000, 33), (33, 2000), (100_003, 3))
    for shape in shapes:
        x = hard_values(*shape, dtype)
        for dim in (None, 0, 1):
            results = []
            for threads in (1, 2, 3, 4):
                set_threads(threads)
                results.append(reduce_ops.sum(x, dim))
            for result in results[1:]:
                assert_same_bits(result, results[0], f"{shape}, {dim=}")


@pytest.mark.cuda
def test_deterministic_mode_changes_nothing():
    x = hard_values(64, 70_001, torch.float32, "cuda")
    expected = [reduce_ops.sum(x, dim) for dim in (None, 0, 1)]
    before = torch.are_deterministic_algorithms_enabled()
    torch.use_deterministic_algorithms(True)
    try:
        for dim, e in zip((None, 0, 1), expected, strict=True):
            assert_same_bits(reduce_ops.sum(x, dim), e, f"{dim=}")
    finally:
        torch.use_deterministic_algorithms(before)


@pytest.mark.parametrize("last", (16, 17), ids=("columns", "rows"))
def test_an_input_with_many_axes_keeps_its_order(last, device):
    """More than 8 axes are summed from a copy, which must not turn columns into rows, nor dims
    around. With most kept dims taken at one index, there are few enough to need no copy."""
    for reduced in (8, 9):
        dims = [last - 2 * i for i in range(reduced)]  # no two are neighbours
        kept = [d for d in range(18) if d not in dims]
        x = hard_values(2 ** len(kept), 2**reduced, torch.float32, device).view((2,) * 18)
        x = x.movedim(tuple(range(18)), (*kept, *dims)).contiguous()
        whole = reduce_ops.sum(x, dims)
        for index in range(0, 2 ** len(kept), 37):
            at = [index >> i & 1 for i in range(len(kept))]
            one = x
            for d, i in zip(kept, at, strict=True):
                one = one.narrow(d, i, 1)
            assert_same_bits(reduce_ops.sum(one, dims).view(()), whole[tuple(at)])
            # The same elements at the same strides, in another order of the dims.
            shuffled = one.permute(*range(17, -1, -1))
            assert_same_bits(
                reduce_ops.sum(shuffled, [17 - d for d in dims]).view(()), whole[tuple(at)]
            )
