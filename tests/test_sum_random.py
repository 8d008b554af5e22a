"""Random shapes, views, dims and dtypes against torch.sum, on values whose sums are exact."""

import pytest
import torch
from helpers import (
    ALL_DTYPES,
    RESULT_DTYPES,
    assert_like_torch,
    forced_plans,
    small_values,
)
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

search = settings(
    max_examples=400,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
sizes = st.one_of(st.integers(0, 5), st.integers(1, 40), st.sampled_from((63, 64, 65, 127)))


@st.composite
def views(draw, dtypes=ALL_DTYPES):
    """A tensor that went through random steps: slices, permutations, expansions, offsets."""
    shape = draw(st.lists(sizes, max_size=5))
    while torch.Size(shape).numel() > 20_000:  # torch rounds 16-bit sums once up to 32k
        shape.remove(max(shape))
    x = small_values(shape, draw(st.sampled_from(dtypes)), seed=draw(st.integers(0, 3)))
    if shape and draw(st.booleans()):
        offset = draw(st.integers(0, 9))
        x = torch.cat([x.new_zeros(offset), x.flatten()])[offset:].view(shape)
    for _ in range(draw(st.integers(0, 3))):
        step = draw(st.sampled_from(("slice", "permute", "expand", "unsqueeze", "select")))
        if step == "unsqueeze" and x.dim() < 6:
            x = x.unsqueeze(draw(st.integers(0, x.dim())))
        elif x.dim() == 0:
            continue
        elif step == "permute":
            x = x.permute(draw(st.permutations(range(x.dim()))))
        elif step == "slice":
            dim = draw(st.integers(0, x.dim() - 1))
            start = draw(st.integers(0, x.size(dim)))
            stop = draw(st.integers(start, x.size(dim)))
            x = x[(slice(None),) * dim + (slice(start, stop, draw(st.integers(1, 4))),)]
        elif step == "select" and x.size(dim := draw(st.integers(0, x.dim() - 1))):
            x = x.select(dim, draw(st.integers(0, x.size(dim) - 1)))
        elif step == "expand" and 1 in x.shape and x.numel() < 5000:
            dim = x.shape.index(1)
            x = x.expand(*x.shape[:dim], draw(st.integers(0, 6)), *x.shape[dim + 1 :])
    return x


@st.composite
def problems(draw, dtypes=ALL_DTYPES):
    x = draw(views(dtypes))
    dims = draw(st.lists(st.integers(0, max(x.dim() - 1, 0)), unique=True, max_size=x.dim()))
    dims = [d - x.dim() if x.dim() and draw(st.booleans()) else d for d in dims]
    dim = draw(st.sampled_from((dims, tuple(dims), dims[0] if dims else None)))
    return x, dim, draw(st.booleans())


@search
@given(problem=problems())
def test_like_torch(problem, device):
    x, dim, keepdim = problem
    assert_like_torch(on(device, x), dim, keepdim)


@search
@given(problem=problems(), dtype=st.sampled_from(RESULT_DTYPES))
@pytest.mark.filterwarnings("ignore:Casting complex values to real")
def test_casts_like_torch(problem, dtype, device):
    x, dim, keepdim = problem
    if dtype == torch.uint8:  # a negative float as uint8 is undefined
        x = x.abs().to(x.dtype) if x.dtype.is_floating_point or x.dtype.is_complex else x
    assert_like_torch(on(device, x), dim, keepdim, dtype)


@settings(search, max_examples=100)
@given(problem=problems((torch.float32, torch.float64, torch.bfloat16, torch.int8)))
def test_every_plan_like_torch(problem, device):
    x, dim, keepdim = problem
    x = on(device, x)
    dims = None if dim is None else [dim] if isinstance(dim, int) else list(dim)
    expected = torch.sum(x, dim, keepdim)
    results = forced_plans(x, dims, keepdim)
    assert results
    for plan, result in results.items():
        assert torch.equal(result, expected), plan


def on(device: str, x: torch.Tensor) -> torch.Tensor:
    """x with its strides and its offset in the storage kept."""
    if device == "cpu":
        return x
    storage = torch.empty(0, dtype=x.dtype).set_(x.untyped_storage())
    return storage.to(device).as_strided(x.shape, x.stride(), x.storage_offset())
