"""sum(…, out=): where results go, in which dtype, and what is refused."""

import warnings

import pytest
import torch
from helpers import LAYOUTS, RESULT_DTYPES, all_dims, assert_equal, name, small_values

import reduce_ops

SENTINEL = 77


def filled(shape, dtype, device):
    return torch.full(shape, SENTINEL, device=device).to(dtype)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_right_shape(layout, device):
    x = LAYOUTS[layout](torch.float32, device)
    for dim in all_dims(x.dim()):
        for keepdim in (False, True):
            expected = torch.sum(x, dim, keepdim)
            out = filled(expected.shape, torch.float32, device)
            assert reduce_ops.sum(x, dim, keepdim, out=out) is out
            assert_equal(out, expected, f"{layout}, {dim=}, {keepdim=}")


@pytest.mark.parametrize("dtype", RESULT_DTYPES, ids=name)
@pytest.mark.parametrize(
    "source", (torch.float32, torch.int32, torch.bfloat16, torch.complex64), ids=name
)
def test_without_dtype_the_sum_is_in_the_dtype_of_out(source, dtype, device):
    x = small_values((6, 33), source, device)
    x = x.abs().to(source) if dtype == torch.uint8 else x
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Casting complex values to real")
        for dim, shape in ((1, (6,)), (0, (33,)), (None, ())):
            out = filled(shape, dtype, device)
            reduce_ops.sum(x, dim, out=out)
            assert_equal(out, torch.sum(x, dim, out=filled(shape, dtype, device)))
            again = filled(shape, dtype, device)
            reduce_ops.sum(x, dim, dtype=dtype, out=again)
            assert_equal(again, out)


def test_elements_are_cast_before_they_are_added(device):
    x = torch.tensor([[0.75, 0.75], [-1.5, 2.5]], device=device)
    out = torch.empty(2, dtype=torch.int64, device=device)
    assert reduce_ops.sum(x, 1, out=out).tolist() == [0, 1]


@pytest.mark.parametrize("shape", ((2,), (7,), (1, 4), (2, 3, 4)), ids=str)
def test_a_wrong_shape_is_resized_with_a_warning(shape, device):
    x = small_values((3, 4), torch.float32, device)
    out = filled(shape, torch.float32, device)
    with pytest.warns(UserWarning, match="resized"):
        assert reduce_ops.sum(x, 0, out=out) is out
    assert_equal(out, torch.sum(x, 0))


def test_an_empty_out_is_resized_in_silence(device):
    x = small_values((3, 4), torch.float32, device)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for dim, keepdim in ((0, False), (1, True), (None, False)):
            out = torch.empty(0, device=device)
            reduce_ops.sum(x, dim, keepdim, out=out)
            assert_equal(out, torch.sum(x, dim, keepdim))


@pytest.mark.parametrize("dtype", (torch.float32, torch.int8, torch.complex128), ids=name)
def test_strides_of_out_are_kept_and_gaps_untouched(dtype, device):
    x = small_values((5, 6, 7), dtype, device)
    for dim in (0, 1, 2):
        expected = torch.sum(x, dim, dtype=dtype)
        rows, columns = expected.shape
        spread = filled((2 * rows, 3 * columns), dtype, device)
        reduce_ops.sum(x, dim, dtype=dtype, out=spread[::2, 1::3])
        assert torch.equal(spread[::2, 1::3], expected)
        spread[::2, 1::3] = SENTINEL
        assert (spread == SENTINEL).all(), "wrote between the elements of out"
        transposed = filled((columns, rows), dtype, device).t()
        strides = transposed.stride()
        reduce_ops.sum(x, dim, dtype=dtype, out=transposed)
        assert torch.equal(transposed, expected)
        assert transposed.stride() == strides


def test_out_at_any_address(device):
    x = small_values((9, 33), torch.float32, device)
    for dtype in (torch.float32, torch.float16, torch.int8):
        for offset in range(1, 9):
            buffer = filled((offset + 40,), dtype, device)
            for dim in (0, 1):
                expected = torch.sum(x, dim, dtype=dtype)
                out = buffer[offset : offset + len(expected)]
                reduce_ops.sum(x, dim, out=out)
                assert torch.equal(out, expected)
                out.fill_(SENTINEL)
                assert (buffer == SENTINEL).all(), f"wrote around out, {dtype=}, {offset=}"


def test_empty_sums_fill_out_with_zero(device):
    for shape, dim in (((0, 3), 0), ((3, 0), 1), ((3, 0), None), ((2, 0, 4), 1)):
        x = torch.empty(shape, device=device)
        expected = torch.sum(x, dim)
        strided = filled((*expected.shape, 2), torch.float32, device)[..., 0]
        reduce_ops.sum(x, dim, out=strided)
        assert torch.equal(strided, expected)
    kept_empty = torch.empty(0, device=device)
    assert reduce_ops.sum(torch.empty((0, 3), device=device), 1, out=kept_empty).shape == (0,)


def test_a_view_of_out_keeps_its_neighbours(device):
    x = small_values((3, 4), torch.float32, device)
    stack = filled((3, 4), torch.float32, device)
    reduce_ops.sum(x, 0, out=stack[1])
    assert torch.equal(stack[1], torch.sum(x, 0))
    assert (stack[[0, 2]] == SENTINEL).all()


def test_out_may_lie_beside_the_input_in_one_storage(device):
    storage = small_values((5, 4), torch.float32, device)
    x, out = storage[:4], storage[4]
    expected = torch.sum(x, 0)
    reduce_ops.sum(x, 0, out=out)
    assert torch.equal(out, expected)


def test_out_with_more_dims_than_one_kernel_takes(device):
    x = small_values((2,) * 12, torch.float32, device)
    backwards = filled((2,) * 11, torch.float32, device).permute(*range(10, -1, -1))
    spread = filled((2,) * 10 + (4,), torch.float32, device)[..., ::2]
    for source in (x, x.permute(*range(11, -1, -1))):
        for out in (backwards, spread):
            strides = out.stride()
            assert reduce_ops.sum(source, 3, out=out) is out
            assert torch.equal(out, torch.sum(source, 3))
            assert out.stride() == strides


def test_out_may_lie_between_the_elements_of_the_input(device):
    for dim, take in ((1, lambda b: b[:, 1]), (1, lambda b: b[:, 5]), (0, lambda b: b[0, 1::2])):
        results = []
        for function in (torch.sum, reduce_ops.sum):
            buffer = small_values((4, 6), torch.float32, device)
            function(buffer[:, ::2], dim, out=take(buffer))
            results.append(buffer)
        assert_equal(*results)


def test_out_that_shares_memory_unnoticed_gets_the_right_sum(device):
    """torch.sum writes while it still reads here."""
    for dim, take in (
        (1, lambda x: x[:, 1]),
        (1, lambda x: x[:, 2]),
        (1, lambda x: x.view(-1)[::7]),
    ):
        x = small_values((7, 7), torch.float32, device)
        out = take(x)
        expected = torch.sum(x, dim)
        reduce_ops.sum(x, dim, out=out)
        assert torch.equal(out, expected)


def test_out_bumps_its_version(device):
    out = torch.zeros(3, device=device)
    before = out._version
    reduce_ops.sum(torch.ones((2, 3), device=device), 0, out=out)
    assert out._version > before


def test_bits_do_not_depend_on_out(device):
    g = torch.Generator().manual_seed(5)
    x = torch.randn((7, 4099), generator=g).to(device)
    for dim in (0, 1, None):
        expected = reduce_ops.sum(x, dim)
        out = torch.empty((*expected.shape, 3), device=device)[..., 1]
        assert torch.equal(reduce_ops.sum(x, dim, out=out), expected)
