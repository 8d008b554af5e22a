"""pytest-benchmark: `sum` against torch.sum. CUDA times include a wait for the GPU; the numbers in
the records come from benchmarks/run.py, which times the GPU alone and flushes its caches."""

import pytest
import torch

import reduce_ops
from benchmarks.cases import Case

pytest.importorskip("pytest_benchmark")

SHAPES = ((256, 64), (1024, 1024), (65_536, 256))
CASES = [Case(shape, dim, "float32") for shape in SHAPES for dim in (1, 0, None)]
CASES += [Case((1024, 1024), dim, "bfloat16") for dim in (1, 0, None)]
DEVICES = ["cpu", "cuda"] if torch.cuda.is_available() else ["cpu"]


@pytest.mark.parametrize("provider", ["reduce_ops", "torch"])
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name.replace(" ", "-"))
def test_sum(benchmark, case, device, provider):
    x = case.take(torch.randn(case.numel, dtype=getattr(torch, case.dtype), device=device))
    add = {"reduce_ops": reduce_ops, "torch": torch}[provider].sum

    def call():
        result = add(x, case.dim)
        if device == "cuda":
            torch.cuda.synchronize()
        return result

    benchmark.group = f"{case.name} on {device}"
    result = benchmark.pedantic(call, rounds=20, iterations=1, warmup_rounds=3)
    wide = torch.sum(x, case.dim, dtype=torch.float64)
    torch.testing.assert_close(result.double(), wide, rtol=1e-2, atol=1e-2)
