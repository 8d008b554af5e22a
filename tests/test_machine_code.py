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


def test_kernels_of_common_dtypes_do_not_spill(kernels):
    common = [name for name in kernels if "<Cast<" not in name]
    assert len(common) > 50
    for name in common:
        # An 8-byte slot is left in float16 rows at odd addresses.
        assert kernels[name][1] <= 8, name


# Loads of 16-bit columns that start together are what hides the latency of memory, and the compiler
# holds one back at almost every other limit of registers (see kColumnRegisters).
@pytest.mark.parametrize(
    ("elements", "loads"),
    (("float", {1: 8, 2: 8, 3: 8}), ("BFloat16", {1: 16, 2: 16, 3: 16}), ("Float16", {1: 16})),
)
def test_all_loads_of_a_group_of_rows_start_before_the_first_use(elements, loads, kernels):
    for way, count in loads.items():
        prefix = f"void column<Direct<{elements}>, Sum<double>, 4, (ColumnLoad){way}>("
        (name,) = [mangled for short, (mangled, _) in kernels.items() if short.startswith(prefix)]
        runs, run = [], 0
        for instruction in re.findall(
            r"/\*[0-9a-f]{4,5}\*/\s+(?:@!?U?P\w+ )?([A-Z0-9_.]+)", cuobjdump("-sass", "-fun", name)
        ):
            if instruction.startswith("LDG"):
                run += 1
            elif instruction.startswith(("F2F", "DADD", "BRA")):
                runs.append(run)
                run = 0
        assert max(runs) == count, (prefix, sorted(runs)[-4:])
