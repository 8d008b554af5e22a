"""Every engine, forced through its plans: the same bits as the default plan, and correct."""

import pytest
import torch
from helpers import (
    COMPLEX,
    FLOATS,
    assert_same_bits,
    at_offset,
    engine_of,
    expected_engines,
    forced_plans,
    hard_values,
    name,
    small_values,
    wide_sum,
)

import reduce_ops
from reduce_ops import _C

# Around elements, 16-byte chunks, lanes, segments of 16 rows and of 16 KiB, and the whole.
LENGTHS = (
    *(1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 255, 256, 257, 511, 512, 513),
    *(1023, 1024, 1025, 2047, 2048, 2049, 4095, 4096, 4097, 8191, 8192, 8193, 16385, 70_001),
    300_007,
)
DTYPES = (*FLOATS, *COMPLEX, torch.int8, torch.int64, torch.bool, torch.int16)
CASTS = (
    (torch.float32, torch.float64),
    (torch.bfloat16, torch.float32),
    (torch.float16, torch.float64),
    (torch.float64, torch.float16),
    (torch.int8, torch.int32),
    (torch.int64, torch.float32),
    (torch.bool, torch.float16),
    (torch.float32, torch.int64),
    (torch.float32, torch.bool),
    (torch.complex64, torch.complex128),
    (torch.float64, torch.complex64),
)


def row_problems(rows: torch.Tensor):
    """(name, view, dims) such that the sums are those of `rows`, in order."""
    count, length = rows.shape
    yield "rows", rows, (1,)
    stride = length + (-length) % (16 // min(16, rows.element_size()))
    padded = rows.new_zeros((count, stride))[:, :length]
    yield "rows that start at 16 bytes", padded.copy_(rows), (1,)
    yield "rows that start anywhere", at_offset(rows, 1), (1,)
    for pieces in (2, 3, 7, 11, 16):
        if length % pieces == 0 and length > pieces:
            split = rows.view(count, pieces, length // pieces)
            yield f"rows in {pieces} pieces", split.transpose(0, 1).contiguous(), (0, 2)


def column_problems(rows: torch.Tensor):
    """The same for an innermost reduced dim with gaps; the last view has every sum twice."""
    count, length = rows.shape
    yield "columns", rows.t().contiguous(), (0,)
    yield "columns that start anywhere", at_offset(rows.t(), 1), (0,)
    yield "columns with gaps", rows.t().repeat_interleave(2, dim=1)[:, ::2], (0,)
    yield "rows with gaps", rows.repeat_interleave(2, dim=1)[:, ::2], (1,)
    for pieces in (2, 3, 7, 11, 16):
        if length % pieces == 0 and length > pieces:
            split = rows.t().reshape(pieces, length // pieces, count)
            apart = torch.cat([split, split[:, :1]], 1)[:, :-1]
            yield f"columns in {pieces} pieces", apart, (0, 1)
            between = split.transpose(1, 2).repeat_interleave(2, dim=2)[..., ::2]
            yield f"columns between {pieces} pieces", between, (0, 2)
    yield "a batch of columns", torch.stack([rows.t()] * 2)[:1].expand(2, -1, -1), (1,)


def check_all_plans(
    problems, dtype=None, correct=None, run=reduce_ops.sum, run_all=forced_plans, device=""
):
    """All plans of all problems that share one set of rows give the same bits, which are
    correct[i] for row i if given. `run` sums with the planner's own plan and `run_all` with all,
    on a device other than the tensors' if `device` names one."""
    expected = None
    for what, x, dims in problems:
        default = run(x, dims, dtype=dtype)
        flat = default[0] if default.dim() == 2 else default
        expected = flat if expected is None else expected
        assert_same_bits(flat, expected, what)
        if correct is not None:
            assert torch.equal(flat, correct), what
        results = run_all(x, dims, dtype=dtype)
        missing = expected_engines(x, dims, device) - {engine_of(plan) for plan in results}
        assert not missing, (what, x.shape)
        for plan, result in results.items():
            assert_same_bits(result, default, f"{plan}, {what}, {tuple(x.shape)}")


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("dtype", DTYPES, ids=name)
def test_all_plans_agree(dtype, length, device):
    rows = hard_values(3, length, dtype, device)
    check_all_plans(row_problems(rows))
    if length > 1:
        columns = hard_values(8 if length < 20_000 else 4, length, dtype, device)
        check_all_plans(column_problems(columns))


@pytest.mark.parametrize("length", (1, 9, 33, 256, 1025, 4097, 20_001))
@pytest.mark.parametrize("dtype", DTYPES, ids=name)
def test_all_plans_are_correct(dtype, length, device):
    rows = small_values((4, length), dtype, device)
    exact = wide_sum(rows, 1)
    correct = exact.to(dtype) if exact.dtype != torch.int64 else exact
    check_all_plans(row_problems(rows), correct=correct)
    if length > 1:
        check_all_plans(column_problems(rows), correct=correct)


@pytest.mark.parametrize("length", (1, 5, 32, 255, 1024, 8193, 70_001))
@pytest.mark.parametrize(("source", "target"), CASTS, ids=name)
def test_all_plans_cast(source, target, length, device):
    rows = hard_values(3, length, source, device)
    if source.is_floating_point and target in (torch.float16, torch.int64):
        rows = rows.clamp(-1000, 1000)  # so that all of them fit the target
    check_all_plans(row_problems(rows), target)
    if length > 1:
        columns = torch.cat([rows, rows[:1]])
        check_all_plans(column_problems(columns), target)


COUNTS = (1, 2, 3, 4, 5, 7, 8, 9, 15, 17, 31, 32, 33, 63, 65, 127, 128, 129, 255, 257, 1023, 1025)


@pytest.mark.parametrize("dtype", (torch.float32, torch.bfloat16, torch.int8), ids=name)
@pytest.mark.parametrize("length", (2, 7, 32, 100, 600))
def test_every_number_of_rows_and_columns(dtype, length, device):
    for count in COUNTS:
        rows = small_values((count, length), dtype, device, seed=count)
        exact = wide_sum(rows, 1)
        correct = exact if exact.dtype == torch.int64 else exact.to(dtype)
        for x, dims in ((rows, (1,)), (rows.t().contiguous(), (0,))):
            results = forced_plans(x, dims)
            assert {engine_of(p) for p in results} >= expected_engines(x, dims)
            for plan, result in results.items():
                assert torch.equal(result, correct), f"{plan}, {count} of {length}, {dims=}"


def test_each_layout_refuses_the_other_engines(device):
    """The other layout's engines add in another order."""
    rows = torch.ones((4, 40), device=device)
    columns = torch.ones((40, 4), device=device)
    for x, dims, word in ((rows, (1,), "column"), (columns, (0,), "row")):
        accepted = forced_plans(x, dims)
        assert accepted
        assert not [plan for plan in accepted if engine_of(plan).endswith(word)]
        assert "fill()" not in accepted


def test_only_fill_takes_problems_without_elements(device):
    for shape, dims in (((0, 5), (0,)), ((0, 5), (1,)), ((5, 0), (1,)), ((0,), (0,))):
        accepted = forced_plans(torch.ones(shape, device=device), dims)
        assert list(accepted) == ["fill()"]
        assert torch.equal(accepted["fill()"], torch.ones(shape, device=device).sum(dims))


def test_the_other_device_is_refused(device):
    x = torch.ones((4, 40), device=device)
    plan = "block_row()" if device == "cpu" else "cpu_row(parts=1)"
    with pytest.raises((ValueError, RuntimeError), match=r"(?i)cuda|cpu"):
        _C.run_with_plan("sum", x, [1], False, None, plan)


# Shapes for compute-sanitizer: (plan, dtype, shape, dims, elements before the first).
SANITIZED = (
    ("map()", torch.float32, (3001, 1), (1,), 0),
    ("map()", torch.bfloat16, (1, 4099), (0,), 3),
    ("map()", torch.int16, (1, 999), (0,), 1),
    ("thread_row()", torch.float32, (700, 7), (1,), 0),
    ("thread_row()", torch.bfloat16, (701, 31), (1,), 3),
    ("warp_row(threads=8)", torch.float32, (70, 32), (1,), 0),
    ("warp_row(threads=8)", torch.float32, (70, 29), (1,), 1),
    ("warp_row(threads=8)", torch.bfloat16, (70, 257), (1,), 1),
    ("warp_row(threads=32)", torch.bfloat16, (5, 1001), (1,), 3),
    ("warp_row(threads=32)", torch.float64, (3, 9, 33), (0, 2), 0),
    ("warp_row(threads=2)", torch.int8, (9, 30), (1,), 1),
    ("block_row()", torch.float32, (3, 4096), (1,), 0),
    ("block_row()", torch.bfloat16, (3, 9001), (1,), 1),
    ("block_row()", torch.float32, (5, 3, 512), (0, 2), 0),
    ("block_row()", torch.complex64, (5, 3, 333), (0, 2), 1),
    ("block_row()", torch.bool, (2, 20_001), (1,), 5),
    ("split_row(segments=1)", torch.float32, (2, 20_480), (1,), 0),
    ("split_row(segments=2)", torch.float16, (2, 70_001), (1,), 1),
    ("split_row(segments=1)", torch.complex128, (1, 9001), (1,), 0),
    ("column(vector=4,across=8,down=32,segments=1)", torch.float32, (300, 36), (0,), 0),
    ("column(vector=4,across=4,down=16,segments=8)", torch.bfloat16, (300, 40), (0,), 0),
    ("column(vector=4,across=16,down=32,segments=2,deep=1)", torch.bfloat16, (999, 68), (0,), 0),
    ("column(vector=4,across=16,down=64,segments=4)", torch.float32, (1999, 68), (0,), 0),
    ("column(vector=4,across=8,down=32,segments=1)", torch.int8, (300, 36), (0,), 0),
    ("map()", torch.bfloat16, (3001, 1), (1,), 1),
    ("column(vector=2,across=16,down=32,segments=1)", torch.float64, (500, 34), (0,), 0),
    ("column(vector=1,across=32,down=16,segments=1)", torch.bfloat16, (250, 37), (0,), 1),
    ("column(vector=4,across=16,down=8,segments=2)", torch.bfloat16, (250, 37), (0,), 1),
    ("column(vector=4,across=8,down=16,segments=1)", torch.float32, (253, 35), (0,), 3),
    ("column(vector=1,across=16,down=4,segments=1)", torch.complex128, (3, 50, 7), (1,), 1),
    ("narrow_column(segments=8)", torch.float32, (1001, 3), (0,), 0),
    ("narrow_column(segments=32)", torch.bfloat16, (999, 7), (0,), 0),
    ("narrow_column(segments=2)", torch.complex64, (300, 5), (0,), 0),
    ("narrow_column(segments=4)", torch.int8, (2005, 13), (0,), 0),
    ("split_column(vector=4,across=8,down=8,segments=2)", torch.bfloat16, (999, 40), (0,), 0),
    ("column(vector=2,across=8,down=64,segments=8)", torch.int64, (4000, 40), (0,), 0),
    ("split_column(vector=1,across=32,down=2,segments=1)", torch.int64, (999, 37), (0,), 0),
    ("split_column(vector=1,across=1,down=64,segments=1)", torch.float32, (9001, 2), (0,), 1),
)


@pytest.mark.cuda
@pytest.mark.sanitizer
@pytest.mark.parametrize(("plan", "dtype", "shape", "dims", "offset"), SANITIZED)
def test_one_shape_for_each_engine_and_way_to_load(plan, dtype, shape, dims, offset):
    cpu = small_values(shape, dtype)
    exact = wide_sum(cpu, dims)
    x = at_offset(cpu.cuda(), offset)
    result = _C.run_with_plan("sum", x, list(dims), False, None, plan)
    assert torch.equal(result.cpu(), exact.to(result.dtype))


@pytest.mark.cuda
@pytest.mark.sanitizer
@pytest.mark.parametrize(("source", "target"), CASTS[::3], ids=name)
def test_one_shape_for_each_family_of_casts(source, target):
    cpu = small_values((33, 70), source)
    for dim in (0, 1, None):
        expected = torch.sum(cpu, dim, dtype=target)
        x = at_offset(cpu.cuda(), 0)
        assert torch.equal(reduce_ops.sum(x, dim, dtype=target).cpu(), expected)
