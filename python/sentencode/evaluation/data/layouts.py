"""Layouts of tasks: which files their splits are in, and how to read them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from ...errors import FormatError
from .files import Example, Table, read_lines

__all__ = ["FilePerClass", "Layout", "Parallel", "Partitioned", "Tables"]


class Layout(Protocol):
    """Files of splits, and how to read their examples."""

    @property
    def files(self) -> Mapping[str, tuple[str, ...]]:
        """Files of each split."""

    def examples(self, folder: Path, splits: Sequence[str], *, whole: bool) -> dict[str, list[Example]]:
        """Examples of splits; with `whole`, last lines must have a line end."""


@dataclass(frozen=True)
class Tables:
    """One table per split."""

    table: Table
    train: str | None
    test: str
    dev: str | None = None

    @property
    def files(self) -> dict[str, tuple[str, ...]]:
        """The file of each split."""
        named = {"train": self.train, "dev": self.dev, "test": self.test}
        return {split: (path,) for split, path in named.items() if path}

    def examples(self, folder: Path, splits: Sequence[str], *, whole: bool) -> dict[str, list[Example]]:
        """One example per line."""
        return {split: self.table.examples(folder / self.files[split][0], whole=whole) for split in splits}


@dataclass(frozen=True)
class FilePerClass:
    """Sentences in latin-1, one file per class, without splits."""

    paths: Mapping[str, str]

    @property
    def files(self) -> dict[str, tuple[str, ...]]:
        """All files are the split `"all"`."""
        return {"all": tuple(self.paths.values())}

    def examples(self, folder: Path, splits: Sequence[str], *, whole: bool) -> dict[str, list[Example]]:
        """One example per line, class after class."""
        examples = [
            Example(folder / path, number, name, (line,))
            for name, path in self.paths.items()
            for number, line in enumerate(read_lines(folder / path, "latin-1", whole=whole), 1)
        ]
        return dict.fromkeys(splits, examples)


@dataclass(frozen=True)
class Parallel:
    """Parallel files: for each split a file of labels and files of sentences."""

    files: Mapping[str, tuple[str, ...]]
    table: Table  # of the sentences
    unscored: bool = False  # whether pairs with an empty label are left out

    def examples(self, folder: Path, splits: Sequence[str], *, whole: bool) -> dict[str, list[Example]]:
        """One example per line of labels."""
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
    """One table, with the split in the first column."""

    path: str

    @property
    def files(self) -> dict[str, tuple[str, ...]]:
        """The file, for each split."""
        return dict.fromkeys(_SPLITS.values(), (self.path,))

    def examples(self, folder: Path, splits: Sequence[str], *, whole: bool) -> dict[str, list[Example]]:
        """One example per line."""
        path = folder / self.path
        table = Table(columns=("partition", "label", "sentence"), more=2)
        by_split: dict[str, list[Example]] = {split: [] for split in _SPLITS.values()}
        for number, (code, label, sentence) in table.rows(path, whole=whole):
            if code not in _SPLITS:
                raise FormatError(f"{path}:{number}: expected one of {', '.join(_SPLITS)}, got {code!r}")
            by_split[_SPLITS[code]].append(Example(path, number, label, (sentence,)))
        return {split: by_split[split] for split in splits}
