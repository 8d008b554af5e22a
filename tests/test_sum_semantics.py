"""sum follows torch.sum in values, dtype, shape, strides and device."""

import warnings

import numpy as np
import pytest
import torch
from helpers import (
    ALL_DTYPES,
    LAYOUTS,
    RESULT_DTYPES,
    UNSIGNED,
    all_dims,
    assert_equal,
    assert_like_torch,
    name,
    small_values,
)

import reduce_ops

CASTS = [
    (source, target)
    for source in ALL_DTYPES
    for target in RESULT_DTYPES
    if source != target  # sums of small values in their own dtype are in the layout tests
]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", ALL_DTYPES, ids=name)
def test_layouts_and_dims(dtype, layout, device):
    x = LAYOUTS[layout](dtype, device)
    for dim in all_dims(x.dim()):
        for keepdim in (False, True):
            assert_like_torch(x, dim, keepdim)


@pytest.mark.parametrize("offset", range(17))
@pytest.mark.parametrize("dtype", ALL_DTYPES, ids=name)
def test_a_base_at_any_address(dtype, offset, device):
    for shape in ((5,), (3, 33), (65, 3), (2, 530), (2, 0)):
        buffer = small_values((offset + 2000,), dtype, device)
        x = buffer[offset : offset + int(np.prod(shape))].view(shape)
        for dim in (None, 0, -1):
            assert_like_torch(x, dim)


@pytest.mark.parametrize("pad", range(1, 9))
@pytest.mark.parametrize("dtype", ALL_DTYPES, ids=name)
def test_rows_at_any_stride(dtype, pad, device):
    for length in (1, 7, 16, 300):
        x = small_values((9, length + pad), dtype, device)[:, pad:]
        assert_like_torch(x, 1)
        assert_like_torch(x, 0)


@pytest.mark.parametrize(("source", "target"), CASTS, ids=lambda t: name(t))
def test_dtype_casts_elements_first(source, target, device):
    for shape, dims in (((3, 70), (1, 0, None)), ((2, 3, 4), ((0, 2), 1))):
        x = small_values(shape, source, device)
        if target in (torch.uint8, torch.bool) and not source.is_complex and source != torch.bool:
            x = abs(x) if source not in UNSIGNED else x  # a negative float as uint8 is undefined
        elif target == torch.uint8 and source.is_complex:
            x = torch.complex(x.real.abs(), x.imag)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Casting complex values to real")
            for dim in dims:
                assert_like_torch(x, dim, dtype=target)
                assert_like_torch(x[:, ::2], dim, dtype=target)


def test_casts_drop_fractions_and_wrap_as_torch_does(device):
    x = torch.tensor([[1.5, 2.75, -1.25], [0.25, -0.5, 100.0]], device=device)
    for dtype in (torch.int64, torch.int32, torch.int8, torch.bool, torch.float16):
        assert_like_torch(x, 1, dtype=dtype)
    wrapping = torch.tensor([[300, -129, 2**40 + 7], [2**31, 255, 256]], device=device)
    for dtype in (torch.uint8, torch.int8, torch.int16, torch.int32, torch.float32):
        assert_like_torch(wrapping, 1, dtype=dtype)
        assert_like_torch(wrapping, 0, dtype=dtype)
    largest = torch.tensor([2**63 - 1, 1, 5], device=device)
    assert_like_torch(largest)
    assert reduce_ops.sum(largest).item() == -(2**63) + 5


def test_casts_to_bool_as_torch_does(device):
    imaginary = torch.tensor([[1j, 0], [0, 2], [0, 0], [0.25j, 0]], device=device)
    assert reduce_ops.sum(imaginary, 1, dtype=torch.bool).tolist() == [True, True, False, True]
    real = [[0.25, -0.25], [-0.0, 0], [float("nan"), 0], [2**-140, 0]]
    real = torch.tensor(real, device=device)
    assert reduce_ops.sum(real, 1, dtype=torch.bool).tolist() == [True, False, True, True]


def test_unsigned_64_bits_as_torch_does(device):
    x = torch.tensor([[2**64 - 1], [2**63], [3], [2**63 + 2**11]], dtype=torch.uint64)
    x = x.to(device)
    assert_like_torch(x)  # wraps around
    for dtype in (torch.float64, torch.float32, torch.int64, torch.uint8, torch.complex128):
        assert_like_torch(x, 1, dtype=dtype)


def test_integers_and_bool_become_int64(device):
    for dtype in (d for d in ALL_DTYPES if not (d.is_floating_point or d.is_complex)):
        x = small_values((4, 100), dtype, device)
        assert reduce_ops.sum(x).dtype == torch.int64
        assert reduce_ops.sum(x, 1).tolist() == [sum(row) for row in x.tolist()]


@pytest.mark.parametrize("source", (torch.float32, torch.float64), ids=name)
@pytest.mark.parametrize("target", (torch.float16, torch.bfloat16, torch.float32), ids=name)
def test_a_cast_rounds_as_to_does(source, target, device):
    g = torch.Generator().manual_seed(1)
    if source == torch.float32:
        patterns = torch.randint(-(2**31), 2**31, (1 << 16, 1), generator=g)
        x = patterns.to(torch.int32).view(torch.float32).to(device)
    else:
        x = torch.randn((1 << 16, 1), generator=g, dtype=torch.float64)
        x = (x * torch.exp2(torch.rand(x.shape, generator=g) * 80 - 50)).to(device)
        ties = 1 + torch.arange(64, dtype=torch.float64)[:, None] * 2.0**-13 + 2.0**-40
        x[:64] = ties.to(device)
    expected = x.to(target).squeeze(1) + 0  # + 0 makes -0 positive
    assert_equal(reduce_ops.sum(x, 1, dtype=target), expected)


@pytest.mark.parametrize("dtype", (torch.float16, torch.bfloat16), ids=name)
def test_every_16_bit_number_passes_unchanged(dtype, device):
    x = torch.arange(-(2**15), 2**15, dtype=torch.int32).to(torch.int16).view(dtype).to(device)
    for dim, view in ((1, x[:, None]), (0, x[None])):
        assert_equal(reduce_ops.sum(view, dim), x + 0)
        assert_equal(reduce_ops.sum(view, dim, dtype=torch.float64), x.double() + 0)


@pytest.mark.parametrize("dtype", ALL_DTYPES, ids=name)
def test_no_dims_and_zero_elements(dtype, device):
    x = small_values((4, 5), dtype, device)
    for dim in (None, (), [], (0, 1)):
        assert_like_torch(x, dim)
        assert_like_torch(x, dim, True)
    for shape in ((0,), (0, 3), (3, 0), (2, 0, 3), (0, 0)):
        empty = torch.empty(shape, dtype=dtype, device=device)
        for dim in all_dims(len(shape)):
            assert_like_torch(empty, dim)
            assert_like_torch(empty, dim, True)


def test_ways_to_pass_arguments(device):
    x = small_values((3, 4), torch.float32, device)
    expected = torch.sum(x, 1, True)
    for actual in (
        reduce_ops.sum(x, 1, True),
        reduce_ops.sum(input=x, dim=1, keepdim=True),
        reduce_ops.sum(x, [1], True),
        reduce_ops.sum(x, (-1,), keepdim=True),
        reduce_ops.sum(x, np.int64(1), True),
        reduce_ops.sum(x, torch.tensor(1), True),
        reduce_ops.sum(x, torch.Size([1]), True),
    ):
        assert_equal(actual, expected)
    assert_equal(reduce_ops.sum(x, keepdim=True), torch.sum(x, (0, 1), True))


def test_plain_and_parsed_arguments_mean_the_same(device):
    """Calls with positional plain arguments only are read by hand, all others by torch's parser."""
    x = small_values((2, 3, 4), torch.float32, device)
    for dim in (None, 0, -1, [0], (1, 2), [], (), [2, 0], torch.Size([1])):
        for keepdim in (False, True):
            expected = torch.sum(x, dim, keepdim)
            for f in (reduce_ops.sum, torch.ops.reduce_ops.sum):
                assert_equal(f(x, dim, keepdim), expected)
                assert_equal(f(x, dim, keepdim=keepdim), expected)
                assert_equal(f(x, dim=dim, keepdim=keepdim), expected)
                assert_equal(f(x, dim, keepdim, dtype=None, out=None), expected)
                assert_equal(f(torch.nn.Parameter(x, requires_grad=False), dim, keepdim), expected)
    assert_equal(reduce_ops.sum(x), torch.sum(x))
    for dims in ([np.int64(1), 0], (torch.tensor(1), 0), [np.int8(-1)]):
        expected = torch.sum(x, [int(d) for d in dims])
        for f in (reduce_ops.sum, torch.ops.reduce_ops.sum):
            assert_equal(f(x, dims), expected)
            assert_equal(f(x, dim=dims), expected)


def test_the_registered_operator(device):
    x = small_values((3, 4), torch.int32, device)
    op = torch.ops.reduce_ops.sum
    assert set(op.overloads()) >= {"default", "dim_IntList", "IntList_out", "out"}
    assert_equal(op(x), torch.sum(x))
    assert_equal(op(x, dtype=torch.float64), torch.sum(x, dtype=torch.float64))
    assert_equal(op(x, 1), torch.sum(x, 1))
    assert_equal(op(x, [0, 1], True), torch.sum(x, (0, 1), True))
    assert_equal(op(x, None), torch.sum(x))
    assert_equal(op(x, [1], dtype=torch.float16), torch.sum(x, 1, dtype=torch.float16))
    out = torch.empty(4, dtype=torch.int64, device=device)
    assert op(x, [0], out=out) is out
    assert_equal(out, torch.sum(x, 0))
    total = torch.empty((), dtype=torch.int64, device=device)
    assert op.out(x, out=total) is total
    assert_equal(total, torch.sum(x))


def test_lazy_conjugates_and_negatives(device):
    x = small_values((3, 65), torch.complex64, device)
    for view in (x.conj(), x.conj().imag, x.t().conj(), torch._neg_view(x)):
        assert view.is_conj() or view.is_neg()
        for dim in (None, 0, 1):
            assert_like_torch(view, dim)


def test_more_dims_than_one_kernel_takes(device):
    for dtype in (torch.float32, torch.int8):
        x = small_values((2,) * 18, dtype, device)
        reversed_axes = x.permute(*range(17, -1, -1))
        for dim in (0, 17, (0, 2, 4, 6), tuple(range(0, 18, 2))):
            assert_like_torch(reversed_axes, dim)
            assert_like_torch(x, dim)
        assert_like_torch(reversed_axes)
    assert_like_torch(torch.ones((1,) * 64, device=device), 5)


def test_no_elements_in_more_dims_than_one_kernel_takes(device):
    for at in (0, 9, 18):
        shape = [2] * 19
        shape[at] = 0
        x = torch.empty(shape, device=device)
        for view in (x, x.permute(*range(18, -1, -1))):
            for dim in (None, 0, 9, 18, tuple(range(0, 19, 2)), tuple(range(1, 19, 2))):
                assert_like_torch(view, dim)


def test_subclasses_and_parameters(device):
    class Tagged(torch.Tensor):
        pass

    x = small_values((3, 4), torch.float32, device)
    tagged = x.as_subclass(Tagged)
    assert type(reduce_ops.sum(tagged, 1)) is type(torch.sum(tagged, 1)) is Tagged
    result = reduce_ops.sum(torch.nn.Parameter(x), 1)
    assert type(result) is torch.Tensor
    assert result.requires_grad


def test_torch_function_modes_see_the_call(device):
    class Recorder(torch.overrides.TorchFunctionMode):
        def __init__(self):
            super().__init__()
            self.names = []

        def __torch_function__(self, function, types, args=(), kwargs=None):
            self.names.append(getattr(function, "__name__", str(function)))
            return function(*args, **(kwargs or {}))

    x = small_values((3, 4), torch.float32, device)
    for f in (reduce_ops.sum, torch.ops.reduce_ops.sum):
        with Recorder() as recorder:
            result = f(x, 1)
        assert any("sum" in text for text in recorder.names)
        assert torch.equal(result, torch.sum(x, 1))


def test_whoever_watches_the_dispatcher_sees_the_op(device):
    """Plain calls pass it by."""
    from torch.profiler import ProfilerActivity, profile
    from torch.utils._python_dispatch import TorchDispatchMode

    class Log(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            seen.append(func.name())
            return func(*args, **(kwargs or {}))

    x = torch.ones(3, 4, device=device)
    for call in (lambda: reduce_ops.sum(x, 1), lambda: torch.ops.reduce_ops.sum(x, [1])):
        seen = []
        assert torch.equal(call(), torch.sum(x, 1))
        with Log():
            call()
        assert seen == ["reduce_ops::sum.dim_IntList"]
        with profile(activities=[ProfilerActivity.CPU]) as watched:
            call()
        assert "reduce_ops::sum" in [event.key for event in watched.key_averages()]
        with torch.inference_mode():
            assert call().is_inference()
        assert not call().is_inference()
