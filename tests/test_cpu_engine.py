"""The CPU engines: one result whatever the plan, the threads and the instruction set."""

import hashlib
import math
import os
import subprocess
import sys

import pytest
import torch

import reduce_ops
from reduce_ops import _C

DTYPES = (
    torch.float32,
    torch.float16,
    torch.bfloat16,
    torch.float64,
    torch.int64,
    torch.int32,
    torch.int16,
    torch.int8,
    torch.uint8,
    torch.bool,
    torch.complex64,
    torch.complex128,
)
PLANS = ("threads=1, parts=1", "threads=2, parts=1", "parts=2", "threads=2, parts=8", "parts=64")


def numbers(shape, dtype, seed=1):
    """Fixed values of many magnitudes and both signs, made of integer arithmetic alone: torch's
    generators give other numbers with other instruction sets."""
    count = math.prod(shape) * (2 if dtype.is_complex else 1)
    bits = torch.arange(count, dtype=torch.int64) + 7919 * seed
    for shift in (33, 29, 32):
        bits = (bits ^ (bits >> shift)) * 0x4F1BBCDCBFA53E0B
    if dtype == torch.bool:
        return (bits > 0).view(shape)
    if not (dtype.is_floating_point or dtype.is_complex):
        return bits.view(shape).to(dtype)
    powers = torch.tensor([2.0**-k for k in range(16)], dtype=torch.float64)
    magnitude = powers[(bits >> 40) & 15]
    values = (bits % 100_003).double() / 64.0 * magnitude / 16.0
    if dtype.is_complex:
        values = torch.view_as_complex(values.view(-1, 2))
    return values.view(shape).to(dtype)


def layouts(dtype):
    """Views with the dims to reduce: one for each way that the engines read memory."""
    yield "short rows", numbers((600, 5), dtype), [1]
    yield "rows", numbers((7, 1037), dtype), [1]
    yield "long rows", numbers((3, 70_001), dtype), [1]
    yield "rows at odd addresses", numbers((5, 4099), dtype)[:, 1:], [1]
    yield "rows in pieces", numbers((40, 3, 700), dtype), [0, 2]
    yield "all", numbers((90_000,), dtype), [0]
    yield "wide columns", numbers((777, 300), dtype), [0]
    yield "very wide columns", numbers((20, 9000), dtype), [0]
    yield "narrow columns", numbers((5003, 5), dtype), [0]
    yield "columns in pieces", numbers((9, 6, 70, 40), dtype), [0, 2]
    yield "middle", numbers((4, 300, 33), dtype), [1]
    yield "every other column", numbers((600, 130), dtype)[:, ::2], [0]
    yield "strided vector", numbers((9001,), dtype)[::3], [0]
    yield "strided rows", numbers((50, 1203), dtype)[:, ::3], [1]
    yield "expanded rows", numbers((1, 70), dtype).expand(900, 70), [0]
    yield "expanded elements", numbers((70, 1), dtype).expand(70, 900), [1]


def bits(x):
    x = x.contiguous().reshape(-1)
    return x.view(torch.uint8) if x.numel() else x


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_every_plan_gives_the_same_bits(dtype):
    for what, x, dim in layouts(dtype):
        expected = reduce_ops.sum(x, dim)
        engine = _C.explain("sum", x, dim)["plan"].split("(")[0]
        for plan in PLANS:
            got = _C.run_with_plan("sum", x, dim, False, None, f"{engine}({plan})")
            assert bits(got).equal(bits(expected)), (what, plan)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_rows_and_columns_do_not_see_their_neighbours(dtype):
    x = numbers((64, 1500), dtype)
    whole = reduce_ops.sum(x, 1)
    for i in (0, 17, 63):
        assert bits(reduce_ops.sum(x[i : i + 1], 1)).equal(bits(whole[i : i + 1]))
    x = numbers((700, 97), dtype)
    whole = reduce_ops.sum(x, 0)
    for i in (0, 50, 96):
        # alone and in narrow, wide and gathered company
        for first, step in ((i, 1), (max(i - 2, 0), 1), (max(i - 40, 0), 1), (i % 7, 7)):
            strip = x[:, first : i + 1 : step]
            assert bits(reduce_ops.sum(strip, 0)[-1]).equal(bits(whole[i])), (first, i)


CHILD = """
import sys
sys.path.insert(0, sys.argv[1])
import test_cpu_engine as t
print(torch_capability := t.torch.backends.cpu.get_cpu_capability(), t.digest())
"""


def digest():
    h = hashlib.sha256()
    for dtype in DTYPES:
        for _, x, dim in layouts(dtype):
            h.update(bytes(bits(reduce_ops.sum(x, dim)).tolist()))
    return h.hexdigest()


def test_the_instruction_set_does_not_matter():
    best = torch.backends.cpu.get_cpu_capability().lower()
    capabilities = ["default", "avx2", "avx512"]
    if best not in capabilities[1:]:
        pytest.skip(f"this CPU runs {best} alone")
    results = {}
    for capability in capabilities[: capabilities.index(best) + 1]:
        out = subprocess.run(
            [sys.executable, "-c", CHILD, os.path.dirname(os.path.abspath(__file__))],
            env={**os.environ, "ATEN_CPU_CAPABILITY": capability},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.split()
        results[out[0]] = out[-1]
    assert len(set(results.values())) == 1, results


def check_exact(x):
    """An ulp, and what the fast way loses of elements far below the largest: 2^-95 of that one an
    addition, which matters from a condition number of 2^40 only."""
    expected = math.fsum(x.tolist())
    error = abs(float(reduce_ops.sum(x)) - expected)
    lost = float(x.abs().max()) * 2.0**-95 * x.numel()
    assert error <= abs(expected) * 2.0**-52 + lost, (error, expected)


@pytest.mark.parametrize("length", [256, 257, 1000, 4096, 4097, 50_000])
def test_float64_rows_that_leave_the_fast_way(length):
    x = numbers((length,), torch.float64)
    check_exact(x)
    check_exact(x * 2.0**900)  # its sums come near the largest number
    check_exact(x * 2.0**-1040)  # subnormal
    check_exact(torch.cumsum(x.abs(), 0) * x)
    for change in (0, 15, 16, length // 2, length - 1):
        y = x.clone()
        y[change] = 1e30
        check_exact(y)
        y[length // 3] -= 1e30
        check_exact(y)
    y = x.clone()
    y[:200] = 0
    check_exact(y)
    # What the fast way adds onto, taken away and given back.
    largest = float(x[:16].abs().max())
    unit = 2.0 ** (math.frexp(largest)[1] - 1 + 10)
    y = x.clone()
    y[16:32] = -3 * unit
    y[32:48] = 3 * unit
    check_exact(y)


@pytest.mark.parametrize("dtype", (torch.float32, torch.float64, torch.bfloat16), ids=str)
@pytest.mark.parametrize("shape, dim", [((2000,), 0), ((2000, 3), 0), ((2000, 70), 0), ((3, 7), 1)])
def test_special_values(dtype, shape, dim):
    zeros = torch.full(shape, -0.0, dtype=dtype)
    assert not torch.signbit(reduce_ops.sum(zeros, dim)).any()
    inf = float("inf")
    for index in (0, -1):
        x = numbers(shape, dtype)
        x.select(dim, index).fill_(inf)
        assert (reduce_ops.sum(x, dim) == inf).all()
        x.select(dim, 1).fill_(-inf)
        assert reduce_ops.sum(x, dim).isnan().all()
        x = numbers(shape, dtype)
        x.select(dim, index).fill_(float("nan"))
        assert reduce_ops.sum(x, dim).isnan().all()


def test_what_lies_between_columns_stays_out():
    x = torch.full((600, 128), float("nan"))
    x[:, ::2] = numbers((600, 64), torch.float32)
    assert bits(reduce_ops.sum(x[:, ::2], 0)).equal(bits(reduce_ops.sum(x[:, ::2].contiguous(), 0)))


@pytest.mark.parametrize("dtype", (torch.float16, torch.bfloat16), ids=str)
def test_lengths_around_the_staging_buffer(dtype):
    values = numbers((3000,), dtype)
    for length in (*range(500, 580, 3), 1023, 1024, 1025, 2999):
        x = values[:length]
        expected = torch.tensor(math.fsum(x.tolist()), dtype=torch.float64).to(dtype)
        assert reduce_ops.sum(x).equal(expected), length


@pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="counts threads in /proc")
def test_large_sums_use_torch_threads():
    child = """
import os, torch, reduce_ops
torch.set_num_threads(1)
x = torch.ones(1 << 22)
torch.set_num_threads(3)
before = len(os.listdir("/proc/self/task"))
assert reduce_ops.sum(x) == x.numel()
print(len(os.listdir("/proc/self/task")) - before)
"""
    out = subprocess.run(
        [sys.executable, "-c", child], capture_output=True, text=True, check=True
    ).stdout
    assert int(out) == 2, "a sum of 16 MiB should start the other two of torch's three threads"


@pytest.mark.parametrize("threads", (1, 2, 3, 5))
def test_rows_do_not_know_their_neighbours(threads, set_threads):
    """float64 rows that the fast way refuses (zeros, inf) beside ones that cancel almost fully."""
    set_threads(threads)
    g = torch.Generator().manual_seed(0)
    exponents = torch.rand(2048, dtype=torch.float64, generator=g) * 60 - 30
    half = torch.randn(2048, dtype=torch.float64, generator=g) * torch.exp2(exponents)
    row = torch.cat([half, -half[torch.randperm(2048, generator=g)]])
    row = row[torch.randperm(4096, generator=g)]
    rows = row.repeat(513, 1)  # past 16 MiB
    alone = reduce_ops.sum(row)
    for what in (0.0, float("inf"), float("nan"), 1e308):
        rows[3, :16] = what
        result = reduce_ops.sum(rows, 1)
        expected = alone.repeat(513)
        expected[3] = reduce_ops.sum(rows[3])
        assert bits(result).equal(bits(expected)), what
    rows[:] = row
    long = rows[:512].reshape(4, -1).repeat(1, 2)
    one = reduce_ops.sum(long[0])
    long[1, 4096:8192] = 0
    assert reduce_ops.sum(long, 1)[0] == one


@pytest.mark.parametrize("length", (1, 2, 3, 5, 8, 9, 100))
def test_any_byte_but_zero_is_true(length):
    byte = torch.arange(length, dtype=torch.uint8) * 37 % 5 * 51
    x = byte.view(torch.bool)
    assert reduce_ops.sum(x) == (byte != 0).sum()
    assert reduce_ops.sum(x.view(1, -1), 1).item() == (byte != 0).sum()
    assert reduce_ops.sum(x.view(-1, 1), 0, dtype=torch.int8).item() == (byte != 0).sum()


def test_complex_numbers_aligned_as_their_halves_are():
    for dtype, offset in ((torch.complex128, 8), (torch.complex64, 4)):
        memory = bytearray(bytes(range(1, 201)) * 6)
        x = torch.frombuffer(memory, dtype=dtype, offset=offset, count=64)
        x.copy_(torch.view_as_complex(numbers((64, 2), torch.float64)))
        for view, dim in ((x, 0), (x.view(8, 8), 0), (x.view(8, 8), 1), (x.view(64, 1), 1)):
            expected = reduce_ops.sum(view.clone(), dim)
            assert torch.equal(reduce_ops.sum(view, dim), expected)
        assert torch.equal(reduce_ops.sum(x[::3]), reduce_ops.sum(x.clone()[::3]))


@pytest.mark.parametrize("dtype", (torch.float16, torch.bfloat16), ids=str)
@pytest.mark.parametrize("length", (1, 5, 8, 17, 33, 63, 64, 500, 1024, 4100, 16_384))
def test_rows_of_halves_keep_their_order(dtype, length):
    """Elements whose sums of two no float holds take another way to the same bits."""
    g = torch.Generator().manual_seed(length)
    exponents = torch.rand(length, generator=g) * (110 if dtype == torch.bfloat16 else 28)
    far_apart = (torch.randn(length, generator=g) * torch.exp2(exponents - 14)).to(dtype)
    # The small one of each pair first, or second; the others cancel, so that they are the sum.
    small = torch.randint(1, 4, (length,), generator=g).to(torch.float64) * 2.0**-24
    large = (16 - torch.arange(length) % 2 * 32).to(torch.float64)
    second = torch.arange(length) // 16 % 2 == 1
    inputs = [torch.where(second, small, large), torch.where(second, large, small)]
    for x in (numbers((length,), dtype), far_apart, far_apart[torch.randperm(length, generator=g)]):
        inputs.append(torch.cat([x, -x])[torch.randperm(2 * length, generator=g)[:length]])
    for x in inputs:
        steps = torch.zeros(-(-length // 64), 64, dtype=torch.float64)
        steps.view(-1)[:length] = x
        twos = steps.view(-1, 2, 2, 16)
        lanes = torch.zeros(32, dtype=torch.float64)
        for two in (twos[:, :, 0] + twos[:, :, 1]).view(-1, 32):
            lanes += two
        while len(lanes) > 1:
            lanes = lanes[: len(lanes) // 2] + lanes[len(lanes) // 2 :]
        assert reduce_ops.sum(x.to(dtype)) == lanes[0].to(dtype)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("rows", (1, 2, 7, 8, 9, 16, 23, 24, 25, 256 + 3))
def test_columns_of_few_rows(dtype, rows):
    x = numbers((rows, 301), dtype)
    whole = reduce_ops.sum(x, 0)
    for i in (0, 5, 255, 300):
        assert bits(reduce_ops.sum(x[:, i], 0)).equal(bits(whole[i]))
        assert bits(reduce_ops.sum(x[:, i : i + 3], 0)[0]).equal(bits(whole[i]))
