"""sum under torch.compile, export, make_fx, fake and meta tensors."""

import warnings

import pytest
import torch
from functorch.compile import aot_function, nop
from helpers import (
    ALL_DTYPES,
    LAYOUTS,
    all_dims,
    assert_equal,
    assert_same_bits,
    hard_values,
    name,
    small_values,
)
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx

import reduce_ops

OP = torch.ops.reduce_ops.sum
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")

CALLS = (
    ("all", lambda x: reduce_ops.sum(x)),
    ("dim", lambda x: reduce_ops.sum(x, 1)),
    ("negative dim", lambda x: reduce_ops.sum(x, -1, True)),
    ("tuple", lambda x: reduce_ops.sum(x, (0, 2))),
    ("dtype", lambda x: reduce_ops.sum(x, dim=0, dtype=torch.float64)),
    ("operator", lambda x: torch.ops.reduce_ops.sum(x, [0, 1], True)),
    ("operator all", lambda x: torch.ops.reduce_ops.sum(x, dtype=torch.float64)),
    ("inside", lambda x: (reduce_ops.sum(x * 2 + 1, 1) - 1).relu()),
    ("twice", lambda x: reduce_ops.sum(reduce_ops.sum(x, 2), 0)),
)


@pytest.fixture(autouse=True)
def no_compile_cache():
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


@pytest.mark.parametrize(("what", "call"), CALLS, ids=[what for what, _ in CALLS])
def test_aot_eager_is_eager(what, call, device):
    compiled = torch.compile(call, fullgraph=True, backend="aot_eager")
    for dtype in (torch.float32, torch.bfloat16):
        x = hard_values(6, 35, dtype, device).view(6, 5, 7)
        for view in (x, x.transpose(0, 2)):
            expected = call(view)
            actual = compiled(view)
            assert_same_bits(actual, expected, what)
            assert actual.stride() == expected.stride()


def test_gradients_through_compile(device):
    def f(x):
        return reduce_ops.sum(reduce_ops.sum(x * x, 1) ** 2)

    x = small_values((3, 5), torch.float64, device).requires_grad_()
    compiled = torch.compile(f, fullgraph=True, backend="aot_eager")
    (expected,) = torch.autograd.grad(f(x), x)
    (actual,) = torch.autograd.grad(compiled(x), x)
    assert_equal(actual, expected)


def test_out_under_compile(device):
    def f(x, out):
        reduce_ops.sum(x, 1, out=out)
        return out + 1

    compiled = torch.compile(f, fullgraph=True, backend="aot_eager")
    x = small_values((3, 5), torch.float32, device)
    out = torch.empty(3, device=device)
    result = compiled(x, out)
    assert torch.equal(out, torch.sum(x, 1))
    assert torch.equal(result, torch.sum(x, 1) + 1)


@pytest.mark.parametrize("shape", ((3,), (0,), (1,), (2, 3), (7,)), ids=str)
def test_functionalized_out_is_as_eager(shape, device):
    """Dynamo leaves an out= that is resized to eager mode; without it, the trace resizes."""

    def f(x):
        out = torch.full(shape, 7.0, device=device)
        return OP.IntList_out(x, [1], out=out), out

    x = small_values((3, 5), torch.float32, device)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "An output with one or more elements was resized")
        for actual in aot_function(f, fw_compiler=nop)(x):
            assert_equal(actual, torch.sum(x, 1))
        for actual in torch.compile(f, backend="aot_eager")(x):
            assert_equal(actual, torch.sum(x, 1))


def test_functionalized_out_refuses_what_eager_does(device):
    def wrong_dtype(x):
        return OP.IntList_out(x, [1], dtype=torch.float64, out=torch.zeros(3, device=device))

    def wrong_device(x):
        return OP.IntList_out(x, [1], out=torch.zeros(3, device="meta"))

    x = small_values((3, 5), torch.float32, device)
    for f in (wrong_dtype, wrong_device):
        for call in (f, aot_function(f, fw_compiler=nop)):
            with pytest.raises(RuntimeError, match=r"reduce_ops\.sum: out "):
                call(x)


def test_dynamic_shapes_compile_once(device):
    graphs = []

    def backend(graph, inputs):
        graphs.append(graph)
        return graph.forward

    compiled = torch.compile(
        lambda x: reduce_ops.sum(x, 1), fullgraph=True, dynamic=True, backend=backend
    )
    for rows, length in ((3, 5), (7, 11), (300, 1025), (2, 70_001)):
        x = hard_values(rows, length, torch.float32, device)
        assert_same_bits(compiled(x), reduce_ops.sum(x, 1))
    assert len(graphs) == 1
    assert any("reduce_ops" in str(node.target) for node in graphs[0].graph.nodes)


def test_dynamic_shapes_with_aot(device):
    compiled = torch.compile(
        lambda x: reduce_ops.sum(x, (0, 2), True) + x.shape[1],
        fullgraph=True,
        dynamic=True,
        backend="aot_eager",
    )
    for shape in ((2, 3, 4), (5, 3, 9), (4, 6, 8)):
        x = small_values(shape, torch.float32, device)
        assert_equal(compiled(x), torch.sum(x, (0, 2), True) + shape[1])


@pytest.mark.slow
def test_inductor(device):
    """On the CPU without operators of inductor's own, whose C++ takes a minute to compile."""

    def f(x):
        total = reduce_ops.sum(reduce_ops.sum(x, 1))
        return total if device == "cpu" else total * 2 + reduce_ops.sum(x + 1)

    x = small_values((33, 70), torch.float32, device)
    compiled = torch.compile(f, fullgraph=True)
    assert_equal(compiled(x), f(x))
    assert_equal(compiled(x.t().contiguous().t()), f(x))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_fake_and_meta_tensors_have_the_real_strides(layout, device):
    for dtype in (torch.float32, torch.int8, torch.complex64):
        x = LAYOUTS[layout](dtype, device)
        meta = torch.empty_strided(x.shape, x.stride(), dtype=dtype, device="meta")
        with FakeTensorMode() as mode:
            fake = mode.from_tensor(x)
        for dim in all_dims(x.dim()):
            for keepdim in (False, True):
                real = reduce_ops.sum(x, dim, keepdim)
                with mode:
                    faked = reduce_ops.sum(fake, dim, keepdim)
                for other in (faked, reduce_ops.sum(meta, dim, keepdim)):
                    assert (other.shape, other.dtype) == (real.shape, real.dtype)
                    assert other.stride() == real.stride(), f"{layout}, {dim=}, {keepdim=}"
                assert faked.device == real.device


@pytest.mark.parametrize("dtype", ALL_DTYPES, ids=name)
def test_meta_tensors_of_every_dtype(dtype):
    x = torch.empty((3, 4), dtype=dtype, device="meta")
    for target in (None, torch.float16, torch.int32):
        result = reduce_ops.sum(x, 1, dtype=target)
        assert result.device.type == "meta"
        assert result.shape == (3,)
        assert result.dtype == reduce_ops.sum(torch.ones((3, 4)).to(dtype), 1, dtype=target).dtype


def test_meta_out():
    x = torch.empty((3, 4), device="meta")
    out = torch.empty(3, device="meta")
    assert reduce_ops.sum(x, 1, out=out) is out
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        grown = torch.empty(7, device="meta")
        assert reduce_ops.sum(x, 0, out=grown).shape == (4,)
    with pytest.raises(RuntimeError, match=r"reduce_ops\.sum.*out.*dtype"):
        reduce_ops.sum(x, 1, dtype=torch.float64, out=out)


def test_errors_on_meta_tensors_are_the_real_ones():
    for device in ("cpu", "meta"):
        x = torch.empty((3, 4), device=device)
        with pytest.raises(IndexError, match=r"reduce_ops\.sum.*dim 2"):
            reduce_ops.sum(x, 2)
        with pytest.raises(RuntimeError, match=r"reduce_ops\.sum.*dim 1"):
            reduce_ops.sum(x, (1, -1))


def test_make_fx(device):
    x = small_values((3, 5), torch.float32, device)
    for mode in ("real", "fake", "symbolic"):
        graph = make_fx(lambda t: reduce_ops.sum(t, 1) * 2, tracing_mode=mode)(x)
        assert any("reduce_ops" in str(node.target) for node in graph.graph.nodes), mode
        assert_equal(graph(x), torch.sum(x, 1) * 2)
    other = small_values((9, 11), torch.float32, device)
    assert_equal(graph(other), torch.sum(other, 1) * 2)  # the symbolic one takes any shape


def test_export(device):
    class Model(torch.nn.Module):
        def forward(self, x):
            return reduce_ops.sum(x, 1), reduce_ops.sum(x, dtype=torch.float64)

    x = small_values((3, 5), torch.float32, device)
    rows = torch.export.Dim("rows", min=2, max=1000)
    exported = torch.export.export(Model(), (x,), dynamic_shapes={"x": {0: rows}})
    for count in (3, 8):
        y = small_values((count, 5), torch.float32, device, seed=count)
        for actual, expected in zip(exported.module()(y), Model()(y), strict=True):
            assert_equal(actual, expected)
    assert "reduce_ops" in str(exported.graph)
    decomposed = exported.run_decompositions()
    assert_equal(decomposed.module()(x)[0], torch.sum(x, 1))


def test_jit_trace(device):
    x = small_values((3, 5), torch.float32, device)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        traced = torch.jit.trace(lambda t: reduce_ops.sum(t, 1), (x,))
    other = small_values((7, 2), torch.float32, device)
    assert_equal(traced(other), torch.sum(other, 1))


def test_jit_script(device):
    def f(x):
        return torch.ops.reduce_ops.sum(x, [1], True, dtype=torch.float64) * 2

    x = small_values((3, 5), torch.float32, device)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert_equal(torch.jit.script(f)(x), f(x))


@pytest.mark.cuda
def test_reduce_overhead_uses_cuda_graphs():
    compiled = torch.compile(
        lambda x: reduce_ops.sum(x, 1) + 1, fullgraph=True, mode="reduce-overhead"
    )
    for seed in range(4):
        x = small_values((64, 1000), torch.float32, "cuda", seed)
        torch.compiler.cudagraph_mark_step_begin()
        assert torch.equal(compiled(x), torch.sum(x, 1) + 1)
