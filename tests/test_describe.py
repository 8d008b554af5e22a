"""describe: each field against the op of that name, layouts, special values, transforms."""

import math
from fractions import Fraction

import pytest
import torch
from helpers import FLOATS, INTEGERS, LAYOUTS, assert_same_bits, at_offset, name
from torch._subclasses.fake_tensor import FakeTensorMode

import reduce_ops
from reduce_ops import _C

FIELDS = ("count", "mean", "var", "min", "max", "absmax", "norm", "nan", "inf", "zeros")
STATISTICS = FIELDS[1:7]
# How far torch may be off.
TOLERANCE = {torch.float64: 1e-12, torch.float32: 1e-7}


def reference(x, dims, keepdim):
    """Every field from torch's ops in float64, over the given dims of a tensor with elements."""
    wide = x.to(torch.float64)
    dims = list(range(x.dim())) if dims is None else dims
    one = torch.ones_like(wide, dtype=torch.int64)

    def count(mask):
        return (one * mask).sum(dims, keepdim) if x.dim() else (one * mask)

    length = math.prod(x.shape[d] for d in dims)
    mean = wide.mean(dims, keepdim) if x.dim() else wide
    if length > 1:
        variance = wide.var(dims, keepdim=keepdim)
    else:
        variance = torch.full_like(mean, math.nan)
    return {
        "count": count(one == 1),
        "mean": mean,
        "var": variance,
        "min": wide.amin(dims, keepdim),
        "max": wide.amax(dims, keepdim),
        "absmax": wide.abs().amax(dims, keepdim),
        "norm": torch.linalg.vector_norm(wide, 2, dims, keepdim) if x.dim() else wide.abs(),
        "nan": count(wide.isnan()),
        "inf": count(wide.isinf()),
        "zeros": count(wide == 0),
    }


def check(x, dim, keepdim=False, scale=1.0):
    found = reduce_ops.describe(x, dim, keepdim)
    assert found._fields == FIELDS
    dims = [dim] if isinstance(dim, int) else dim
    dims = [d % x.dim() for d in dims] if dims and x.dim() else None
    wide = x.dtype not in FLOATS or x.dtype == torch.float64
    dtype = torch.float64 if wide else torch.float32
    for field, expected in reference(x, dims, keepdim).items():
        actual = getattr(found, field)
        what = f"{field} of {tuple(x.shape)} {x.dtype} {x.stride()} over {dim}"
        assert actual.dtype == (dtype if field in STATISTICS else torch.int64), what
        assert actual.shape == expected.shape, what
        exact = field in ("min", "max", "absmax") or field not in STATISTICS
        rtol = 0 if exact else TOLERANCE[dtype] * scale
        torch.testing.assert_close(
            actual,
            expected.to(actual.dtype),
            rtol=rtol,
            atol=rtol,
            equal_nan=True,
            msg=lambda text, w=what: f"{w}: {text}",
        )


@pytest.mark.parametrize("dtype", (*FLOATS, *INTEGERS), ids=name)
def test_fields_of_layouts(dtype, device):
    for label, make in LAYOUTS.items():
        if dtype in (torch.uint16, torch.uint32, torch.uint64) and label == "overlapping windows":
            continue
        x = make(dtype, device)
        if x.numel() == 0:
            continue
        for dim in (None, 0, -1, *(((0, 1), (1, 2), [0, -1]) if x.dim() == 3 else ())):
            for keepdim in (False, True):
                check(x, dim, keepdim)


@pytest.mark.parametrize("dtype", FLOATS, ids=name)
def test_values(dtype, device):
    torch.manual_seed(1)
    for shape, dim in (((7, 5000), 1), ((5000, 7), 0), ((3, 40, 50), (0, 2)), ((100000,), 0)):
        x = torch.randn(shape, device=device).to(dtype)
        check(x, dim)
        check(at_offset(x, 1), dim)


def test_float64_is_as_in_twice_the_precision(device):
    torch.manual_seed(3)
    x = torch.randn(3000, dtype=torch.float64) + 50
    values = [Fraction(v) for v in x.tolist()]
    mean = sum(values) / len(values)
    squares = sum(v * v for v in values)
    variance = (squares - len(values) * mean * mean) / (len(values) - 1)
    found = reduce_ops.describe(x.to(device))
    assert found.mean.item() == float(mean)
    assert found.var.item() == pytest.approx(float(variance), rel=3e-16)
    assert found.norm.item() ** 2 == pytest.approx(float(squares), rel=6e-16)


def test_a_large_mean_costs_no_accuracy(device):
    torch.manual_seed(2)
    for dtype, mean in ((torch.float32, 1e5), (torch.float64, 1e8)):
        x = torch.randn((4, 4000), device=device, dtype=dtype) + mean
        found = reduce_ops.describe(x, 1)
        wide = x.double() - mean
        rtol = 1e-6 if dtype == torch.float32 else 1e-12
        torch.testing.assert_close(found.var.double(), wide.var(1), rtol=rtol, atol=0)
        torch.testing.assert_close(found.mean.double(), mean + wide.mean(1), rtol=1e-7, atol=0)
        norm = torch.linalg.vector_norm(x.double(), dim=1)
        torch.testing.assert_close(found.norm.double(), norm, rtol=rtol, atol=0)


@pytest.mark.parametrize("dtype", FLOATS, ids=name)
def test_nan_infinities_and_zeros(dtype, device):
    rows = [
        [1.0, 0.0, -0.0, 2.0],
        [math.inf, 1.0, 0.0, 2.0],
        [-1.0, math.inf, 0.0, 2.0],
        [1.0, -math.inf, 3.0, 2.0],
        [math.inf, -math.inf, 1.0, 0.0],
        [math.nan, 1.0, math.inf, 0.0],
        [1.0, math.nan, 2.0, math.nan],
        [math.nan] * 4,
        [-math.inf] * 4,
    ]
    x = torch.tensor(rows, device=device).to(dtype)
    check(x, 1)
    check(x.t().contiguous(), 0)
    found = reduce_ops.describe(x, 1)
    for field, op in (("min", "amin"), ("max", "amax"), ("mean", "mean"), ("var", "var")):
        expected = getattr(reduce_ops, op)(x, 1).to(found.mean.dtype)
        rtol = 1e-2 if x.element_size() == 2 else 1e-6  # ops round to the input's dtype
        torch.testing.assert_close(
            getattr(found, field), expected, rtol=rtol, atol=0, equal_nan=True
        )


def test_squares_that_overflow(device):
    x = torch.tensor([[1e200, -1e200], [-1e200, 1e200]], dtype=torch.float64, device=device)
    assert torch.equal(reduce_ops.describe(x, 1).norm, reduce_ops.vector_norm(x, dim=1))


def test_no_elements(device):
    for shape, dim in (((0,), None), ((5, 0), 1), ((0, 4), 0), ((3, 0, 2), 1)):
        for dtype in (torch.float32, torch.float64, torch.int32):
            found = reduce_ops.describe(torch.empty(shape, device=device).to(dtype), dim)
            for field in ("count", "norm", "nan", "inf", "zeros"):
                assert (getattr(found, field) == 0).all(), field
            for field in ("mean", "var", "min", "max", "absmax"):
                assert getattr(found, field).isnan().all(), field
    found = reduce_ops.describe(torch.empty((0, 4), device=device), 1)
    assert all(field.shape == (0,) for field in found)


@pytest.mark.parametrize("dtype", FLOATS, ids=name)
def test_bits_do_not_depend_on_neighbours(dtype, device, set_threads):
    x = torch.randn((9, 20011), device=device).to(dtype)
    many, columns = reduce_ops.describe(x, 1), reduce_ops.describe(x.t().contiguous(), 0)
    for threads in (1, 3):
        set_threads(threads)
        for a, e in zip(reduce_ops.describe(x[4:5], 1), many, strict=True):
            assert_same_bits(a, e[4:5])
        t = x.t().contiguous()
        for a, e in zip(reduce_ops.describe(t[:, 2:4], 0), columns, strict=True):
            assert_same_bits(a, e[2:4])


def test_errors(device):
    x = torch.ones((2, 3), device=device)
    with pytest.raises(RuntimeError, match=r"reduce_ops.describe: input has dtype .*real dtype"):
        reduce_ops.describe(x.to(torch.complex64))
    with pytest.raises(IndexError, match="dim 2 is out of range"):
        reduce_ops.describe(x, 2)
    with pytest.raises(RuntimeError, match="multiple times"):
        reduce_ops.describe(x, (0, 0))
    with pytest.raises(NotImplementedError):
        reduce_ops.describe(x.to_sparse())
    with pytest.raises(TypeError):
        reduce_ops.describe([1.0])
    with pytest.raises(TypeError):
        reduce_ops.describe(x, 1.5)


def test_results_have_no_gradient(device):
    x = torch.ones((2, 3), device=device, requires_grad=True)
    assert not any(field.requires_grad for field in reduce_ops.describe(x, 1))


def test_fake_results_are_like_real_ones(device):
    for dtype in (torch.float16, torch.float64, torch.int8):
        x = torch.ones((3, 4, 5), device=device).to(dtype)
        for dim in (None, 1, (0, 2)):
            for keepdim in (False, True):
                mode = FakeTensorMode()
                with mode:
                    fake = reduce_ops.describe(mode.from_tensor(x), dim, keepdim)
                for f, r in zip(fake, reduce_ops.describe(x, dim, keepdim), strict=True):
                    assert (f.dtype, f.shape, f.device) == (r.dtype, r.shape, r.device)


def test_vmap(device):
    x = torch.randn((4, 3, 5), device=device)
    for in_dim in (0, 2):
        for dim in (None, 0, (0, 1)):
            found = torch.func.vmap(lambda t, d=dim: tuple(reduce_ops.describe(t, d)), in_dim)(x)
            samples = [reduce_ops.describe(t, dim) for t in x.unbind(in_dim)]
            for a, e in zip(found, zip(*samples, strict=True), strict=True):
                torch.testing.assert_close(a, torch.stack(e))


def test_compile(device):
    for dynamic in (False, True):
        torch._dynamo.reset()
        compiled = torch.compile(
            lambda t: reduce_ops.describe(t * 2, 1),
            fullgraph=True,
            backend="aot_eager",
            dynamic=dynamic,
        )
        for n in (5, 6):
            x = torch.rand((3, n), device=device)
            found = compiled(x)
            for a, e in zip(found, reduce_ops.describe(x * 2, 1), strict=True):
                assert torch.equal(a, e)


def test_checks_of_torch(device):
    x = torch.rand((3, 4), device=device)
    torch.library.opcheck(torch.ops.reduce_ops.describe.default, (x,), {"dim": [1]})


def test_tensors_that_override_torch_functions():
    calls = []

    class Logged(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            calls.append(func)
            return super().__torch_function__(func, types, args, kwargs or {})

    found = reduce_ops.describe(torch.rand((3, 4)).as_subclass(Logged), 1)
    assert "describe" in [getattr(function, "__name__", "") for function in calls]
    assert found.mean.shape == (3,)


def test_explain_and_plans(device):
    x = torch.rand((6, 700), device=device)
    explanation = reduce_ops.explain("describe", x, 1)
    assert (explanation.outputs, explanation.length) == (6, 700)
    statistics, counts = _C.run_with_plan("describe", x, [1], False, None, explanation.plan)
    expected = reduce_ops.describe(x, 1)
    assert torch.equal(statistics, torch.stack(expected[1:7]))
    assert torch.equal(counts, torch.stack(expected[7:]))
    with pytest.raises(ValueError, match="several steps"):
        reduce_ops.explain("describe", x.long(), 1)
