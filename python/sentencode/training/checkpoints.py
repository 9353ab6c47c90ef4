"""The files of a folder that are checkpoints."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

from ..files import as_path

__all__ = ["checkpoint_files", "foreign_files", "remove_checkpoints", "step_files"]


def step_files(folder: str | os.PathLike[str]) -> list[Path]:
    """Return the checkpoints of steps in a folder, which need not exist, by step."""
    return _numbered(folder, "step")


def checkpoint_files(folder: str | os.PathLike[str]) -> list[Path]:
    """Return all checkpoints in a folder: of steps, best ones before a step, the best one.

    Other files, such as models, are ignored.
    """
    best = as_path(folder) / "best.safetensors"
    return step_files(folder) + _numbered(folder, "best") + [best] * best.is_file()


def remove_checkpoints(folder: str | os.PathLike[str]) -> None:
    """Removes all checkpoints in a folder. BlockingIOError where a training writes to it."""
    from .. import _nn

    with _nn.lock_folder(folder):
        for path in checkpoint_files(folder):
            path.unlink()


def foreign_files(folder: str | os.PathLike[str]) -> list[Path]:
    """Return the files with a checkpoint's name whose header has another format."""
    return [path for path in checkpoint_files(folder) if _format(path) not in (None, "sentencode checkpoint")]


def _numbered(folder: str | os.PathLike[str], kind: str) -> list[Path]:
    name = re.compile(rf"{kind}-([0-9]+)\.safetensors", re.ASCII)
    matches = ((name.fullmatch(path.name), path) for path in as_path(folder).glob(f"{kind}-*.safetensors"))
    return [path for _, path in sorted((int(match[1]), path) for match, path in matches if match)]


def _format(path: Path) -> object:
    """Return the format in a safetensors header, "" if it has none; None if the header is damaged."""
    with path.open("rb") as file:
        size = int.from_bytes(file.read(8), "little")
        if size > os.fstat(file.fileno()).st_size:
            return None
        text = file.read(size)
    try:
        header = json.loads(text)
    except ValueError:
        return None
    if not isinstance(header, dict):
        return None
    metadata = header.get("__metadata__")
    return metadata.get("format", "") if isinstance(metadata, dict) else ""
