"""A folder of results that a stopped run goes on from: one JSON file for each of them."""

from __future__ import annotations

import hashlib
import json
import os
import re
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ..files import as_path, make_folder, read_json, whole_file

__all__ = ["Result", "Results", "as_json", "file_identity", "settings_of", "slug"]

Result = dict[str, Any]


class Results:
    """Results in a folder, one JSON file each.

    A file is there whole or not at all, so that a run which was stopped can be continued: what is there is
    not computed again.

    Args:
        folder: Made if it is not there. None: nothing is kept.
        settings: All that decides what comes out, as JSON has it.
        resume: Whether to go on in a folder that holds results, made with the same settings.

    Raises:
        FileExistsError: The folder holds results, and `resume` is False.
        ValueError: They were made with other settings.
    """

    def __init__(
        self, folder: str | os.PathLike[str] | None, settings: Mapping[str, Any], resume: bool = False
    ) -> None:
        self.settings = json.loads(json.dumps(settings))  # as a file gives them back
        self.folder = None if folder is None else as_path(folder)
        if self.folder is None:
            return
        made_with = self.folder / "settings.json"
        if made_with.exists():
            if not resume:
                raise FileExistsError(
                    f"{self.folder} holds results: resume to keep them, or choose another folder"
                )
            _check_same(made_with, read_json(made_with), self.settings)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.write("settings.json", as_json(self.settings))

    def get(self, name: str, compute: Callable[[], Result]) -> Result:
        """The result of that name: read if it is there, else computed and kept, with the seconds it took."""
        path = None if self.folder is None else self.folder / "rows" / f"{slug(name)}.json"
        if (found := self.read(f"rows/{slug(name)}.json")) is not None:
            return found
        begin = time.perf_counter()
        result = compute()
        result["seconds"] = round(time.perf_counter() - begin, 3)
        kept = as_json(result)
        if path is not None:
            self.write(f"rows/{path.name}", kept)
        again: Result = json.loads(kept)  # as a file gives it back
        return again

    def read(self, name: str) -> Result | None:
        """The JSON file of that name in the folder; None if there is none."""
        if self.folder is None or not (self.folder / name).exists():
            return None
        found: Result = read_json(self.folder / name)
        return found

    def write(self, name: str, content: str | bytes) -> None:
        """Writes a file into the folder, whole or not at all; without a folder, nothing."""
        if self.folder is None:
            return
        path = self.folder / name
        make_folder(path.parent, within=self.folder)
        data = content.encode("utf-8") if isinstance(content, str) else content
        with whole_file(path) as file:
            file.write(data)


def settings_of(folder: str | os.PathLike[str]) -> Result | None:
    """The settings that the results in a folder were made with; None if it holds none."""
    path = as_path(folder) / "settings.json"
    found: Result | None = read_json(path) if path.exists() else None
    return found


def slug(name: str) -> str:
    """A name as arguments and files have it: small letters, digits and hyphens."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


def file_identity(path: str | os.PathLike[str]) -> dict[str, str]:
    """What tells a file from others, wherever it lies."""
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return {"file": as_path(path).name, "sha256": digest.hexdigest()}


def as_json(value: Any) -> str:
    """JSON that people can read, and other programs too: NaN is refused."""
    return json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _check_same(path: Path, before: Any, now: Any) -> None:
    names = [name for name in sorted({*before, *now}) if before.get(name) != now.get(name)]
    if names:
        changes = "; ".join(f"{name} was {before.get(name)!r} and is {now.get(name)!r}" for name in names)
        raise ValueError(f"{path.parent} holds results that were made with other settings: {changes}")
