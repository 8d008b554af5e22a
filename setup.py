"""Builds reduce_ops._C. What the build decides, and how, is in tools/build_config.py."""

import importlib.util
import os
import sys
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

ROOT = Path(__file__).resolve().parent
os.chdir(ROOT)
sys.path.insert(0, str(ROOT / "tools"))
import build_config as config  # noqa: E402

MIN_TORCH = (2, 7)

# ninja may live beside this Python without being on PATH.
os.environ["PATH"] = os.pathsep.join([os.path.dirname(sys.executable), os.environ["PATH"]])


class WithoutTorch(build_ext):
    """Enough for an sdist and for metadata; a real build stops with a sentence."""

    def run(self):
        config.fail(
            "torch is not installed in the environment that builds; install it first,"
            " then: pip install --no-build-isolation ."
        )


def with_torch():
    """torch's build_ext, told what to build only when it runs."""
    toolkit, missing = config.find_toolkit()
    if toolkit:
        os.environ["CUDA_HOME"] = toolkit.home  # torch reads it when it is imported
    import torch
    from torch.utils import cpp_extension

    class WithTorch(cpp_extension.BuildExtension):
        def run(self):
            check_machine(torch.__version__)
            reason = config.why_cpu_only(toolkit, missing, torch.__version__, torch.version.cuda)
            archs = []
            if reason:
                config.say(f"building for CPU only: {reason}")
            else:
                gpus = range(torch.cuda.device_count()) if torch.cuda.is_available() else []
                gpus = [torch.cuda.get_device_capability(gpu) for gpu in gpus]
                archs = config.choose_archs(os.environ.get("TORCH_CUDA_ARCH_LIST"), toolkit, gpus)
                config.say(f"building for CPU and CUDA {toolkit.version}, {' '.join(archs)}")
            set_compilers(toolkit if archs else None)
            (extension,) = self.extensions
            real = make_extension(cpp_extension, torch.__version__, archs, toolkit)
            vars(extension).update(
                {key: value for key, value in vars(real).items() if not key.startswith("_")}
            )
            kind = "cuda" if archs else "cpu"
            self.build_temp = os.path.join(self.build_temp, f"torch-{torch.__version__}-{kind}")
            try:
                super().run()
            except RuntimeError as error:
                config.fail(f"the build failed: {error}")
            self.write_build_info(torch, archs, reason)

        def write_build_info(self, torch, archs, reason):
            lines = [
                '"""Written by setup.py: what reduce_ops._C was built for."""\n',
                f"VERSION = {self.distribution.get_version()!r}",
                f"TORCH_VERSION = {str(torch.__version__)!r}",
                f"CUDA_VERSION = {torch.version.cuda if archs else None!r}",
                f"ARCHS = {archs!r}",
                f"WITH_CUDA = {bool(archs)!r}",
                f"CPU_ONLY_REASON = {reason!r}",
            ]
            package = Path("reduce_ops" if self.inplace else f"{self.build_lib}/reduce_ops")
            package.mkdir(parents=True, exist_ok=True)
            (package / "_build_info.py").write_text("\n".join(lines) + "\n")

    return WithTorch


def check_machine(torch_version):
    if config.release(torch_version) < MIN_TORCH:
        least = ".".join(map(str, MIN_TORCH))
        config.fail(f"torch {torch_version} is too old; reduce_ops needs {least} or newer")
    config.check_ninja()
    config.check_python_headers()
    if not config.sources(with_cuda=False):
        config.fail("csrc/ has no sources; is this a complete checkout?")


def set_compilers(toolkit):
    """ccache is used where it is installed; torch reads these variables."""
    wrappers = ROOT / "build" / "wrappers"
    os.environ["CXX"] = config.compiler_wrapper(config.find_cxx(), wrappers)
    if toolkit and "PYTORCH_NVCC" not in os.environ:
        nvcc = f"{toolkit.home}/bin/nvcc"
        os.environ["PYTORCH_NVCC"] = config.compiler_wrapper([nvcc], wrappers)
    os.environ["MAX_JOBS"] = str(config.jobs())


def make_extension(cpp_extension, torch_version, archs, toolkit):
    std = f"-std={config.cxx_standard(torch_version)}"
    # at::parallel_for is compiled here and is a plain loop without OpenMP. The runtime is torch's,
    # found through libtorch_cpu: a second one would have threads of its own.
    # Contraction would give each instruction set bits of its own.
    cxx = ["-O3", "-ffp-contract=off", "-g0", std, "-fopenmp"]
    cxx += ["-fvisibility=hidden", "-fvisibility-inlines-hidden"]
    nvcc = [
        "-O3",
        std,
        "--expt-relaxed-constexpr",
        "-Xcompiler=-fvisibility=hidden",
        # torch's default flags take operators and conversions away from the 16-bit types
        "-U__CUDA_NO_HALF_OPERATORS__",
        "-U__CUDA_NO_HALF2_OPERATORS__",
        "-U__CUDA_NO_HALF_CONVERSIONS__",
        "-U__CUDA_NO_BFLOAT16_CONVERSIONS__",
        *config.gencode(archs),
    ]
    if archs and config.release(toolkit.version) >= (13,):
        nvcc.append("--compress-mode=size")  # a fifth of the size; kernels are unpacked when used
    kind = cpp_extension.CUDAExtension if archs else cpp_extension.CppExtension
    return kind(
        "reduce_ops._C",
        config.sources(with_cuda=bool(archs)),
        include_dirs=[str(ROOT / "csrc")],
        define_macros=[("REDUCE_OPS_WITH_CUDA", None)] if archs else [],
        extra_compile_args={"cxx": cxx, "nvcc": nvcc},
        depends=config.headers(),
    )


setup(
    ext_modules=[
        Extension("reduce_ops._C", config.sources(with_cuda=True), depends=config.headers())
    ],
    cmdclass={"build_ext": with_torch() if importlib.util.find_spec("torch") else WithoutTorch},
)
