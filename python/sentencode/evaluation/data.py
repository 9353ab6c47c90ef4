"""Tasks of SentEval, read from the layout that its download script makes.

A `Task` is a value: its splits, their sentences and what is right for each. Every reader checks the
whole file and names the file and the line where it is not what it should be.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..errors import FormatError

__all__ = ["Split", "Task", "load_task", "task_names"]


@dataclass(frozen=True, eq=False)
class Split:
    """Some examples of a task.

    Attributes:
        sentences: One list of sentences; or two lists, where the examples are pairs.
        labels: What is right for each example: scores (float64) or numbers of classes (int64).
    """

    sentences: tuple[list[str], ...]
    labels: NDArray[np.float64] | NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """The examples as pairs of sentences."""
        if len(self.sentences) != 2:
            raise ValueError("the examples of this task are single sentences, not pairs")
        return list(zip(*self.sentences, strict=True))


@dataclass(frozen=True, eq=False)
class Task:
    """A task with all its examples.

    Attributes:
        name: As SentEval calls it.
        splits: By name: `"train"`, `"dev"`, `"test"`.
        classes: The names of the classes, in the order of their numbers; empty where labels are scores.
    """

    name: str
    splits: Mapping[str, Split]
    classes: tuple[str, ...] = ()

    def __getitem__(self, split: str) -> Split:
        return self.splits[split]

    def __repr__(self) -> str:
        sizes = ", ".join(f"{name} {len(split)}" for name, split in self.splits.items())
        return f"Task({self.name!r}, {sizes})"


def task_names() -> list[str]:
    """The tasks that `load_task` can read.

    Returns:
        Their names, as SentEval has them.

    Example:
        >>> from sentencode.evaluation import task_names
        >>> "STSBenchmark" in task_names()
        True
    """
    return sorted(_READERS)


def load_task(name: str, data: str | os.PathLike[str], *, partial: bool = False) -> Task:
    r"""Reads a task.

    Args:
        name: One of `task_names`.
        data: SentEval's `data` folder, or `downstream` in it.
        partial: Accept files with fewer or more rows than were published. Left False, a file that was cut
            short while it was downloaded cannot pass for the benchmark.

    Returns:
        The task.

    Raises:
        ValueError: There is no such task.
        FileNotFoundError: A file of the task is missing.
        FormatError: A file is not what it should be; the message names file and line.

    Example:
        >>> import pathlib, tempfile
        >>> from sentencode.evaluation import load_task
        >>> with tempfile.TemporaryDirectory() as data:
        ...     folder = pathlib.Path(data, "downstream", "STS", "STSBenchmark")
        ...     folder.mkdir(parents=True)
        ...     for split in "train", "dev", "test":
        ...         line = "news\tdeft\t2014\t0001\t4.5\ta cat sleeps .\tthe cat is asleep .\n"
        ...         _ = (folder / f"sts-{split}.csv").write_text(line)
        ...     task = load_task("STSBenchmark", data, partial=True)
        >>> task
        Task('STSBenchmark', train 1, dev 1, test 1)
        >>> task["dev"].pairs, task["dev"].labels
        ([('a cat sleeps .', 'the cat is asleep .')], array([4.5]))
    """
    if name not in _READERS:
        raise ValueError(f"no task is named {name!r}; there are {', '.join(task_names())}")
    folder = Path(data)
    if (folder / "downstream").is_dir():
        folder /= "downstream"
    return _READERS[name](name, folder, partial)


@dataclass(frozen=True)
class _ScoredPairs:
    """The shape of a task of pairs with a score each: tab-separated files, one for every split."""

    files: Mapping[str, tuple[str, int]]  # split -> path below the folder, published number of pairs
    columns: tuple[str, ...]
    first: str
    second: str
    score: str
    range: tuple[float, float]
    header: bool = False  # the first line holds the names of the columns
    more_columns: bool = False  # some lines have notes at their end

    def __call__(self, name: str, folder: Path, partial: bool) -> Task:
        splits = {
            split: self._split(folder / path, None if partial else rows)
            for split, (path, rows) in self.files.items()
        }
        return Task(name, splits)

    def _split(self, path: Path, expected: int | None) -> Split:
        lines = list(enumerate(read_lines(path), 1))
        if self.header:
            _, names = lines.pop(0)
            if tuple(names.split("\t")) != self.columns:
                expected_names = ", ".join(self.columns)
                raise FormatError(f"{path}:1: expected the columns {expected_names}, got {names!r}")
        rows = [self._row(path, number, line, number == len(lines) + self.header) for number, line in lines]
        check_size(path, len(rows), expected)
        first, second, scores = (list(column) for column in zip(*rows, strict=True))
        return Split((first, second), np.array(scores, dtype=np.float64))

    def _row(self, path: Path, number: int, line: str, is_last: bool) -> tuple[str, str, float]:
        values = line.split("\t")
        if len(values) < len(self.columns) or (len(values) > len(self.columns) and not self.more_columns):
            raise FormatError(
                f"{path}:{number}: expected {len(self.columns)} columns, got {len(values)}"
                + (" (the last line: was the file cut short?)" if is_last else "")
            )
        row = dict(zip(self.columns, values, strict=False))
        return row[self.first], row[self.second], self._score(path, number, row[self.score])

    def _score(self, path: Path, number: int, text: str) -> float:
        low, high = self.range
        try:
            score = float(text)
        except ValueError:
            score = math.nan
        if not low <= score <= high:
            raise FormatError(f"{path}:{number}: expected a score from {low:g} to {high:g}, got {text!r}")
        return score


def read_lines(path: Path, encoding: str = "utf-8") -> list[str]:
    """The lines of a text file, at least one. A byte-order mark and CRs before LFs are dropped."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise FileNotFoundError(
            f"{path} is missing: give SentEval's data folder, as its download script fills it"
        ) from None
    data = data.removeprefix(b"\xef\xbb\xbf")
    # Not str.splitlines, which also cuts at characters that occur inside of sentences.
    lines = [line.removesuffix(b"\r") for line in data.split(b"\n")]
    if lines[-1] == b"":
        lines.pop()
    if not lines:
        raise FormatError(f"{path} is empty")
    return [_decoded(path, i, line, encoding) for i, line in enumerate(lines, 1)]


def _decoded(path: Path, number: int, line: bytes, encoding: str) -> str:
    try:
        return line.decode(encoding)
    except UnicodeDecodeError as error:
        bad = line[error.start]
        raise FormatError(
            f"{path}:{number}: byte {error.start + 1} of the line (0x{bad:02x}) is not {encoding}; "
            f"as latin-1 it would be {chr(bad)!r}"
        ) from None


def check_size(path: Path, rows: int, expected: int | None) -> None:
    """Refuses a file that has not the published number of examples; None: any number but 0."""
    if rows == 0:
        raise FormatError(f"{path} holds no examples")
    if expected is not None and rows != expected:
        raise FormatError(
            f"{path} holds {rows} examples, but {expected} were published (partial=True reads it anyway)"
        )


_READERS: dict[str, Callable[[str, Path, bool], Task]] = {
    "SICKRelatedness": _ScoredPairs(
        files={
            "train": ("SICK/SICK_train.txt", 4500),
            "dev": ("SICK/SICK_trial.txt", 500),
            "test": ("SICK/SICK_test_annotated.txt", 4927),
        },
        columns=("pair_ID", "sentence_A", "sentence_B", "relatedness_score", "entailment_judgment"),
        first="sentence_A",
        second="sentence_B",
        score="relatedness_score",
        range=(1, 5),
        header=True,
    ),
    "STSBenchmark": _ScoredPairs(
        files={
            "train": ("STS/STSBenchmark/sts-train.csv", 5749),
            "dev": ("STS/STSBenchmark/sts-dev.csv", 1500),
            "test": ("STS/STSBenchmark/sts-test.csv", 1379),
        },
        columns=("genre", "file", "year", "number", "score", "sentence_1", "sentence_2"),
        first="sentence_1",
        second="sentence_2",
        score="score",
        range=(0, 5),
        more_columns=True,
    ),
}
