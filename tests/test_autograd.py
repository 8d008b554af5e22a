"""Gradients of sum: first and higher order, forward mode, vmap, what takes none."""

import warnings

import pytest
import torch
from helpers import assert_equal, name, small_values
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.autograd import forward_ad
from torch.autograd.gradcheck import gradcheck, gradgradcheck

import reduce_ops

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")

DIMS = (None, 0, 1, -1, (0, 2), (), [1, 2], (0, 1, 2))
OP = torch.ops.reduce_ops.sum


def leaf(shape, dtype, device, seed=0):
    return small_values(shape, dtype, device, seed).requires_grad_()


@pytest.mark.parametrize("keepdim", (False, True))
@pytest.mark.parametrize("dim", DIMS, ids=str)
@pytest.mark.parametrize("dtype", (torch.float64, torch.complex128), ids=name)
def test_gradcheck(dtype, dim, keepdim, device):
    x = torch.randn((2, 3, 2), dtype=dtype, device=device, requires_grad=True)

    def f(t):
        return reduce_ops.sum(t * t, dim, keepdim)

    assert gradcheck(f, x, check_batched_grad=True, check_forward_ad=True)
    assert gradgradcheck(f, x, check_batched_grad=True)


@pytest.mark.parametrize("shape", ((), (1,), (0,), (3, 0), (0, 3)), ids=str)
def test_gradcheck_of_edge_shapes(shape, device):
    x = torch.randn(shape, dtype=torch.float64, device=device, requires_grad=True)
    for dim in (None, 0, -1):
        assert gradcheck(lambda t, d=dim: reduce_ops.sum(t, d), x)
        assert gradgradcheck(lambda t, d=dim: reduce_ops.sum(t * t, d), x)


@pytest.mark.parametrize(
    ("source", "target"),
    (
        (torch.float64, torch.complex128),
        (torch.complex128, torch.float64),
        (torch.float64, torch.float64),
    ),
    ids=name,
)
@pytest.mark.filterwarnings("ignore:Casting complex values to real")
def test_gradcheck_through_casts(source, target, device):
    x = torch.randn((3, 2), dtype=source, device=device, requires_grad=True)
    assert gradcheck(lambda t: reduce_ops.sum(t * t, 1, dtype=target), x)
    assert gradgradcheck(lambda t: reduce_ops.sum(t * t, 1, dtype=target), x)


def both_grads(x, call, weight_seed=3):
    """Gradients of torch.sum and reduce_ops.sum, weighted so that no gradient is constant."""
    grads = []
    for f in (torch.sum, reduce_ops.sum):
        leaf_x = x.detach().clone().requires_grad_()
        y = call(f, leaf_x)
        weight = small_values(y.shape, y.dtype, y.device, weight_seed) + 1
        (y * weight).sum().abs().backward()
        grads.append(leaf_x.grad)
    return grads


@pytest.mark.parametrize(
    "dtype",
    (torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.complex64),
    ids=name,
)
def test_grads_equal_those_of_torch(dtype, device):
    x = small_values((3, 4, 5), dtype, device)
    views = (
        lambda t: t,
        lambda t: t.transpose(0, 2),
        lambda t: t[:, ::2],
        lambda t: t[:, :1].expand(3, 6, 5),
        lambda t: t[1],
    )
    for view in views:
        for dim in (None, 0, 1, -1, (0, 1)):
            for keepdim in (False, True):
                expected, actual = both_grads(
                    x, lambda f, t, v=view, d=dim, k=keepdim: f(v(t), d, k)
                )
                assert_equal(actual, expected, f"{dim=}, {keepdim=}")


@pytest.mark.parametrize("target", (torch.float32, torch.float64, torch.float16), ids=name)
@pytest.mark.parametrize(
    "source", (torch.float32, torch.float64, torch.bfloat16, torch.complex64), ids=name
)
@pytest.mark.filterwarnings("ignore:Casting complex values to real")
def test_grads_have_the_dtype_of_the_input(source, target, device):
    x = small_values((3, 5), source, device)
    for dim in (None, 0, (0, 1)):
        expected, actual = both_grads(x, lambda f, t, d=dim: f(t, d, dtype=target))
        assert actual.dtype == source
        assert_equal(actual, expected)


def test_second_derivative(device):
    x = leaf((3, 4), torch.float64, device)
    y = reduce_ops.sum(x**3, 1)
    (grad,) = torch.autograd.grad(y, x, torch.ones_like(y), create_graph=True)
    (second,) = torch.autograd.grad(reduce_ops.sum(grad), x)
    assert torch.equal(second, 6 * x.detach())


def test_integers_carry_no_gradient(device):
    x = small_values((3, 4), torch.int64, device)
    assert not reduce_ops.sum(x, 1).requires_grad
    with_grad = leaf((3, 4), torch.float32, device)
    assert not reduce_ops.sum(with_grad, 1, dtype=torch.int64).requires_grad
    result = reduce_ops.sum(x, 1, dtype=torch.float32)
    assert not result.requires_grad


def test_where_gradients_are_off(device):
    x = leaf((3, 4), torch.float32, device)
    with torch.no_grad():
        assert not reduce_ops.sum(x, 1).requires_grad
        out = torch.empty(3, device=device)
        reduce_ops.sum(x, 1, out=out)
        assert torch.equal(out, torch.sum(x, 1))
    assert not reduce_ops.sum(x.detach(), 1).requires_grad
    with torch.inference_mode():
        result = reduce_ops.sum(x, 1)
        assert result.is_inference()
        assert torch.equal(result, torch.sum(x, 1))
        reduce_ops.sum(x, 1, out=torch.empty(3, device=device))
    assert reduce_ops.sum(x, 1).requires_grad


def test_out_takes_no_gradient(device):
    x = leaf((3, 4), torch.float32, device)
    plain = torch.full((3,), 77.0, device=device)
    for arguments in (
        (x, plain),
        (x.detach(), torch.empty(3, device=device, requires_grad=True)),
    ):
        with pytest.raises(RuntimeError, match=r"sum.*out=.*automatic differentiation"):
            reduce_ops.sum(arguments[0], 1, out=arguments[1])
    assert (plain == 77).all()


@pytest.mark.parametrize("mode", (torch.enable_grad, torch.no_grad, torch.inference_mode))
@pytest.mark.parametrize("call", (reduce_ops.sum, OP.IntList_out, OP.out))
def test_a_tensor_written_by_out_is_seen_as_changed(mode, call, device):
    """A value saved for backward and then overwritten is an error, not a wrong gradient."""
    saved = torch.ones((), device=device)
    x = leaf((), torch.float32, device)
    y = x * saved
    with mode():
        call(torch.ones(3, device=device), *([] if call is OP.out else [0]), out=saved)
    assert saved._version == 1
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()


def test_an_inference_tensor_takes_no_result_outside_of_inference_mode(device):
    x = torch.ones((2, 3), device=device)
    with torch.inference_mode():
        out = torch.empty(3, device=device)
    for function in (torch.sum, reduce_ops.sum):
        with pytest.raises(RuntimeError, match="inference tensor"):
            function(x, 0, out=out)


def test_backward_saves_no_input(device):
    x = leaf((300, 400), torch.float32, device)
    saved = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: saved.append(t) or t, lambda t: t):
        y = reduce_ops.sum(x, 1)
    assert not saved
    x.data.mul_(2)  # the gradient does not need the values
    y.sum().backward()
    assert torch.equal(x.grad, torch.ones_like(x))


@pytest.mark.filterwarnings("ignore:Casting complex values to real")
def test_backward_makes_nothing_as_large_as_the_input(device):
    for source, target in (
        (torch.float32, torch.float32),
        (torch.bfloat16, torch.float32),
        (torch.float32, torch.complex64),
        (torch.complex64, torch.float32),
    ):
        x = leaf((300, 400), source, device)
        y = reduce_ops.sum(x, 1, dtype=target)
        (grad,) = torch.autograd.grad(y, x, torch.ones_like(y))
        assert (grad.dtype, grad.shape) == (source, x.shape)
        assert grad.untyped_storage().nbytes() <= 300 * 8
        assert torch.equal(grad, torch.ones_like(x))


@pytest.mark.filterwarnings("ignore:Anomaly Detection")
def test_anomaly_mode_and_hooks(device):
    x = leaf((3, 4), torch.float32, device)
    seen = []
    with torch.autograd.detect_anomaly(check_nan=True):
        y = reduce_ops.sum(x, 0)
        y.register_hook(lambda g: seen.append(g.clone()))
        y.sum().backward()
    assert torch.equal(seen[0], torch.ones(4, device=device))
    assert torch.equal(x.grad, torch.ones_like(x))


def test_func_grad_and_vmap(device):
    x = small_values((5, 3, 4), torch.float64, device)

    def loss(t):
        return reduce_ops.sum(reduce_ops.sum(t, 0) ** 2)

    def expected_loss(t):
        return torch.sum(torch.sum(t, 0) ** 2)

    assert torch.equal(torch.func.grad(loss)(x[0]), torch.func.grad(expected_loss)(x[0]))
    per_sample = torch.func.vmap(torch.func.grad(loss))(x)
    assert torch.equal(per_sample, torch.func.vmap(torch.func.grad(expected_loss))(x))
    hessian = torch.func.hessian(loss)(x[0, :2, :2])
    assert torch.equal(hessian, torch.func.hessian(expected_loss)(x[0, :2, :2]))


@pytest.mark.parametrize("dtype", (torch.float32, torch.int32, torch.bool), ids=name)
def test_vmap(dtype, device):
    x = small_values((3, 4, 5), dtype, device)
    for in_dim in (0, 1, 2, -1):
        for dim in (None, 0, 1, -1, (0, 1), ()):
            for keepdim in (False, True):
                actual = torch.func.vmap(
                    lambda t, d=dim, k=keepdim: reduce_ops.sum(t, d, k), in_dims=in_dim
                )(x)
                expected = torch.func.vmap(
                    lambda t, d=dim, k=keepdim: torch.sum(t, d, k), in_dims=in_dim
                )(x)
                assert actual.dtype == expected.dtype
                assert torch.equal(actual, expected), f"{in_dim=}, {dim=}, {keepdim=}"
    nested = torch.func.vmap(torch.func.vmap(lambda t: reduce_ops.sum(t, dtype=torch.float64)))(x)
    assert torch.equal(nested, torch.sum(x, 2, dtype=torch.float64))
    scalars = torch.func.vmap(lambda t: reduce_ops.sum(t, 0))(x[:, 0, 0])
    assert torch.equal(scalars, torch.func.vmap(lambda t: torch.sum(t, 0))(x[:, 0, 0]))
    negative_zero = torch.full((3,), -0.0, device=device)
    assert not torch.func.vmap(reduce_ops.sum)(negative_zero).signbit().any()
    with pytest.raises(IndexError, match="2"):
        torch.func.vmap(lambda t: reduce_ops.sum(t, 2))(x)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a loop over the samples warns
        assert torch.equal(torch.func.vmap(OP.default)(x), torch.sum(x, (1, 2)))


def test_forward_mode(device):
    x = small_values((3, 4), torch.float64, device)
    tangent = small_values((3, 4), torch.float64, device, seed=5)
    for dim in (None, 0, 1, (0, 1)):
        value, derivative = torch.func.jvp(
            lambda t, d=dim: reduce_ops.sum(t * t, d), (x,), (tangent,)
        )
        assert torch.equal(value, torch.sum(x * x, dim))
        assert torch.equal(derivative, torch.sum(2 * x * tangent, dim))
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(x, tangent)
        result = forward_ad.unpack_dual(reduce_ops.sum(dual, 1))
        assert torch.equal(result.tangent, tangent.sum(1))
        with pytest.raises(RuntimeError, match=r"out="):
            reduce_ops.sum(dual, 1, out=torch.empty(3, dtype=torch.float64, device=device))


def test_a_gradient_that_is_expanded_or_noncontiguous(device):
    x = leaf((4, 5), torch.float32, device)
    y = reduce_ops.sum(x, 1, True)
    y.backward(torch.arange(8.0, device=device)[::2][:, None])
    assert torch.equal(x.grad, torch.tensor([0.0, 2, 4, 6], device=device)[:, None].expand(4, 5))


def test_checkpoint_and_several_uses(device):
    from torch.utils.checkpoint import checkpoint

    x = leaf((4, 5), torch.float32, device)
    y = checkpoint(lambda t: reduce_ops.sum(t * t, 1), x, use_reentrant=False)
    (y.sum() + reduce_ops.sum(x) + reduce_ops.sum(x, 0)[2]).backward()
    expected = 2 * x.detach() + 1
    expected[:, 2] += 1
    assert torch.equal(x.grad, expected)


@pytest.fixture
def cuda_autocast():
    """CUDA autocast, also where there is no GPU, for fake tensors."""
    before = torch.is_autocast_enabled("cuda")
    torch.set_autocast_enabled("cuda", True)
    yield
    torch.set_autocast_enabled("cuda", before)


def autocast_results(x, **more):
    """(torch's, ours) for every way to call sum."""
    calls = ((lambda f: f(x, 1, **more)), (lambda f: f(x, **more)))
    for call in calls:
        yield call(torch.sum), call(reduce_ops.sum)
        yield call(torch.sum), call(OP)
    yield torch.sum(x, **more), OP.default(x, **more)


AUTOCAST_DTYPES = (torch.bfloat16, torch.float16, torch.float32, torch.float64, torch.int32)
AUTOCAST_DTYPES += (torch.complex64,)


@pytest.mark.parametrize("dtype", AUTOCAST_DTYPES, ids=name)
def test_autocast_is_as_for_torch(dtype, device):
    x = small_values((3, 5), dtype, device)
    for more in ({}, {"dtype": torch.bfloat16}, {"dtype": torch.float64}):
        if dtype.is_complex and more:
            continue
        with torch.autocast(device, dtype=torch.bfloat16):
            for expected, actual in autocast_results(x, **more):
                assert_equal(actual, expected)


@pytest.mark.parametrize("dtype", AUTOCAST_DTYPES, ids=name)
def test_autocast_of_fake_cuda_tensors_is_as_for_torch(dtype, cuda_autocast):
    with FakeTensorMode():
        x = torch.empty((3, 5), dtype=dtype, device="cuda")
        results = [*autocast_results(x), *autocast_results(x, dtype=torch.complex128)]
        for expected, actual in results:
            assert (actual.dtype, actual.shape) == (expected.dtype, expected.shape)
        out = torch.empty(3, dtype=dtype, device="cuda")
        assert reduce_ops.sum(x, 1, out=out).dtype == dtype
        assert reduce_ops.sum(torch.empty((3, 5), dtype=dtype), 1).dtype in (dtype, torch.int64)


def test_autocast_has_a_gradient_in_the_dtype_of_the_input(device):
    x = leaf((3, 5), torch.bfloat16, device)
    with torch.autocast(device, dtype=torch.bfloat16):
        (reduce_ops.sum(x, 1) * 2).sum().backward()
    assert torch.equal(x.grad, torch.full_like(x, 2))


def test_real_to_complex_has_a_real_gradient(device):
    """torch.sum's backward fails here."""
    x = leaf((3, 4), torch.float32, device)
    y = reduce_ops.sum(x, 1, dtype=torch.complex64)
    y.backward(torch.tensor([1 + 2j, 3j, 4], device=device))
    assert torch.equal(x.grad, torch.tensor([1.0, 0, 4], device=device)[:, None].expand(3, 4))


def sample_inputs(device):
    for dtype in (torch.float32, torch.int32):
        for grad in {False, dtype.is_floating_point}:
            x = small_values((3, 4, 5), dtype, device).requires_grad_(grad)
            yield x
            yield x.transpose(0, 2)[:, ::2]
    yield small_values((3, 4), torch.complex64, device).requires_grad_()
    yield torch.empty((0, 3), device=device)
    yield torch.tensor(2.0, device=device, requires_grad=True)


def test_opcheck(device):
    for x in sample_inputs(device):
        torch.library.opcheck(OP.default, (x,))
        torch.library.opcheck(OP.dim_IntList, (x, [-1]))
    x = small_values((3, 4, 5), torch.float32, device).requires_grad_()
    torch.library.opcheck(OP.default, (x,), {"dtype": torch.float64})
    torch.library.opcheck(OP.dim_IntList, (x, [0, 2], True), {"dtype": torch.float16})
    torch.library.opcheck(OP.dim_IntList, (x, None))
    torch.library.opcheck(OP.dim_IntList, (x, [], True))


def test_opcheck_of_out(device):
    for dtype, out_dtype in ((torch.float32, torch.float32), (torch.int32, torch.int64)):
        x = small_values((3, 4, 5), dtype, device)
        out = torch.empty((3, 5), dtype=out_dtype, device=device)
        torch.library.opcheck(OP.IntList_out, (x, [1]), {"out": out})
        torch.library.opcheck(OP.IntList_out, (x, [1]), {"dtype": out_dtype, "out": out})
        total = torch.empty((), dtype=out_dtype, device=device)
        torch.library.opcheck(OP.out, (x,), {"out": total})
        torch.library.opcheck(OP.IntList_out, (x, None), {"out": total})
