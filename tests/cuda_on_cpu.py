"""Builds the CUDA engines for the CPU (tests/emulator) and reduces with them."""

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
    sources = [EMULATOR / "emulator.cpp", ROOT / "csrc/cuda/run.cpp"]
    sources += sorted((ROOT / "csrc/plan").glob("*.cpp"))
    sources += sorted((ROOT / "csrc/cuda/families").glob("*.cu"))
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


# In the order of core/op.h.
OPS = (
    *("sum", "mean", "nansum", "nanmean", "prod", "amax", "amin", "aminmax", "max", "min"),
    *("argmax", "argmin", "var", "std", "var_mean", "std_mean", "logsumexp", "vector_norm"),
    *("any", "all", "count_nonzero", "describe"),
)
GUARD = 64


def result_dtypes(op: str, x: torch.Tensor, dtype=None) -> tuple:
    """The dtypes of an op's first and second result, None where there is none of them."""
    floating = x.dtype.is_floating_point or x.dtype.is_complex
    own = dtype or x.dtype
    if op in ("sum", "prod", "nansum") and not floating:
        own = dtype or torch.int64
    if op == "logsumexp" and not floating:
        own = torch.float32
    if op in ("any", "all"):
        own = torch.bool
    if op == "count_nonzero":
        own = torch.int64
    if op in ("argmax", "argmin"):
        return None, torch.int64
    if op in ("max", "min", "describe"):
        return own, torch.int64
    if op == "amax":
        return None, own
    return own, own if op in ("aminmax", "var_mean", "std_mean") else None


class Guarded:
    """An output between guards, which a kernel must not touch."""

    def __init__(self, sizes: list, dtype: torch.dtype | None, planes: int = 1) -> None:
        count = math.prod(sizes) * planes
        self.flat = torch.full((count + 2 * GUARD,), 77, dtype=dtype or torch.uint8)
        whole = self.flat[GUARD : GUARD + count]
        self.view = whole.view(sizes if planes == 1 else [planes, *sizes])
        self.address = ctypes.c_void_p(self.view.data_ptr() if dtype else None)

    def check(self, what: str) -> None:
        guards = torch.cat([self.flat[:GUARD], self.flat[-GUARD:]])
        assert (guards == torch.full((), 77, dtype=self.flat.dtype)).all(), f"{what} wrote past out"


class Emulator:
    def __init__(self, library: Path) -> None:
        self.call = ctypes.CDLL(str(library)).emulate
        self.call.restype = ctypes.c_char_p

    def run(self, op: str, x: torch.Tensor, dims, dtype=None, plan: str = "", parameter=0.0):
        """As reduce_ops._C.run_with_plan; no plan: the planner's own."""
        types = result_dtypes(op, x, dtype)
        if op == "vector_norm" and parameter == math.inf:
            types = types[::-1]
        sizes = [size for d, size in enumerate(x.shape) if d not in dims]
        planes = (6, 3) if op == "describe" else (1, 1)
        outs = [Guarded(sizes, t, p) for t, p in zip(types, planes, strict=True)]
        out_strides = iter(torch.empty(sizes).stride())
        strides = [0 if d in dims else next(out_strides) for d in range(x.dim())]
        array = ctypes.c_int64 * max(1, x.dim())
        own = next(t for t in types if t is not None)
        cast = own if op in ("sum", "mean", "prod", "nansum", "nanmean", "logsumexp") else x.dtype
        message = self.call(
            ctypes.c_int(x.dim()),
            array(*x.shape),
            array(*x.stride()),
            array(*strides),
            ctypes.c_uint64(sum(1 << d for d in dims)),
            ctypes.c_int(OPS.index(op)),
            ctypes.c_int(DTYPES.index(x.dtype)),
            ctypes.c_int(DTYPES.index(cast)),
            ctypes.c_double(parameter),
            *(ctypes.c_int(DTYPES.index(t or own)) for t in types),
            ctypes.c_void_p(x.data_ptr()),
            *(out.address for out in outs),
            plan.encode(),
        ).decode()
        if message:
            raise ValueError(f"{plan}: {message}")
        for out in outs:
            out.check(f"{op} {plan}")
        results = tuple(o.view for o, t in zip(outs, types, strict=True) if t is not None)
        return results if len(results) > 1 else results[0]

    def sum(self, x: torch.Tensor, dims, dtype=None, plan: str = "", mean: bool = False):
        return self.run("mean" if mean else "sum", x, dims, dtype, plan)

    def all_plans(self, x: torch.Tensor, dims, dtype=None, mean=False) -> dict[str, torch.Tensor]:
        """The result of every candidate plan that accepts the problem."""
        return accepted_plans("cuda", lambda plan: self.sum(x, dims, dtype, plan, mean))
