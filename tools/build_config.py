"""What the build decides: CUDA or not, architectures, jobs, compilers, sources.

Standard library only, so that an sdist, the tests and `tools/dev` can use it without torch.
Run as a script it checks that this machine can compile an extension at all.
"""

import os
import re
import shlex
import shutil
import subprocess
import sysconfig
from pathlib import Path
from typing import NamedTuple, NoReturn

ROOT = Path(__file__).resolve().parent.parent

SOURCES = ("csrc/plan/*.cpp", "csrc/cpu/*.cpp", "csrc/ops/*.cpp")
CUDA_SOURCES = ("csrc/cuda/**/*.cu", "csrc/cuda/*.cpp", "csrc/ops/cuda/*.cpp")

MIN_ARCH = 8.0  # bfloat16 in hardware
DEFAULT_ARCHS = ("8.0", "9.0+PTX")
NAMED_ARCHS = {
    "ampere": "8.0 8.6+PTX",
    "ampere+tegra": "8.7",
    "ada": "8.9+PTX",
    "hopper": "9.0+PTX",
    "blackwell": "10.0 10.3 12.0 12.1+PTX",
    "blackwell+tegra": "11.0",
}
MEMORY_PER_JOB = 2 << 30
MIN_GXX = 12  # the first with __builtin_shufflevector


def say(message: str) -> None:
    print(f"reduce_ops: {message}", flush=True)


def fail(message: str) -> NoReturn:
    raise SystemExit(f"reduce_ops: {message}")


# Sources


def sources(with_cuda: bool, root: Path = ROOT) -> list[str]:
    """Source files relative to `root`, in a fixed order."""
    patterns = SOURCES + (CUDA_SOURCES if with_cuda else ())
    found = [p.relative_to(root).as_posix() for pattern in patterns for p in root.glob(pattern)]
    objects: dict[str, str] = {}
    for source in sorted(found):  # the object file's name has no .cpp or .cu in it
        other = objects.setdefault(os.path.splitext(source)[0], source)
        if other != source:
            fail(f"{other} and {source} would share one object file; rename one of them")
    return sorted(found)


def headers(root: Path = ROOT) -> list[str]:
    found = [p for end in ("h", "cuh") for p in root.glob(f"csrc/**/*.{end}")]
    return sorted(p.relative_to(root).as_posix() for p in found)


def cxx_standard(torch_version: str) -> str:
    """torch's headers need C++20 from 2.13 on."""
    return "c++20" if release(torch_version)[:2] >= (2, 13) else "c++17"


def release(version: str) -> tuple[int, ...]:
    match = re.match(r"\d+(\.\d+)*", version)
    return tuple(int(part) for part in match.group().split(".")) if match else ()


# CUDA


class Toolkit(NamedTuple):
    home: str
    version: str
    archs: list[str]


def find_toolkit(env=os.environ, fallback: str = "/usr/local/cuda") -> tuple[Toolkit | None, str]:
    """The CUDA toolkit, or None and why not. CUDA_HOME wins, then PATH, then the usual folder."""
    home = env.get("CUDA_HOME") or env.get("CUDA_PATH")
    if home:
        if not os.access(f"{home}/bin/nvcc", os.X_OK):
            return None, f"CUDA_HOME is {home}, which has no bin/nvcc"
    elif on_path := shutil.which("nvcc", path=env.get("PATH")):
        home = str(Path(on_path).parent.parent)
    elif os.access(f"{fallback}/bin/nvcc", os.X_OK):
        home = fallback
    else:
        return None, "no nvcc found"
    try:
        about = _output(f"{home}/bin/nvcc", "--version")
        archs = re.findall(r"compute_(\d+)(\d)", _output(f"{home}/bin/nvcc", "--list-gpu-arch"))
    except (OSError, subprocess.CalledProcessError) as error:
        return None, f"{home}/bin/nvcc does not run ({error})"
    version = re.search(r"release (\d+\.\d+)", about)
    if not version or not archs:
        return None, f"{home}/bin/nvcc does not tell its version and architectures"
    return Toolkit(home, version.group(1), sorted((f"{a}.{b}" for a, b in archs), key=float)), ""


def _output(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def why_cpu_only(
    toolkit: Toolkit | None,
    missing: str,
    torch_version: str,
    torch_cuda: str | None,
    env=os.environ,
) -> str:
    """The reason for a build without CUDA, or "" for one with it. REDUCE_OPS_CUDA=0/1 forces."""
    wanted = env.get("REDUCE_OPS_CUDA", "")
    if wanted not in ("", "0", "1"):
        fail(f"REDUCE_OPS_CUDA is {wanted!r}; use 0, 1 or leave it unset")
    if wanted == "0":
        return "REDUCE_OPS_CUDA=0"
    if torch_cuda is None:
        reason = f"torch {torch_version} is built without CUDA (install a CUDA build of torch)"
    elif toolkit is None:
        major = torch_cuda.split(".")[0]
        reason = f"{missing} (install the CUDA toolkit {major}.x for the CUDA kernels)"
    elif toolkit.version.split(".")[0] != torch_cuda.split(".")[0]:
        reason = (
            f"nvcc is {toolkit.version}, but torch {torch_version} is built with CUDA {torch_cuda}"
            " (their major versions must agree)"
        )
    else:
        return ""
    if wanted == "1":
        fail(f"REDUCE_OPS_CUDA=1, but the CUDA kernels cannot be built: {reason}")
    return reason


# Architectures: "9.0", "9.0a", "9.0+PTX"


def choose_archs(
    text: str | None, toolkit: Toolkit, gpus: list[tuple[int, int]] | None = None
) -> list[str]:
    """TORCH_CUDA_ARCH_LIST if set, else this machine's GPUs, else a list for most machines."""
    toolkit = toolkit._replace(archs=[a for a in toolkit.archs if float(a) >= MIN_ARCH])
    if not toolkit.archs:
        fail(f"nvcc {toolkit.version} is too old: it cannot build for {MIN_ARCH} or newer GPUs")
    words = re.split(r"[;,\s]+", (text or "").strip("\"'; \t"))
    if words == [""]:
        words = ["native"]
    archs: list[str] = []
    for word in words:
        for arch in _expand(word, toolkit, gpus or []):
            if arch not in archs:
                archs.append(arch)
    return sorted(archs, key=_number)


def _expand(word: str, toolkit: Toolkit, gpus: list[tuple[int, int]]) -> list[str]:
    name = word.lower()
    if name in ("native", "auto"):
        return _native(toolkit, gpus)
    if name in ("all", "common"):
        return toolkit.archs if name == "all" else _default(toolkit)
    named = NAMED_ARCHS.get(name) or NAMED_ARCHS.get(name.removesuffix("+ptx"))
    if named:
        archs = [a for a in named.split() if a.removesuffix("+PTX") in toolkit.archs]
        if archs and name not in NAMED_ARCHS:
            archs[-1] = archs[-1].removesuffix("+PTX") + "+PTX"
        if archs:
            return archs
    match = re.fullmatch(r"(?:sm_)?(\d+)\.?(\d)([af]?)(\+ptx)?", name)
    if match:
        major, minor, feature, ptx = match.groups()
        known = f"{major}.{minor}" in toolkit.archs
        if known and int(major) >= {"": 0, "a": 9, "f": 10}[feature]:
            return [f"{major}.{minor}{feature}{'+PTX' if ptx else ''}"]
    fail(
        f"TORCH_CUDA_ARCH_LIST has {word!r}; with nvcc {toolkit.version} reduce_ops can be built"
        f" for {' '.join(toolkit.archs)}; write for example 8.0;9.0+PTX, 9.0a or Hopper"
    )


def _native(toolkit: Toolkit, gpus: list[tuple[int, int]]) -> list[str]:
    archs = []
    for gpu in sorted(set(gpus)):
        arch = f"{gpu[0]}.{gpu[1]}"
        if arch in toolkit.archs:
            archs.append(arch)
        elif float(arch) > float(toolkit.archs[-1]):
            archs.append(f"{toolkit.archs[-1]}+PTX")  # newer than nvcc: the driver compiles the PTX
        else:
            say(f"this machine's {arch} GPU is not built for: it takes {MIN_ARCH} or newer")
    return archs or _default(toolkit)


def _default(toolkit: Toolkit) -> list[str]:
    archs = [a for a in DEFAULT_ARCHS if a.removesuffix("+PTX") in toolkit.archs]
    return archs or [f"{toolkit.archs[-1]}+PTX"]


def _number(arch: str) -> tuple[float, str]:
    return float(arch.removesuffix("+PTX").rstrip("af")), arch


def gencode(archs: list[str]) -> list[str]:
    flags = []
    for arch in archs:
        number = arch.removesuffix("+PTX").replace(".", "")
        flags.append(f"-gencode=arch=compute_{number},code=sm_{number}")
        if arch.endswith("+PTX"):
            flags.append(f"-gencode=arch=compute_{number},code=compute_{number}")
    return list(dict.fromkeys(flags))


# Jobs and compilers


def jobs(env=os.environ, cores: int | None = None, memory: int | None = None) -> int:
    """MAX_JOBS, or as many as cores and memory allow."""
    if text := env.get("MAX_JOBS"):
        if not text.isdecimal() or int(text) < 1:
            fail(f"MAX_JOBS is {text!r}; it must be a whole number of at least 1")
        return int(text)
    cores = cores or len(os.sched_getaffinity(0))
    memory = _free_memory() if memory is None else memory
    return max(1, min(cores, memory // MEMORY_PER_JOB))


def _free_memory() -> int:
    """Bytes this process may still use, by the machine and by its control group."""
    limits = []
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                limits.append(int(line.split()[1]) << 10)
        group = Path("/sys/fs/cgroup")
        limits.append(
            int((group / "memory.max").read_text()) - int((group / "memory.current").read_text())
        )
    except (OSError, ValueError):
        pass  # no control group, or one without a limit ("max")
    return max(0, min(limits, default=MEMORY_PER_JOB))


def find_cxx(env=os.environ) -> list[str]:
    """The C++ compiler's command: CXX, or the first usual name on PATH that is new enough."""
    path = env.get("PATH")
    if text := env.get("CXX"):
        command = shlex.split(text)
        if not shutil.which(command[0], path=path):
            fail(f"the C++ compiler CXX={text} is not there; unset CXX or install it")
        if problem := why_not_cxx(command):
            fail(f"CXX={text} {problem}")
        return command
    problems = []
    for name in ("c++", "g++", *(f"g++-{version}" for version in range(MIN_GXX, MIN_GXX + 5))):
        if found := shutil.which(name, path=path):
            if not (problem := why_not_cxx([found])):
                return [found]
            problems.append(f"{found} {problem}")
    how = f"Debian and Ubuntu: apt-get install g++, or g++-{MIN_GXX} where that is older"
    fail(f"{'; '.join(problems) or 'no C++ compiler found'}; install g++ >= {MIN_GXX} ({how})")


def why_not_cxx(command: list[str]) -> str:
    """Why this compiler will not do, or ""; the kernels for the CPU are written for g++."""
    try:
        macros = _output(*command, "-dM", "-E", "-x", "c++", "/dev/null")
    except (OSError, subprocess.CalledProcessError):
        return "does not run"
    version = re.search(r'__VERSION__ "([^"]*)"', macros)
    major = re.search(r"__GNUC__ (\d+)", macros)
    if major and int(major.group(1)) >= MIN_GXX and "__clang__" not in macros:
        return ""
    return f"is {version.group(1) if version else 'no g++'}, but it takes g++ >= {MIN_GXX}"


def check_python_headers() -> None:
    folder = sysconfig.get_path("include")
    if not Path(folder, "Python.h").exists():
        fail(f"{folder}/Python.h is missing (Debian and Ubuntu: apt-get install python3-dev)")


def check_ninja(env=os.environ) -> None:
    if not shutil.which("ninja", path=env.get("PATH")):
        fail("ninja is missing; it compiles the extension: pip install ninja")


def compiler_wrapper(command: list[str], folder: Path, env=os.environ) -> str:
    """One word that runs `command`, through ccache where there is one.

    torch wants a compiler that is a single path whose name says which compiler it is. The script
    lies in the build folder; CCACHE_BASEDIR makes another checkout of the same code hit the cache.
    """
    ccache = shutil.which("ccache", path=env.get("PATH"))
    cached = Path(command[0]).name == "ccache"
    if (len(command) == 1 and not ccache) or " " in str(folder):
        return shlex.join(command)
    lines = ["#!/bin/sh"]
    if cached or ccache:
        lines += [f': "${{CCACHE_BASEDIR:={ROOT}}}"', "export CCACHE_BASEDIR CCACHE_NOHASHDIR=1"]
    if ccache and not cached:
        command = [ccache, *command]
    lines.append(f'exec {shlex.join(command)} "$@"')
    folder.mkdir(parents=True, exist_ok=True)
    script = folder / Path(command[1] if len(command) > 1 else command[0]).name
    script.write_text("\n".join(lines) + "\n")
    script.chmod(0o755)
    return str(script)


if __name__ == "__main__":
    find_cxx()
    check_python_headers()
