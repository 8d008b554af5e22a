"""Benchmark records: their schema, files, cases and the tables made from them."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import readme, records, table
from benchmarks.cases import Case, cpu_cases, cuda_cases, parse_case, quick

ROOT = Path(__file__).resolve().parent.parent


def record(name="rows 8x4 float32", provider="reduce_ops", us=4.0, limit=3.0, **more):
    case = parse_case(name)
    dim = list(case.dim) if isinstance(case.dim, tuple) else case.dim
    made = {
        "op": "sum",
        "shape": list(case.shape),
        "dim": dim,
        "dtype": case.dtype,
        "layout": case.layout,
        "provider": provider,
        "us": us,
        "bytes": 100 << 20,
        "yardstick_us": limit,
        "share": round(limit / us, 4),
        "plan": "block_row()" if provider == "reduce_ops" else None,
        "device": "NVIDIA H200",
        "torch": "2.11.0+cu130",
        "cuda": "13.0",
        "commit": "0123abc",
        "date": "2026-01-02T03:04:05Z",
    }
    return made | more


def host_record(provider, us):
    more = {"op": "sum_host", "yardstick_us": None, "share": None, "plan": None}
    return record(provider=provider, us=us, **more)


def test_written_records_are_read_back(tmp_path):
    path = tmp_path / "device" / "2026-01-02-0123abc.jsonl"
    made = [
        record(),
        record(provider="torch"),
        record("all 8x4 int64"),
        host_record("torch.ops", 7),
    ]
    records.write(path, made)
    assert records.read(path) == made
    assert [p.name for p in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"us": 0}, "us"),
        ({"us": "4"}, "us"),
        ({"us": float("nan")}, "us"),
        ({"share": 0.5}, "share"),
        ({"yardstick_us": None}, "yardstick_us"),
        ({"provider": "numpy"}, "provider"),
        ({"shape": [8, -4]}, "shape"),
        ({"dim": 2}, "dim"),
        ({"dim": [0, 5]}, "dim"),
        ({"layout": "odd"}, "layout"),
        ({"date": "2026-01-02"}, "date"),
        ({"bytes": True}, "bytes"),
        ({"note": "edited"}, "unknown fields"),
        ({"op": "sum_host"}, "host"),
    ],
)
def test_broken_records_are_refused(change, message):
    with pytest.raises(records.RecordError, match=message):
        records.validate(record() | change)


def test_a_missing_field_and_a_bad_line_are_named(tmp_path):
    short = record()
    del short["commit"]
    with pytest.raises(records.RecordError, match="commit"):
        records.validate(short)
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps(record()) + "\n{not json}\n")
    with pytest.raises(records.RecordError, match=r"a\.jsonl:2"):
        records.read(path)


def test_committed_records_follow_the_schema():
    paths = sorted(records.RESULTS.glob("*/*.jsonl"))
    if not paths:
        pytest.skip("no records are committed yet")
    for path in paths:
        for made in records.read(path):
            assert records.slug(made["device"]) == path.parent.name
            assert path.stem == f"{made['date'][:10]}-{made['commit']}"


@pytest.mark.parametrize(
    ("name", "slug"),
    [
        ("NVIDIA H200", "nvidia-h200"),
        ("cpu (AMD EPYC, 1 thread)", "cpu-amd-epyc"),
        ("cpu (Intel(R) Xeon(R) CPU @ 2.20GHz, 16 threads)", "cpu-intel-r-xeon-r-cpu-2-20ghz"),
    ],
)
def test_slug(name, slug):
    assert records.slug(name) == slug


def test_commit_comes_from_the_environment_first(monkeypatch):
    monkeypatch.setenv("REDUCE_OPS_COMMIT", "feed123")
    assert records.commit() == "feed123"
    assert records.default_path("NVIDIA H200").name.endswith("-feed123.jsonl")


def test_cases_are_distinct_and_their_names_parse():
    for cases in (cuda_cases(), cpu_cases()):
        assert len(set(cases)) == len(cases)
        assert [parse_case(case.name) for case in cases] == cases
        assert set(quick(cases)) < set(cases)
    for wrong in ("rows", "rows 3x4", "rows 3x4 upside_down float32", "lines 3x4 float32"):
        with pytest.raises(ValueError, match="looks like"):
            parse_case(wrong)
    with pytest.raises(ValueError, match="dtype is none of"):
        parse_case("rows 3x4 float99")
    for wrong in ("rows 3 float32", "dim 1,3 of 3x4x5 float32", "all 3x4 channels_last float32"):
        with pytest.raises(ValueError, match="does not fit"):
            parse_case(wrong)


@pytest.mark.parametrize(
    ("layout", "shape", "strides", "start"),
    [
        ("contiguous", (6, 4), (4, 1), 0),
        ("offset", (6, 4), (4, 1), 1),
        ("transposed", (6, 4), (1, 6), 0),
        ("channels_last", (2, 3, 4, 5), (60, 1, 15, 3), 0),
    ],
)
def test_layouts(layout, shape, strides, start):
    torch = pytest.importorskip("torch")
    case = Case(shape, 0, "float32", layout)
    x = case.take(torch.arange(case.numel + 1.0))
    assert (tuple(x.shape), x.stride(), x.storage_offset()) == (shape, strides, start)


def test_the_printed_table_marks_what_is_not_well(tmp_path):
    peers = tmp_path / "peers.csv"
    peers.write_text("op,dtype,M,N,best_us\nsum_row,f32,8,4,3.5\n")
    made = [
        record("rows 8x4 float32", us=3.1),
        record("rows 8x4 float32", "torch", us=6.2),
        record("columns 8x4 float32", us=4.0),
        record("columns 8x4 float32", "torch", us=3.0),
        host_record("torch", 5.5),
    ]
    text = table.text(made, table.read_peers(peers))
    rows = {line.split()[0]: line for line in text.splitlines()}
    assert "2.00" in rows["rows"] and "3.5" in rows["rows"] and "<90%" not in rows["rows"]
    assert "<90%, slower than torch" in rows["columns"]
    assert "host time a call, torch: 5.50 us" in text
    assert text.endswith("2 cases: 1 <90%, 1 slower than torch")


@pytest.fixture
def results(tmp_path, monkeypatch):
    """A results folder with a full run and an older one."""
    names = sorted({*readme.SUM_GPU, *readme.SUM_CPU})
    pairs = [record(name, p, us) for name in names for p, us in (("reduce_ops", 4), ("torch", 10))]
    host = [host_record(p, us) for p, us in (("reduce_ops", 8), ("torch.ops", 7), ("torch", 12))]
    monkeypatch.setattr(records, "RESULTS", tmp_path)
    folder = tmp_path / "nvidia-h200"
    records.write(folder / "2026-01-02-0123abc.jsonl", pairs + host)
    old = [r | {"us": 8, "share": 0.375, "date": "2025-01-01T00:00:00Z"} for r in pairs]
    records.write(folder / "2025-01-01-fffffff.jsonl", old)
    for threads in ("1 thread", "2 threads"):
        on_cpu = [r | {"device": f"cpu (Some CPU, {threads})", "cuda": None} for r in pairs]
        records.write(tmp_path / "cpu-some-cpu" / f"2026-01-0{threads[0]}-a.jsonl", on_cpu)
    return tmp_path


def test_tables_are_made_and_checked(results, tmp_path, capsys):
    page = tmp_path / "README.md"
    names = ["sum-h200", "sum-cpu", "host-h200"]
    blocks = "".join(f"<!-- table:{name} -->\nold\n<!-- /table -->\nbetween\n" for name in names)
    page.write_text(f"before\n{blocks}after\n")
    assert readme.main([str(page), "--check"]) == 1
    assert "out of date" in capsys.readouterr().out
    assert readme.main([str(page)]) == 0
    assert readme.main([str(page), "--check"]) == 0
    text = page.read_text()
    assert "old" not in text and text.startswith("before\n") and text.endswith("after\n")
    assert text.count("between") == 3
    assert "| rows, offset | 8,192 × 8,192 | bfloat16 | 4.0 | 10.0 | 2.50× | 3.0 | 75% |" in text
    assert "| dim 0,2,3, channels_last | 32 × 64 × 56 × 56 | float32 |" in text
    assert "NVIDIA H200, torch 2.11.0, CUDA 13.0, commit 0123abc, 2026-01-02." in text
    assert "cpu (Some CPU, " in text and "| `torch.sum(x, 1)` | 12.0 |" in text


def test_the_demo_table(tmp_path):
    group = {"name": "a.weight", "count": 2, "shape": [3, 4], "dtype": "float32", "dim": 0}
    group |= {"device": "cpu", "bytes": 64, "us": 1.5, "torch_us": 2.5, "gbps": 1.0}
    group |= {"share": None, "ulp": 0.5, "torch_ulp": 1234.5, "same_bits": True}
    summary = {"device": "cpu", "tensors": 2, "sums": 6, "ulp": 0.5, "torch_ulp": 1234.5}
    demo = {"summary": [summary | {"same_bits": True}], "groups": [group]}
    path = tmp_path / "demo.json"
    path.write_text(json.dumps(demo | {"torch": "2.11.0", "date": "2026-01-02"}))
    text = readme.demo_table(path)
    assert "| `a.weight` | 3 × 4 | float32 | 2 | dim 0 | 1.5 | 2.5 | – | 0.500 | 1,234.5 |" in text
    assert "All 6 sums over 2 tensors: worst error 0.500 ulp" in text


def test_tables_say_what_is_wrong(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(records, "RESULTS", tmp_path / "none")
    page = tmp_path / "README.md"
    for name, message in (
        ("what", "no table is called 'what'"),
        ("sum-h200", "run the benchmark first"),
        ("demo", "no demo numbers"),
    ):
        page.write_text(f"<!-- table:{name} -->\n<!-- /table -->\n")
        assert readme.main([str(page), "--demo", str(tmp_path / "no.json")]) == 2
        assert message in capsys.readouterr().err
    assert readme.main([str(tmp_path / "absent.md")]) == 2


def test_a_benchmark_of_an_unknown_provider_is_refused(capsys):
    run = pytest.importorskip("benchmarks.run")
    for text in ("liger", "reduce_ops,toch", ""):
        with pytest.raises(SystemExit):
            run.main(["--device", "cpu", "--providers", text])
        assert "expected some of reduce_ops,torch,compile" in capsys.readouterr().err


def test_a_benchmark_run_writes_valid_records(tmp_path):
    out = tmp_path / "run.jsonl"
    command = [sys.executable, "-m", "benchmarks.run", "--device", "cpu", "--repeats", "3"]
    command += ["--case", "rows 40x30 float32", "--case", "all 5x6x7 int64", "--out", str(out)]
    env = os.environ | {"REDUCE_OPS_COMMIT": "feed123", "OMP_NUM_THREADS": "2"}
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    made = records.read(out)
    assert {r["op"] for r in made} == {"sum", "sum_host"}
    assert {r["commit"] for r in made} == {"feed123"}
    assert len({r["device"] for r in made}) == 2  # one thread, then all of them
    assert "rows 40x30" in done.stdout
