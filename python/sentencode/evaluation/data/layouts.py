"""How the examples of a task are spread over files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from ...errors import FormatError
from .files import Example, Table, read_lines

__all__ = ["FilePerClass", "Layout", "Parallel", "Partitioned", "Tables"]


class Layout(Protocol):
    """Some files in a folder, and how to read examples from them."""

    @property
    def files(self) -> Mapping[str, tuple[str, ...]]:
        """The files of each split."""

    def examples(self, folder: Path, splits: Sequence[str], *, whole: bool) -> dict[str, list[Example]]:
        """The examples of some splits; with `whole`, last lines must have an end."""


@dataclass(frozen=True)
class Tables:
    """A table for each split."""

    table: Table
    train: str
    test: str
    dev: str | None = None

    @property
    def files(self) -> dict[str, tuple[str, ...]]:
        """The one file of each split."""
        named = {"train": self.train, "dev": self.dev, "test": self.test}
        return {split: (path,) for split, path in named.items() if path}

    def examples(self, folder: Path, splits: Sequence[str], *, whole: bool) -> dict[str, list[Example]]:
        """One example a line."""
        return {split: self.table.examples(folder / self.files[split][0], whole=whole) for split in splits}


@dataclass(frozen=True)
class FilePerClass:
    """Plain sentences in latin-1: a file for each class, no splits."""

    paths: Mapping[str, str]

    @property
    def files(self) -> dict[str, tuple[str, ...]]:
        """All of them make the split `"all"`."""
        return {"all": tuple(self.paths.values())}

    def examples(self, folder: Path, splits: Sequence[str], *, whole: bool) -> dict[str, list[Example]]:
        """One example a line, class after class."""
        examples = [
            Example(folder / path, number, name, (line,))
            for name, path in self.paths.items()
            for number, line in enumerate(read_lines(folder / path, "latin-1", whole=whole), 1)
        ]
        return dict.fromkeys(splits, examples)


@dataclass(frozen=True)
class Parallel:
    """Files whose lines belong together: for each split one of labels, then those of sentences."""

    files: Mapping[str, tuple[str, ...]]
    table: Table  # of the sentences
    unscored: bool = False  # an empty label says that the pair does not count

    def examples(self, folder: Path, splits: Sequence[str], *, whole: bool) -> dict[str, list[Example]]:
        """One example for each line of the labels."""
        return {split: self._split([folder / path for path in self.files[split]], whole) for split in splits}

    def _split(self, paths: list[Path], whole: bool) -> list[Example]:
        labelled, *texts = paths
        labels = read_lines(labelled, whole=whole)
        columns = [self.table.rows(path, whole=whole) for path in texts]
        for path, lines in zip(texts, columns, strict=True):
            if len(lines) != len(labels):
                raise FormatError(f"{path} has {len(lines)} lines, but {labelled} has {len(labels)}")
        examples = [
            Example(labelled, number, label, tuple(text for _, row in rows for text in row))
            for number, (label, *rows) in enumerate(zip(labels, *columns, strict=True), 1)
        ]
        return [example for example in examples if example.label.strip() or not self.unscored]


_SPLITS = {"tr": "train", "va": "dev", "te": "test"}


@dataclass(frozen=True)
class Partitioned:
    """One table, whose first column names the split."""

    path: str

    @property
    def files(self) -> dict[str, tuple[str, ...]]:
        """The same file for each split."""
        return dict.fromkeys(_SPLITS.values(), (self.path,))

    def examples(self, folder: Path, splits: Sequence[str], *, whole: bool) -> dict[str, list[Example]]:
        """One example a line."""
        path = folder / self.path
        table = Table(columns=("partition", "label", "sentence"), more=2)
        found: dict[str, list[Example]] = {split: [] for split in _SPLITS.values()}
        for number, (code, label, sentence) in table.rows(path, whole=whole):
            if code not in _SPLITS:
                raise FormatError(f"{path}:{number}: expected one of {', '.join(_SPLITS)}, got {code!r}")
            found[_SPLITS[code]].append(Example(path, number, label, (sentence,)))
        return {split: found[split] for split in splits}
