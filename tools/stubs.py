"""Writes the type stub of a compiled module. The build calls this.

usage: python tools/stubs.py path/to/_core.cpython-311-x86_64-linux-gnu.so FOLDER

Only type checkers read stubs: where pybind11-stubgen is missing or the module cannot be imported, this warns.
"""

from __future__ import annotations

import sys
import types
from pathlib import Path

SOURCES = Path(__file__).parents[1] / "python" / "sentencode"


def write_stub(module: Path, folder: Path) -> None:
    import pybind11_stubgen

    # Stands in for sentencode/__init__.py, which imports modules that are installed later.
    package = types.ModuleType("sentencode")
    package.__path__ = [str(module.parent), str(SOURCES)]
    sys.modules["sentencode"] = package
    name = module.name.partition(".")[0]
    if name == "_nn":
        import torch  # noqa: F401  # loads the libraries that _nn links to

    sys.argv[1:] = ["--numpy-array-remove-parameters", "-o", str(folder), f"sentencode.{name}"]
    pybind11_stubgen.main()
    text = (folder / "sentencode" / f"{name}.pyi").read_text(encoding="utf-8")
    text = text.replace("**kwargs)", "**kwargs: typing.Any)")  # pybind11 knows no type of these
    (folder / f"{name}.pyi").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    try:
        write_stub(Path(sys.argv[1]), Path(sys.argv[2]))
    except Exception as error:
        print(f"warning: no type stub of {sys.argv[1]}: {error!r}", file=sys.stderr)
