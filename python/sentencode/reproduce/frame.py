"""What every reproduction shares: a folder of results that can be continued, and tables to show them."""

from __future__ import annotations

import hashlib
import json
import os
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..evaluation import Task, load_task
from ..evaluation import published as published_figures
from ..files import as_path, read_json, whole_file

__all__ = [
    "Results",
    "as_json",
    "chosen",
    "file_identity",
    "markdown_table",
    "progress_bar",
    "published",
    "slug",
    "tasks_there",
    "text_table",
]

Result = dict[str, Any]

_PAPERS = {"laes": "004"}  # family -> where its figures were published


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
        if path is not None:
            self.write(f"rows/{path.name}", as_json(result))
        return result

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
        path.parent.mkdir(parents=True, exist_ok=True)
        data = content.encode("utf-8") if isinstance(content, str) else content
        with whole_file(path) as file:
            file.write(data)


def published(family: str) -> dict[str, Any]:
    """The figures that a paper printed, with where they come from.

    They are those of `sentencode.evaluation.published`, as tables.

    Args:
        family: As in `sentencode reproduce <family>`.

    Returns:
        `citation`, `notes`, and `tables`: table -> row -> task -> figures.

    Example:
        >>> from sentencode.reproduce import published
        >>> published("laes")["tables"]["I"]["LAES-BRES"]["STSBenchmark"]
        {'n_h': 84, 'train': 76.5, 'dev': 81.4, 'test': 72.3}
    """
    figures = published_figures(_PAPERS[family])
    tables: dict[str, Any] = {}
    for figure in figures:
        row = tables.setdefault(figure.table, {}).setdefault(figure.system, {})
        of_task = row.setdefault(figure.task, {})
        if figure.metric == "n_h":
            of_task["n_h"] = int(figure.value)
        else:
            of_task[figure.split] = figure.value
    paper = figures[0].paper
    return {"citation": paper.citation, "notes": list(paper.notes), "tables": tables}


def tasks_there(names: Sequence[str], data: str | os.PathLike[str], *, partial: bool = False) -> list[Task]:
    """Those of the tasks whose files are in SentEval's folder.

    Raises:
        FileNotFoundError: None are.
    """
    found, missing = [], None
    for name in names:
        try:
            found.append(load_task(name, data, partial=partial))
        except FileNotFoundError as error:
            missing = error
    if not found:
        raise FileNotFoundError(f"{os.fsdecode(data)}: no task's files are there; of the last one: {missing}")
    return found


def progress_bar(family: str, total: int, *, show: bool) -> Any:
    """A bar that counts the rows of a reproduction."""
    from tqdm import tqdm

    return tqdm(total=total, desc=f"reproduce {family}", unit="row", disable=not show)


def chosen(wanted: Sequence[str] | None, known: Sequence[str], what: str) -> list[str]:
    """Those of the known names that are wanted, in their own order; None: all.

    Raises:
        ValueError: One is not known.
    """
    if wanted is None:
        return list(known)
    slugs = {slug(name): name for name in known}
    for name in wanted:
        if slug(name) not in slugs:
            raise ValueError(f"no {what} is named {name!r}; there are {', '.join(slugs)}")
    asked = {slug(name) for name in wanted}
    return [name for slug, name in slugs.items() if slug in asked]


def text_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Columns under each other, the first to the left and the others to the right."""
    table = [list(header), *map(list, rows)]
    widths = [max(len(row[i]) for row in table) for i in range(len(header))]
    lines = (
        "  ".join(
            cell.rjust(width) if i else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in table
    )
    return "\n".join(line.rstrip() for line in lines) + "\n"


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table as Markdown has it, numbers to the right."""
    lines = [header, ["---"] + ["---:"] * (len(header) - 1), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


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
