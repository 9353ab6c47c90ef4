"""A source distribution holds all that a build needs."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BUILD = "import build_backend, sys; print(getattr(build_backend, sys.argv[1])(sys.argv[2]))"


def build(what, source, target, **environment):
    return subprocess.run(
        [sys.executable, "-c", BUILD, what, str(target)],
        check=True,
        cwd=source,
        env={**os.environ, "PYTHONPATH": str(source / "tools"), **environment},
        capture_output=True,
        text=True,
    ).stdout.split()[-1]


@pytest.mark.slow
def test_the_light_half_builds_from_a_source_distribution(tmp_path):
    pytest.importorskip("scikit_build_core")
    with tarfile.open(tmp_path / build("build_sdist", ROOT, tmp_path)) as tar:
        names = tar.getnames()
        tar.extractall(tmp_path, **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))
    (source,) = tmp_path.glob("sentencode-*/")
    assert not [name for name in names if name.endswith((".so", ".pyc")) or "/build/" in name]
    assert (source / "LICENSE").exists()

    # Warnings as errors and pybind11 beside the sources, as in this checkout: ccache then has all of it.
    settings = ["SENTENCODE_WERROR=ON"]
    if (environment := Path(sys.prefix)).is_relative_to(ROOT):
        import pybind11

        linked = source / environment.relative_to(ROOT)
        linked.symlink_to(environment)
        folder = Path(pybind11.get_cmake_dir())
        settings.append(f"pybind11_DIR={linked / folder.relative_to(environment)}")
    options = {"SENTENCODE_NN": "OFF", "SKBUILD_CMAKE_DEFINE": ";".join(settings)}
    wheel = tmp_path / build("build_wheel", source, tmp_path, **options)
    with zipfile.ZipFile(wheel) as file:
        inside = {name.split(".", 1)[0] if name.endswith(".so") else name for name in file.namelist()}
        file.extractall(tmp_path / "installed")
    assert {
        "sentencode/__init__.py",
        "sentencode/py.typed",
        "sentencode/_core",
        "sentencode/_core.pyi",
    } <= inside
    assert "sentencode/_nn" not in inside

    code = "from sentencode import _core; print(_core.__file__, _core.build_info())"
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "installed")}
    shown = subprocess.run(
        [sys.executable, "-c", code], check=True, env=environment, capture_output=True, text=True
    )
    assert str(tmp_path / "installed") in shown.stdout


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, []),
        ({"SENTENCODE_NN": "ON"}, ["torch>=2.13,<2.16"]),
        ({"SENTENCODE_NN": "ON", "SENTENCODE_TORCH": "2.14.0"}, ["torch==2.14.0"]),
        ({"SENTENCODE_NN": "ON", "SENTENCODE_TORCH": "found"}, []),
    ],
    ids=str,
)
def test_the_build_requires_a_supported_torch(monkeypatch, environment, expected):
    monkeypatch.chdir(ROOT)
    monkeypatch.syspath_prepend(ROOT / "tools")
    pytest.importorskip("scikit_build_core")
    import build_backend

    # Without this hook, pip builds everything twice: the first time for its metadata.
    assert build_backend.prepare_metadata_for_build_wheel
    for name in ("SENTENCODE_NN", "SENTENCODE_TORCH"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    for requirements in (
        build_backend.get_requires_for_build_wheel(),
        build_backend.get_requires_for_build_editable(),
    ):
        assert [r for r in requirements if r.startswith("torch")] == expected


@pytest.mark.parametrize("missing", ["a C++ compiler", "the headers of Python"])
def test_a_build_without_its_requirements_says_what_to_install(monkeypatch, tmp_path, missing):
    monkeypatch.chdir(ROOT)
    monkeypatch.syspath_prepend(ROOT / "tools")
    pytest.importorskip("scikit_build_core")
    import build_backend

    monkeypatch.delenv("CXX", raising=False)
    if missing == "a C++ compiler":
        monkeypatch.setenv("PATH", str(tmp_path))
    else:
        monkeypatch.setattr(build_backend.sysconfig, "get_path", lambda name: str(tmp_path))
    with pytest.raises(SystemExit, match=f"needs {re.escape(missing)}\\. .*apt install g\\+\\+ python3-dev"):
        build_backend.build_wheel(str(tmp_path))
