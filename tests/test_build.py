"""The build's decisions and its product: no compiler, no GPU and no network needed."""

import os
import re
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))
import build_config as config  # noqa: E402

from reduce_ops import _load  # noqa: E402

CUDA_13 = config.Toolkit(
    "/cuda", "13.0", "7.5 8.0 8.6 8.7 8.8 8.9 9.0 10.0 10.3 11.0 12.0 12.1".split()
)
CUDA_12 = config.Toolkit("/cuda", "12.4", "5.0 5.2 6.0 6.1 7.0 7.5 8.0 8.6 8.9 9.0".split())


@pytest.mark.parametrize(
    "text, archs",
    [
        ("9.0", "9.0"),
        ("8.0;9.0", "8.0 9.0"),
        ("8.0 9.0", "8.0 9.0"),
        ("8.0,9.0", "8.0 9.0"),
        (" 9.0 ; 8.0; ", "8.0 9.0"),
        ("9.0+PTX", "9.0+PTX"),
        ("9.0+ptx", "9.0+PTX"),
        ("9.0a", "9.0a"),
        ("10.0f", "10.0f"),
        ("90", "9.0"),
        ("sm_90a", "9.0a"),
        ("100;12.0", "10.0 12.0"),
        ("Hopper", "9.0+PTX"),
        ("ampere", "8.0 8.6+PTX"),
        ("Ada+PTX", "8.9+PTX"),
        ("Blackwell+Tegra", "11.0"),
        ("Ampere;Hopper", "8.0 8.6+PTX 9.0+PTX"),
        ("9.0 9.0", "9.0"),
        ("Common", "8.0 9.0+PTX"),
        ("All", " ".join(CUDA_13.archs[1:])),  # but 7.5
        ('"8.0;9.0"', "8.0 9.0"),
        ("", "8.0 9.0+PTX"),
        (None, "8.0 9.0+PTX"),
    ],
)
def test_arch_list_spellings(text, archs):
    assert config.choose_archs(text, CUDA_13) == archs.split()


@pytest.mark.parametrize(
    "text",
    "9 9.9 Hoper 6.0 7.5 sm_75 7.5+PTX Pascal Turing 8.0a 9.0f 9.0+ 9.0b 8.0|9.0".split(),
)
def test_bad_arch_is_a_sentence(text):
    with pytest.raises(SystemExit, match=r"ARCH_LIST has .* nvcc 13\.0 .* for 8\.0 .* 12\.1") as e:
        config.choose_archs(text, CUDA_13)
    assert repr(text) in str(e.value)


def test_archs_without_a_list():
    assert config.choose_archs(None, CUDA_13, [(9, 0), (9, 0), (8, 6)]) == ["8.6", "9.0"]
    assert config.choose_archs("native", CUDA_13, [(12, 0)]) == ["12.0"]
    assert config.choose_archs(None, CUDA_12, [(10, 0)]) == ["9.0+PTX"]  # newer than nvcc


def test_gpus_and_toolkits_that_are_too_old(capsys):
    assert config.choose_archs(None, CUDA_13, [(7, 5), (9, 0)]) == ["9.0"]
    assert "7.5 GPU is not built for: it takes 8.0 or newer" in capsys.readouterr().out
    assert config.choose_archs(None, CUDA_12, [(7, 5)]) == ["8.0", "9.0+PTX"]
    with pytest.raises(SystemExit, match=r"nvcc 10\.2 is too old.* 8\.0 or newer"):
        config.choose_archs(None, config.Toolkit("/cuda", "10.2", ["5.0", "7.5"]))


def test_gencode():
    assert config.gencode(["8.0", "9.0a", "12.0+PTX"]) == [
        "-gencode=arch=compute_80,code=sm_80",
        "-gencode=arch=compute_90a,code=sm_90a",
        "-gencode=arch=compute_120,code=sm_120",
        "-gencode=arch=compute_120,code=compute_120",
    ]


@pytest.mark.parametrize(
    "toolkit, missing, torch_cuda, force, expected",
    [
        (CUDA_13, "", "13.0", "", ""),
        (CUDA_13, "", "13.2", "1", ""),
        (
            None,
            "no nvcc found",
            "13.0",
            "",
            "no nvcc found (install the CUDA toolkit 13.x for the CUDA kernels)",
        ),
        (CUDA_13, "", None, "", "torch 2.11.0 is built without CUDA"),
        (CUDA_12, "", "13.0", "", "nvcc is 12.4, but torch 2.11.0 is built with CUDA 13.0"),
        (CUDA_13, "", "13.0", "0", "REDUCE_OPS_CUDA=0"),
    ],
)
def test_cpu_only_and_why(toolkit, missing, torch_cuda, force, expected):
    reason = config.why_cpu_only(toolkit, missing, "2.11.0", torch_cuda, {"REDUCE_OPS_CUDA": force})
    assert "\n" not in reason
    assert reason.startswith(expected) and bool(reason) == bool(expected)


def test_forced_cuda_that_cannot_be():
    with pytest.raises(SystemExit, match="REDUCE_OPS_CUDA=1, but .* no nvcc found"):
        config.why_cpu_only(None, "no nvcc found", "2.11.0", "13.0", {"REDUCE_OPS_CUDA": "1"})
    with pytest.raises(SystemExit, match="REDUCE_OPS_CUDA is 'yes'"):
        config.why_cpu_only(CUDA_13, "", "2.11.0", "13.0", {"REDUCE_OPS_CUDA": "yes"})


def test_finding_the_toolkit(tmp_path):
    nothing = str(tmp_path / "nothing")
    assert config.find_toolkit({"PATH": nothing}, fallback=nothing) == (None, "no nvcc found")
    toolkit, reason = config.find_toolkit({"CUDA_HOME": nothing}, fallback=nothing)
    assert toolkit is None and "has no bin/nvcc" in reason

    nvcc = tmp_path / "bin" / "nvcc"
    nvcc.parent.mkdir()
    nvcc.write_text(
        "#!/bin/sh\n"
        'if [ "$1" = --version ]; then echo "Cuda compilation tools, release 13.1, V13.1.80"\n'
        "else echo compute_80; echo compute_103; echo compute_90; fi\n"
    )
    nvcc.chmod(0o755)
    expected = config.Toolkit(str(tmp_path), "13.1", ["8.0", "9.0", "10.3"])
    for env in ({"CUDA_HOME": str(tmp_path)}, {"PATH": str(nvcc.parent)}):
        assert config.find_toolkit(env, fallback=nothing) == (expected, "")
    assert config.find_toolkit({"PATH": nothing}, fallback=str(tmp_path)) == (expected, "")


def test_jobs():
    gib = 1 << 30
    assert config.jobs({"MAX_JOBS": "7"}, cores=2, memory=gib) == 7
    assert config.jobs({}, cores=8, memory=5 * gib) == 2
    assert config.jobs({}, cores=2, memory=64 * gib) == 2
    assert config.jobs({}, cores=2, memory=0) == 1
    assert config.jobs({}) >= 1
    with pytest.raises(SystemExit, match="MAX_JOBS is 'many'"):
        config.jobs({"MAX_JOBS": "many"})


def test_missing_tools_are_sentences(tmp_path):
    empty = {"PATH": str(tmp_path)}
    with pytest.raises(SystemExit, match=r"no C\+\+ compiler found.*g\+\+ >= 12.*apt-get"):
        config.find_cxx(empty)
    with pytest.raises(SystemExit, match="CXX=g--12"):
        config.find_cxx({**empty, "CXX": "g--12"})
    with pytest.raises(SystemExit, match="pip install ninja"):
        config.check_ninja(empty)


def test_the_compiler_must_be_a_new_enough_gxx(tmp_path):
    def compiler(name, *macros):
        path = tmp_path / name
        path.write_text("".join(["#!/bin/sh\n", *(f"echo '#define {m}'\n" for m in macros)]))
        path.chmod(0o755)
        return str(path)

    env = {"PATH": str(tmp_path)}
    old = compiler("c++", "__GNUC__ 11", '__VERSION__ "11.4.0"')
    clang = compiler("g++", "__GNUC__ 4", "__clang__ 1", '__VERSION__ "Clang 19.1.0"')
    with pytest.raises(SystemExit) as e:
        config.find_cxx(env)
    for part in (f"{old} is 11.4.0", f"{clang} is Clang 19.1.0", "g++ >= 12", "apt-get"):
        assert part in str(e.value)
    with pytest.raises(SystemExit, match=r"CXX=.*g\+\+ -m64 is Clang 19\.1\.0.*g\+\+ >= 12"):
        config.find_cxx(env | {"CXX": f"{clang} -m64"})
    new = compiler("g++-12", "__GNUC__ 12", '__VERSION__ "12.2.0"')
    assert config.find_cxx(env) == [new]
    assert config.find_cxx(env | {"CXX": new}) == [new]
    (tmp_path / "g++-12").write_text("#!/bin/sh\nexit 1\n")
    with pytest.raises(SystemExit, match="does not run"):
        config.find_cxx(env | {"CXX": new})


def test_compiler_wrapper(tmp_path):
    def program(name):
        path = tmp_path / "bin" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f'#!/bin/sh\necho {name} "$@"\n')
        path.chmod(0o755)
        return str(path)

    def run(wrapper):
        return config._output(wrapper, "-c", "a b").strip()

    wrappers = tmp_path / "wrappers"
    cxx = program("g++")
    env = {"PATH": str(tmp_path / "bin")}
    assert config.compiler_wrapper([cxx], wrappers, env) == cxx
    ccache = program("ccache")
    wrapper = config.compiler_wrapper([cxx], wrappers, env)
    assert Path(wrapper).name == "g++" and run(wrapper) == f"ccache {cxx} -c a b"
    wrapper = config.compiler_wrapper([ccache, cxx], wrappers, env)  # CXX="ccache g++"
    assert Path(wrapper).name == "g++" and run(wrapper) == f"ccache {cxx} -c a b"


def test_cxx_standard():
    standards = [config.cxx_standard(v) for v in ("2.9.1", "2.12.0+cpu", "2.13.0a0", "3.0")]
    assert standards == ["c++17", "c++17", "c++20", "c++20"]


def test_sources(tmp_path):
    names = "plan/a.cpp cpu/b.cpp ops/c.cpp ops/cuda/d.cpp cuda/e.cu cuda/f.cpp cuda/g.cuh"
    for name in names.split():
        path = tmp_path / "csrc" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    cpu = ["csrc/cpu/b.cpp", "csrc/ops/c.cpp", "csrc/plan/a.cpp"]
    cuda = ["csrc/cuda/e.cu", "csrc/cuda/f.cpp", "csrc/ops/cuda/d.cpp"]
    assert config.sources(False, tmp_path) == cpu
    assert config.sources(True, tmp_path) == sorted(cpu + cuda)
    assert config.headers(tmp_path) == ["csrc/cuda/g.cuh"]
    (tmp_path / "csrc/cuda/e.cpp").touch()
    with pytest.raises(SystemExit, match=r"cuda/e\.cpp and csrc/cuda/e\.cu would share"):
        config.sources(True, tmp_path)


def build_info(torch_version, cuda=None):
    return SimpleNamespace(
        TORCH_VERSION=torch_version, CUDA_VERSION=cuda, WITH_CUDA=cuda is not None
    )


def test_torch_mismatch_names_both(monkeypatch):
    info = build_info("1.2.3+cu130", "13.0")
    monkeypatch.setitem(sys.modules, "reduce_ops._build_info", info)
    with pytest.raises(ImportError) as e:
        _load.load()
    for part in ("torch 1.2.3+cu130", f"torch {_load.torch.__version__}", "rebuild it"):
        assert part in str(e.value)


@pytest.mark.parametrize(
    "built, cuda, found, found_cuda, fits",
    [
        ("2.11.0+cu130", "13.0", "2.11.0+cu130", "13.0", True),
        ("2.11.0+cu130", "13.0", "2.11.0+cu128", "12.8", False),
        ("2.11.0+cu130", "13.0", "2.11.0+cpu", None, False),
        ("2.11.0+cu130", None, "2.11.0+cpu", None, True),
        ("2.11.0+cpu", None, "2.11.0+cu130", "13.0", True),
        ("2.11.0", None, "2.11.1", None, False),
        ("2.11.0", None, "2.15.0+cu130", "13.0", False),
    ],
)
def test_which_torch_fits(built, cuda, found, found_cuda, fits):
    problem = _load.mismatch(build_info(built, cuda), found, found_cuda)
    assert (problem == "") == fits
    assert fits or (built in problem and found in problem)


def test_missing_extension_says_how_to_build(tmp_path):
    assert "`make build`" in _load.missing(tmp_path)
    (tmp_path / "_C.cpython-27-x86_64-linux-gnu.so").touch()
    assert "no build for Python 3." in _load.missing(tmp_path)
    assert "cpython-27" in _load.missing(tmp_path)


def test_build_info_tells_the_truth():
    from reduce_ops import _build_info as info

    assert info.TORCH_VERSION == _load.torch.__version__
    assert info.WITH_CUDA == (info.CUDA_VERSION is not None) == bool(info.ARCHS)
    assert bool(info.CPU_ONLY_REASON) != info.WITH_CUDA
    assert f'version = "{info.VERSION}"' in (ROOT / "pyproject.toml").read_text()


def test_shared_object_size():
    path = Path(_load.load().__file__)
    assert path.stat().st_size <= 48 << 20, f"{path.name} is {path.stat().st_size >> 20} MiB"


def csrc_files():
    ends = (".h", ".cpp", ".cu", ".cuh")
    return [p for p in sorted((ROOT / "csrc").rglob("*")) if p.suffix in ends]


def test_torch_headers_stay_in_ops():
    """torch's headers cost nvcc a minute a file; plans and engines can be read without them."""
    torch_header = re.compile(r'^\s*#\s*include\s*[<"](torch|ATen|c10|caffe2|pybind11)/', re.M)
    bad = [
        os.fspath(path.relative_to(ROOT))
        for path in csrc_files()
        if path.relative_to(ROOT / "csrc").parts[0] != "ops"
        and torch_header.search(path.read_text())
    ]
    assert not bad


def test_files_stay_short():
    long = {
        os.fspath(path.relative_to(ROOT)): lines
        for path in csrc_files()
        if (lines := path.read_text().count("\n")) > 400
    }
    assert not long
