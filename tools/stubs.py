"""Writes the type stubs of the compiled modules, python/sentencode/_core.pyi and _nn.pyi.

usage: python tools/stubs.py [--check]      --check compares with what is there, and fails if it differs
"""

from __future__ import annotations

import argparse
import difflib
import importlib
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import pybind11_stubgen

PACKAGE = Path(__file__).parents[1] / "python" / "sentencode"


def generate(module: str) -> str:
    with tempfile.TemporaryDirectory() as folder:
        arguments = ["--exit-code", "--numpy-array-remove-parameters", "-o", folder, module]
        pybind11_stubgen.main(arguments)
        text = Path(folder, *module.split(".")).with_suffix(".pyi").read_text(encoding="utf-8")
    text = re.sub(r"^(\w+: str) = '.*'$", r"\1", text, flags=re.MULTILINE)  # versions change
    text = text.replace("**kwargs)", "**kwargs: typing.Any)")  # which is all that pybind11 knows of them
    text = "# Written by tools/stubs.py: change the bindings, then run `make stubs`.\n" + text
    command = ["ruff", "format", "--quiet", "--stdin-filename", "stub.pyi", "-"]
    return subprocess.run(command, input=text, check=True, capture_output=True, text=True).stdout


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    modules = ["_core"]
    if importlib.import_module("sentencode._core").build_info()["torch"]:
        importlib.import_module("sentencode.nn")  # loads torch first
        modules.append("_nn")
    different = False
    for module in modules:
        path = PACKAGE / f"{module}.pyi"
        stub = generate(f"sentencode.{module}")
        present = path.read_text(encoding="utf-8") if path.exists() else ""
        if stub == present:
            continue
        different = True
        if check:
            lines = difflib.unified_diff(
                present.splitlines(), stub.splitlines(), str(path), "generated", lineterm=""
            )
            print(*lines, sep="\n", file=sys.stderr)
        else:
            path.write_text(stub, encoding="utf-8")
            print(f"wrote {path}")
    if check and different:
        print("the stubs are not those of the compiled modules: run `make stubs`", file=sys.stderr)
    return int(check and different)


if __name__ == "__main__":
    sys.exit(main())
