"""Which files of a folder are checkpoints."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

from ..files import as_path

__all__ = ["checkpoint_files", "foreign_files"]

_STEP = re.compile(r"step-([0-9]+)\.safetensors", re.ASCII)
_BEST = "best.safetensors"
_FORMAT = "sentencode checkpoint"


def checkpoint_files(folder: str | os.PathLike[str]) -> list[Path]:
    """The checkpoints of a folder: those of steps in their order, then the best one.

    A folder may hold other files, models among them, which are nobody's to remove or to ask about.

    Args:
        folder: The folder; it need not be there.

    Returns:
        Their paths.
    """
    place = as_path(folder)
    steps = []
    for path in place.glob("step-*.safetensors"):
        if match := _STEP.fullmatch(path.name):
            steps.append((int(match[1]), path))
    best = place / _BEST
    return [path for _, path in sorted(steps)] + [best] * best.is_file()


def foreign_files(folder: str | os.PathLike[str]) -> list[Path]:
    """Files that have a checkpoint's name, and whose header says that they are something else."""
    found = []
    for path in checkpoint_files(folder):
        header = _header_of(path)
        if header is not None and _metadata(header).get("format") != _FORMAT:
            found.append(path)
    return found


def _header_of(path: Path) -> dict[str, Any] | None:
    """What stands in the header of a safetensors file; None where it is damaged."""
    with path.open("rb") as file:
        size = int.from_bytes(file.read(8), "little")
        if size > os.fstat(file.fileno()).st_size:
            return None
        text = file.read(size)
    try:
        found = json.loads(text)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _metadata(header: dict[str, Any]) -> dict[str, Any]:
    found = header.get("__metadata__")
    return found if isinstance(found, dict) else {}
