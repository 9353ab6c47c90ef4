"""A folder of results, one JSON file each, from which a stopped run continues."""

from __future__ import annotations

import hashlib
import json
import os
import re
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from ..files import as_path, make_folder, read_json, whole_file

__all__ = ["Result", "Results", "as_json", "file_identity", "results_json", "settings_of", "slug"]

Result = dict[str, Any]


class Results:
    """Results in a folder, one JSON file each.

    Files are written atomically, so a stopped run continues with the results that are missing.

    Args:
        folder: The folder, created if necessary. None: nothing is stored.
        settings: Everything that the results depend on, as JSON values.
        resume: Continue in a folder that holds results of the same settings.

    Raises:
        FileExistsError: The folder holds results, and `resume` is False.
        ValueError: The folder holds results of other settings.
    """

    def __init__(
        self, folder: str | os.PathLike[str] | None, settings: Mapping[str, Any], resume: bool = False
    ) -> None:
        self.settings = json.loads(json.dumps(settings))  # as read from a file
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
        """The stored result of that name, or else the computed one, which is stored with its seconds."""
        file = f"rows/{slug(name)}.json"
        if (stored := self.read(file)) is not None:
            return stored
        begin = time.perf_counter()
        result = compute()
        result["seconds"] = round(time.perf_counter() - begin, 3)
        content = as_json(result)
        self.write(file, content)
        computed: Result = json.loads(content)  # as read from a file
        return computed

    def holds(self, name: str) -> bool:
        """Whether there is a stored result of that name."""
        return self.read(f"rows/{slug(name)}.json") is not None

    def report_of(self, name: str) -> Path:
        """The file of the evaluation report of a row."""
        assert self.folder is not None
        return self.folder / "reports" / f"{slug(name)}.json"

    def read(self, name: str) -> Result | None:
        """The content of the JSON file of that name in the folder; None if there is none."""
        if self.folder is None or not (self.folder / name).exists():
            return None
        content: Result = read_json(self.folder / name)
        return content

    def write(self, name: str, content: str | bytes) -> None:
        """Writes a file into the folder atomically; without a folder nothing."""
        if self.folder is None:
            return
        path = self.folder / name
        make_folder(path.parent, within=self.folder)
        with whole_file(path) as file:
            file.write(content.encode("utf-8") if isinstance(content, str) else content)


def settings_of(folder: str | os.PathLike[str]) -> Result | None:
    """The settings of the results in a folder; None if it holds no results."""
    path = as_path(folder) / "settings.json"
    settings: Result | None = read_json(path) if path.exists() else None
    return settings


def slug(name: str) -> str:
    """A name in the form of arguments and files: small letters, digits and hyphens."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


def file_identity(path: str | os.PathLike[str]) -> dict[str, str]:
    """The name and the digest of a file, which identify it in every folder."""
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return {"file": as_path(path).name, "sha256": digest.hexdigest()}


def as_json(value: Any) -> str:
    """Indented JSON; NaN is refused, because other programs do not read it."""
    return json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def results_json(family: str, settings: Any, page: Any = None, **lists: Iterable[Any]) -> str:
    """The content of `results.json`, with one line for each result.

    Args:
        family: Name of the family, which `sentencode reproduce page` needs.
        settings: Everything that the results depend on.
        page: Texts of its page. None: it has none.
        **lists: Lists of results.
    """

    def compact(value: Any) -> str:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)

    parts = [f'"family": {compact(family)}', f'"settings": {compact(settings)}']
    for name, values in lists.items():
        lines = ",\n".join(map(compact, values))
        parts.append(f'"{name}": [\n{lines}\n]')
    if page is not None:
        parts.append(f'"page": {json.dumps(page, indent=1, ensure_ascii=False)}')
    return "{" + ",\n".join(parts) + "}\n"


def _check_same(path: Path, before: Any, now: Any) -> None:
    names = [name for name in sorted({*before, *now}) if before.get(name) != now.get(name)]
    if names:
        changes = "; ".join(f"{name} was {before.get(name)!r} and is {now.get(name)!r}" for name in names)
        raise ValueError(f"{path.parent} holds results that were made with other settings: {changes}")
