"""What only a GPU shows: grids past 2^16, tensors past 2^31 elements, streams, CUDA graphs."""

import pytest
import torch
from helpers import assert_same_bits, engine_of, forced_plans, name, small_values, wide_sum

import reduce_ops
from reduce_ops import _C

pytestmark = pytest.mark.cuda

GIB = 1 << 30


@pytest.mark.parametrize("dtype", (torch.float32, torch.bfloat16, torch.int8), ids=name)
def test_more_rows_and_columns_than_a_grid_dim(dtype):
    for rows, length in ((65_536, 9), (65_537, 257), (200_003, 33), (1_000_003, 3), (70_001, 1025)):
        x = small_values((rows, length), torch.int8).to("cuda", dtype)
        for view, dim in ((x, 1), (x.t(), 0), (x.t().contiguous(), 0), (x, 0), (x[:, 1:], 1)):
            expected = wide_sum(view, dim)
            result = reduce_ops.sum(view, dim)
            assert torch.equal(result, expected.to(result.dtype)), (rows, length, dim)


def test_all_plans_for_many_rows_and_columns():
    for rows, length in ((70_007, 5), (131_075, 70)):
        x = small_values((rows, length), torch.float32, "cuda")
        for view, dims in ((x, (1,)), (x.t().contiguous(), (0,)), (x.view(7, -1, length), (2,))):
            expected = torch.sum(view.double(), dims).float()
            results = forced_plans(view, dims)
            assert len(results) >= 2
            for plan, result in results.items():
                assert torch.equal(result, expected), plan


def test_many_batches_of_columns():
    x = small_values((70_001, 17, 3), torch.float32, "cuda")
    for plan, result in forced_plans(x, (1,)).items():
        assert engine_of(plan) in ("column", "split_column")
        assert torch.equal(result, x.double().sum(1).float()), plan
    assert torch.equal(reduce_ops.sum(x, 1), x.double().sum(1).float())


def big_values(numel: int, dtype) -> torch.Tensor:
    """Whole numbers from -3 to 4 in no regular order."""
    x = torch.empty(numel, dtype=dtype, device="cuda")
    piece = 1 << 28
    for start in range(0, numel, piece):
        i = torch.arange(start, min(start + piece, numel), device="cuda")
        x[start : start + piece] = ((i * 2654435761 >> 13) & 7) - 3
    return x


def chunked_sum(x: torch.Tensor, dim: int) -> torch.Tensor:
    """A sum of a matrix in float64, a slice at a time so that the copies stay small."""
    step = max(1, (1 << 27) // x.size(1))
    parts = [x[i : i + step].double().sum(dim) for i in range(0, x.size(0), step)]
    return torch.cat(parts) if dim == 1 else torch.stack(parts).sum(0)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", (torch.bfloat16, torch.int8), ids=name)
def test_more_than_2_to_the_31_elements(dtype, free_gpu_memory):
    free_gpu_memory(48 * GIB)
    for rows, length in ((70_003, 30_689), (3, 715_828_001), (715_828_001, 3)):
        assert rows * length > 2**31
        x = big_values(rows * length, dtype).view(rows, length)
        per_row, per_column = chunked_sum(x, 1), chunked_sum(x, 0)
        for dim, expected in ((1, per_row), (0, per_column), (None, per_row.sum())):
            result = reduce_ops.sum(x, dim)
            assert torch.equal(result, expected.to(result.dtype)), (rows, length, dim)
        del x, per_row, per_column


@pytest.mark.slow
def test_strides_past_2_to_the_31(free_gpu_memory):
    free_gpu_memory(20 * GIB)
    x = big_values(2**32 + 8192, torch.int8)
    far = x.as_strided((3, 5000), (2**31 - 5, 1))
    assert torch.equal(reduce_ops.sum(far, 1), far.long().sum(1))
    assert torch.equal(reduce_ops.sum(far, 0), far.long().sum(0))
    assert torch.equal(reduce_ops.sum(far), far.long().sum())
    last = x[2**32 :]
    assert torch.equal(reduce_ops.sum(last.view(64, 128), 0), last.view(64, 128).long().sum(0))
    every_other = x[::2]
    assert reduce_ops.sum(every_other).item() == sum(
        part.long().sum().item() for part in every_other.split(1 << 27)
    )


@pytest.mark.slow
def test_an_expanded_input_past_2_to_the_31():
    x = small_values((1, 1, 33), torch.bfloat16, "cuda").expand(100_000, 700, 33)
    assert x.numel() > 2**31
    row = x[0, 0].double()
    assert reduce_ops.sum(x, dtype=torch.float64).item() == row.sum().item() * 70_000_000
    assert torch.equal(reduce_ops.sum(x, (0, 1), dtype=torch.float64), row * 70_000_000)
    assert torch.equal(
        reduce_ops.sum(x, 2, dtype=torch.float64), row.sum().expand(100_000, 700).contiguous()
    )


SHAPES = (((64, 33), 1), ((4, 1_000_003), 1), ((1_000_003, 5), 0), ((2000, 3000), None))


@pytest.mark.parametrize(("shape", "dim"), SHAPES)
def test_work_is_queued_on_the_current_stream(shape, dim):
    """The kernel reads what an earlier, slow kernel of the same side stream writes."""
    values = small_values(shape, torch.float32, "cuda")
    expected = reduce_ops.sum(values, dim)
    x = torch.zeros_like(values)
    torch.cuda.synchronize()
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        reduce_ops.sum(x, dim)  # leaves memory for this stream with the allocator
        stream.synchronize()
        torch.cuda._sleep(50_000_000)
        x.copy_(values)
        result = reduce_ops.sum(x, dim)
        done = stream.record_event()
    assert not done.query(), "the call waited for the GPU"
    torch.cuda.current_stream().wait_event(done)
    assert_same_bits(result, expected)


@pytest.mark.parametrize(("shape", "dim"), SHAPES)
def test_cuda_graphs(shape, dim):
    x = small_values(shape, torch.float32, "cuda")
    out = torch.empty_like(reduce_ops.sum(x, dim))
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = reduce_ops.sum(x, dim)
        reduce_ops.sum(x, dim, out=out)
    for seed in (1, 2, 3):
        x.copy_(small_values(shape, torch.float32, "cuda", seed))
        graph.replay()
        assert_same_bits(result, reduce_ops.sum(x, dim))
        assert_same_bits(out, result)


def test_calls_on_two_streams_do_not_share_scratch_memory():
    xs = [small_values((2, 2_000_003), torch.float32, "cuda", seed) for seed in range(4)]
    expected = [reduce_ops.sum(x, 1) for x in xs]
    assert engine_of(_C.explain("sum", xs[0], [1])["plan"]) == "split_row"
    streams = [torch.cuda.Stream() for _ in xs]
    torch.cuda.synchronize()
    for _ in range(20):
        results = []
        for x, stream in zip(xs, streams, strict=True):
            with torch.cuda.stream(stream):
                results.append(reduce_ops.sum(x, 1))
        torch.cuda.synchronize()
        for result, e in zip(results, expected, strict=True):
            assert_same_bits(result, e)


@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="needs two GPUs")
def test_the_device_of_the_input_not_the_current_one():
    x = small_values((7, 70_001), torch.float32)
    first, second = x.to("cuda:0"), x.to("cuda:1")
    with torch.cuda.device(0):
        for dim in (None, 0, 1):
            result = reduce_ops.sum(second, dim)
            assert result.device == second.device
            assert_same_bits(result.cpu(), reduce_ops.sum(first, dim).cpu())
        with pytest.raises(RuntimeError, match=r"reduce_ops\.sum.*out.*cuda:0"):
            reduce_ops.sum(second, 1, out=torch.empty(7, device="cuda:0"))


def test_no_hidden_copy_of_a_strided_input():
    """Allocated for a strided 1 GiB input: the result and a little scratch memory."""
    x = torch.ones((2, 64 << 20, 4), dtype=torch.bfloat16, device="cuda")
    for view, dim in ((x.transpose(1, 2), 2), (x[:, ::2], (1, 2)), (x.permute(2, 0, 1), 0)):
        reduce_ops.sum(view, dim)
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        result = reduce_ops.sum(view, dim)
        used = torch.cuda.max_memory_allocated() - before
        assert used <= result.nbytes + (64 << 20), f"{used} bytes for {view.stride()}, {dim=}"
        del result
