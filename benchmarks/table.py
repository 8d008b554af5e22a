"""The short table that a benchmark run prints, made from its records."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from pathlib import Path

from benchmarks.records import case_text

LARGE_BYTES = 64 << 20  # from here on a share of the limit below LOW_SHARE gets a mark
LOW_SHARE = 0.90

Peers = dict[tuple[str, str, int, int], float]
_DTYPES = {"bf16": "bfloat16", "f16": "float16", "f32": "float32", "f64": "float64"}


def read_peers(path: Path) -> Peers:
    """(op as "sum_row", dtype, M, N) → the best time in us that another library reached."""
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    return {
        (row["op"], _DTYPES.get(row["dtype"], row["dtype"]), int(row["M"]), int(row["N"])): float(
            row.get("best_us") or row["torch_us"]
        )
        for row in rows
    }


def _peer_key(record: dict) -> tuple | None:
    suffix = {1: "row", 0: "col", None: "all"}
    dim, shape = record["dim"], record["shape"]
    if len(shape) != 2 or record["layout"] != "contiguous" or isinstance(dim, list):
        return None
    return (f"{record['op']}_{suffix[dim]}", record["dtype"], *shape)


def marks(ours: dict, theirs: dict | None, peer: float | None = None) -> list[str]:
    """What is wrong with a result: short words, none if all is well."""
    found = []
    if ours["bytes"] >= LARGE_BYTES and ours["share"] < LOW_SHARE:
        found.append("<90%")
    if theirs and round(theirs["us"] / ours["us"], 2) < 1:
        found.append("slower than torch")
    if peer and round(peer / ours["us"], 2) < 1:
        found.append("slower than a peer")
    return found


def cases_of(records: Iterable[dict]) -> dict[tuple, dict[str, dict]]:
    """Each case's records by provider, in order; host times are left out."""
    cases: dict[tuple, dict[str, dict]] = {}
    for record in records:
        if not record["op"].endswith("_host"):
            text = case_text(record["shape"], record["dim"], record["layout"])
            key = (record["device"], record["op"], text, record["dtype"])
            cases.setdefault(key, {})[record["provider"]] = record
    return cases


def text(records: list[dict], peers: Peers | None = None) -> str:
    """A table for each device: first the cases that are well, then the marked ones, then counts."""
    peers = peers or {}
    lines: list[str] = []
    for device in dict.fromkeys(record["device"] for record in records):
        here = [record for record in records if record["device"] == device]
        lines += [device, *_device_lines(here, peers)]
    return "\n".join(lines)


def _device_lines(records: list[dict], peers: Peers) -> list[str]:
    others = [p for p in dict.fromkeys(r["provider"] for r in records) if p in ("torch", "compile")]
    heads = [f"{name:>9}" for name in ("ours us", *others, *(["peer"] if peers else []), "limit")]
    header = f"{'case':<39} {'dtype':<9}{''.join(heads)} share  x torch"
    good: list[str] = []
    marked: list[str] = []
    counts: dict[str, int] = {}
    cases = {k: c for k, c in cases_of(records).items() if "reduce_ops" in c}
    for (_, op, over, dtype), case in cases.items():
        name = over if op == "sum" else f"{op} {over}"
        ours, theirs = case["reduce_ops"], case.get("torch")
        peer = peers.get(_peer_key(ours)) if peers else None
        times = [ours["us"], *(case[p]["us"] if p in case else None for p in others)]
        times += [peer] if peers else []
        numbers = "".join(f"{t:9.1f}" if t else f"{'-':>9}" for t in [*times, ours["yardstick_us"]])
        ratio = f"{theirs['us'] / ours['us']:7.2f}" if theirs else ""
        found = marks(ours, theirs, peer)
        for mark in found:
            counts[mark] = counts.get(mark, 0) + 1
        line = f"{name:<39} {dtype:<9}{numbers} {ours['share']:5.0%} {ratio}  {', '.join(found)}"
        (marked if found else good).append(line.rstrip())
    lines = [header, *good]
    if marked:
        lines += [f"-- below {LOW_SHARE:.0%} of the limit at 64 MiB or more, or slower:", *marked]
    for record in records:
        if record["op"].endswith("_host"):
            lines.append(f"host time a call, {record['provider']}: {record['us']:.2f} us")
    tally = ", ".join(f"{count} {mark}" for mark, count in counts.items()) or "no marks"
    return [*lines, f"{len(cases)} cases: {tally}"]
