"""setuptools' build backend, with torch among the requirements of a wheel but not of an sdist.

An isolated build must compile against the torch that will import the result, so it asks for
REDUCE_OPS_TORCH if that is set, else for the version installed beside the Python that builds,
else for the newest one.
"""

import os
import shutil
import site
import sysconfig
from importlib.metadata import distributions

import setuptools
from setuptools import build_meta
from setuptools.build_meta import *  # noqa: F403

if int(setuptools.__version__.split(".")[0]) < 77:  # it cannot read pyproject.toml's license
    raise SystemExit(
        f"reduce_ops: setuptools {setuptools.__version__} is too old; pip install 'setuptools>=77'"
    )


def build_requires() -> list[str]:
    version = os.environ.get("REDUCE_OPS_TORCH")
    if not version:
        folders = [sysconfig.get_path("platlib"), site.getusersitepackages()]
        installed = distributions(name="torch", path=folders)
        version = next((found.version for found in installed), None)
    ninja = [] if shutil.which("ninja") else ["ninja"]
    return [f"torch=={version}" if version else "torch>=2.7", *ninja]


def get_requires_for_build_wheel(config_settings=None):
    return [*build_meta.get_requires_for_build_wheel(config_settings), *build_requires()]


def get_requires_for_build_editable(config_settings=None):
    return [*build_meta.get_requires_for_build_editable(config_settings), *build_requires()]
