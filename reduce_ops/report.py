"""The demo's tables: measurements of equal shapes grouped, and printed with rich."""

from __future__ import annotations

import math
import re
import statistics
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console


class MissingPackage(Exception):
    """A package that the tables need is not installed."""


def console() -> Console:
    try:
        from rich.console import Console
    except ImportError:
        raise MissingPackage("printing tables needs rich: `pip install rich`") from None
    plain = Console()
    return plain if plain.is_terminal else Console(width=140)


def dim_text(dim: int | None) -> str:
    return "all" if dim is None else f"dim {dim}"


def shape_text(shape: list[int]) -> str:
    return " × ".join(map(str, shape)) if shape else "scalar"


def names_text(names: list[str]) -> str:
    """One name; the pattern that all share when digits become `*`; else the first and a count."""
    if len(names) == 1:
        return names[0]
    patterns = {re.sub(r"\d+", "*", name) for name in names}
    return patterns.pop() if len(patterns) == 1 else f"{names[0]} + {len(names) - 1} more"


def group(rows: list[dict], apart: bool = False) -> list[dict]:
    """One row for all tensors of a shape, dtype, dim and device: median times, worst errors."""
    groups: dict[tuple, list[dict]] = {}
    for row in rows:
        key = (row["device"], tuple(row["shape"]), row["dtype"], row["dim"])
        groups.setdefault((*key, row["name"]) if apart else key, []).append(row)
    merged = []
    for members in groups.values():
        first = members[0]
        us = statistics.median(m["us"] for m in members)
        limits = [m["limit_us"] for m in members if m["limit_us"] is not None]
        limit = statistics.median(limits) if limits else None
        merged.append(
            {
                "name": names_text([m["name"] for m in members]),
                "count": len(members),
                **{key: first[key] for key in ("shape", "dtype", "dim", "device", "bytes")},
                "us": us,
                "torch_us": statistics.median(m["torch_us"] for m in members),
                "gbps": first["bytes"] / us / 1e3,
                "share": limit / us if limit else None,
                "ulp": max(m["ulp"] for m in members),
                "torch_ulp": max(m["torch_ulp"] for m in members),
                "same_bits": all(m["same_bits"] for m in members),
            }
        )
    devices = list(dict.fromkeys(row["device"] for row in rows))
    kinds = list(dict.fromkeys(_kind(g) for g in merged))
    merged.sort(
        key=lambda g: (devices.index(g["device"]), -math.prod(g["shape"]), kinds.index(_kind(g)))
    )
    return merged


def _kind(group: dict) -> tuple:
    """What the dims of one line share: printed once for all of them."""
    return (*group["shape"], group["dtype"], group["name"])


def summarise(rows: list[dict]) -> list[dict]:
    """One entry a device: counts, worst errors, total times."""
    entries = []
    for device in dict.fromkeys(row["device"] for row in rows):
        here = [row for row in rows if row["device"] == device]
        entries.append(
            {
                "device": device,
                "tensors": len({row["name"] for row in here}),
                "sums": len(here),
                "ulp": max(row["ulp"] for row in here),
                "torch_ulp": max(row["torch_ulp"] for row in here),
                "outside": sum(row["outside"] for row in here),
                "same_bits": all(row["same_bits"] for row in here),
                "us": sum(row["us"] for row in here),
                "torch_us": sum(row["torch_us"] for row in here),
                "limit_us": sum(row["limit_us"] or 0.0 for row in here),
            }
        )
    return entries


def _ulp(value: float) -> str:
    return f"{value:.3g}" if value < 100 else f"{value:,.0f}" if value < 1e7 else f"{value:.1e}"


def _cells(g: dict, first: bool) -> dict[str, str]:
    """A line's cells by heading; what the lines of a kind share stands on the first only."""
    shared = {"tensor": g["name"], "shape": shape_text(g["shape"]), "dtype": g["dtype"]}
    shared["n"] = str(g["count"])
    return {heading: text if first else "" for heading, text in shared.items()} | {
        "over": dim_text(g["dim"]),
        "µs": f"{g['us']:.1f}",
        "GB/s": f"{g['gbps']:.1f}",
        "of limit": f"{g['share']:.0%}" if g["share"] is not None else "–",
        "vs torch": f"{g['torch_us'] / g['us']:.2f}×",
        "ulp": _ulp(g["ulp"]),
        "torch ulp": _ulp(g["torch_ulp"]),
        "bits": "same" if g["same_bits"] else "differ",
    }


def _fit(lines: list[dict[str, str]], width: int) -> dict[str, int]:
    """Column widths that fit; a narrow terminal goes without names, then GB/s, then dtypes."""
    widths = {h: max(len(h), *(len(line[h]) for line in lines)) for h in lines[0]}
    for heading in ("tensor", "GB/s", "dtype"):
        spare = width - sum(widths.values()) - 2 * len(widths)
        if heading == "tensor" and widths["tensor"] + spare >= 16:
            widths["tensor"] = min(widths["tensor"], widths["tensor"] + spare)
        elif heading == "tensor" or spare < 0:
            del widths[heading]
    return widths


def print_groups(show: Console, groups: list[dict], title: str, top: int | None) -> None:
    """A table for each device; `top` limits it to that many of the largest shapes."""
    from rich.box import SIMPLE_HEAD
    from rich.markup import escape
    from rich.table import Table

    for device in dict.fromkeys(g["device"] for g in groups):
        here = [g for g in groups if g["device"] == device]
        kinds = list(dict.fromkeys(map(_kind, here)))
        kept = kinds if top is None else kinds[: max(top, 1)]
        here = [g for g in here if _kind(g) in kept]
        lines = [
            _cells(g, first=i == 0 or _kind(g) != _kind(here[i - 1])) for i, g in enumerate(here)
        ]
        table = Table(
            title=f"{title}, {escape(device)}",
            title_justify="left",
            box=SIMPLE_HEAD,
            collapse_padding=True,
            pad_edge=False,
        )
        widths = _fit(lines, show.width)
        for heading, width in widths.items():
            side = "left" if heading in ("tensor", "shape", "dtype") else "right"
            table.add_column(heading, justify=side, no_wrap=True, min_width=width, max_width=width)
        for line in lines:
            style = "red" if line["bits"] == "differ" else None
            table.add_row(*(escape(line[heading]) for heading in widths), style=style)
        show.print(table)
        if len(kept) < len(kinds):
            show.print(f"… and {len(kinds) - len(kept)} smaller shapes")


def print_summary(show: Console, summary: list[dict], notes: list[str], seconds: float) -> None:
    show.print(
        "n: tensors of that shape (times are medians, errors the worst of them) · of limit: time to"
        " only read the same bytes / our time · ulp: distance to the exact sum",
        style="dim",
    )
    for note in notes:
        show.print(f"note: {note}", markup=False, highlight=False)
    for s in summary:
        bits = "the same bits twice" if s["same_bits"] else "[red]different bits in two runs[/]"
        show.print(
            f"[bold]{s['device']}[/]: {s['tensors']} tensors, {s['sums']} sums, {bits}; "
            f"worst error [bold]{_ulp(s['ulp'])} ulp[/] (torch {_ulp(s['torch_ulp'])}); "
            f"all sums once: {s['us'] / 1e3:.2f} ms (torch {s['torch_us'] / 1e3:.2f} ms, limit "
            f"{s['limit_us'] / 1e3:.2f} ms)",
            highlight=False,
        )
        if s["outside"]:
            show.print(
                f"  {s['outside']} outputs cancel beyond the contract (sum|x| > 2^20 |sum x|): "
                "their error is not counted",
                highlight=False,
            )
    show.print(f"[dim]{seconds:.0f} s in all[/]", highlight=False)
