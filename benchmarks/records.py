"""Benchmark records: one JSON object a line, in benchmarks/results/<device>/<date>-<commit>.jsonl.

A record is one provider's time for one case. Records are written by a run and never edited by
hand; every table is generated from them. This module needs no torch.
"""

from __future__ import annotations

import datetime
import json
import os
import re
import subprocess
from collections.abc import Iterable
from pathlib import Path

RESULTS = Path(__file__).parent / "results"
PROVIDERS = ("reduce_ops", "torch", "compile", "liger", "quack", "cub")
HOST_PROVIDERS = ("reduce_ops", "torch.ops", "torch")  # torch.ops: torch.ops.reduce_ops.<op>
LAYOUTS = ("contiguous", "offset", "transposed", "channels_last")

Dims = int | tuple[int, ...] | list[int] | None

_number = (int, float)
_optional = type(None)
FIELDS: dict[str, tuple[type, ...]] = {
    "op": (str,),  # the op's name, its backward as "softmax_backward", its host time as "sum_host"
    "shape": (list,),
    "dim": (int, list, _optional),  # null: all
    "dtype": (str,),
    "layout": (str,),
    "provider": (str,),
    "us": _number,  # median; on CUDA with L2 flushed before each run
    "bytes": (int,),  # least that must move
    "yardstick_us": (*_number, _optional),  # same bytes, same run; null for host times only
    "share": (*_number, _optional),  # yardstick_us / us
    "plan": (str, _optional),  # of reduce_ops; null for others
    "device": (str,),
    "torch": (str,),
    "cuda": (str, _optional),
    "commit": (str,),
    "date": (str,),  # UTC, to the second
}


class RecordError(ValueError):
    """A record that does not follow the schema."""


def validate(record: object) -> dict:
    """The record itself; a RecordError that names the field if it breaks the schema."""
    if not isinstance(record, dict):
        raise RecordError(f"a record is a JSON object, not {type(record).__name__}")
    missing = FIELDS.keys() - record.keys()
    extra = record.keys() - FIELDS.keys()
    if missing or extra:
        raise RecordError(f"missing fields {sorted(missing)}, unknown fields {sorted(extra)}")
    for field, types in FIELDS.items():
        value = record[field]
        if not isinstance(value, types) or isinstance(value, bool):
            raise RecordError(f"{field}: {value!r} is of the wrong type")
    host = record["op"].endswith("_host")
    dims = record["dim"] if isinstance(record["dim"], list) else [record["dim"]]
    if not all(type(n) is int and n >= 0 for n in record["shape"]):
        raise RecordError(f"shape: {record['shape']!r} is not a list of sizes")
    if record["dim"] is not None and not all(
        type(d) is int and 0 <= d < len(record["shape"]) for d in dims
    ):
        raise RecordError(f"dim: {record['dim']!r} does not fit shape {record['shape']!r}")
    if record["layout"] not in LAYOUTS:
        raise RecordError(f"layout: {record['layout']!r} is none of {LAYOUTS}")
    if record["provider"] not in (HOST_PROVIDERS if host else PROVIDERS):
        raise RecordError(f"provider: {record['provider']!r} is unknown")
    if not record["us"] > 0:
        raise RecordError(f"us: {record['us']!r} is no time")
    if host != (record["yardstick_us"] is None) or host != (record["share"] is None):
        raise RecordError("yardstick_us and share are null for host times, and only for them")
    if not host and abs(record["share"] - record["yardstick_us"] / record["us"]) > 1e-3:
        raise RecordError(f"share: {record['share']!r} is not yardstick_us / us")
    if not re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", record["date"]):
        raise RecordError(f"date: {record['date']!r} is not YYYY-MM-DDTHH:MM:SSZ")
    return record


def write(path: Path, records: Iterable[dict]) -> None:
    """Writes a whole file at once, so that a failed run leaves the old one."""
    lines = [json.dumps(validate(record)) + "\n" for record in records]
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".partial")
    partial.write_text("".join(lines))
    partial.replace(path)


def read(path: Path) -> list[dict]:
    records = []
    for number, line in enumerate(path.read_text().splitlines(), start=1):
        try:
            records.append(validate(json.loads(line)))
        except ValueError as error:
            raise RecordError(f"{path}:{number}: {error}") from None
    return records


def case_text(shape: tuple[int, ...] | list[int], dim: Dims, layout: str) -> str:
    """ "rows 8192x8192", "columns 65536x256 transposed", "dim 1 of 64x512x4096"."""
    size = "x".join(map(str, shape))
    if dim is None:
        text = f"all {size}"
    elif len(shape) == 2 and dim in (0, 1):
        text = f"{('columns', 'rows')[dim]} {size}"
    else:
        dims = dim if isinstance(dim, int) else ",".join(map(str, dim))
        text = f"dim {dims} of {size}"
    return text if layout == "contiguous" else f"{text} {layout}"


def slug(device: str) -> str:
    """A device's folder: nvidia-h200, and cpu-amd-epyc for "cpu (AMD EPYC, 2 threads)"."""
    name = re.sub(r", \d+ threads?\)$", "", device)
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


def newest(folder: Path) -> list[dict]:
    """The records of a device folder's newest file, by their dates; none if there is no file."""
    runs = [run for run in map(read, sorted(folder.glob("*.jsonl"))) if run]
    return max(runs, key=lambda run: run[-1]["date"], default=[])


def now() -> str:
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def commit() -> str:
    """REDUCE_OPS_COMMIT if set (a copied tree has no git), else git's short hash, else unknown."""
    if given := os.environ.get("REDUCE_OPS_COMMIT"):
        return given
    command = ["git", "rev-parse", "--short", "HEAD"]
    try:
        done = subprocess.run(
            command, cwd=Path(__file__).parent, capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return done.stdout.strip()


def default_path(device: str, results: Path = RESULTS) -> Path:
    return results / slug(device) / f"{now()[:10]}-{commit()}.jsonl"
