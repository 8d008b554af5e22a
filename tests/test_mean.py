"""mean: what differs from sum, whose engines, checks and dispatch it shares."""

import math
from fractions import Fraction

import pytest
import torch
from helpers import (
    COMPLEX,
    FLOATS,
    LAYOUTS,
    all_dims,
    assert_equal,
    assert_same_bits,
    exact_sum,
    forced_plans,
    hard_values,
    name,
    small_values,
    ulp,
)

import reduce_ops

MEANS = (*FLOATS, *COMPLEX)


def correct_mean(x: torch.Tensor, dim, keepdim=False) -> torch.Tensor:
    """The mean of small whole numbers: their sum is exact in double precision, and torch divides it
    on the CPU (on a GPU it multiplies by the reciprocal, which rounds twice)."""
    if x.is_complex():  # torch divides by a complex number, which rounds more than once
        parts = torch.view_as_real(x).unbind(-1)
        return torch.complex(*(correct_mean(part, dim, keepdim) for part in parts))
    return torch.mean(x.cpu().double(), dim, keepdim).to(x.dtype).to(x.device)


@pytest.mark.parametrize("dtype", MEANS, ids=name)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_and_dim(layout, dtype, device):
    x = LAYOUTS[layout](dtype, device)
    for dim in all_dims(x.dim()):
        for keepdim in (False, True):
            what = f"{layout}, {dim=}, {keepdim=}"
            result = reduce_ops.mean(x, dim, keepdim)
            assert_equal(result, correct_mean(x, dim, keepdim), what)
            theirs = torch.mean(x, dim, keepdim)
            assert result.shape == theirs.shape and result.dtype == theirs.dtype, what


@pytest.mark.parametrize("dtype", MEANS, ids=name)
def test_all_engines_give_the_same_bits(dtype, device):
    for length in (1, 7, 100, 1025, 20_011):
        x = hard_values(5, length, dtype, device)
        for view, dims in ((x, [1]), (x.t().contiguous(), [0]), (x[:1].reshape(-1), [0])):
            expected = reduce_ops.mean(view, dims)
            results = forced_plans(view, dims, op="mean")
            assert results
            for plan, result in results.items():
                assert_same_bits(result, expected, f"{plan}, {tuple(view.shape)}")


@pytest.mark.parametrize("dtype", FLOATS, ids=name)
def test_within_an_ulp_of_the_exact_mean(dtype, device):
    x = torch.cat([hard_values(20, n, dtype)[:, :101] for n in (202, 303, 505)])
    x = torch.cat([x, torch.randn(60, 101, dtype=torch.float64).to(dtype)])
    means = reduce_ops.mean(x.to(device), 1).tolist()
    checked = 0
    for row, mean in zip(x.double().tolist(), means, strict=True):
        total = sum(map(Fraction, row))
        if not total or sum(map(abs, map(Fraction, row))) / abs(total) > 2**20:
            continue
        checked += 1
        error = abs(Fraction(mean) - total / len(row))
        assert error <= Fraction(ulp(float(total / len(row)), dtype)) * Fraction(500_001, 1_000_000)
    assert checked > 50


def test_sums_that_overflow_have_a_mean(device):
    assert reduce_ops.mean(torch.full((9,), 6e4, dtype=torch.float16, device=device)) == 6e4
    largest = torch.finfo(torch.float32).max
    assert reduce_ops.mean(torch.full((9, 2), largest, device=device), 0).tolist() == [largest] * 2
    inf, nan = math.inf, math.nan
    x = torch.tensor([[inf, 1, 2], [inf, -inf, 0], [nan, 0, 1]], device=device)
    for dtype in FLOATS:
        result = reduce_ops.mean(x.to(dtype), 1)
        assert result[0] == inf and result[1:].isnan().all()


@pytest.mark.parametrize("dtype", MEANS, ids=name)
def test_the_mean_of_nothing_is_nan(dtype, device):
    for shape, dim in (((3, 0), 1), ((0, 3), 0), ((0,), None), ((2, 0, 3), (1,))):
        x = torch.empty(shape, dtype=dtype, device=device)
        result = reduce_ops.mean(x, dim)
        assert result.shape == torch.mean(x, dim).shape
        assert result.isnan().all() and result.numel() > 0
    assert reduce_ops.mean(torch.empty(0, 3, dtype=dtype, device=device), 1).shape == (0,)


def test_integers_need_a_dtype(device):
    for dtype in (torch.int64, torch.uint8, torch.bool):
        x = small_values((4, 5), dtype, device)
        for wrong in (
            lambda x=x: reduce_ops.mean(x),
            lambda x=x: reduce_ops.mean(x, 1, dtype=torch.int64),
            lambda x=x: reduce_ops.mean(x.float(), 1, dtype=torch.int32),
            lambda x=x: torch.ops.reduce_ops.mean(x),
            lambda x=x: reduce_ops.mean(x, 0, out=torch.empty(5, dtype=torch.int64, device=device)),
        ):
            with pytest.raises(RuntimeError, match=r"reduce_ops\.mean.*floating point or complex"):
                wrong()
        with pytest.raises(RuntimeError):
            torch.mean(x)
        result = reduce_ops.mean(x, 1, dtype=torch.float32)
        assert_equal(result, correct_mean(x.float(), 1))
        assert torch.equal(reduce_ops.mean(x, 1, dtype=torch.complex64).real, result)


def test_out(device):
    x = small_values((6, 40), torch.float32, device)
    out = torch.full((9,), 7.0, device=device)[:6]
    assert reduce_ops.mean(x, 1, out=out) is out
    assert_equal(out, correct_mean(x, 1))
    wide = torch.empty(0, dtype=torch.float64, device=device)
    assert reduce_ops.mean(x, 0, True, out=wide).shape == (1, 40)
    assert_equal(wide, correct_mean(x.double(), 0, True))
    empty = reduce_ops.mean(x[:0], 0, out=torch.zeros(40, device=device))
    assert empty.isnan().all()
    with pytest.raises(RuntimeError, match=r"reduce_ops\.mean.*memory"):
        reduce_ops.mean(x, 1, out=x.view(-1)[:6])
    with pytest.raises(IndexError, match=r"reduce_ops\.mean: dim 5"):
        reduce_ops.mean(x, 5)
    with pytest.raises(RuntimeError, match=r"reduce_ops\.mean: dim 1 appears"):
        reduce_ops.mean(x, (1, -1))


def test_gradients_of_every_kind(device):
    def op(dim, keepdim):
        return lambda x: reduce_ops.mean(x, dim, keepdim)

    for dtype in (torch.float64, torch.complex128):
        x = torch.randn(3, 4, 2, dtype=dtype, device=device, requires_grad=True)
        for dim in (None, 1, (0, 2)):
            for keepdim in (False, True):
                assert torch.autograd.gradcheck(
                    op(dim, keepdim), x, check_forward_ad=True, check_batched_grad=True
                )
                assert torch.autograd.gradgradcheck(op(dim, keepdim), x)
    x = torch.randn(3, 4, device=device, requires_grad=True)
    reduce_ops.mean(x, 1).sum().backward()
    assert torch.equal(x.grad, torch.full_like(x, 0.25))
    x = torch.ones(1000, dtype=torch.float16, device=device, requires_grad=True)
    reduce_ops.mean(x, dtype=torch.float32).backward(torch.tensor(1e5, device=device))
    assert torch.equal(x.grad, torch.full_like(x, 100.0))
    x = torch.zeros(2, 0, device=device, requires_grad=True)
    reduce_ops.mean(x).backward()
    assert x.grad.shape == (2, 0)


def test_compiled_exported_and_mapped(device):
    x = small_values((4, 6), torch.float32, device)

    def model(t):
        return reduce_ops.mean(t, 1) + torch.ops.reduce_ops.mean(t)

    expected = model(x)
    torch._dynamo.reset()
    compiled = torch.compile(model, backend="aot_eager", fullgraph=True)
    assert torch.equal(compiled(x), expected)

    class Module(torch.nn.Module):
        def forward(self, t):
            return model(t)

    exported = torch.export.export(Module(), (x,), dynamic_shapes=({0: torch.export.Dim("m")},))
    assert torch.equal(exported.module()(x), expected)
    mapped = torch.vmap(lambda t: reduce_ops.mean(t, 0, True))(x)
    assert torch.equal(mapped, reduce_ops.mean(x, 1, True))


def test_opcheck(device):
    ops = torch.ops.reduce_ops.mean
    for x in (torch.randn(3, 4, device=device), torch.randn(2, 3, 4, device=device)[:, ::2]):
        torch.library.opcheck(ops.dim, (x.requires_grad_(), [0]))
        torch.library.opcheck(ops.dim, (x.detach(), [-1], True), {"dtype": torch.float64})


def test_torchs_own_samples(device):
    pytest.importorskip("expecttest")  # torch's module of samples imports it
    from torch.testing._internal.common_methods_invocations import op_db

    (info,) = [op for op in op_db if op.name == "mean" and not op.variant_test_name]
    count = 0
    for dtype in (torch.float32, torch.float64, torch.complex64):
        for sample in info.sample_inputs(device, dtype, requires_grad=False):
            theirs = torch.mean(sample.input, *sample.args, **sample.kwargs)
            ours = reduce_ops.mean(sample.input, *sample.args, **sample.kwargs)
            torch.testing.assert_close(ours, theirs, equal_nan=True)
            count += 1
    assert count > 20


def test_explain_names_the_op():
    x = torch.ones(8, 9)
    assert str(reduce_ops.explain("mean", x, 1)).startswith("mean of [8, 9] float32 over dim 1")


def test_the_exact_sum_is_divided_once():
    """In double precision a rounded sum divided again would be off by more than half an ulp."""
    values = [1.0, 2.0**-53, 2.0**-53, 3.0, 5.0, 0.1]
    hi, lo = exact_sum(values)
    exact = (Fraction(hi) + Fraction(lo)) / len(values)
    result = reduce_ops.mean(torch.tensor(values, dtype=torch.float64)).item()
    assert abs(Fraction(result) - exact) <= Fraction(ulp(result, torch.float64)) * Fraction(1, 2)
