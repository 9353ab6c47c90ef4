"""Prints what pip has to install for the extras named, for the build ("build") or to run ("run"), one a line.

usage: [TORCH=2.15.0] python tools/requirements.py build nn test ...

With this, tools and torch are there before Sentencode is built, and the build need not be isolated: an
isolated build compiles everything anew each time.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10
    from pip._vendor import tomli as tomllib

PYPROJECT = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))
EXTRAS = PYPROJECT["project"]["optional-dependencies"]
# The neural half is compiled here and not installed: what remains of its extra is torch.
TORCH = (
    f"torch=={os.environ['TORCH']}" if os.environ.get("TORCH") else PYPROJECT["dependency-groups"]["torch"][0]
)


def requirements(extra: str) -> list[str]:
    if extra == "build":
        return [*PYPROJECT["build-system"]["requires"], "cmake>=3.22", "ninja>=1.10"]
    if extra == "run":
        return list(PYPROJECT["project"]["dependencies"])
    result = []
    for requirement in EXTRAS[extra]:
        inner = re.fullmatch(r"sentencode\[(.*)\]", requirement)
        if inner:
            result += [r for e in inner[1].split(",") for r in requirements(e)]
        else:
            result.append(TORCH if requirement.startswith("sentencode-nn") else requirement)
    return result


if __name__ == "__main__":
    print(*dict.fromkeys(r for extra in sys.argv[1:] for r in requirements(extra)), sep="\n")
