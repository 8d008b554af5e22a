"""Generates the README's tables from the newest records: the text between a table's two markers.

<!-- table:sum-h200 -->
…
<!-- /table -->
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path

from benchmarks import records
from benchmarks.table import cases_of

ROOT = Path(__file__).resolve().parent.parent
DEMO = records.RESULTS / "demo.json"
DEMO_LINES = 15

SUM_GPU = (
    "all 1x134217728 bfloat16",
    "all 1x134217728 float32",
    "all 1024x4096 float32",
    "rows 65536x256 bfloat16",
    "rows 8192x8192 bfloat16",
    "rows 8192x8192 float32",
    "rows 512x262144 bfloat16",
    "rows 1024x50257 bfloat16",
    "rows 524288x64 bfloat16",
    "rows 8192x8192 offset bfloat16",
    "columns 65536x256 bfloat16",
    "columns 8192x8192 bfloat16",
    "columns 65536x256 float32",
    "columns 4194304x3 float32",
    "columns 8192x8192 transposed bfloat16",
    "dim 1 of 64x512x4096 bfloat16",
    "dim 0,2,3 of 32x64x56x56 channels_last float32",
    "rows 8192x8192 int64",
)
SUM_CPU = (
    "all 16384x16384 float32",
    "rows 16384x16384 float32",
    "columns 16384x16384 float32",
    "rows 65536x256 float32",
    "columns 65536x256 float32",
    "rows 8192x2048 bfloat16",
    "columns 8192x2048 bfloat16",
    "columns 4194304x3 float32",
    "rows 1024x1024 float32",
)
HOST_NAMES = {
    "reduce_ops": "`reduce_ops.sum(x, 1)`",
    "torch.ops": "`torch.ops.reduce_ops.sum(x, [1], False)`",
    "torch": "`torch.sum(x, 1)`",
}


class TableError(Exception):
    """A table that cannot be made; its text says why."""


def markdown(headings: list[str], rows: list[list[str]], left: int) -> str:
    """A table whose first `left` columns are text and whose others are numbers."""
    rule = ["---" if i < left else "--:" for i in range(len(headings))]
    return "\n".join("| " + " | ".join(row) + " |" for row in [headings, rule, *rows])


def newest_run(folders: str) -> list[dict]:
    runs = [records.newest(folder) for folder in sorted(records.RESULTS.glob(folders))]
    run = max((run for run in runs if run), key=lambda run: run[-1]["date"], default=None)
    if not run:
        raise TableError(f"no records in {records.RESULTS}/{folders}: run the benchmark first")
    return run


def caption(record: dict) -> str:
    cuda = f", CUDA {record['cuda']}" if record["cuda"] else ""
    return (
        f"{record['device']}, torch {record['torch'].split('+')[0]}{cuda}, commit "
        f"{record['commit']}, {record['date'][:10]}."
    )


def _us(value: float) -> str:
    return f"{value:.1f}" if value < 1000 else f"{value:,.0f}"


def sum_table(folders: str, names: tuple[str, ...]) -> str:
    run = newest_run(folders)
    threads = {record["device"]: record for record in run if record["op"] == "sum"}
    device = list(threads)[-1]  # a CPU run ends with all threads
    cases = cases_of(record for record in run if record["device"] == device)
    rows = []
    for name in names:
        text, dtype = name.rsplit(" ", 1)
        case = cases.get((device, "sum", text, dtype), {})
        if not {"reduce_ops", "torch"} <= case.keys():
            raise TableError(f"the newest records of {device} lack {name!r}")
        ours, theirs = case["reduce_ops"], case["torch"]
        over, shape, layout = re.fullmatch(r"(.*?)(?: of)? (\d+(?:x\d+)+) ?(\w*)", text).groups()
        rows.append(
            [
                f"{over}, {layout}" if layout else over,
                " × ".join(f"{int(n):,}" for n in shape.split("x")),
                dtype,
                _us(ours["us"]),
                _us(theirs["us"]),
                f"{theirs['us'] / ours['us']:.2f}×",
                _us(ours["yardstick_us"]),
                f"{ours['share']:.0%}",
            ]
        )
    heads = ["over", "shape", "dtype", "reduce_ops µs", "torch µs", "speed-up"]
    heads += ["read limit µs", "share"]
    return f"{markdown(heads, rows, 3)}\n\n{caption(threads[device])}"


def host_table(folders: str) -> str:
    host = [record for record in newest_run(folders) if record["op"] == "sum_host"]
    if not host:
        raise TableError(f"the newest records in {folders} hold no host times")
    host = [record for record in host if record["device"] == host[-1]["device"]]
    rows = [[HOST_NAMES[r["provider"]], f"{r['us']:.1f}"] for r in host]
    return f"{markdown(['call', 'host µs'], rows, 1)}\n\n{caption(host[-1])}"


def demo_table(path: Path) -> str:
    try:
        demo = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise TableError(f"no demo numbers: {error}") from None
    summary = demo["summary"][-1]  # CPU, then the GPU if there was one
    groups = [g for g in demo["groups"] if g["device"] == summary["device"]][:DEMO_LINES]
    rows = []
    last = None
    for g in groups:
        shape = " × ".join(f"{n:,}" for n in g["shape"]) or "scalar"
        kind = [f"`{g['name']}`", shape, g["dtype"], str(g["count"])]
        rows.append(
            [
                *(kind if kind != last else [""] * len(kind)),
                "all" if g["dim"] is None else f"dim {g['dim']}",
                _us(g["us"]),
                _us(g["torch_us"]),
                "–" if g["share"] is None else f"{g['share']:.0%}",
                f"{g['ulp']:.3f}",
                f"{g['torch_ulp']:,.1f}",
            ]
        )
        last = kind
    heads = ["tensor", "shape", "dtype", "n", "over", "reduce_ops µs", "torch µs", "share"]
    heads += ["error, ulp", "torch's error, ulp"]
    bits = "the same bits twice" if summary["same_bits"] else "bits that differ between runs"
    return (
        f"{markdown(heads, rows, 3)}\n\n"
        f"{summary['device']}, torch {demo['torch'].split('+')[0]}, {demo['date']}. All "
        f"{summary['sums']} sums over {summary['tensors']} tensors: worst error "
        f"{summary['ulp']:.3f} ulp (torch {summary['torch_ulp']:,.0f}), {bits}."
    )


TABLES: dict[str, Callable[[Path], str]] = {
    "sum-h200": lambda demo: sum_table("nvidia-h200", SUM_GPU),
    "sum-cpu": lambda demo: sum_table("cpu-*", SUM_CPU),
    "host-h200": lambda demo: host_table("nvidia-h200"),
    "demo": demo_table,
}
MARKED = re.compile(r"(<!-- table:(\S+) -->\n)(.*?)(<!-- /table -->)", re.DOTALL)


def rewrite(text: str, demo: Path = DEMO) -> tuple[str, list[str]]:
    """The text with every marked table made anew, and the names of those that changed."""
    changed = []

    def table(match: re.Match) -> str:
        start, name, old, end = match.groups()
        if name not in TABLES:
            raise TableError(f"no table is called {name!r}; there are {', '.join(TABLES)}")
        new = f"\n{TABLES[name](demo)}\n\n"
        if new != old:
            changed.append(name)
        return f"{start}{new}{end}"

    return MARKED.sub(table, text), changed


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="tools/tables", description=__doc__.split("\n")[0])
    parser.add_argument("files", nargs="*", type=Path, default=[ROOT / "README.md"])
    parser.add_argument("--check", action="store_true", help="write nothing; 1 if out of date")
    parser.add_argument("--demo", type=Path, default=DEMO, help="what the demo wrote with --json")
    args = parser.parse_args(argv)
    stale = 0
    try:
        for path in args.files:
            old = path.read_text()
            new, changed = rewrite(old, args.demo)
            stale += len(changed)
            if changed and not args.check:
                path.write_text(new)
            verb = "out of date" if args.check else "written"
            print(f"{path.name}: {', '.join(changed) + ' ' + verb if changed else 'up to date'}")
    except (TableError, records.RecordError, OSError) as error:
        print(f"tools/tables: {error}", file=sys.stderr)
        return 2
    return 1 if args.check and stale else 0
