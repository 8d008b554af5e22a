"""Inputs, references and comparisons for the tests of reductions."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable

import torch

import reduce_ops
from reduce_ops import _C

FLOATS = (torch.float32, torch.float64, torch.float16, torch.bfloat16)
COMPLEX = (torch.complex64, torch.complex128)
SIGNED = (torch.int8, torch.int16, torch.int32, torch.int64)
UNSIGNED = (torch.uint8, torch.uint16, torch.uint32, torch.uint64)
INTEGERS = (*SIGNED, *UNSIGNED, torch.bool)
ALL_DTYPES = (*FLOATS, *INTEGERS, *COMPLEX)
# torch reads the wider unsigned integers but does not sum into them.
RESULT_DTYPES = (*FLOATS, *SIGNED, torch.uint8, torch.bool, *COMPLEX)
# Bits of the significand, and the exponent of the least normal number.
FORMAT = {
    torch.float16: (11, -14),
    torch.bfloat16: (8, -126),
    torch.float32: (24, -126),
    torch.float64: (53, -1022),
}


def name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


# Inputs --------------------------------------------------------------------------------------


def small_values(shape, dtype, device="cpu", seed=0) -> torch.Tensor:
    """Small whole numbers: their sums are exact in every dtype wide enough to hold them."""
    g = torch.Generator().manual_seed(seed)
    if dtype == torch.bool:
        return torch.randint(0, 2, shape, generator=g).to(torch.bool).to(device)
    low = 0 if dtype in UNSIGNED else -4
    values = torch.randint(low, 5, shape, generator=g).to(dtype)
    if dtype.is_complex:
        values = values + 1j * torch.randint(low, 5, shape, generator=g)
    return values.to(dtype).to(device)


def hard_values(rows: int, length: int, dtype, device="cpu", seed=0) -> torch.Tensor:
    """Rows that cancel almost entirely, over a wide range of magnitudes: unless the accumulator
    is exact, another order of additions gives other bits. Integers use their full range."""
    g = torch.Generator().manual_seed(seed)
    if not (dtype.is_floating_point or dtype.is_complex):
        raw = torch.randint(-(2**62), 2**62, (rows, length), generator=g)
        return (raw > 0 if dtype == torch.bool else raw.to(dtype)).to(device)
    if dtype.is_complex:
        real = hard_values(rows, length, dtype.to_real(), seed=seed)
        imag = hard_values(rows, length, dtype.to_real(), seed=seed + 1)
        return torch.complex(real, imag).to(device)
    spread = {torch.float16: 6, torch.float64: 100}.get(dtype, 30)
    exponent = torch.rand((rows, length), generator=g, dtype=torch.float64) * 2 * spread - spread
    x = torch.randn((rows, length), generator=g, dtype=torch.float64) * torch.exp2(exponent)
    half = length // 2
    order = torch.randperm(half, generator=g)
    x[:, half : 2 * half] = -x[:, order]
    x[:, 2 * half :] *= 2.0 ** (-2 * spread)  # the odd one out must not cover the rest
    return x[:, torch.randperm(length, generator=g)].to(dtype).to(device)


def at_offset(x: torch.Tensor, elements: int) -> torch.Tensor:
    """A contiguous copy of x that begins `elements` elements into its storage, of whole vectors of
    16 bytes: kernels may read every vector that holds an element."""
    size = (x.numel() + elements) * x.element_size()
    buffer = torch.empty(-(-size // 16) * 16, dtype=torch.uint8, device=x.device).view(x.dtype)
    view = buffer[elements : elements + x.numel()].view(x.shape)
    return view.copy_(x)


# Views of many kinds, by name; each is a function of (dtype, device).
LAYOUTS: dict[str, Callable[[torch.dtype, str], torch.Tensor]] = {
    "scalar": lambda t, d: small_values((), t, d),
    "vector": lambda t, d: small_values((37,), t, d),
    "contiguous": lambda t, d: small_values((3, 5, 7), t, d),
    "long rows": lambda t, d: small_values((2, 4099), t, d),
    "long columns": lambda t, d: small_values((4099, 3), t, d),
    "transposed": lambda t, d: small_values((33, 6), t, d).t(),
    "permuted": lambda t, d: small_values((3, 4, 5, 6), t, d).permute(2, 0, 3, 1),
    "channels_last": lambda t, d: small_values((2, 5, 4, 3), t, d).to(
        memory_format=torch.channels_last
    ),
    "every 2nd of dim 0": lambda t, d: small_values((9, 5, 8), t, d)[::2],
    "every 3rd of dim 0": lambda t, d: small_values((11, 5, 8), t, d)[1::3],
    "every 2nd of dim 1": lambda t, d: small_values((3, 9, 8), t, d)[:, ::2],
    "every 3rd of dim 1": lambda t, d: small_values((3, 11, 8), t, d)[:, 1::3],
    "every 2nd of the last": lambda t, d: small_values((3, 5, 33), t, d)[..., ::2],
    "every 3rd of the last": lambda t, d: small_values((3, 5, 35), t, d)[..., 1::3],
    "narrowed": lambda t, d: small_values((6, 7, 40), t, d)[1:5, 2:6, 3:36],
    "expanded dim 0": lambda t, d: small_values((1, 5, 7), t, d).expand(4, 5, 7),
    "expanded the last": lambda t, d: small_values((3, 5, 1), t, d).expand(3, 5, 9),
    "expanded all": lambda t, d: small_values((1, 1), t, d).expand(6, 70),
    "overlapping windows": lambda t, d: small_values((40,), t, d).as_strided((10, 21), (1, 1)),
    "diagonal": lambda t, d: small_values((9, 9, 3), t, d).diagonal(),
    "dims of size 1": lambda t, d: small_values((1, 6, 1, 9, 1), t, d),
    "no rows": lambda t, d: small_values((0, 5), t, d),
    "empty rows": lambda t, d: small_values((5, 0), t, d),
    "empty in the middle": lambda t, d: small_values((3, 0, 4), t, d),
}


def all_dims(ndim: int) -> list:
    """None, every int, and every combination as a tuple (the list has at most 5 dims' worth)."""
    ints = range(-max(ndim, 1), max(ndim, 1))
    tuples = itertools.chain.from_iterable(
        itertools.combinations(range(ndim), k) for k in range(ndim + 1)
    )
    negative = [(-1, 0), [-2, -1]] if ndim >= 3 else []
    return [None, *ints, *tuples, *negative]


# Comparisons ---------------------------------------------------------------------------------


def bits(x: torch.Tensor) -> torch.Tensor:
    """The bits of x as integers."""
    x = x.detach().resolve_conj().resolve_neg().contiguous()
    if x.dtype.is_complex:
        x = torch.view_as_real(x)
    integer = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[x.element_size()]
    return x.view(integer)


def assert_same_bits(actual: torch.Tensor, expected: torch.Tensor, what="") -> None:
    assert actual.dtype == expected.dtype, f"{what}: {actual.dtype}, expected {expected.dtype}"
    assert actual.shape == expected.shape, f"{what}: {actual.shape}, expected {expected.shape}"
    a, b = bits(actual), bits(expected)
    if torch.equal(a, b):
        return
    where = (a != b).nonzero()
    index = tuple(where[0].tolist())[: actual.dim()]
    raise AssertionError(
        f"{what}: {len(where)} of {a.numel()} differ in bits, the first at {index}: "
        f"{actual[index].item()!r}, expected {expected[index].item()!r}"
    )


def assert_equal(actual: torch.Tensor, expected: torch.Tensor, what="") -> None:
    """All that a caller can see is the same: values (NaN equals NaN), dtype, shape, strides."""
    for attribute in ("dtype", "shape", "device", "layout", "requires_grad"):
        a, b = getattr(actual, attribute), getattr(expected, attribute)
        assert a == b, f"{what}: {attribute} is {a}, expected {b}"
    assert actual.stride() == expected.stride(), (
        f"{what}: strides are {actual.stride()}, expected {expected.stride()}"
    )
    same = (actual == expected) | ((actual != actual) & (expected != expected))
    if not same.all():
        index = tuple((~same).nonzero()[0].tolist())
        raise AssertionError(
            f"{what}: {int((~same).sum())} of {same.numel()} differ, the first at {index}: "
            f"{actual[index].item()!r}, expected {expected[index].item()!r}"
        )


def assert_like_torch(
    x: torch.Tensor, dim=None, keepdim=False, dtype=None, op: str = "sum"
) -> None:
    what = f"{op} of {tuple(x.shape)} {name(x.dtype)}, {x.stride()=}, {dim=}, {keepdim=}, {dtype=}"
    actual = getattr(reduce_ops, op)(x, dim, keepdim, dtype=dtype)
    assert_equal(actual, getattr(torch, op)(x, dim, keepdim, dtype=dtype), what)
    if actual.numel():
        mine, theirs = actual.untyped_storage().data_ptr(), x.untyped_storage().data_ptr()
        assert mine != theirs, f"{what}: the result shares memory with the input"


def wide_sum(x: torch.Tensor, dim, keepdim=False) -> torch.Tensor:
    """The sum in the widest type of x's kind: exact for small_values."""
    if x.dtype.is_complex:
        return torch.sum(x.to(torch.complex128), dim, keepdim)
    return torch.sum(x.to(torch.float64) if x.dtype.is_floating_point else x, dim, keepdim)


# Accuracy ------------------------------------------------------------------------------------


def exact_sum(values: Iterable[float]) -> tuple[float, float]:
    """The exact sum as hi + lo: hi is correctly rounded, lo is the rest, rounded."""
    values = list(values)
    hi = math.fsum(values)
    return hi, math.fsum([*values, -hi])


def ulp(value: float, dtype: torch.dtype) -> float:
    """The distance of neighbouring numbers of `dtype` around value."""
    precision, least = FORMAT[dtype]
    exponent = max(math.frexp(value)[1] - 1, least) if value else least
    return math.ldexp(1.0, exponent - precision + 1)


def ulp_error(result: float, exact: tuple[float, float], dtype: torch.dtype) -> float:
    """How far a result is from an exact sum, in ulp of the output dtype."""
    hi, lo = exact
    return abs((result - hi) - lo) / ulp(hi, dtype)


def condition(values: Iterable[float], exact: tuple[float, float]) -> float:
    """Σ|x| / |Σx|."""
    return math.fsum(map(abs, values)) / abs(exact[0]) if exact[0] else math.inf


# Plans ---------------------------------------------------------------------------------------

# across, down, segments a thread
_TILES = ((32, 16, 1), (32, 8, 2), (32, 1, 1), (16, 16, 1), (16, 4, 8), (8, 64, 1), (8, 8, 4))
_TILES += ((4, 4, 1), (1, 256, 1), (1, 64, 2), (1, 1, 1), (16, 64, 4), (32, 32, 8), (16, 2, 16))
_COLUMNS = tuple(
    f"vector={v},across={a},down={d},segments={s},deep={deep}"
    for v, deep in ((1, 0), (2, 0), (4, 0), (4, 1))
    for a, d, s in _TILES
)
CANDIDATES = {
    "cpu": (
        "fill()",
        "cpu_row()",
        "cpu_column()",
        *(
            f"{engine}(threads={t},parts={p})"
            for engine in ("cpu_row", "cpu_column")
            for t, p in ((1, 1), (1, 4), (2, 1), (2, 2), (2, 8), (3, 2))
        ),
    ),
    "cuda": (
        "fill()",
        "map()",
        "thread_row()",
        *(f"warp_row(threads={t})" for t in (1, 2, 4, 8, 16, 32)),
        "block_row()",
        *(f"split_row(segments={s})" for s in (1, 2, 4, 8, 32)),
        *(f"narrow_column(segments={s})" for s in (1, 2, 8, 32)),
        *(f"{engine}({fields})" for engine in ("column", "split_column") for fields in _COLUMNS),
    ),
}


def engine_of(plan: str) -> str:
    return plan.partition("(")[0]


def forced_plans(
    x: torch.Tensor, dims, keepdim=False, dtype=None, op: str = "sum"
) -> dict[str, torch.Tensor]:
    """The result of every candidate plan that accepts the problem."""
    return accepted_plans(
        x.device.type, lambda plan: _C.run_with_plan(op, x, dims, keepdim, dtype, plan)
    )


def accepted_plans(device: str, run: Callable[[str], torch.Tensor]) -> dict[str, torch.Tensor]:
    """run(plan) of every candidate plan of the device that does not refuse the problem."""
    results = {}
    for plan in CANDIDATES[device]:
        try:
            results[plan] = run(plan)
        except ValueError as error:
            if "cannot compute" not in str(error):
                raise
    return results


def expected_engines(x: torch.Tensor, dims: Iterable[int], device: str = "") -> set[str]:
    """The device's engines that must accept a problem with elements, by the layout of its reduced
    dims."""
    reduced = [x.stride(d) for d in dims if x.size(d) > 1]
    rows = not reduced or min(s or math.inf for s in reduced) == 1
    length = math.prod(x.size(d) for d in dims)
    if (device or x.device.type) == "cpu":
        return {"cpu_row" if rows else "cpu_column"}
    if rows:
        size = length * x.element_size()
        side_by_side = x.is_contiguous() and tuple(dims) == (x.dim() - 1,)
        narrow = {"thread_row"} if side_by_side and size <= 64 else set()
        if length == 1 and x.is_contiguous():
            narrow.add("map")
        return narrow | {"block_row", "warp_row" if size <= 16384 else "split_row"}
    engines = {"column"} if length <= 8192 else set()
    if length > 16:
        engines.add("split_column")
    dense = x.dim() == 2 and x.is_contiguous() and x.size(1) > 1 and x.data_ptr() % 16 == 0
    if dense and x.stride(0) * x.element_size() <= 64:
        engines.add("narrow_column")
    return engines
