"""Builds the CUDA engines for the CPU (tests/emulator) and sums with them."""

from __future__ import annotations

import ctypes
import math
import os
import shlex
import subprocess
import sysconfig
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import torch
from helpers import accepted_plans

ROOT = Path(__file__).resolve().parent.parent
EMULATOR = ROOT / "tests" / "emulator"
# In the order of core/dtype.h.
DTYPES = (
    *(torch.bool, torch.uint8, torch.int8, torch.uint16, torch.int16, torch.uint32, torch.int32),
    *(torch.uint64, torch.int64, torch.float16, torch.bfloat16, torch.float32, torch.float64),
    *(torch.complex64, torch.complex128),
)


def cuda_headers() -> Path | None:
    """A folder with the CUDA runtime's headers: the toolkit's, or those that torch brought."""
    places = [Path(os.environ.get("CUDA_HOME", "/usr/local/cuda")) / "include"]
    places += sorted(Path(sysconfig.get_path("purelib")).glob("nvidia/*/include"))
    return next((p for p in places if (p / "cuda_runtime_api.h").exists()), None)


def build() -> Path:
    """The library, compiled anew if a source is younger."""
    headers = cuda_headers()
    if headers is None:
        pytest.skip("no cuda_runtime_api.h here")
    folder = ROOT / "build" / "emulator"
    library = folder / "libemulator.so"
    sources = [EMULATOR / "emulator.cpp", ROOT / "csrc/cuda/sum.cpp"]
    sources += sorted((ROOT / "csrc/plan").glob("*.cpp"))
    sources += sorted((ROOT / "csrc/cuda").glob("sum_*.cu"))
    files = [*(ROOT / "csrc").rglob("*.*"), *EMULATOR.iterdir()]
    if library.exists() and library.stat().st_mtime > max(f.stat().st_mtime for f in files):
        return library
    folder.mkdir(parents=True, exist_ok=True)
    compiler = shlex.split(os.environ.get("CXX", "g++"))
    flags = ["-std=c++17", "-O1", "-fPIC", "-Wno-unknown-pragmas", "-Wno-attributes"]
    flags.append("-U_FORTIFY_SOURCE")  # its longjmp refuses to go from fiber to fiber
    flags += [f"-I{ROOT / 'csrc'}", f"-I{EMULATOR}", f"-I{headers}", "-include", "cuda_on_cpu.h"]

    def compiled(source: Path) -> str:
        target = folder / f"{source.stem}.o"
        command = [*compiler, *flags, "-x", "c++", "-c", str(source), "-o", str(target)]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return str(target)

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        objects = list(pool.map(compiled, sources))
    subprocess.run([*compiler, "-shared", "-o", str(library), *objects], check=True)
    return library


class Emulator:
    def __init__(self, library: Path) -> None:
        self.call = ctypes.CDLL(str(library)).emulate_sum
        self.call.restype = ctypes.c_char_p

    def sum(
        self, x: torch.Tensor, dims, dtype=None, plan: str = "", mean: bool = False
    ) -> torch.Tensor:
        """As reduce_ops._C.run_with_plan; no plan: the planner's own."""
        cast = dtype or (x.dtype if x.dtype.is_floating_point or x.dtype.is_complex else None)
        cast = cast or torch.int64
        sizes = [size for d, size in enumerate(x.shape) if d not in dims]
        guard = 64
        flat = torch.full((math.prod(sizes) + 2 * guard,), 77, dtype=cast)
        out = flat[guard:-guard].view(sizes)
        out_strides = iter(out.stride())
        strides = [0 if d in dims else next(out_strides) for d in range(x.dim())]
        array = ctypes.c_int64 * max(1, x.dim())
        message = self.call(
            ctypes.c_int(x.dim()),
            array(*x.shape),
            array(*x.stride()),
            array(*strides),
            ctypes.c_uint64(sum(1 << d for d in dims)),
            ctypes.c_int(DTYPES.index(x.dtype)),
            ctypes.c_int(DTYPES.index(cast)),
            ctypes.c_void_p(x.data_ptr()),
            ctypes.c_void_p(out.data_ptr()),
            ctypes.c_int(mean),
            plan.encode(),
        ).decode()
        if message:
            raise ValueError(f"{plan}: {message}")
        guards = torch.cat([flat[:guard], flat[-guard:]])
        assert (guards == torch.full((), 77, dtype=cast)).all(), f"{plan} wrote past out"
        return out

    def all_plans(self, x: torch.Tensor, dims, dtype=None, mean=False) -> dict[str, torch.Tensor]:
        """The result of every candidate plan that accepts the problem."""
        return accepted_plans("cuda", lambda plan: self.sum(x, dims, dtype, plan, mean))
