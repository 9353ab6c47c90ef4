"""The build backend: scikit-build-core, which also gets the torch that the extra [nn] pins.

Torch has no binary interface that lasts from one release to the next: the torch that `_nn` is compiled
against has to be the torch that runs it. Its pin is in an extra of pyproject.toml; this adds it.

Environment:
    SENTENCODE_NN=OFF       builds the light half alone: no torch is needed.
    SENTENCODE_BLAS=eigen   builds without OpenBLAS: several times slower.
    SENTENCODE_TORCH=found  builds against the installed torch (`pip install --no-build-isolation`).
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from scikit_build_core import build as _backend
from scikit_build_core.build import *  # noqa: F403  # all hooks that this version has


def get_requires_for_build_wheel(config_settings: dict[str, Any] | None = None) -> list[str]:
    return _backend.get_requires_for_build_wheel(config_settings) + _torch()


def get_requires_for_build_editable(config_settings: dict[str, Any] | None = None) -> list[str]:
    return _backend.get_requires_for_build_editable(config_settings) + _torch()


def _torch() -> list[str]:
    light = os.environ.get("SENTENCODE_NN", "ON").lower() in {"off", "0", "false", "no"}
    if light or os.environ.get("SENTENCODE_TORCH") == "found":
        return []
    # Not by tomllib, which Python 3.10 lacks.
    pyproject = Path("pyproject.toml").read_text(encoding="utf-8")
    pin = re.search(r'^nn = \["(torch==[^"]+)"\]$', pyproject, re.MULTILINE)
    if pin is None:
        raise RuntimeError('pyproject.toml has no line of the form: nn = ["torch==..."]')
    return [pin.group(1)]
