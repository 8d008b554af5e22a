"""What the compiler made of the CUDA kernels, read from the built extension: no GPU is needed."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from reduce_ops import _C, _build_info


def find_cuobjdump() -> str | None:
    """The CUDA toolkit's, or the one in the triton wheel that torch brings."""
    try:
        import triton

        bundled = Path(triton.__file__).parent / "backends/nvidia/bin/cuobjdump"
    except ImportError:
        bundled = Path("none")
    return str(bundled) if bundled.exists() else shutil.which("cuobjdump")


pytestmark = pytest.mark.skipif(
    not any(arch.startswith("9.0") for arch in _build_info.ARCHS)
    or not find_cuobjdump()
    or not shutil.which("c++filt"),
    reason="needs kernels built for 9.0, cuobjdump and c++filt",
)


def cuobjdump(*options: str) -> str:
    command = [find_cuobjdump(), "-arch", "sm_90", *options, _C.__file__]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@pytest.fixture(scope="module")
def kernels() -> dict[str, tuple[str, int]]:
    """Readable name → mangled name, bytes of stack."""
    found = re.findall(r"Function (\S+):\s+REG:\d+ STACK:(\d+)", cuobjdump("-res-usage"))
    mangled = "\n".join(name for name, _ in found)
    readable = subprocess.run(["c++filt"], input=mangled, capture_output=True, text=True).stdout
    names = [re.sub(r"reduce_ops::(cuda::)?", "", line) for line in readable.splitlines()]
    return {short: (name, int(stack)) for short, (name, stack) in zip(names, found, strict=True)}


# What few calls use, accumulators of more than 32 bytes, and functions that are called with a stack
# (float64 exponentials, general powers, integers of a type known at run time only).
RARE = ("<Cast<", "Description<", "Complex<DoublePair>", "LogSumExp<double>", "<Powers<")
RARE += ("<Flipped,", "<AnyIntegerProducts", "Moments<DoublePair>")


def test_kernels_of_common_dtypes_do_not_spill(kernels):
    common = [name for name in kernels if not any(rare in name for rare in RARE)]
    assert len(common) > 300
    for name in common:
        # A slot or two are left in 16-bit rows at odd addresses and in deep columns.
        assert kernels[name][1] <= 16, name


# Loads that start together are what hides the latency of memory. Compilers move a conversion up to
# its load where both are under one condition, and then hold back the loads that follow.
ROWS = "<Direct<{}>, Sum<double>, (RowLoad){}, {}>("
COLUMNS = "<Direct<{}>, Sum<double>, 4, (ColumnLoad){}, {}>("
TOGETHER = {
    "block_row" + ROWS.format("float", 0, "true"): 4,
    "block_row" + ROWS.format("float", 1, "true"): 4,
    "block_row" + ROWS.format("BFloat16", 0, "true"): 4,
    "block_row" + ROWS.format("float", 2, "false"): 8,
    "block_row" + ROWS.format("BFloat16", 2, "false"): 8,
    "warp_row" + ROWS.format("float", 0, "4, 1"): 4,
    "warp_row" + ROWS.format("BFloat16", 0, "8, 1"): 8,
    "warp_row" + ROWS.format("BFloat16", 2, "8, 1"): 8,
    "column" + COLUMNS.format("float", 1, "false"): 4,
    "column" + COLUMNS.format("float", 1, "true"): 8,
    "column" + COLUMNS.format("float", 3, "false"): 4,
    "column" + COLUMNS.format("BFloat16", 1, "false"): 8,
    "column" + COLUMNS.format("BFloat16", 2, "true"): 16,
    "column" + COLUMNS.format("BFloat16", 3, "false"): 8,
    "column" + COLUMNS.format("Float16", 1, "false"): 8,
    "block_row<Direct<double>, Sum<DoublePair>, (RowLoad)0, false>(": 4,
    "map<Direct<float>, Sum<double> >(": 8,
}


@pytest.mark.parametrize(("kernel", "loads"), TOGETHER.items())
def test_loads_start_before_the_first_use(kernel, loads, kernels):
    (name,) = [mangled for short, (mangled, _) in kernels.items() if kernel in f"void {short}"]
    first = 0
    for instruction in re.findall(
        r"/\*[0-9a-f]{4,5}\*/\s+(?:@!?U?P\w+ )?([A-Z0-9_.]+)", cuobjdump("-sass", "-fun", name)
    ):
        if instruction.startswith("LDG"):
            first += 1
        elif first and instruction.startswith(("F2F", "DADD", "BRA")):
            break
    assert first == loads, kernel
