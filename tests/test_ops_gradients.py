"""Gradients of every op: first and second order, forward mode, torch's own rules."""

import math

import pytest
import torch
from op_cases import CASES, INF, OPS, Case, results
from torch.autograd.gradcheck import gradcheck, gradgradcheck

import reduce_ops

pytestmark = pytest.mark.filterwarnings(
    "ignore::DeprecationWarning", "ignore::FutureWarning", "ignore:.*degrees of freedom"
)
WITHOUT = {"argmax", "argmin", "all", "any", "count_nonzero"}
DIFFERENTIABLE = [case for case in CASES if case.op not in WITHOUT]
DIFFERENTIABLE.append(
    Case("vector_norm", (torch.float64,), torch.linalg.vector_norm, label="1.5", ord=1.5)
)


def by_id(case):
    return case.id


def floats(value):
    return tuple(r for r in results(value) if r.is_floating_point() or r.is_complex())


@pytest.mark.parametrize("dtype", (torch.float64, torch.complex128), ids=str)
@pytest.mark.parametrize("case", DIFFERENTIABLE, ids=by_id)
def test_gradcheck(case, dtype, device):
    if dtype not in case.dtypes:
        pytest.skip("not a dtype of the op")
    torch.manual_seed(3)
    x = torch.randn((2, 3, 2), dtype=dtype, device=device, requires_grad=True)
    for dim in (*case.dims(3)[:1], 1, -1, *((0, 2),) * (not case.one_dim)):
        for keepdim in (False, True):
            given = case.arguments(dim, keepdim)
            if given is None:
                continue

            def f(t, given=given):
                return floats(case.ours(t, **given))

            assert gradcheck(f, x, check_forward_ad=True, check_batched_grad=True)
            assert gradgradcheck(f, x)


def aminmax(x, dim=None, keepdim=False):
    """torch's has no gradient of its own."""
    dims = () if dim is None else dim
    return torch.amin(x, dims, keepdim), torch.amax(x, dims, keepdim)


def theirs(case):
    return aminmax if case.op == "aminmax" else case.theirs


def grads(case, function, x, given, weights):
    leaf = x.detach().clone().requires_grad_()
    outs = floats(function(leaf, **given))
    total = sum((o * w.to(o.dtype)).sum().abs() for o, w in zip(outs, weights, strict=False))
    (grad,) = torch.autograd.grad(total, leaf, allow_unused=True)
    return grad


SPECIAL = (
    [[1.0, 3.0, 3.0, 2.0], [0.0, 0.0, 0.0, 0.0], [5.0, 0.0, 2.0, -5.0]],  # ties and zeros
    [[0.0, 2.0, 3.0, 4.0], [0.0, 0.0, 3.0, 4.0], [1.0, 2.0, -0.0, 4.0]],
    [[math.nan, 1.0, 2.0, math.nan], [1.0, 2.0, 3.0, 4.0], [math.nan] * 4],
    [[INF, 1.0, 2.0, 3.0], [-INF, 1.0, 2.0, 3.0], [1.0, 2.0, 3.0, 4.0]],
    [[-INF, -INF, -INF, -INF], [INF, INF, 1.0, 2.0], [INF, -INF, 1.0, 2.0]],
)


@pytest.mark.parametrize("case", DIFFERENTIABLE, ids=by_id)
def test_grads_equal_those_of_torch(case, device):
    """At ties, zeros, NaN and infinities, over one dim and over all."""
    for values in SPECIAL:
        x = torch.tensor(values, dtype=torch.float64, device=device)
        for dim in (1, 0, *case.dims(2)[:1]):
            given = case.arguments(dim, False)
            shapes = [o.shape for o in floats(theirs(case)(x, **given))]
            weights = [torch.arange(1.0, 2.0 + max(s, default=0), device=device) for s in shapes]
            weights = [w[: s[0]] if len(s) else w[0] for w, s in zip(weights, shapes, strict=True)]
            if case.op == "prod" and not x.isfinite().all():
                continue  # torch divides by the element: inf / inf
            if case.op in ("var_mean", "std_mean") and not x.isfinite().all():
                continue  # torch's mean of infinities is NaN
            expected = grads(case, theirs(case), x, given, weights)
            actual = grads(case, case.ours, x, given, weights)
            if expected is None:
                assert actual is None, case.id
                continue
            if case.op == "aminmax" and dim is ... and x.isnan().any():
                continue  # NaN equals NaN where all dims are reduced
            torch.testing.assert_close(
                actual,
                expected,
                rtol=1e-12,
                atol=1e-12,
                equal_nan=True,
                msg=lambda text, v=values, g=given: f"{case.id} {v} {g}: {text}",
            )


@pytest.mark.parametrize("dtype", (torch.float32, torch.float16, torch.bfloat16), ids=str)
@pytest.mark.parametrize("case", DIFFERENTIABLE, ids=by_id)
def test_grads_have_the_dtype_of_the_input(case, dtype, device):
    if dtype not in case.dtypes:
        pytest.skip("not a dtype of the op")
    x = (torch.rand((3, 5), device=device) + 0.5).to(dtype).requires_grad_()
    if case.more.get("ord") == 0:
        pytest.skip("has no gradient")
    outs = floats(case.ours(x, **case.arguments(1, False)))
    (grad,) = torch.autograd.grad(sum(o.sum() for o in outs), x)
    assert (grad.dtype, grad.shape) == (dtype, x.shape)
    wide = x.detach().double().requires_grad_()
    outs = floats(theirs(case)(wide, **case.arguments(1, False)))
    (expected,) = torch.autograd.grad(sum(o.sum() for o in outs), wide)
    eps = torch.finfo(dtype).eps
    torch.testing.assert_close(grad.double(), expected, rtol=64 * eps, atol=64 * eps)


@pytest.mark.parametrize("zeros", (0, 1, 2, 3))
def test_prod_with_zeros(zeros, device):
    x = torch.randn((2, 3), dtype=torch.float64, device=device)
    x.view(-1)[:zeros] = 0
    x.requires_grad_()
    for dim in (None, 0, 1, (0, 1)):
        assert gradcheck(lambda t, d=dim: reduce_ops.prod(t, d), x, check_forward_ad=True)
        assert gradgradcheck(lambda t, d=dim: reduce_ops.prod(t, d), x)


@pytest.mark.parametrize("op", sorted(WITHOUT))
def test_no_gradient(op, device):
    x = torch.randn((3, 4), device=device, requires_grad=True)
    assert not getattr(reduce_ops, op)(x, 1).requires_grad
    assert not reduce_ops.max(x, 1).indices.requires_grad


@pytest.mark.parametrize("case", OPS.values(), ids=by_id)
def test_out_takes_no_gradient_and_is_seen_as_changed(case, device):
    if case.op in ("count_nonzero", "var_mean", "std_mean"):
        return
    x = torch.rand((3, 4), device=device)
    given = case.arguments(1, False)
    outs = tuple(torch.empty_like(r) for r in results(case.ours(x, **given)))
    versions = [out._version for out in outs]
    case.ours(x, out=outs if len(outs) > 1 else outs[0], **given)
    assert [out._version for out in outs] == [version + 1 for version in versions]
    with pytest.raises(RuntimeError, match=rf"{case.op}.*out=.*automatic differentiation"):
        case.ours(x.clone().requires_grad_(), out=outs if len(outs) > 1 else outs[0], **given)


def test_an_in_place_change_after_the_call_is_an_error(device):
    for op in ("amax", "prod", "logsumexp", "var", "norm"):
        x = torch.rand((3, 4), device=device, requires_grad=True)
        y = x * 1
        value = getattr(reduce_ops, op)(y, dim=1)
        y.add_(1)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            value.sum().backward()


def test_the_node_is_named_after_the_op(device):
    x = torch.rand((3, 4), device=device, requires_grad=True)
    assert reduce_ops.amax(x).grad_fn.name() == "AmaxBackward"
    assert reduce_ops.var_mean(x)[1].grad_fn.name() == "VarMeanBackward"
