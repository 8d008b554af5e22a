"""Measures the ops against torch and against the read limit, and writes benchmark records.

    python -m benchmarks.run                                  every case on the GPU (else the CPU)
    python -m benchmarks.run --filter 'columns.*bfloat16'     some cases; nothing is written
    python -m benchmarks.run --case 'rows 1000x77 float32'    any shape
    python -m benchmarks.run --sweep 'rows 8192x8192 bfloat16' --plan 'block_row()' --plan …

Method: reduce_ops, torch and the yardstick (a kernel that only reads the same number of bytes) run
in turn, and each median is over these rounds. See reduce_ops/timing.py for how a run is timed.
"""

from __future__ import annotations

import argparse
import functools
import re
import sys
import time
from collections.abc import Callable
from pathlib import Path

import torch

import reduce_ops
from benchmarks import ops, records, table
from benchmarks.cases import Case, cpu_cases, cuda_cases, parse_case, quick
from reduce_ops.exact import same_bits
from reduce_ops.timing import CpuTimer, CudaTimer, RandomBytes, device_name, timer_for

Timer = CpuTimer | CudaTimer
PROVIDERS = ("reduce_ops", "torch", "compile")


class Inputs:
    """Random numbers on one device, drawn once for each dtype and shared by all cases."""

    def __init__(self, device: str, cases: list[Case]) -> None:
        self.device = device
        self.sizes: dict[str, int] = {}
        for case in cases:
            self.sizes[case.dtype] = max(self.sizes.get(case.dtype, 0), case.numel + 1)
        self.pools: dict[str, torch.Tensor] = {}
        self.bytes = RandomBytes(device)

    def take(self, case: Case) -> torch.Tensor:
        if case.dtype not in self.pools:
            self.pools[case.dtype] = self._draw(getattr(torch, case.dtype), self.sizes[case.dtype])
        return case.take(self.pools[case.dtype])

    def _draw(self, dtype: torch.dtype, size: int) -> torch.Tensor:
        if dtype.is_floating_point or dtype.is_complex:
            return torch.randn(size, dtype=dtype, device=self.device)
        if dtype == torch.bool:
            return torch.randint(2, (size,), dtype=torch.uint8, device=self.device).to(dtype)
        return torch.empty(size, dtype=dtype, device=self.device).random_()


def provider_call(provider: str, x: torch.Tensor, case: Case) -> Callable[[], object]:
    run = ops.call("reduce_ops" if provider == "reduce_ops" else "torch", case.op, case.dim)
    if provider == "compile":
        torch._dynamo.reset()
        run = torch.compile(run, dynamic=False)
    return lambda: run(x)


class Recorder:
    def __init__(self, device: str, providers: list[str], repeats: int) -> None:
        self.torch_device = device
        self.device = device_name(device)
        self.providers = providers
        self.repeats = repeats
        self.timer = timer_for(device)
        self.common = {
            "device": self.device,
            "torch": torch.__version__,
            "cuda": torch.version.cuda if device.startswith("cuda") else None,
            "commit": records.commit(),
            "date": records.now(),
        }

    def case(self, case: Case, inputs: Inputs) -> list[dict]:
        x = inputs.take(case)
        if not ops.is_right(x, case.op, case.dim):
            raise RuntimeError("reduce_ops gave a wrong result")
        plan = reduce_ops.explain(case.op, x, dim=case.dim)
        buffer = inputs.bytes.take(plan.bytes)
        runs = {p: provider_call(p, x, case) for p in self.providers}
        runs["yardstick"] = lambda: reduce_ops._C.read_yardstick(buffer)
        times = self.timer.medians(runs, repeats=self.repeats)
        yardstick = times.pop("yardstick")
        return [
            {
                "op": case.op,
                "shape": list(case.shape),
                "dim": list(case.dim) if isinstance(case.dim, tuple) else case.dim,
                "dtype": case.dtype,
                "layout": case.layout,
                "provider": provider,
                "us": round(us, 3),
                "bytes": plan.bytes,
                "yardstick_us": round(yardstick, 3),
                "share": round(yardstick / us, 4),
                "plan": plan.plan if provider == "reduce_ops" else None,
                **self.common,
            }
            for provider, us in times.items()
        ]

    def host(self, calls: int = 5000) -> list[dict]:
        """Host time of one call on a tiny tensor: wall time over many calls, no wait inside."""
        x = torch.randn(32, 32, device=self.torch_device)
        runs = {
            "reduce_ops": lambda: reduce_ops.sum(x, 1),
            "torch.ops": lambda: torch.ops.reduce_ops.sum(x, [1], False),
            "torch": lambda: torch.sum(x, 1),
        }
        best: dict[str, float] = {}
        for _ in range(3):
            for provider, run in runs.items():
                for _ in range(100):
                    run()
                self._wait()
                start = time.perf_counter()
                for _ in range(calls):
                    run()
                us = (time.perf_counter() - start) / calls * 1e6
                self._wait()
                best[provider] = min(us, best.get(provider, us))
        shared = {"op": "sum_host", "shape": [32, 32], "dim": 1, "dtype": "float32"}
        shared |= {"layout": "contiguous", "bytes": 32 * 32 * 4 + 32 * 4}
        shared |= {"yardstick_us": None, "share": None, "plan": None}
        return [
            {**shared, "provider": provider, "us": round(us, 3), **self.common}
            for provider, us in best.items()
        ]

    def _wait(self) -> None:
        if self.torch_device.startswith("cuda"):
            torch.cuda.synchronize()


def measure(
    device: str, cases: list[Case], providers: list[str], repeats: int, host: bool
) -> tuple[list[dict], list[str]]:
    """All records of one device, and a sentence for each case that failed."""
    inputs = Inputs(device, cases)
    found: list[dict] = []
    failed: list[str] = []
    everything = torch.get_num_threads()
    threads = [1, everything] if device == "cpu" and everything > 1 else [everything]
    try:
        for count in threads:
            torch.set_num_threads(count)
            recorder = Recorder(device, providers, repeats)
            for case in cases:
                try:
                    found += recorder.case(case, inputs)
                except (RuntimeError, ValueError, TypeError) as error:
                    failed.append(f"{case.name}: {str(error).splitlines()[0]}")
            if host:
                found += recorder.host()
    finally:
        torch.set_num_threads(everything)
    return found, failed


def sweep(device: str, cases: list[Case], plans: list[str], repeats: int) -> None:
    """Times plans on each case, the planner's own among them, and says if the bits agree."""
    inputs, timer = Inputs(device, cases), timer_for(device)
    for case in cases:
        sweep_case(case, inputs, plans, timer, repeats)


def sweep_case(case: Case, inputs: Inputs, plans: list[str], timer: Timer, repeats: int) -> None:
    x = inputs.take(case)
    chosen = reduce_ops.explain(case.op, x, dim=case.dim)
    dims = None if case.dim is None else [case.dim] if isinstance(case.dim, int) else case.dim
    want = ops.call("reduce_ops", case.op, case.dim)(x)
    buffer = inputs.bytes.take(chosen.bytes)
    runs: dict[str, Callable[[], object]] = {
        "yardstick": lambda: reduce_ops._C.read_yardstick(buffer)
    }
    notes: dict[str, str] = {}
    for plan in dict.fromkeys([chosen.plan, *plans]):
        run = functools.partial(reduce_ops._C.run_with_plan, case.op, x, dims, False, None, plan)
        try:
            notes[plan] = "" if same_bits(run(), want) else "other bits"
            runs[plan] = run
        except (RuntimeError, ValueError) as error:
            print(f"{case.name}: {plan}: {str(error).splitlines()[0]}")
    times = timer.medians(runs, repeats=repeats)
    yardstick = times.pop("yardstick")
    print(f"{case.name}: limit {yardstick:.2f} us")
    for plan, us in sorted(times.items(), key=lambda item: item[1]):
        mark = "*" if plan == chosen.plan else " "
        print(f"  {mark} {us:9.2f} us  {yardstick / us:5.0%}  {plan}  {notes[plan]}".rstrip())


def provider_list(text: str) -> list[str]:
    names = text.split(",")
    if unknown := [name for name in names if name not in PROVIDERS]:
        raise argparse.ArgumentTypeError(
            f"{unknown[0]!r} is unknown, expected some of {','.join(PROVIDERS)}"
        )
    return names


def parse(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.run", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    add = parser.add_argument
    add("--device", default="cuda" if torch.cuda.is_available() else "cpu", help="cuda or cpu")
    add("--providers", type=provider_list, default="reduce_ops,torch", help=",".join(PROVIDERS))
    add("--filter", metavar="REGEX", help="only the cases whose name matches")
    add("--case", action="append", default=[], metavar="NAME", help="this case; repeatable")
    add("--quick", action="store_true", help="a few cases")
    add("--repeats", type=int, default=50, help="rounds to take the median of")
    add("--no-host", dest="host", action="store_false", help="leave out the host time per call")
    add("--out", type=Path, metavar="FILE", help="write records here, also for a part of the cases")
    add("--results", type=Path, default=records.RESULTS, metavar="DIR")
    add("--compare", type=Path, metavar="CSV", help="peers: op,dtype,M,N,… best_us or torch_us")
    add("--sweep", action="append", default=[], metavar="NAME", help="time plans on this case")
    add("--plan", action="append", default=[], metavar="TEXT", help="a plan for --sweep")
    add("--plans", type=Path, metavar="FILE", help="more plans for --sweep, one a line")
    return parser.parse_args(argv)


def main(argv: list[str] | None = None) -> int:
    args = parse(argv)
    try:
        swept, named = [list(map(parse_case, names)) for names in (args.sweep, args.case)]
    except ValueError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    if swept:
        lines = args.plans.read_text().splitlines() if args.plans else []
        plans = args.plan + [line for line in lines if line.strip()]
        sweep(args.device, swept, plans, args.repeats)
        return 0
    cases = named or (cpu_cases() if args.device == "cpu" else cuda_cases())
    if args.quick:
        cases = quick(cases)
    if args.filter:
        cases = [case for case in cases if re.search(args.filter, case.name)]
    start = time.perf_counter()
    found, failed = measure(
        args.device, cases, args.providers, args.repeats, args.host and not args.filter
    )
    peers = table.read_peers(args.compare) if args.compare else {}
    print(table.text(found, peers))
    for line in failed:
        print(f"FAILED {line}")
    whole = not (args.filter or args.quick or named or failed)
    if found and (args.out or whole):
        path = args.out or records.default_path(found[0]["device"], args.results)
        records.write(path, found)
        print(f"{len(found)} records in {path}")
    print(f"{len(cases)} cases in {time.perf_counter() - start:.0f} s")
    return 1 if failed or not found else 0


if __name__ == "__main__":
    sys.exit(main())
