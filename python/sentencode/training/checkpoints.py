"""Which files of a folder are checkpoints."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

from ..files import as_path

__all__ = ["checkpoint_files", "foreign_files", "remove_checkpoints", "step_files"]

_NAMES = {kind: re.compile(rf"{kind}-([0-9]+)\.safetensors", re.ASCII) for kind in ("step", "best")}
_BEST = "best.safetensors"
_FORMAT = "sentencode checkpoint"


def step_files(folder: str | os.PathLike[str]) -> list[Path]:
    """The checkpoints of steps in a folder, in the order of their steps.

    Args:
        folder: The folder; it need not be there.

    Returns:
        Their paths.
    """
    return _numbered(folder, "step")


def checkpoint_files(folder: str | os.PathLike[str]) -> list[Path]:
    """All checkpoints of a folder: those of steps, the best ones before the last, the best one.

    A folder may hold other files, models among them, which are nobody's to remove or to ask about.

    Args:
        folder: The folder; it need not be there.

    Returns:
        Their paths.
    """
    best = as_path(folder) / _BEST
    return step_files(folder) + _numbered(folder, "best") + [best] * best.is_file()


def remove_checkpoints(folder: str | os.PathLike[str]) -> None:
    """Removes all checkpoints of a folder.

    Args:
        folder: The folder.

    Raises:
        BlockingIOError: A training writes to it.
    """
    from .. import _nn

    with _nn.own_folder(folder):
        for path in checkpoint_files(folder):
            path.unlink()


def _numbered(folder: str | os.PathLike[str], kind: str) -> list[Path]:
    found = []
    for path in as_path(folder).glob(f"{kind}-*.safetensors"):
        if match := _NAMES[kind].fullmatch(path.name):
            found.append((int(match[1]), path))
    return [path for _, path in sorted(found)]


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
