"""Timing of device work: medians of interleaved runs, one timer for CPU and one for CUDA.

CUDA: the L2 cache is flushed before each run by writing a buffer of at least four times its size.
That write takes longer than the host needs to queue the run behind it, so the time between the two
events holds no host time. An event pair's own cost (about 3 us on an H200) is not subtracted.
CPU: wall time of each run; caches stay as the run before left them.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping

import torch

Runs = Mapping[str, Callable[[], object]]


class CpuTimer:
    def medians(self, runs: Runs, repeats: int = 15, budget_s: float = 0.3) -> dict[str, float]:
        """Median time of each run in us: `repeats` rounds, fewer (at least 3) past the budget."""
        for run in runs.values():
            run()
        samples: dict[str, list[float]] = {name: [] for name in runs}
        start = time.perf_counter()
        for done in range(repeats):
            if done >= 3 and time.perf_counter() - start > budget_s:
                break
            for name, run in runs.items():
                before = time.perf_counter()
                run()
                samples[name].append(time.perf_counter() - before)
        return {name: statistics.median(times) * 1e6 for name, times in samples.items()}


class CudaTimer:
    def __init__(self, device: torch.device | str = "cuda") -> None:
        self.device = torch.device(device)
        l2 = torch.cuda.get_device_properties(self.device).L2_cache_size
        self.scratch = torch.empty(max(256 << 20, 4 * l2), dtype=torch.uint8, device=self.device)

    def medians(self, runs: Runs, repeats: int = 30, budget_s: float = 1.0) -> dict[str, float]:
        """Median time of each run in us: `repeats` rounds, fewer (at least 5) past the budget."""
        with torch.cuda.device(self.device):
            for _ in range(3):
                for run in runs.values():
                    run()
            samples: dict[str, list[float]] = {name: [] for name in runs}
            start = time.perf_counter()
            for done in range(0, repeats, 5):
                if done and time.perf_counter() - start > budget_s:
                    break
                for name, times in self._rounds(runs, min(5, repeats - done)).items():
                    samples[name].extend(times)
        return {name: statistics.median(times) for name, times in samples.items()}

    def _rounds(self, runs: Runs, rounds: int) -> dict[str, list[float]]:
        events: dict[str, list[tuple[torch.cuda.Event, torch.cuda.Event]]] = {n: [] for n in runs}
        for _ in range(rounds):
            for name, run in runs.items():
                before, after = (torch.cuda.Event(enable_timing=True) for _ in range(2))
                self.scratch.zero_()
                before.record()
                run()
                after.record()
                events[name].append((before, after))
        torch.cuda.synchronize()
        return {n: [a.elapsed_time(b) * 1e3 for a, b in pairs] for n, pairs in events.items()}


class RandomBytes:
    """Random bytes for the read yardstick, apart from what is measured; drawn anew to grow."""

    def __init__(self, device: torch.device | str) -> None:
        self.bytes = torch.empty(0, dtype=torch.uint8, device=device)

    def take(self, count: int) -> torch.Tensor:
        if self.bytes.numel() < count:
            words = torch.empty((count + 7) // 8, dtype=torch.int64, device=self.bytes.device)
            self.bytes = words.random_().view(torch.uint8)
        return self.bytes[:count]


def timer_for(device: torch.device | str) -> CpuTimer | CudaTimer:
    return CudaTimer(device) if torch.device(device).type == "cuda" else CpuTimer()


def device_name(device: torch.device | str, threads: int | None = None) -> str:
    """What a record calls the device: "NVIDIA H200", "cpu (AMD EPYC, 2 threads)"."""
    if torch.device(device).type == "cuda":
        return torch.cuda.get_device_name(device)
    threads = threads or torch.get_num_threads()
    return f"cpu ({cpu_name()}, {threads} thread{'s' if threads > 1 else ''})"


def cpu_name() -> str:
    try:
        with open("/proc/cpuinfo") as info:
            for line in info:
                if line.startswith("model name"):
                    return " ".join(line.split(":", 1)[1].split())
    except OSError:
        pass
    import platform

    return platform.processor() or platform.machine()
