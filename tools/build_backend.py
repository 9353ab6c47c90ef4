"""The build backend: scikit-build-core, which also gets the torch that the neural half is compiled against.

Environment:
    SENTENCODE_NN=ON        compiles the neural half into the package; the default is the light half alone,
                            with the neural half in a distribution of its own, sentencode-nn.
    SENTENCODE_TORCH=2.15.0 compiles against this torch; "found": against the installed one
                            (`pip install --no-build-isolation`).
    SENTENCODE_BLAS=eigen   compiles without OpenBLAS: several times slower.
"""

from __future__ import annotations

import os
import re
import shutil
import sysconfig
from pathlib import Path
from typing import Any

from scikit_build_core import build as _backend
from scikit_build_core.build import *  # noqa: F403  # all hooks that this version has


def build_wheel(*arguments: Any, **named: Any) -> str:
    compilers = [os.environ["CXX"].split()[0]] if os.environ.get("CXX") else ["c++", "g++", "clang++"]
    needs = {
        "a C++ compiler": any(map(shutil.which, compilers)),
        "the headers of Python": Path(sysconfig.get_path("include"), "Python.h").exists(),
    }
    if missing := [name for name, there in needs.items() if not there]:
        raise SystemExit(
            f"Compiling Sentencode needs {' and '.join(missing)}. Install (Debian, Ubuntu: apt install g++ "
            "python3-dev; Fedora: dnf install gcc-c++ python3-devel; conda: conda install cxx-compiler), or "
            "install a wheel, which needs neither: pip install --only-binary=:all: sentencode"
        )
    return str(_backend.build_wheel(*arguments, **named))


def get_requires_for_build_wheel(config_settings: dict[str, Any] | None = None) -> list[str]:
    return _backend.get_requires_for_build_wheel(config_settings) + _torch()


def get_requires_for_build_editable(config_settings: dict[str, Any] | None = None) -> list[str]:
    return _backend.get_requires_for_build_editable(config_settings) + _torch()


def _torch() -> list[str]:
    # Not by tomllib, which Python 3.10 lacks.
    pyproject = Path("pyproject.toml").read_text(encoding="utf-8")
    neural = 'name = "sentencode-nn"' in pyproject
    if not neural:
        neural = os.environ.get("SENTENCODE_NN", "OFF").lower() in {"on", "1", "true", "yes"}
        pyproject = Path("tools/wheels/nn/pyproject.toml").read_text(encoding="utf-8")
    version = os.environ.get("SENTENCODE_TORCH", "")
    if not neural or version == "found":
        return []
    if version:
        return [f"torch=={version}"]
    supported = re.search(r'"(torch>=[^"]+)"', pyproject)
    if supported is None:
        raise RuntimeError("tools/wheels/nn/pyproject.toml has no dependency of the form torch>=...")
    return [supported[1]]
