"""Imports the compiled part, reduce_ops._C, once it is sure that this torch can load it."""

import importlib
import sys
from pathlib import Path

import torch

_REBUILD = "`make build` or `pip install --no-build-isolation --force-reinstall --no-deps .`"
_BUILD = "run `make build` or `pip install --no-build-isolation .` in a checkout of reduce_ops"


def load():
    try:
        info = importlib.import_module("reduce_ops._build_info")
    except ModuleNotFoundError:
        here = Path(__file__).parent
        raise ImportError(
            f"reduce_ops in {here} is not built: {_BUILD} (if it is installed elsewhere, import it "
            f"from outside of {here.parent}, or install with -e)"
        ) from None
    if problem := mismatch(info, torch.__version__, torch.version.cuda):
        raise ImportError(problem)
    try:
        return importlib.import_module("reduce_ops._C")
    except ModuleNotFoundError as error:
        if error.name != "reduce_ops._C":
            raise
        raise ImportError(missing(Path(__file__).parent)) from None


def mismatch(info, torch_version: str, torch_cuda: str | None) -> str:
    """Why a build described by `info` cannot run with this torch, or ""."""
    built, found = info.TORCH_VERSION, str(torch_version)
    # A CPU-only build needs the release alone; a CUDA build also torch's own CUDA libraries.
    same = built.split("+")[0] == found.split("+")[0]
    if same and not (info.WITH_CUDA and info.CUDA_VERSION != torch_cuda):
        return ""
    if same:
        built += f" (CUDA {info.CUDA_VERSION})"
        found += f" (CUDA {torch_cuda})" if torch_cuda else " (no CUDA)"
    return (
        f"reduce_ops was built with torch {built}, but torch {found} is installed;"
        f" rebuild it in its checkout with {_REBUILD}"
    )


def missing(package: Path) -> str:
    """What to say when reduce_ops/_C is not there for this Python."""
    python = f"Python {sys.version_info.major}.{sys.version_info.minor}"
    if others := sorted(path.name for path in package.glob("_C.*.so")):
        return f"reduce_ops has no build for {python}, only {', '.join(others)}: {_BUILD}"
    return f"reduce_ops._C is missing: {_BUILD}"
