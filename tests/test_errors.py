"""What sum refuses: torch's error types, messages that name the op, the argument and the value,
and nothing written."""

import pytest
import torch
from helpers import assert_equal

import reduce_ops

SENTINEL = 77.0


def fresh(shape=(3,), dtype=torch.float32, device="cpu"):
    return torch.full(shape, SENTINEL, device=device).to(dtype)


@pytest.mark.parametrize("dim", (2, -3, 5, -100, 2**40), ids=str)
def test_a_dim_out_of_range(dim, device):
    x = torch.ones((2, 3), device=device)
    for argument in (dim, [dim], (0, dim)):
        with pytest.raises(IndexError) as error:
            reduce_ops.sum(x, argument)
        message = str(error.value)
        assert "reduce_ops.sum" in message
        assert f"dim {dim}" in message
        assert "2 dims" in message
        assert "-2" in message
        assert "1" in message
        with pytest.raises(IndexError):
            torch.sum(x, argument)


@pytest.mark.parametrize("dim", (1, -2))
def test_a_dim_out_of_range_for_a_scalar(dim, device):
    with pytest.raises(IndexError, match=rf"reduce_ops\.sum.*dim {dim}\b.*-1.*0"):
        reduce_ops.sum(torch.tensor(1.0, device=device), dim)


@pytest.mark.parametrize("dims", ((0, 0), (1, -1), [0, 1, -2], (-1, -1)), ids=str)
def test_a_dim_twice(dims, device):
    x = torch.ones((2, 3), device=device)
    with pytest.raises(RuntimeError, match=r"reduce_ops\.sum.*dim [01]\b"):
        reduce_ops.sum(x, dims)
    with pytest.raises(RuntimeError, match=r"reduce_ops\.sum.*dim 0\b"):
        reduce_ops.sum(x[0, 0], (0, -1))
    with pytest.raises(RuntimeError):
        torch.sum(x, dims)


@pytest.mark.parametrize(
    ("arguments", "word"),
    (
        (dict(input=[1, 2]), "input"),
        (dict(input=3.5), "input"),
        (dict(input=None), "input"),
        (dict(dim=1.0), "dim"),
        (dict(dim=True), "dim"),
        (dict(dim=[0.5]), "dim"),
        (dict(dim=["a"]), "dim"),
        (dict(dim={0}), "dim"),
        (dict(dim=[[0]]), "dim"),
        (dict(keepdim="yes"), "keepdim"),
        (dict(keepdim=None), "keepdim"),
        (dict(keepdim=1), "keepdim"),
        (dict(dtype="float32"), "dtype"),
        (dict(dtype=torch.ones(1)), "dtype"),
        (dict(out=3), "out"),
        (dict(out=[torch.ones(3)]), "out"),
        (dict(axes=1), "axes"),
    ),
    ids=str,
)
def test_arguments_of_the_wrong_type(arguments, word):
    with pytest.raises(TypeError) as error:
        reduce_ops.sum(**{"input": torch.ones((2, 3)), **arguments})
    assert "sum" in str(error.value)
    assert word in str(error.value)


def test_missing_and_surplus_arguments():
    for call in (lambda: reduce_ops.sum(), lambda: reduce_ops.sum(torch.ones(3), 0, False, None)):
        with pytest.raises(TypeError, match="sum"):
            call()


def test_an_int_too_large_for_64_bits():
    with pytest.raises((ValueError, OverflowError, TypeError, RuntimeError)):
        reduce_ops.sum(torch.ones(3), 2**70)


UNSUPPORTED = [
    torch.complex32,
    *(
        getattr(torch, text)
        for text in ("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz")
        if hasattr(torch, text)
    ),
]


@pytest.mark.parametrize("dtype", UNSUPPORTED, ids=str)
@pytest.mark.filterwarnings("ignore:ComplexHalf")
def test_dtypes_that_are_not_supported(dtype, device):
    plain = torch.ones((2, 3), device=device)
    odd = torch.zeros((2, 3), dtype=dtype, device=device)
    cases = (
        ("input", lambda: reduce_ops.sum(odd, 0)),
        ("input", lambda: reduce_ops.sum(odd, 0, dtype=torch.float32)),
        ("dtype", lambda: reduce_ops.sum(plain, 0, dtype=dtype)),
        ("out", lambda: reduce_ops.sum(plain, 0, out=odd[0])),
        ("input", lambda: torch.ops.reduce_ops.sum(odd)),
    )
    for argument, call in cases:
        with pytest.raises(NotImplementedError, match=r"reduce_ops\.sum") as error:
            call()
        assert argument in str(error.value)
        value = {torch.complex32: "ComplexHalf"}.get(dtype, str(dtype).removeprefix("torch."))
        assert value.lower() in str(error.value).lower()
    assert (odd.view(torch.uint8) == 0).all()


def test_out_of_another_dtype_than_dtype(device):
    x = torch.ones((2, 3), device=device)
    for dtype, out_dtype in ((torch.float64, torch.float32), (torch.int64, torch.float32)):
        out = fresh(dtype=out_dtype, device=device)
        with pytest.raises(RuntimeError, match=r"reduce_ops\.sum: out.*dtype") as error:
            reduce_ops.sum(x, 0, dtype=dtype, out=out)
        assert "float" in str(error.value).lower()
        assert (out == SENTINEL).all()
        with pytest.raises(RuntimeError):
            torch.sum(x, 0, dtype=dtype, out=out)


def test_out_on_another_device(device):
    x = torch.ones((2, 3), device=device)
    other = torch.empty(3, device="meta" if device == "cpu" else "cpu")
    for input, out in ((x, other), (x.to(other.device), torch.empty(3, device=device))):
        with pytest.raises(RuntimeError, match=r"reduce_ops\.sum.*out.*device") as error:
            reduce_ops.sum(input, 0, out=out)
        assert str(input.device.type) in str(error.value)
        assert str(out.device.type) in str(error.value)


def test_out_that_overlaps_the_input(device):
    x = torch.arange(6.0, device=device).view(2, 3)
    before = x.clone()
    flat = x.view(-1)
    for input, dim, out in (
        (x, 0, x[0]),
        (x, 0, x[1]),
        (x, 0, flat[1:4]),
        (x[:1], (), flat[2]),
        (x[0], 0, flat[0]),
        (x.t(), 1, x[1]),
        (x, 0, x),  # would also have been resized
    ):
        with pytest.raises(RuntimeError, match=r"reduce_ops\.sum.*out.*input"):
            reduce_ops.sum(input, dim, out=out)
        assert_equal(x, before)


def test_out_that_would_be_resized_in_the_storage_of_the_input(device):
    x = torch.arange(12.0, device=device).view(4, 3)
    before = x.clone()
    for out in (x.view(-1)[:0], x[3, :0], x[3, 1:], x[2:]):
        size = out.shape
        with pytest.raises(RuntimeError, match=r"reduce_ops\.sum.*out.*input"):
            reduce_ops.sum(x[:2], 0, out=out)
        assert out.shape == size
        assert_equal(x, before)


def test_out_that_overlaps_itself(device):
    x = torch.ones((2, 3), device=device)
    storage = fresh((8,), device=device)
    for dim, out in ((0, storage[:1].expand(3)), (1, storage[1:2].expand(2))):
        with pytest.raises(RuntimeError, match=r"reduce_ops\.sum.*out.*memory"):
            reduce_ops.sum(x, dim, out=out)
        assert (storage == SENTINEL).all()


@pytest.mark.filterwarnings("ignore:Sparse")
def test_tensors_that_are_not_dense():
    """The error names the op and the backend, whichever argument it is."""
    x = torch.tensor([[0.0, 1, 0], [2, 0, 3]])
    for other, backend in (
        (x.to_sparse(), "SparseCPU"),
        (x.to_sparse_csr(), "SparseCsrCPU"),
        (x.to_sparse_csc(), "SparseCsrCPU"),
        (torch.quantize_per_tensor(x, 0.1, 0, torch.qint8), "QuantizedCPU"),
        (x.to_mkldnn(), "MkldnnCPU"),
    ):
        for call in (
            lambda t=other: reduce_ops.sum(t),
            lambda t=other: reduce_ops.sum(t, 0),
            lambda t=other: torch.ops.reduce_ops.sum.default(t),
            lambda t=other: reduce_ops.sum(x, (), out=t),
        ):
            with pytest.raises(NotImplementedError, match=rf"reduce_ops::sum.*'{backend}'"):
                call()


def test_refused_calls_leave_out_alone(device):
    x = torch.ones((2, 3), device=device)
    out = fresh((5,), device=device)
    calls = (
        lambda: reduce_ops.sum(x, 7, out=out),
        lambda: reduce_ops.sum(x, (0, 0), out=out),
        lambda: reduce_ops.sum(x, 0, dtype=torch.float64, out=out),
        lambda: reduce_ops.sum(x.to(torch.complex32), 0, out=out),
        lambda: reduce_ops.sum(x, 0, out=fresh(dtype=torch.complex32, device=device)),
        lambda: reduce_ops.sum(x.clone().requires_grad_(), 0, out=out),
        lambda: reduce_ops.sum(x.to("meta"), 0, out=out),
    )
    for call in calls:
        with pytest.raises((RuntimeError, IndexError)):
            call()
        assert out.shape == (5,)
        assert (out == SENTINEL).all()


def test_the_registered_operator_names_itself(device):
    op = torch.ops.reduce_ops.sum
    x = torch.ones((2, 3), device=device)
    with pytest.raises(IndexError, match=r"reduce_ops\.sum.*dim 4"):
        op(x, [4])
    with pytest.raises(TypeError, match=r"reduce_ops\.sum.*'dim'.*float"):
        op(x, 1.5)
    with pytest.raises(TypeError, match=r"reduce_ops\.sum.*'self'.*list"):
        op([1.0])


def test_the_library_works_after_an_error(device):
    x = torch.ones((2, 3), device=device)
    for _ in range(3):
        with pytest.raises(IndexError):
            reduce_ops.sum(x, 9)
        assert reduce_ops.sum(x).item() == 6


def test_an_inference_tensor_is_not_written_outside_inference_mode():
    with torch.inference_mode():
        out = fresh((3,))
    with pytest.raises(RuntimeError, match=r"reduce_ops\.sum: out of sizes \[3\] is an inference"):
        reduce_ops.sum(torch.ones(2, 3), 0, out=out)
    assert (out == SENTINEL).all()


def test_out_whose_storage_cannot_grow():
    out = torch.frombuffer(bytearray(8), dtype=torch.float32)
    with pytest.raises(
        RuntimeError, match=r"reduce_ops\.sum: out of sizes \[2\] cannot be resized"
    ):
        reduce_ops.sum(torch.ones(4, 3), 1, out=out)
    assert out.shape == (2,)
    assert (out == 0).all()
