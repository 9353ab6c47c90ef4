"""A build that would be slow is refused, unless it was asked for."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROJECT = f"""
cmake_minimum_required(VERSION 3.22)
project(Blas NONE)
foreach(where ENVIRONMENT_PATH PATH SYSTEM_PATH)  # as if nothing were installed
  set(CMAKE_FIND_USE_CMAKE_${{where}} OFF)
endforeach()
set(CMAKE_FIND_USE_PACKAGE_ROOT_PATH OFF)
set(CMAKE_FIND_USE_SYSTEM_ENVIRONMENT_PATH OFF)
set(CMAKE_DISABLE_FIND_PACKAGE_Python ON CACHE BOOL "")
set(SENTENCODE_BLAS auto CACHE STRING "")
include("{ROOT}/cmake/Blas.cmake")
message(STATUS "found: ${{SENTENCODE_BLAS_FOUND}}")
"""

pytestmark = pytest.mark.skipif(shutil.which("cmake") is None, reason="needs cmake")


def configure(folder, *settings):
    (folder / "CMakeLists.txt").write_text(PROJECT)
    command = ["cmake", "-S", folder, "-B", folder / "build", *settings]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, " ".join((done.stdout + done.stderr).split())


@pytest.mark.parametrize("asked", ["auto", "scipy", "system"])
def test_a_missing_blas_is_an_error_with_the_remedy(tmp_path, asked):
    status, shown = configure(tmp_path, f"-DSENTENCODE_BLAS={asked}")
    assert status != 0
    assert f"SENTENCODE_BLAS={asked}: no OpenBLAS was found" in shown
    assert "python -m pip install scipy-openblas32" in shown
    assert "apt install libopenblas-dev" in shown
    assert "SENTENCODE_BLAS=eigen pip install ." in shown


def test_a_build_without_the_package_finds_the_blas_of_python(tmp_path):
    pytest.importorskip("scipy_openblas32")
    found = ["-DCMAKE_DISABLE_FIND_PACKAGE_Python=OFF", f"-DPython_EXECUTABLE={sys.executable}"]
    status, shown = configure(tmp_path, *found)
    assert (status, "found: scipy" in shown) == (0, True), shown


def test_eigen_alone_is_had_for_the_asking(tmp_path):
    status, shown = configure(tmp_path, "-DSENTENCODE_BLAS=eigen")
    assert status == 0, shown
    assert "found: eigen" in shown


def test_other_values_are_refused(tmp_path):
    status, shown = configure(tmp_path, "-DSENTENCODE_BLAS=mkl")
    assert status != 0
    assert 'must be auto, scipy, system or eigen, got "mkl"' in shown


def test_pip_hands_the_choice_on():
    tomllib = pytest.importorskip("tomllib")
    build = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["scikit-build"]
    assert build["cmake"]["define"]["SENTENCODE_BLAS"] == {"env": "SENTENCODE_BLAS", "default": "auto"}
