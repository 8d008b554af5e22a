"""Fixtures and markers shared by all tests."""

import pytest
import torch

DEVICES = [
    "cpu",
    pytest.param(
        "cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
    ),
]


def pytest_configure(config):
    config.addinivalue_line(
        "markers",
        "sanitizer: one shape for each engine and each way to load, to be run on a GPU under "
        "compute-sanitizer (-m sanitizer)",
    )
    config.addinivalue_line("markers", "slow: takes longer than a few seconds")
    config.addinivalue_line("markers", "cuda: needs a GPU")


def pytest_generate_tests(metafunc):
    if "device" in metafunc.fixturenames:
        metafunc.parametrize("device", DEVICES)


def pytest_collection_modifyitems(items):
    if torch.cuda.is_available():
        return
    for item in items:
        if item.get_closest_marker("cuda"):
            item.add_marker(pytest.mark.skip(reason="needs a GPU"))


@pytest.fixture
def set_threads():
    """torch.set_num_threads, undone after the test."""
    before = torch.get_num_threads()
    yield torch.set_num_threads
    torch.set_num_threads(before)


@pytest.fixture
def free_gpu_memory():
    """Skips the test if the GPU cannot hold `bytes` more; gives all of it back afterwards."""

    def need(size: int) -> None:
        torch.cuda.empty_cache()
        if torch.cuda.mem_get_info()[0] < size:
            pytest.skip(f"needs {size >> 30} GiB of free GPU memory")

    yield need
    torch.cuda.empty_cache()
