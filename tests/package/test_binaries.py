"""The compiled modules run on other machines than the one that built them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import sentencode
from sentencode import _core

FOLDER = Path(_core.__file__).parent
MODULES = {path.name.partition(".")[0]: path for path in FOLDER.glob("*.so")}
# What any Linux with Python has, or torch and NumPy bring.
EVERYWHERE = re.compile(
    r"lib(c|m|dl|rt|pthread|gcc_s|stdc\+\+|z|lzma|zstd|c10|torch|torch_cpu|torch_python|gomp[-\w]*)\.so|ld-linux"
)

pytestmark = pytest.mark.skipif(shutil.which("readelf") is None, reason="needs readelf")


def dynamic(path, tag):
    shown = subprocess.run(["readelf", "-d", path], check=True, capture_output=True, text=True).stdout
    return re.findall(rf"\({tag}\).*\[(.*)\]", shown)


@pytest.mark.parametrize("name", sorted(MODULES))
def test_libraries_are_loaded_from_the_package_only(name):
    paths = dynamic(MODULES[name], "RUNPATH") + dynamic(MODULES[name], "RPATH")
    scipy = _core.build_info()["blas"] == "scipy"
    assert (
        paths
        == {
            "_core": ["$ORIGIN/lib"] * scipy,
            "_nn": [":".join(["$ORIGIN/../torch/lib", *["$ORIGIN/../sentencode/lib"] * scipy])],
        }[name]
    )


@pytest.mark.parametrize("name", sorted(MODULES))
def test_needs_only_available_libraries(name):
    bundled = {path.name for path in (FOLDER / "lib").glob("*")}
    system = {"libopenblas.so.0"} if _core.build_info()["blas"] == "system" else set()
    missing = [
        library
        for library in dynamic(MODULES[name], "NEEDED")
        if library not in bundled | system and not EVERYWHERE.match(library)
    ]
    assert missing == []


@pytest.mark.parametrize("name", sorted(MODULES))
def test_exports_only_the_init_symbol(name):
    command = ["readelf", "--dyn-syms", "--wide", MODULES[name]]
    shown = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    # Weak ones are templates of the standard library and torch; a strong one is ours, or of a library within.
    strong = re.findall(r"(?:FUNC|OBJECT)\s+GLOBAL\s+DEFAULT\s+\d+ (\S+)", shown)
    # The second is pybind11's; ours calls it where the interpreter is not one of several.
    assert sorted(strong) == [f"PyInit_{name}", f"PyInit_guarded{name}"]


@pytest.mark.parametrize("name", sorted(MODULES))
def test_holds_no_path_of_the_machine_that_built_it(name):
    root = str(Path(__file__).parents[2]).encode()
    assert root not in MODULES[name].read_bytes()


def test_the_version_is_that_of_the_build_file():
    text = (Path(__file__).parents[2] / "CMakeLists.txt").read_text(encoding="utf-8")
    assert sentencode.__version__ == re.search(r"project\(Sentencode VERSION (\S+)", text)[1]


def test_runs_from_any_folder(tmp_path):
    code = "import sentencode as se; print(se.num_threads())"
    environment = {**os.environ, "PYTHONPATH": str(FOLDER.parent)}
    subprocess.run([sys.executable, "-c", code], check=True, cwd=tmp_path, env=environment)
