"""The planner's decisions, as text, with no GPU; plans as text; explain()."""

import itertools
import math

import numpy as np
import pytest
import torch
from helpers import ALL_DTYPES, CANDIDATES, FLOATS, LAYOUTS, engine_of, forced_plans, name

import reduce_ops
from reduce_ops import _C

SMS = 132


def contiguous(sizes):
    strides, stride = [], 1
    for size in reversed(sizes):
        strides.insert(0, stride)
        stride *= max(size, 1)
    return strides


def plan(sizes, dims, dtype="float32", *, strides=None, cuda=True, address=0, sms=SMS, threads=2):
    strides = contiguous(sizes) if strides is None else strides
    return _C.make_plan(list(sizes), strides, dims, dtype, dtype, cuda, address, sms, threads)


def fields(text: str) -> dict[str, int]:
    inside = text.partition("(")[2].removesuffix(")")
    pairs = (item.split("=") for item in inside.split(",") if item.strip())
    return {key.strip(): int(value) for key, value in pairs}


# Text ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", sorted({*CANDIDATES["cpu"], *CANDIDATES["cuda"]}))
def test_normal_form_is_stable(text):
    normal = _C.normalize_plan(text)
    assert engine_of(normal) == engine_of(text)
    assert _C.normalize_plan(normal) == normal
    given = {key: value for key, value in fields(text).items() if value}  # 0 is the default
    assert fields(normal) == given


@pytest.mark.parametrize(
    "text",
    (
        "  warp_row( threads = 8 )  ",
        "split_row( segments=4)",
        "column(down=8,across=32,vector=4,segments=2)",
    ),
)
def test_spaces_and_the_order_of_fields_do_not_matter(text):
    assert " = " not in _C.normalize_plan(text)
    assert fields(_C.normalize_plan(text)) == {
        key: value for key, value in fields(text.strip()).items()
    }
    assert engine_of(_C.normalize_plan(text)) == engine_of(text.strip())


@pytest.mark.parametrize(
    "text",
    (
        "",
        "   ",
        "(",
        ")",
        "()",
        "warp_row",
        "warp_row(",
        "warp_row(threads=8",
        "warp_row threads=8)",
        "no_such_engine()",
        "Warp_Row(threads=8)",
        "warp_row(threads)",
        "warp_row(threads=)",
        "warp_row(threads=eight)",
        "warp_row(threads=8.0)",
        "warp_row(threads=-8)",
        "warp_row(threads=8, threads=8)",
        "warp_row(thread=8)",
        "warp_row(threads=99999999999999999999)",
        "warp_row(threads=8))",
        "warp_row(threads=8) block_row()",
        "warp_row(threads=8;)",
        "block_row()\n",
    ),
)
def test_what_is_no_plan_is_refused_with_a_sentence(text):
    with pytest.raises(ValueError, match=r"plan") as error:
        _C.normalize_plan(text)
    assert text.strip() in str(error.value)
    x = torch.ones(4)
    with pytest.raises(ValueError, match=r"plan"):
        _C.run_with_plan("sum", x, [0], False, None, text)


@pytest.mark.parametrize(
    ("text", "shape", "dims", "word"),
    (
        ("fill()", (3, 5), [1], "elements"),
        ("cpu_row(parts=1)", (0, 5), [1], "fill"),
        ("cpu_column(parts=1)", (3, 5), [1], "row"),
        ("cpu_row(parts=1)", (3, 5), [0], "column"),
        ("block_row()", (3, 5), [1], "CPU"),
    ),
)
def test_a_plan_that_does_not_fit_is_refused_with_a_reason(text, shape, dims, word):
    with pytest.raises(ValueError, match=word) as error:
        _C.run_with_plan("sum", torch.ones(shape), dims, False, None, text)
    assert text in str(error.value)


@pytest.mark.cuda
@pytest.mark.parametrize(
    ("text", "shape", "dims"),
    (
        ("warp_row(threads=3)", (3, 8), [1]),
        ("warp_row(threads=64)", (3, 8), [1]),
        ("warp_row()", (3, 8), [1]),
        ("warp_row(threads=1)", (3, 100), [1]),  # 25 chunks need 32 threads
        ("warp_row(threads=32)", (3, 4097), [1]),
        ("split_row(segments=1)", (3, 4096), [1]),
        ("split_row(segments=3)", (3, 100_000), [1]),
        ("split_row()", (3, 100_000), [1]),
        ("thread_row()", (3, 100), [1]),
        ("thread_row()", (64, 8), [0]),
        ("narrow_column(segments=3)", (64, 8), [0]),
        ("narrow_column(segments=64)", (640, 8), [0]),  # 256 threads are 32 segments of 8
        ("narrow_column(segments=1)", (64, 17), [0]),
        ("map()", (64, 8), [1]),
        ("map()", (64, 2), [0]),
        ("column(vector=3,across=8,down=8,segments=1)", (64, 8), [0]),
        ("column(vector=4,across=8,down=8,segments=1)", (64, 7), [0]),
        ("column(vector=16,across=8,down=8,segments=1)", (64, 16), [0]),
        ("column(vector=1,across=64,down=8,segments=1)", (64, 8), [0]),
        ("column(vector=1,across=32,down=64,segments=1)", (64, 8), [0]),
        ("column(vector=4,across=32,down=32,segments=1,deep=1)", (64, 8), [0]),
        ("column(vector=1,across=8,down=8,segments=1,deep=1)", (64, 8), [0]),
        ("column(vector=1,across=3,down=8,segments=1)", (64, 8), [0]),
        ("column(vector=1,across=8,down=2,segments=1)", (64, 8), [0]),  # 4 segments, 2 fit
        ("column(vector=1,across=8)", (64, 8), [0]),
        ("split_column(vector=1,across=8,down=8,segments=1)", (64, 8), [0]),  # one part only
    ),
)
def test_cuda_plans_that_do_not_fit(text, shape, dims):
    x = torch.ones(shape, device="cuda")
    with pytest.raises(ValueError, match=r"plan"):
        _C.run_with_plan("sum", x, dims, False, None, text)
    assert reduce_ops.sum(x, dims).sum().item() == x.numel()  # the device still works


# Decisions -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sizes", "dims", "dtype", "engines"),
    (
        ((65_536, 256), [1], "bfloat16", {"warp_row"}),
        ((1000, 7), [1], "float32", {"thread_row", "warp_row"}),
        ((1_000_000, 7), [1], "float32", {"thread_row", "warp_row"}),
        ((8192, 8192), [1], "bfloat16", {"warp_row", "block_row"}),
        ((1, 2**27), [1], "float32", {"split_row"}),
        ((2**27,), [0], "bfloat16", {"split_row"}),
        ((4096, 65_536), [1], "float32", {"split_row"}),
        ((65_536, 256), [0], "bfloat16", {"split_column"}),
        ((16, 2**20), [0], "float32", {"column"}),
        ((8192, 8192), [0], "bfloat16", {"column", "split_column"}),
        ((64, 3, 224, 224), [0, 2, 3], "float32", {"split_row", "block_row"}),
        ((2**22, 3), [0], "bfloat16", {"narrow_column"}),
        ((5, 0), [1], "float32", {"fill"}),
        ((0, 5), [1], "float32", {"fill"}),
        ((5, 1), [1], "float32", {"map"}),
        ((4096, 16_384), [0], "bfloat16", {"column", "split_column"}),
        ((1024, 50_257), [0], "bfloat16", {"column", "split_column"}),
    ),
)
def test_engines_for_known_shapes(sizes, dims, dtype, engines):
    assert engine_of(plan(sizes, dims, dtype)) in engines
    expected = "fill" if 0 in sizes else "cpu_column" if 3 not in dims and 0 in dims else "cpu_row"
    if len(sizes) == 1:
        expected = "cpu_row"
    assert engine_of(plan(sizes, dims, dtype, cuda=False)) == expected


def test_vectors_of_columns():
    def vector(sizes, dims=(0,), **kwargs):
        return fields(plan(sizes, list(dims), **kwargs)).get("vector")

    for dtype in ("float32", "bfloat16", "int32", "int8"):
        assert vector((64_000, 64), dtype=dtype) == 4
    assert vector((64_000, 64), dtype="float64") == 2
    assert vector((64_000, 64), dtype="complex128") == 1
    assert vector((64_000, 64), strides=[128, 2]) == 1
    # Floats of up to 4 bytes are read at any address, but not for a few columns.
    unaligned = (
        {"sizes": (64_000, 63)},
        {"sizes": (64_000, 64), "address": 4},
        {"sizes": (64_000, 64), "strides": [66, 1]},
        {"sizes": (3, 64_000, 64), "dims": (1,), "strides": [4_096_001, 64, 1]},
    )
    for case in unaligned:
        for dtype, expected in (("float32", 4), ("bfloat16", 4), ("int32", 1), ("int8", 1)):
            if dtype == "int8" and case.get("address") == 4:
                expected = 4
            assert vector(**case, dtype=dtype) == expected, (case, dtype)
    assert vector((128_000, 31)) == 1
    assert vector((128_000, 28)) == 4
    # A thread for every column of every segment where that is little to do.
    assert vector((100, 64)) == vector((1000, 64)) == 1


SIZES = (1, 2, 5, 33, 256, 1000, 4097, 65_537, 2**20 + 1, 2**31 + 5)
NAMES = [name(dtype) for dtype in ALL_DTYPES]


@pytest.mark.parametrize("sms", (1, 2, 7, 64, 108, 132, 200))
def test_every_problem_has_a_plan_that_fits(sms):
    """make_plan checks its own plan against check_plan (grid limits too) and fails if it is no
    good."""
    for (m, n), dtype in itertools.product(itertools.product(SIZES, SIZES), NAMES):
        if m * n > 2**40:
            continue
        for dims in ([0], [1], [0, 1]):
            text = plan((m, n), dims, dtype, sms=sms)
            assert _C.normalize_plan(text) == text
            rows = dims != [0] or n == 1 or m == 1
            engine = engine_of(text)
            assert (engine.endswith("row") or engine == "map") == rows, (m, n, dims, dtype, text)


def test_every_number_of_multiprocessors_and_threads():
    for sms in range(1, 201):
        for sizes, dims in (((1, 2**30), [1]), ((2**20, 8), [0]), ((300, 70_001), [1])):
            assert engine_of(plan(sizes, dims, sms=sms)) != "fill"
    for threads in range(1, 129):
        for sizes, dims in (((1, 2**30), [1]), ((2**20, 8), [0]), ((3, 3), None)):
            assert plan(sizes, dims, cuda=False, threads=threads).startswith("cpu_")


def test_huge_problems():
    for sizes, dims in (
        ((2**31 + 1, 4), [1]),
        ((2**31 + 1, 4), [0]),
        ((4, 2**31 + 1), [1]),
        ((4, 2**31 + 1), [0]),
        ((2**33, 2), [0]),
        ((2**16 + 1, 2**16 + 1), [0]),
        ((2**16 + 1, 2**16 + 1), [1]),
        ((3, 2**35), [1]),
        ((2**40,), [0]),
    ):
        for dtype, sms in itertools.product(("int8", "bfloat16", "complex128"), (1, 132)):
            assert engine_of(plan(sizes, dims, dtype, sms=sms)) != "fill", (sizes, dims, dtype)


def test_the_plan_of_a_tensor_is_the_plan_of_its_description():
    for layout, make in LAYOUTS.items():
        x = make(torch.float32, "cpu")
        for dims in (None, *([d] for d in range(x.dim()))):
            described = _C.make_plan(
                list(x.shape),
                list(x.stride()),
                list(range(x.dim())) if dims is None else dims,
                "float32",
                "float32",
                False,
                x.data_ptr(),
                0,
                torch.get_num_threads(),
            )
            assert _C.explain("sum", x, dims)["plan"] == described, layout


def test_bad_descriptions_are_refused():
    with pytest.raises(ValueError, match="strides"):
        _C.make_plan([2, 3], [1], [0], "float32", "float32", True, 0, SMS, 1)
    with pytest.raises(ValueError, match="float31"):
        _C.make_plan([2, 3], [3, 1], [0], "float31", "float32", True, 0, SMS, 1)
    with pytest.raises(IndexError, match="5"):
        _C.make_plan([2, 3], [3, 1], [5], "float32", "float32", True, 0, SMS, 1)


def test_the_default_plan_is_accepted_when_forced(device):
    for layout, make in LAYOUTS.items():
        x = make(torch.float32, device)
        for dims in (None, *([d] for d in range(x.dim()))):
            text = _C.explain("sum", x, dims)["plan"]
            result = _C.run_with_plan("sum", x, dims, False, None, text)
            assert torch.equal(result, torch.sum(x, dims)), (layout, dims)
            assert engine_of(text) in {engine_of(p) for p in forced_plans(x, dims)}


# explain -------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", FLOATS, ids=name)
def test_explain(dtype, device):
    x = torch.ones((6, 70), dtype=dtype, device=device)
    for dim in (None, 0, 1, (0, 1), -1):
        e = reduce_ops.explain("sum", x, dim=dim)
        dims = [dim] if isinstance(dim, int) else dim
        assert e.op == "sum"
        assert tuple(e.shape) == (6, 70)
        assert str(e.dtype).removeprefix("torch.") == name(dtype)
        assert torch.device(e.device).type == device
        assert e.plan == _C.explain("sum", x, dims)["plan"]
        assert e.bytes == x.nbytes + torch.sum(x, dim).nbytes
        assert e.limit_us is None or e.limit_us > 0
        assert e.plan in str(e)
        assert "sum" in str(e)


def test_explain_counts_each_distinct_element_once(device):
    x = torch.ones((1, 70), device=device).expand(1000, 70)
    assert reduce_ops.explain("sum", x, dim=0).bytes == 70 * 4 + 70 * 4
    assert reduce_ops.explain("sum", x, dim=1).bytes == 70 * 4 + 1000 * 4
    half = torch.ones((100, 64), device=device)[:, ::2]
    assert reduce_ops.explain("sum", half, dim=1).bytes == math.prod(half.shape) * 4 + 100 * 4
    empty = torch.ones((3, 0), device=device)
    assert reduce_ops.explain("sum", empty, dim=1).bytes == 3 * 4


def test_explain_takes_the_dims_that_sum_takes():
    x = torch.ones((3, 4))
    expected = reduce_ops.explain("sum", x, dim=1)
    for dim in (np.int64(1), torch.tensor(1), [1], (np.int32(1),), torch.Size([1])):
        assert reduce_ops.sum(x, dim).shape == (3,)
        assert reduce_ops.explain("sum", x, dim=dim) == expected
    for dim in (True, 1.0, "1", {1}, [0.5]):
        for call in (reduce_ops.sum, lambda *args: reduce_ops.explain("sum", *args)):
            with pytest.raises(TypeError, match="dim"):
                call(x, dim)


def test_tensors_without_memory_have_no_plan():
    x = torch.ones((3, 4), device="meta")
    for call in (
        lambda: reduce_ops.explain("sum", x, dim=1),
        lambda: _C.run_with_plan("sum", x, [1], False, None, "cpu_row()"),
    ):
        with pytest.raises(NotImplementedError, match=r"reduce_ops\.sum: input.* meta"):
            call()


def test_explain_refuses_what_it_does_not_know():
    with pytest.raises((ValueError, KeyError, NotImplementedError), match="no_such_op"):
        reduce_ops.explain("no_such_op", torch.ones(3))
    with pytest.raises(IndexError, match="7"):
        reduce_ops.explain("sum", torch.ones(3), dim=7)
