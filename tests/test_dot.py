"""dot and vecdot: values, layouts, determinism, errors, gradients, transforms."""

import math
from fractions import Fraction

import pytest
import torch
from helpers import COMPLEX, FLOATS, SIGNED, assert_same_bits, at_offset, name, small_values
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.autograd.gradcheck import gradcheck, gradgradcheck

import reduce_ops
from reduce_ops import _C

INEXACT = (*FLOATS, *COMPLEX)
DOT_DTYPES = (*INEXACT, *SIGNED, torch.uint8)
LENGTHS = (0, 1, 2, 7, 31, 33, 257, 4095, 4097, 20001)


def exact(x, y, conjugate=False):
    """The sum of products over the last dim, exact for small_values."""
    wide = torch.complex128 if x.dtype.is_complex else torch.float64
    a, b = x.to(wide), y.to(wide)
    return ((a.conj() if conjugate else a) * b).sum(-1)


def outcome(function, *args, **kwargs):
    try:
        return function(*args, **kwargs)
    except Exception as error:
        return error


@pytest.mark.parametrize("dtype", DOT_DTYPES, ids=name)
def test_dot_is_exact_for_small_numbers(dtype, device):
    for n in LENGTHS:
        x, y = (small_values((n,), dtype, device, seed=s) for s in (1, 2))
        expected = exact(x, y)
        if not dtype.is_floating_point and not dtype.is_complex:
            expected = expected.to(torch.int64)
        found = reduce_ops.dot(x, y)
        assert (found.dtype, found.shape) == (dtype, ())
        assert torch.equal(found, expected.to(dtype)), n


@pytest.mark.parametrize("dtype", (torch.float32, torch.float16, torch.bfloat16), ids=name)
def test_dot_rounds_once(dtype, device):
    """The accumulator holds every bit of these products and of their sum."""
    x, y = (torch.rand(500, device=device).add(1).to(dtype) for _ in range(2))
    total = sum(Fraction(a) * Fraction(b) for a, b in zip(x.tolist(), y.tolist(), strict=True))
    expected = torch.tensor(float(total), dtype=torch.float64).to(dtype)
    found = reduce_ops.dot(x, y).cpu()
    assert abs(float(found) - float(expected)) <= torch.finfo(dtype).eps * float(expected)
    if dtype == torch.float32:
        assert torch.equal(found, expected)


@pytest.mark.parametrize("stride", (1, 2))
def test_dot_of_float64_is_as_in_twice_the_precision(stride, device):
    g = torch.Generator().manual_seed(4)
    n = 6000
    x, y = (torch.randn(n * stride, generator=g, dtype=torch.float64)[::stride] for _ in range(2))
    x[n // 2 :], y[n // 2 :] = x[: n // 2], -y[: n // 2]  # all but the last cancels
    x[-1] += 1e-9
    total = sum(Fraction(a) * Fraction(b) for a, b in zip(x.tolist(), y.tolist(), strict=True))
    found = float(reduce_ops.dot(x.to(device), y.to(device)))
    assert found == pytest.approx(float(total), rel=1e-15 * 64, abs=1e-29)


def test_integers_wrap_around(device):
    for dtype in (*SIGNED, torch.uint8):
        info = torch.iinfo(dtype)
        g = torch.Generator().manual_seed(5)
        low, high = max(info.min, -(2**62)), min(info.max, 2**62)
        x, y = (torch.randint(low, high, (3000,), generator=g).to(dtype) for _ in range(2))
        total = sum(a * b for a, b in zip(x.tolist(), y.tolist(), strict=True))
        wrapped = (total - info.min) % (1 << info.bits) + info.min
        assert int(reduce_ops.dot(x.to(device), y.to(device))) == wrapped, dtype


def pairs(dtype, device):
    """Pairs of many layouts with a dim, all small whole numbers."""

    def make(*shape, seed=0):
        return small_values(shape, dtype, device, seed)

    x, y = make(3, 5, 70), make(3, 5, 70, seed=1)
    yield x, y, -1
    yield x, y, 1
    yield x, y, 0
    yield x, y.transpose(0, 1).contiguous().transpose(0, 1), -1
    yield x.transpose(0, 2), y.transpose(0, 2), 0
    yield x, make(70, seed=2), -1
    yield make(5, 1, seed=3), y, 1
    yield make(5, 1, seed=3), y, 2
    yield make(1, seed=4), y, -1
    yield x[..., 1:], y[..., :-1], -1
    yield x[..., ::2], y[..., ::2], -1
    yield x[..., ::2], y[..., :35], -1
    yield at_offset(x, 1), at_offset(y, 3), -1
    yield x.expand(4, 3, 5, 70), make(4, 1, 1, 70, seed=5), 0
    yield x.expand(4, 3, 5, 70), make(4, 1, 1, 70, seed=5), -1
    yield make(1000, 66), make(1000, 66, seed=6), 0
    yield make(1000, 66), make(1000, 1, seed=6), 0
    yield make(66, 1000).t(), make(1000, 66, seed=6), 0
    yield make(2, 9001), make(2, 9001, seed=7), -1
    yield make(9001, 2), make(9001, 2, seed=7), 0
    yield make(9001, 2)[:, 0], make(9001, 3, seed=7)[:, 1], -1
    yield make(4, 0), make(4, 0), -1
    yield make(4, 0), make(4, 0), 0
    yield make(4, 1), make(4, 1, seed=8), -1
    yield make(), make(seed=9), -1
    yield make(), make(6, seed=9), -1
    deep = make(2, 2, 2, 2, 2, 2, 2, 2, 2, 2, seed=10)
    every_other = make(4, 4, 4, 4, 4, 4, 4, 4, 4, 4, seed=11)[(slice(None, None, 2),) * 10]
    yield deep, every_other, 3
    yield every_other, deep, -1


@pytest.mark.parametrize("dtype", INEXACT, ids=name)
def test_vecdot_of_layouts(dtype, device):
    for x, y, dim in pairs(dtype, device):
        what = f"{tuple(x.shape)} {x.stride()} {tuple(y.shape)} {y.stride()} {dim}"
        a, b = (t.contiguous() for t in torch.broadcast_tensors(x, y))
        expected = exact(a.movedim(dim, -1), b.movedim(dim, -1), True) if a.dim() else a.conj() * b
        found = reduce_ops.vecdot(x, y, dim=dim)
        theirs = torch.linalg.vecdot(x, y, dim=dim)
        assert (found.dtype, found.shape) == (theirs.dtype, theirs.shape), what
        assert torch.equal(found, expected.to(dtype)), what


@pytest.mark.parametrize("dtype", (torch.float32, torch.float64, torch.bfloat16), ids=name)
def test_bits_depend_on_neither_neighbours_nor_threads(dtype, device, set_threads):
    x, y = (torch.randn((37, 30011), device=device).to(dtype) for _ in range(2))
    many = reduce_ops.vecdot(x, y)
    columns = reduce_ops.vecdot(x.t().contiguous(), y.t().contiguous(), dim=0)
    for threads in (1, 2, 5):
        set_threads(threads)
        assert_same_bits(reduce_ops.vecdot(x, y), many)
        assert_same_bits(reduce_ops.vecdot(x[3:4], y[3:4]), many[3:4])
        assert_same_bits(reduce_ops.dot(x[3], y[3]), many[3])
        t, u = x.t().contiguous(), y.t().contiguous()
        assert_same_bits(reduce_ops.vecdot(t, u, dim=0), columns)
        assert_same_bits(reduce_ops.dot(t[:, 3], u[:, 3]), columns[3])
        assert_same_bits(reduce_ops.vecdot(t[:, 5:9], u[:, 5:9], dim=0), columns[5:9])


def test_nan_and_infinities(device):
    for dtype in FLOATS:
        for n in (3, 5000):
            x, y = torch.ones(n, dtype=dtype, device=device), torch.ones(n, dtype=dtype)
            y = y.to(device)
            x[1] = math.inf
            assert reduce_ops.dot(x, y).item() == math.inf
            y[2], x[2] = -math.inf, 1
            assert math.isnan(reduce_ops.dot(x, y).item())
            y[2], y[1] = 1, 0
            assert math.isnan(reduce_ops.dot(x, y).item())
            x[1] = math.nan
            assert math.isnan(reduce_ops.dot(x, y).item())


def test_errors_are_of_the_types_of_torch(device):
    one = torch.ones(3, device=device)
    calls = [
        (one, torch.ones(4, device=device)),
        (one, one.double()),
        (one.reshape(3, 1), one),
        (one.sum(), one.sum()),
        (one[:1], one),
        (one.bool(), one.bool()),
        (one.to(torch.uint16), one.to(torch.uint16)),
        (one, [1.0]),
        (one.reshape(1, 3), torch.ones((2, 4), device=device)),
    ]
    for args in calls:
        for ours, theirs in (
            (reduce_ops.dot, torch.dot),
            (reduce_ops.vecdot, torch.linalg.vecdot),
        ):
            actual, expected = outcome(ours, *args), outcome(theirs, *args)
            assert type(actual) is type(expected), f"{args}: {actual!r}, not {expected!r}"
    with pytest.raises(IndexError, match="dim 2 is out of range"):
        reduce_ops.vecdot(torch.ones((2, 3), device=device), one, dim=2)
    assert reduce_ops.vecdot(one, one, dim=7) == 3  # torch looks at no dim of two vectors
    with pytest.raises(RuntimeError, match="floating point or complex"):
        reduce_ops.vecdot(one.long(), one.long())
    with pytest.raises(RuntimeError, match="device"):
        reduce_ops.dot(one, torch.ones(3, device="meta"))
    with pytest.raises(NotImplementedError, match="sparse|Sparse"):
        reduce_ops.dot(one.to_sparse(), one.to_sparse())


def test_out(device):
    x, y = (torch.randn((3, 5), device=device) for _ in range(2))
    expected = reduce_ops.vecdot(x, y)
    out = torch.empty(3, device=device)
    assert reduce_ops.vecdot(x, y, out=out) is not None
    assert torch.equal(out, expected)
    spread = torch.zeros((3, 4), device=device)
    version = spread._version
    reduce_ops.vecdot(x, y, out=spread[:, 1])
    assert torch.equal(spread[:, 1], expected)
    assert spread._version == version + 1
    small = torch.empty((), device=device)
    reduce_ops.dot(x[0], y[0], out=small)
    assert torch.equal(small, expected[0])
    with pytest.raises(RuntimeError, match="dtype"):
        reduce_ops.dot(x[0], y[0], out=torch.empty((), dtype=torch.float64, device=device))
    with pytest.raises(RuntimeError, match="shares memory"):
        reduce_ops.vecdot(x, y, out=x.view(-1)[1:4])
    with pytest.raises(RuntimeError, match="shares memory"):
        reduce_ops.vecdot(x, y, out=y.view(-1)[1:4])
    for t in (x.clone(), y.clone()):  # torch cannot tell
        both = (t, y) if torch.equal(t, x) else (x, t)
        reduce_ops.vecdot(*both, out=t[:, 0])
        assert torch.equal(t[:, 0], expected)
    with pytest.raises(RuntimeError, match="out=.*automatic differentiation"):
        reduce_ops.dot(x[0].requires_grad_(), y[0], out=small)


@pytest.mark.parametrize("dtype", (torch.float64, torch.complex128), ids=name)
def test_gradients(dtype, device):
    def make(*shape):
        return torch.randn(shape, dtype=dtype, device=device, requires_grad=True)

    def check(f, *inputs):
        assert gradcheck(f, inputs, check_forward_ad=True, check_batched_grad=True)
        assert gradgradcheck(f, inputs)

    check(reduce_ops.dot, make(4), make(4))
    for x, y, dim in (
        ((4,), (4,), -1),
        ((2, 3), (2, 3), 0),
        ((2, 3), (3,), -1),
        ((3, 1), (2, 1, 3), 1),
        ((), (), -1),
    ):
        check(lambda a, b, d=dim: reduce_ops.vecdot(a, b, dim=d), make(*x), make(*y))
    x, y = make(3), make(3)
    assert reduce_ops.dot(x, y).grad_fn.name() == "DotBackward"
    for ours, theirs in ((reduce_ops.dot, torch.dot), (reduce_ops.vecdot, torch.linalg.vecdot)):
        actual = torch.autograd.grad(ours(x, y).abs(), (x, y))
        expected = torch.autograd.grad(theirs(x, y).abs(), (x, y))
        torch.testing.assert_close(actual, expected)
    (grad,) = torch.autograd.grad(reduce_ops.dot(x, y.detach()).abs(), x)
    assert grad.shape == x.shape


def test_fake_results_are_like_real_ones(device):
    for dtype in (torch.float32, torch.complex64):
        for x, y, dim in pairs(dtype, device):
            real = reduce_ops.vecdot(x, y, dim=dim)
            mode = FakeTensorMode()
            with mode:
                fake = reduce_ops.vecdot(mode.from_tensor(x), mode.from_tensor(y), dim=dim)
            assert (fake.shape, fake.dtype, fake.device) == (real.shape, real.dtype, real.device)
            assert fake.stride() == real.stride()


@pytest.mark.parametrize("dtype", (torch.float64, torch.complex128, torch.int64), ids=name)
def test_vmap(dtype, device):
    if device == "cuda" and dtype == torch.int64:
        pytest.skip("torch.dot takes no integers there")
    x, y = (small_values((4, 3), dtype, device, seed=s) for s in (1, 2))
    for ours, theirs in ((reduce_ops.dot, torch.dot), (reduce_ops.vecdot, torch.linalg.vecdot)):
        if ours is reduce_ops.vecdot and dtype == torch.int64:
            continue
        found = torch.func.vmap(ours)(x, y)
        assert torch.equal(found, torch.stack([theirs(a, b) for a, b in zip(x, y, strict=True)]))
        found = torch.func.vmap(ours, in_dims=(1, None))(x.t().contiguous(), y[0])
        assert torch.equal(found, torch.stack([theirs(a, y[0]) for a in x]))
    if dtype == torch.int64:
        return
    x, y = small_values((2, 4, 3), dtype, device), small_values((4, 5, 2, 3), dtype, device, 3)
    for dim in (0, 1, 2, -1):
        found = torch.func.vmap(lambda a, b, d=dim: reduce_ops.vecdot(a, b, dim=d), in_dims=(1, 0))(
            x, y
        )
        samples = [torch.linalg.vecdot(x[:, i], y[i], dim=dim) for i in range(4)]
        assert torch.equal(found, torch.stack(samples))
    assert torch.func.vmap(reduce_ops.vecdot)(x[0, :, 0], x[1, :, 0]).shape == (4,)


def test_compile(device):
    def f(x, y):
        return reduce_ops.vecdot(x * 2, y), reduce_ops.dot(x[0], y[0])

    def into(x, y, out):
        reduce_ops.vecdot(x, y, out=out)
        return out + 1

    for dynamic in (False, True):
        torch._dynamo.reset()
        compiled = torch.compile(f, fullgraph=True, backend="aot_eager", dynamic=dynamic)
        for n in (5, 6):
            x, y = (torch.rand((3, n), device=device, requires_grad=True) for _ in range(2))
            for a, e in zip(compiled(x, y), f(x, y), strict=True):
                assert torch.equal(a, e)
            actual = torch.autograd.grad(compiled(x, y)[0].sum(), (x, y))
            torch.testing.assert_close(actual, torch.autograd.grad(f(x, y)[0].sum(), (x, y)))
    x, y = x.detach(), y.detach()
    out = torch.empty(3, device=device)
    found = torch.compile(into, fullgraph=True, backend="aot_eager")(x, y, out)
    assert torch.equal(out, reduce_ops.vecdot(x, y))
    assert torch.equal(found, out + 1)


def test_checks_of_torch(device):
    x, y = (torch.rand((3, 4), device=device, requires_grad=True) for _ in range(2))
    torch.library.opcheck(torch.ops.reduce_ops.vecdot.default, (x, y), {"dim": 0})
    u, v = (torch.rand(4, device=device, requires_grad=True) for _ in range(2))
    torch.library.opcheck(torch.ops.reduce_ops.dot.default, (u, v))
    for ours, theirs in (("dot", "dot"), ("vecdot", "linalg_vecdot")):
        for overload in ("default", "out"):
            mine = getattr(getattr(torch.ops.reduce_ops, ours), overload)
            expected = getattr(getattr(torch.ops.aten, theirs), overload)
            assert str(mine._schema).partition("(")[2] == str(expected._schema).partition("(")[2]


@pytest.mark.parametrize("dtype", (*FLOATS, torch.complex64), ids=name)
def test_autocast_is_as_for_torch(dtype, device):
    x = torch.ones(3, device=device).to(dtype)
    with torch.autocast(device, dtype=torch.bfloat16):
        for y in (x, torch.ones(3, device=device)):
            for ours, theirs in (
                (reduce_ops.dot, torch.dot),
                (reduce_ops.vecdot, torch.linalg.vecdot),
            ):
                actual, expected = outcome(ours, x, y), outcome(theirs, x, y)
                assert type(actual) is type(expected)
                if isinstance(actual, torch.Tensor):
                    assert actual.dtype == expected.dtype


def test_explain_and_plans(device):
    x, y = (torch.rand((6, 50000), device=device) for _ in range(2))
    explanation = reduce_ops.explain("vecdot", x, 1, other=y)
    assert (explanation.outputs, explanation.length, explanation.layout) == (6, 50000, "rows")
    assert explanation.bytes == 2 * x.nbytes + 6 * 4
    found = _C.run_with_plan("vecdot", x, [1], False, None, explanation.plan, other=y)
    assert torch.equal(found, reduce_ops.vecdot(x, y))
    assert reduce_ops.explain("dot", x[:, 0], other=y[:, 0]).layout == "columns"
    with pytest.raises(ValueError, match="other"):
        reduce_ops.explain("dot", x[0])
    with pytest.raises(ValueError, match="other"):
        reduce_ops.explain("sum", x, other=y)


@pytest.mark.parametrize("shape,dim", (((3, 9001), 1), ((9001, 3), 0), ((9001, 1), 0)))
def test_plans_of_the_cpu_do_not_change_bits(shape, dim):
    for dtype in (torch.float32, torch.float64, torch.complex64):
        x, y = (torch.randn(shape).to(dtype) for _ in range(2))
        expected = reduce_ops.vecdot(x, y, dim=dim)
        engine = "cpu_row" if dim == 1 or shape[1] == 1 else "cpu_column"
        for threads, parts in ((1, 1), (2, 1), (2, 2), (2, 4), (0, 64)):
            plan = f"{engine}(threads={threads},parts={parts})"
            found = _C.run_with_plan("vecdot", x, [dim], False, None, plan, other=y)
            assert_same_bits(found, expected, plan)
