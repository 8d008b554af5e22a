"""The CUDA engines without a GPU: compiled for the CPU, a fiber for each thread of a block.

What this cannot show: speed, what the caches do, and races within a warp.
"""

import sys

import cuda_on_cpu
import pytest
import torch
from helpers import assert_same_bits, hard_values, name, small_values, wide_sum
from test_sum_engines import CASTS, check_all_plans, column_problems, row_problems

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs ucontext")

DTYPES = (torch.float32, torch.bfloat16, torch.float64, torch.complex64, torch.int8, torch.int64)


@pytest.fixture(scope="module")
def emulator():
    return cuda_on_cpu.Emulator(cuda_on_cpu.build())


def check_plans(emulator, problems, correct=None):
    check_all_plans(
        problems, correct=correct, run=emulator.sum, run_all=emulator.all_plans, device="cuda"
    )


LENGTHS = (1, 2, 7, 16, 33, 64, 100, 257, 513, 1025, 4099)
CASES = [(dtype, length) for dtype in DTYPES for length in LENGTHS]
CASES += [(torch.float32, 16_400), (torch.bfloat16, 33_000)]
CASES += [(dtype, 1025) for dtype in (torch.bool, torch.uint8, torch.int16, torch.int32)]


@pytest.mark.parametrize(("dtype", "length"), CASES, ids=name)
def test_all_plans_are_right(dtype, length, emulator):
    rows = small_values((8, length), dtype)
    exact = wide_sum(rows, 1)
    correct = exact.to(dtype) if exact.dtype != torch.int64 else exact
    check_plans(emulator, row_problems(rows), correct)
    if length > 1:
        check_plans(emulator, column_problems(rows), correct)
    rows = hard_values(3, length, dtype)
    check_plans(emulator, row_problems(rows))


@pytest.mark.parametrize(("source", "target"), CASTS, ids=name)
def test_casts(source, target, emulator):
    for shape, dims in (((3, 77), (1,)), ((77, 3), (0,)), ((5, 1), (1,)), ((300, 40), (0,))):
        x = small_values(shape, source)
        expected = torch.sum(x, dims, dtype=target)
        for plan, result in emulator.all_plans(x, dims, target).items():
            assert torch.equal(result, expected), (plan, shape)


@pytest.mark.parametrize("dtype", (torch.float32, torch.bfloat16, torch.int8), ids=name)
def test_every_number_of_rows_and_columns(dtype, emulator):
    for count in (1, 2, 3, 5, 8, 15, 17, 33, 64, 65, 129, 257):
        rows = small_values((count, 40), dtype, seed=count)
        correct = wide_sum(rows, 1)
        correct = correct if correct.dtype == torch.int64 else correct.to(dtype)
        for x, dims in ((rows, (1,)), (rows.t().contiguous(), (0,))):
            for plan, result in emulator.all_plans(x, dims).items():
                assert torch.equal(result, correct), (plan, count)


def test_infinities_and_nans(emulator):
    inf, nan = float("inf"), float("nan")
    for dtype in (torch.float32, torch.bfloat16, torch.float16, torch.float64):
        x = torch.ones((40, 36), dtype=dtype)
        x[3, 1], x[5, 2], x[7, 2], x[9, 3] = inf, inf, -inf, nan
        for view, dims in ((x, (0,)), (x.t().contiguous(), (1,))):
            for plan, result in emulator.all_plans(view, dims).items():
                assert result[:4].tolist()[:2] == [40, inf], plan
                assert result[2:4].isnan().all(), plan


@pytest.mark.parametrize("dtype", (torch.bfloat16, torch.float16, torch.float32), ids=name)
def test_sums_of_one_element(dtype, emulator):
    """Every engine adds the element to 0: -0 becomes 0, all else stays."""
    tiny = torch.finfo(dtype).smallest_normal
    values = [0.0, -0.0, 1.0, -2.5, float("inf"), -float("inf"), tiny, -tiny / 4, tiny / 8, 65504.0]
    x = torch.tensor(values, dtype=torch.float64).to(dtype).repeat(29)[:-1].view(-1, 1)
    expected = x[:, 0] + torch.zeros((), dtype=dtype)
    nan = torch.tensor([[1.0], [float("nan")]], dtype=dtype).repeat(40, 1)
    results = emulator.all_plans(x, (1,))
    assert "map()" in results
    for plan, result in results.items():
        assert_same_bits(result, expected, plan)
    for plan, result in emulator.all_plans(nan, (1,)).items():
        assert torch.equal(result.isnan(), nan[:, 0].isnan()), plan


@pytest.mark.parametrize("dtype", (torch.float32, torch.bfloat16, torch.float64), ids=name)
def test_means(dtype, emulator):
    """The exact sum of small numbers, divided once."""
    for shape, dims in (((3, 77), (1,)), ((77, 40), (0,)), ((5000, 3), (0,)), ((2, 9001), (1,))):
        x = small_values(shape, dtype)
        length = x.size(dims[0])
        expected = (wide_sum(x, dims) / length).to(dtype)
        results = emulator.all_plans(x, dims, mean=True)
        assert len(results) > 1
        for plan, result in results.items():
            assert torch.equal(result, expected), (plan, shape)
