"""Every op under fake tensors, vmap, torch.compile, autocast and torch's own checks of ops."""

import pytest
import torch
from helpers import name, small_values
from op_cases import OPS, assert_like, results
from torch._subclasses.fake_tensor import FakeTensorMode

import reduce_ops
from reduce_ops import _C

pytestmark = pytest.mark.filterwarnings(
    "ignore::DeprecationWarning", "ignore::FutureWarning", "ignore:.*degrees of freedom"
)
CASES = list(OPS.values())


def by_op(case):
    return case.op


def calls(case, ndim):
    for dim in (*case.dims(ndim)[:1], 1, *((0, 2),) * (not case.one_dim)):
        for keepdim in (False, True):
            given = case.arguments(dim, keepdim)
            if given is not None:
                yield given


@pytest.mark.parametrize("case", CASES, ids=by_op)
def test_fake_results_are_like_real_ones(case, device):
    for dtype in case.dtypes:
        x = small_values((3, 4, 5), dtype, device)
        mode = FakeTensorMode()
        fake = mode.from_tensor(x)
        for given in calls(case, 3):
            real = results(case.ours(x, **given))
            with mode:
                for f, r in zip(results(case.ours(fake, **given)), real, strict=True):
                    for attribute in ("dtype", "shape", "device"):
                        assert getattr(f, attribute) == getattr(r, attribute), case.op
                    assert f.stride() == r.stride()


@pytest.mark.parametrize("case", CASES, ids=by_op)
def test_vmap(case, device):
    x = small_values((4, 3, 5, 2), case.dtypes[0], device)
    for given in calls(case, 3):
        for in_dim in (0, 2):
            ours = torch.func.vmap(lambda t, g=given: case.ours(t, **g), in_dims=in_dim)(x)
            samples = [case.ours(t, **given) for t in x.unbind(in_dim)]
            samples = [results(sample) for sample in samples]
            expected = [torch.stack(column) for column in zip(*samples, strict=True)]
            for a, e in zip(results(ours), expected, strict=True):
                assert a.dtype == e.dtype
                torch.testing.assert_close(a, e, equal_nan=True, msg=f"{case.op} {given}")
    if case.op not in ("var", "std", "var_mean", "std_mean"):
        given = case.arguments(0, False)
        scalars = torch.func.vmap(lambda t: case.ours(t, **given))(x[:, 0, 0, 0])
        assert results(scalars)[0].shape == (4,)


@pytest.mark.parametrize("case", CASES, ids=by_op)
def test_gradients_of_samples(case, device):
    if case.op in ("argmax", "argmin", "all", "any", "count_nonzero"):
        return
    x = torch.randn((4, 3, 5), dtype=torch.float64, device=device)
    given = case.arguments(1, False)

    def loss(function):
        return lambda t: results(function(t, **given))[0].sum()

    actual = torch.func.vmap(torch.func.grad(loss(case.ours)))(x)
    theirs = torch.amin if case.op == "aminmax" else case.theirs  # torch's aminmax has none
    expected = torch.stack([torch.func.grad(loss(theirs))(t) for t in x])
    torch.testing.assert_close(actual, expected)


@pytest.mark.parametrize("case", CASES, ids=by_op)
def test_compile(case, device):
    """In one graph, with gradients, without and with dynamic shapes."""
    floating = case.dtypes[0].is_floating_point
    given = case.arguments(1, False)
    x = torch.rand((3, 4, 5), device=device) + 0.5

    def f(t):
        return results(case.ours(t * 2, **given))

    for dynamic in (False, True):
        torch._dynamo.reset()
        compiled = torch.compile(f, fullgraph=True, backend="aot_eager", dynamic=dynamic)
        for shape in ((3, 4, 5), (3, 6, 5)):
            y = torch.rand(shape, device=device) + 0.5
            for a, e in zip(compiled(y), f(y), strict=True):
                assert torch.equal(a, e)
        if floating and case.op not in ("argmax", "argmin", "all", "any", "count_nonzero"):
            leaf = x.clone().requires_grad_()
            compiled(leaf)[0].sum().backward()
            other = x.clone().requires_grad_()
            f(other)[0].sum().backward()
            torch.testing.assert_close(leaf.grad, other.grad)


@pytest.mark.parametrize("case", CASES, ids=by_op)
def test_compile_with_out(case, device):
    if case.op in ("count_nonzero", "var_mean", "std_mean"):
        return
    given = case.arguments(1, False)
    x = torch.rand((3, 4, 5), device=device)
    expected = results(case.ours(x, **given))

    def f(t, *outs):
        case.ours(t, out=outs if len(outs) > 1 else outs[0], **given)
        return t + 1

    torch._dynamo.reset()
    outs = [torch.empty_like(e) for e in expected]
    torch.compile(f, fullgraph=True, backend="aot_eager")(x, *outs)
    for out, e in zip(outs, expected, strict=True):
        assert torch.equal(out, e)


def overload_arguments(op, overload):
    """A call of an overload on a small tensor, or None for what a check cannot compare."""
    values = {"dim": 1, "keepdim": True, "dtype": torch.float64, "p": 2, "ord": 2}
    values |= {"correction": 1, "unbiased": False}
    kwargs = {}
    for argument in overload._schema.arguments[1:]:
        value = values[argument.name]
        if argument.name == "dim" and str(argument.type) not in ("int", "Optional[int]"):
            value = [1]
        kwargs[argument.name] = value
    return kwargs


@pytest.mark.parametrize("op", OPS)
def test_checks_of_torch(op, device):
    """torch.library.opcheck: schema, autograd registration, fake tensors, AOT dispatch."""
    packet = getattr(torch.ops.reduce_ops, op)
    assert set(packet.overloads()) == set(_C.OPS[op])
    for overload in (getattr(packet, text) for text in packet.overloads()):
        if any(a.alias_info is not None for a in overload._schema.arguments):
            continue
        x = torch.rand((3, 4), device=device, requires_grad=op not in ("all", "any"))
        if op in ("argmax", "argmin", "count_nonzero"):
            x = x.detach()
        torch.library.opcheck(overload, (x,), overload_arguments(op, overload))


@pytest.mark.parametrize("op", OPS)
def test_overloads_of_torch(op, device):
    """Those that torch has take the same arguments here, and give the same."""
    theirs = getattr(torch.ops.aten, {"vector_norm": "linalg_vector_norm"}.get(op, op))
    ours = getattr(torch.ops.reduce_ops, op)
    for text in theirs.overloads():
        elementwise = op in ("max", "min") and text in ("other", "out")
        if elementwise or text in ("str", "float", "bool", "int") or "name" in text.lower():
            continue
        expected = str(getattr(theirs, text)._schema).partition("(")[2]
        assert str(getattr(ours, text)._schema).partition("(")[2] == expected, f"{op}.{text}"
        overload = getattr(ours, text)
        if any(a.alias_info is not None for a in overload._schema.arguments):
            continue
        x = torch.rand((3, 4), device=device)
        kwargs = overload_arguments(op, overload)
        assert_like(overload(x, **kwargs), getattr(theirs, text)(x, **kwargs), f"{op}.{text}")


def autocast_dtypes(x, **more):
    """(op, our result's dtypes, torch's) of every op on x."""
    for case in CASES:
        if x.dtype not in case.dtypes or (more and case.op not in ("prod", "vector_norm")):
            continue
        given = case.arguments(1, False) | more
        ours, theirs = results(case.ours(x, **given)), results(case.theirs(x, **given))
        yield case.op, [r.dtype for r in ours], [r.dtype for r in theirs]


AUTOCAST_DTYPES = (torch.bfloat16, torch.float16, torch.float32, torch.float64, torch.int32)


@pytest.mark.parametrize("dtype", AUTOCAST_DTYPES, ids=name)
def test_autocast_is_as_for_torch(dtype, device):
    x = small_values((3, 5), dtype, device)
    for more in ({}, {"dtype": torch.float64}):
        with torch.autocast(device, dtype=torch.bfloat16):
            for op, actual, expected in autocast_dtypes(x, **more):
                assert actual == expected, op


@pytest.mark.parametrize("dtype", AUTOCAST_DTYPES, ids=name)
def test_autocast_of_fake_cuda_tensors_is_as_for_torch(dtype):
    before = torch.is_autocast_enabled("cuda")
    torch.set_autocast_enabled("cuda", True)
    try:
        with FakeTensorMode():
            x = torch.empty((3, 5), dtype=dtype, device="cuda")
            for more in ({}, {"dtype": torch.float64}):
                for op, actual, expected in autocast_dtypes(x, **more):
                    assert actual == expected, op
    finally:
        torch.set_autocast_enabled("cuda", before)


class Logged(torch.Tensor):
    calls: list = []  # noqa: RUF012

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        cls.calls.append(func)
        return super().__torch_function__(func, types, args, kwargs or {})


def test_tensors_that_override_torch_functions():
    x = torch.rand((3, 4)).as_subclass(Logged)
    for case in CASES:
        Logged.calls.clear()
        value = case.ours(x, **case.arguments(1, False))
        assert case.ours in Logged.calls, case.op
        assert all(isinstance(r, Logged) for r in results(value))


def test_explain_and_plans_of_every_op(device):
    x = torch.rand((6, 700), device=device)
    for case in CASES:
        number = case.more.get("correction", case.more.get("ord", case.more.get("p")))
        if number == 0:
            continue  # of the norm: a count, then a cast
        explanation = reduce_ops.explain(case.op, x, 1, number=number)
        assert explanation.outputs == 6
        value = _C.run_with_plan(case.op, x, [1], False, None, explanation.plan, number)
        expected = case.ours(x, **case.arguments(1, False))
        for a, e in zip(results(value), results(expected), strict=True):
            assert torch.equal(a, e), case.op
    with pytest.raises(ValueError, match="several steps"):
        reduce_ops.explain("norm", x, 1, number=0.0)  # a count, then a cast
