"""The timers that the demo and the benchmark share."""

import time
from types import SimpleNamespace

import torch

from reduce_ops import timing


def test_cpu_medians_and_budget():
    calls = {"quick": 0, "slow": 0}

    def run(name, seconds):
        calls[name] += 1
        time.sleep(seconds)

    runs = {"quick": lambda: run("quick", 0), "slow": lambda: run("slow", 0.01)}
    times = timing.CpuTimer().medians(runs, repeats=100, budget_s=0.05)
    assert times.keys() == calls.keys()
    assert times["slow"] >= 10_000 > times["quick"] > 0
    assert 4 <= calls["slow"] == calls["quick"] < 20


def test_cuda_flushes_before_each_run_and_waits_once_for_several(monkeypatch):
    log = []

    class Event:
        def __init__(self, enable_timing):
            assert enable_timing

        def record(self):
            log.append("event")

        def elapsed_time(self, other):
            return 0.002

    class Nothing:
        def __init__(self, device):
            pass

        def __enter__(self):
            pass

        def __exit__(self, *error):
            pass

    properties = SimpleNamespace(L2_cache_size=1 << 20)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda device: properties)
    monkeypatch.setattr(torch.cuda, "Event", Event)
    monkeypatch.setattr(torch.cuda, "device", Nothing)
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: log.append("wait"))
    timer = timing.CudaTimer("cpu")
    assert timer.scratch.numel() == 256 << 20
    monkeypatch.setattr(timer, "scratch", SimpleNamespace(zero_=lambda: log.append("flush")))
    runs = {"a": lambda: log.append("a"), "b": lambda: log.append("b")}
    assert timer.medians(runs, repeats=7) == {"a": 2.0, "b": 2.0}
    round_ = ["flush", "event", "a", "event", "flush", "event", "b", "event"]
    assert log == ["a", "b"] * 3 + round_ * 5 + ["wait"] + round_ * 2 + ["wait"]


def test_random_bytes_grow():
    source = timing.RandomBytes("cpu")
    few = source.take(13)
    assert (few.dtype, few.shape, few.data_ptr() % 16) == (torch.uint8, (13,), 0)
    assert source.take(5).data_ptr() == few.data_ptr()
    assert source.take(4096).unique().numel() > 200


def test_names():
    assert timing.device_name("cpu", 1).endswith(", 1 thread)")
    assert timing.device_name("cpu", 4).endswith(", 4 threads)")
    assert isinstance(timing.timer_for("cpu"), timing.CpuTimer)
