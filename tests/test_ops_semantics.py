"""Every op against torch: dtypes, shapes, dims, layouts, special values, out=, errors."""

import math
import warnings

import pytest
import torch
from helpers import LAYOUTS, SIGNED, name, small_values
from op_cases import CASES, OPS, assert_like, results

import reduce_ops

pytestmark = pytest.mark.filterwarnings("ignore:.*degrees of freedom")
EXACT = {"amax", "amin", "aminmax", "max", "min", "argmax", "argmin", "all", "any"}
EXACT |= {"count_nonzero"}
WIDE = {dtype: torch.float64 for dtype in (torch.float16, torch.bfloat16, torch.float32)}
WIDE |= {torch.float64: torch.float64, torch.complex64: torch.complex128}


def outcome(function, *args, **kwargs):
    """What a call returns, or what it raises."""
    try:
        return function(*args, **kwargs)
    except Exception as error:
        return error


def theirs_on(x, case, given):
    """torch's outcome. On a GPU some of its ops lack dtypes, and aminmax ignores keepdim: there its
    CPU decides, as for complex nansum, which only its GPU has."""
    found = outcome(case.theirs, x, **given)
    odd = case.op == "aminmax" or (case.op in ("nansum", "nanmean") and x.is_complex())
    if x.is_cuda and (odd or isinstance(found, NotImplementedError)):
        found = outcome(case.theirs, x.cpu(), **given)
        if isinstance(found, tuple):
            found = type(found)([t.to(x.device) for t in found])
        elif isinstance(found, torch.Tensor):
            found = found.to(x.device)
    return found


def assert_as_torch(case, x, dim, keepdim, what=""):
    given = case.arguments(dim, keepdim)
    if given is None:
        return
    what = f"{case.id} {what}, {tuple(x.shape)} {name(x.dtype)} {x.stride()}, {given}"
    expected = theirs_on(x, case, given)
    actual = outcome(case.ours, x, **given)
    if isinstance(expected, Exception) or isinstance(actual, Exception):
        assert type(actual) is type(expected), f"{what}: {actual!r}, expected {expected!r}"
        assert f"reduce_ops.{case.op}" in str(actual)
        return
    if case.op not in EXACT and x.dtype in WIDE:
        # torch rounds in between, and its mean of infinities is NaN in var_mean.
        wide = [*results(case.theirs(x.to(WIDE[x.dtype]), **given))]
        if case.op in ("var_mean", "std_mean"):
            plain = {k: v for k, v in given.items() if k != "correction"}
            wide[1] = torch.mean(x.to(WIDE[x.dtype]), **({"dim": None} | plain))
        kinds = [e.dtype for e in results(expected)]
        wide = [w.to(kind) for w, kind in zip(wide, kinds, strict=True)]
        expected = wide[0] if isinstance(expected, torch.Tensor) else tuple(wide)
    assert_like(actual, expected, what, exact=case.op in EXACT)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_every_layout(case, layout, device):
    dtypes = case.dtypes if layout in ("contiguous", "transposed") else case.dtypes[:1]
    for dtype in dtypes:
        x = LAYOUTS[layout](dtype, device)
        if case.op == "prod" and x.numel() > 2000:
            continue
        for dim in case.dims(x.dim()):
            for keepdim in (False, True):
                assert_as_torch(case, x, dim, keepdim, layout)


SPECIAL = (
    [math.nan, 1.0, 2.0, math.nan],
    [math.inf, 1.0, -math.inf, 2.0],
    [math.inf, math.inf],
    [-math.inf, -math.inf, -math.inf],
    [0.0, -0.0],
    [-0.0, 0.0, -0.0],
    [3.0, 1.0, 3.0, 1.0],
    [math.nan, math.nan],
    [-math.inf, 5.0, math.nan],
    [7.0],
)


@pytest.mark.parametrize("dtype", (torch.float32, torch.float64, torch.bfloat16), ids=name)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_nan_infinities_ties_and_zeros(case, dtype, device):
    for values in SPECIAL:
        for repeat in (1, 9):
            x = torch.tensor(values * repeat, dtype=dtype, device=device)
            assert_as_torch(case, x, 0, False, str(values))
            assert_as_torch(case, torch.stack([x, x.flip(0)], 1), 0, False, str(values))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_samples_of_torch(case, device):
    """The sample inputs that torch tests its own op with."""
    pytest.importorskip("expecttest")  # torch's samples import it
    from torch.testing._internal.common_methods_invocations import op_db

    wanted = "linalg.vector_norm" if case.op == "vector_norm" else case.op
    if case is not OPS[case.op]:
        pytest.skip("one case an op")
    seen = 0
    for info in op_db:
        if info.name != wanted or info.variant_test_name in ("binary", "nuc"):
            continue
        for dtype in (torch.float32, torch.float64, torch.complex64, torch.int64, torch.bool):
            if dtype not in info.supported_dtypes(device):
                continue
            if dtype.is_complex and case.op in ("nansum", "nanmean"):
                continue  # on a GPU torch takes these, on a CPU it refuses them as we do
            for sample in info.sample_inputs(device, dtype):
                args, kwargs = sample.args, sample.kwargs
                expected = outcome(info.op, sample.input, *args, **kwargs)
                actual = outcome(case.ours, sample.input, *args, **kwargs)
                what = f"{case.op}{(tuple(sample.input.shape), *args)} {kwargs}"
                if isinstance(expected, Exception):
                    assert type(actual) is type(expected), what
                else:
                    assert_like(actual, expected, what)
                seen += 1
    assert seen > 5


def reference(case, x, given):
    """The op in float64, where torch may use more than one pass."""
    wide = x.to(torch.complex128 if x.is_complex() else torch.float64)
    return results(case.theirs(wide, **given))


@pytest.mark.parametrize("dtype", (torch.float32, torch.float16, torch.bfloat16), ids=name)
@pytest.mark.parametrize("case", [c for c in CASES if c.op not in EXACT], ids=lambda case: case.id)
def test_values_against_float64(case, dtype, device):
    """Within an ulp or so of the op computed in float64 and rounded once."""
    g = torch.Generator().manual_seed(1)
    x = (torch.rand((7, 501), generator=g) + 0.5).to(dtype)
    x = x.to(device)
    for dim in (0, 1):
        given = case.arguments(dim, False)
        actual = results(case.ours(x, **given))
        for a, e in zip(actual, reference(case, x, given), strict=True):
            step = torch.finfo(dtype).eps * e.abs() + torch.finfo(dtype).tiny
            close = (a.double() - e).abs() <= 1.01 * step
            assert (close | (e.to(dtype).isinf() & a.isinf())).all(), case.id


def test_a_variance_around_a_large_mean(device):
    """No digits of the variance are lost to the mean."""
    x = (1e6 + torch.arange(1000) % 4).to(torch.float32).to(device)
    assert reduce_ops.var(x, correction=0).item() == 1.25
    value, mean = reduce_ops.var_mean(x.double() * 2**20, correction=0)
    assert value.item() == pytest.approx(1.25 * 2.0**40, rel=4e-16)
    assert mean.item() == pytest.approx((1e6 + 1.5) * 2**20, rel=4e-16)


def test_indices_over_all_dims_are_those_of_the_flattened_input(device):
    """In the order of the dims, whatever their order in memory, the first of equals."""
    base = torch.randint(0, 3, (4, 3, 5, 2), device=device).float()
    views = [base.permute(p) for p in ((3, 1, 0, 2), (0, 1, 3, 2), (1, 0, 2, 3), (2, 3, 1, 0))]
    views += [base[:, ::2].permute(1, 0, 2, 3), base[:1].expand(6, 3, 5, 2), base.flip(1)]
    views += [base[..., :1].expand(4, 3, 5, 7), base[:, :1].expand(4, 8, 5, 2).transpose(0, 3)]
    spiked = base.clone()
    spiked[2, 1, 3, 1] = math.nan
    spiked[3, 2, 0, 0] = math.nan
    views += [spiked.permute(3, 1, 0, 2), spiked.permute(1, 0, 3, 2)]
    for x in views:
        for ours, theirs in (
            (reduce_ops.argmax, torch.argmax),
            (reduce_ops.argmin, torch.argmin),
        ):
            expected = theirs(x.contiguous())
            for keepdim in (False, True):
                actual = ours(x, None, keepdim)
                assert actual.reshape(()).item() == expected.item(), (x.shape, x.stride())
                assert actual.shape == ((1,) * x.dim() if keepdim else ())


@pytest.mark.parametrize("case", OPS.values(), ids=lambda case: case.op)
def test_out(case, device):
    """Written in place, resized with torch's warning, whatever its strides."""
    if case.op in ("count_nonzero", "var_mean", "std_mean"):
        return  # no out= in Python, as in torch
    x = small_values((4, 5, 6), case.dtypes[0], device)
    given = case.arguments(1, False)
    expected = results(case.ours(x, **given))
    for shape, strides in (((4, 6), (6, 1)), ((4, 6), (1, 4)), ((4, 6), (12, 2)), ((3,), (1,))):
        outs = []
        for e in expected:
            room = sum((n - 1) * s for n, s in zip(shape, strides, strict=True)) + 1
            outs.append(torch.zeros(room, dtype=e.dtype, device=device).as_strided(shape, strides))
        several = len(outs) > 1
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            returned = case.ours(x, out=tuple(outs) if several else outs[0], **given)
        for out, e, r in zip(outs, expected, results(returned), strict=True):
            assert r is out
            assert torch.equal(out, e)
            assert shape != (4, 6) or out.stride() == strides


@pytest.mark.parametrize("case", OPS.values(), ids=lambda case: case.op)
def test_out_that_is_refused(case, device):
    if case.op in ("count_nonzero", "var_mean", "std_mean"):
        return
    x = small_values((4, 5, 6), case.dtypes[0], device)
    given = case.arguments(1, False)
    good = results(case.ours(x, **given))

    def call(function, *outs):
        return function(x, out=outs if len(outs) > 1 else outs[0], **given)

    wrong = []
    other = torch.int32
    wrong.append([torch.full_like(g, 7).to(other) for g in good])
    wrong.append([torch.empty_like(g, device="meta") for g in good])
    wrong.append([g[:1, :1].expand(4, 6) for g in good])
    if len(good) > 1 and good[0].dtype == good[1].dtype:
        wrong.append([good[0], good[0]])
    for outs in wrong:
        if outs[0].dtype == other and case.op in ("prod",):
            continue  # casts the elements, as torch does
        before = [out.clone() for out in outs]
        error = outcome(call, case.ours, *outs)
        assert isinstance(error, RuntimeError), f"{case.op}: {error!r}"
        assert f"reduce_ops.{case.op}" in str(error)
        for out, b in zip(outs, before, strict=True):
            assert out.is_meta or torch.equal(out, b)


@pytest.mark.parametrize("case", OPS.values(), ids=lambda case: case.op)
def test_errors_are_those_of_torch(case, device):
    x = small_values((2, 3), case.dtypes[0], device)
    calls = [
        lambda f: f(x, dim=2, **case.more),
        lambda f: f(x, dim=-3, **case.more),
        lambda f: f(x, dim=1.5, **case.more),
        lambda f: f(x, dim=0, wrong=1),
        lambda f: f(),
    ]
    with pytest.raises(TypeError, match=case.op):
        case.ours([1.0], dim=0)
    if not case.one_dim and case.op != "prod":
        calls += [lambda f: f(x, dim=(0, 0)), lambda f: f(x, dim=(1, -1))]
    for call in calls:
        expected, actual = outcome(call, case.theirs), outcome(call, case.ours)
        if case.op == "prod" and isinstance(expected, TypeError):
            expected = TypeError()
        assert isinstance(expected, Exception)
        assert type(actual) is type(expected), f"{actual!r}, expected {expected!r}"
        assert case.op in str(actual)


def test_dtypes_that_are_refused(device):
    odd = [*SIGNED, torch.bool, torch.uint8, torch.uint16, torch.uint32, torch.uint64]
    odd += [torch.complex64, torch.float16]
    for case in OPS.values():
        for dtype in odd:
            x = torch.ones((2, 3)).to(dtype).to(device)
            given = case.arguments(0, False)
            expected = theirs_on(x, case, given)
            actual = outcome(case.ours, x, **given)
            if isinstance(expected, Exception) or isinstance(actual, Exception):
                assert type(actual) is type(expected), f"{case.op} {dtype}: {actual!r}"
                assert f"reduce_ops.{case.op}" in str(actual)


def test_two_tensors_and_nuclear_norms_are_refused(device):
    x = torch.ones(3, device=device)
    for op in ("max", "min"):
        with pytest.raises(TypeError, match=rf"torch\.{op}imum"):
            getattr(reduce_ops, op)(x, x)
    with pytest.raises(NotImplementedError, match="nuc"):
        reduce_ops.norm(x[None], "nuc")


@pytest.mark.parametrize("op", ("var", "std", "var_mean", "std_mean"))
def test_ways_to_say_unbiased(op, device):
    x = torch.randn((3, 4), dtype=torch.float64, device=device)
    ours, theirs = getattr(reduce_ops, op), getattr(torch, op)
    for args, kwargs in (
        ((True,), {}),
        ((False,), {}),
        ((0, False), {}),
        ((0, True, True), {}),
        ((), dict(unbiased=False)),
        ((), dict(dim=(0, 1), unbiased=True, keepdim=True)),
        (([],), dict(correction=None)),
        ((None,), dict(correction=2)),
    ):
        assert_like(ours(x, *args, **kwargs), theirs(x, *args, **kwargs), f"{args} {kwargs}")
    with pytest.raises(TypeError):
        ours(x, 0, unbiased=True, correction=1)
    for correction in (3, 4, 3.5):
        with pytest.warns(UserWarning, match="degrees of freedom"):
            actual = ours(x, 0, correction=correction)
        with pytest.warns(UserWarning, match="degrees of freedom"):
            expected = theirs(x, 0, correction=correction)
        assert_like(actual, expected, op)


def test_the_same_bits_for_a_row_alone(device):
    """No result depends on the others of its call."""
    x = torch.randn((9, 1030), device=device)
    for case in CASES:
        if case.op not in ("argmax", "argmin"):
            given = case.arguments(1, False)
            for all_rows, row in zip(
                results(case.ours(x, **given)), results(case.ours(x[4:5], **given)), strict=True
            ):
                assert torch.equal(all_rows[4:5], row), case.id


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_more_axes_than_a_kernel_takes(case, device):
    x = small_values((3, 2) * 5, case.dtypes[0], device).permute(9, 1, 7, 3, 5, 0, 2, 8, 6, 4)
    x = x[:, :, :, ::2]
    for dim in (case.dims(10)[0], 0, 4, -1, *((0, 2, 4, 5, 7),) * (not case.one_dim)):
        if case.op == "prod" and isinstance(dim, tuple):
            continue
        assert_as_torch(case, x, dim, False, "many axes")


@pytest.mark.parametrize("case", OPS.values(), ids=lambda case: case.op)
def test_default_calls(case, device):
    """With torch's defaults, positional arguments and numpy-like ints."""
    x = small_values((3, 4), case.dtypes[0], device)
    calls = [lambda f: f(x)] if case.op != "logsumexp" else []
    if case.op != "aminmax":
        ints = (1, torch.tensor(1).numpy()[()]) if case.op not in ("vector_norm", "norm") else (1,)
        calls += [lambda f, d=d: f(x, d) for d in ints]
    if case.op not in ("aminmax", "count_nonzero"):
        calls += [lambda f: f(x, 1, False)] if case.op not in ("vector_norm", "norm") else []
    for call in calls:
        assert_like(call(case.ours), call(case.theirs), case.op)
