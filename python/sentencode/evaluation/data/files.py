"""Reads text files of tasks into splits; error messages have file and line."""

from __future__ import annotations

import gzip
import io
import lzma
import math
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...errors import FormatError
from ...text.text_files import LINE_BYTES
from .task import Split

__all__ = [
    "Classes",
    "Example",
    "OneClass",
    "Scores",
    "Table",
    "check_size",
    "read_lines",
    "splits_of",
    "tokens",
]


class Example(NamedTuple):
    """An example in a file, and its position."""

    path: Path
    line: int
    label: str
    sentences: tuple[str, ...]


def tokens(text: str) -> str:
    """A text with normalised white space."""
    return " ".join(text.split())


def read_lines(path: Path, encoding: str = "utf-8", *, whole: bool = False) -> list[str]:
    """Lines of a text file, at least one.

    The file may be compressed by gzip or xz. A byte-order mark and CRs before LFs are removed. With `whole`,
    the last line must have a line end: otherwise a file that was truncated in its last line would pass.
    """
    data = _unpacked(path)
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise FormatError(f"{path}:1: the file is UTF-16, expected {encoding}")
    data = data.removeprefix(b"\xef\xbb\xbf")
    zero = data.find(b"\0")
    if zero >= 0:
        raise FormatError(f"{path}:{_line_of(data, zero)}: a zero byte: not a text file, or a damaged one")
    if not data:
        raise FormatError(f"{path} is empty")
    # Not str.splitlines, which also splits at characters that occur inside sentences.
    lines = [line.removesuffix("\r") for line in _decoded(path, data, encoding).split("\n")]
    if lines[-1] == "":
        lines.pop()
    elif whole:
        raise FormatError(
            f"{path}:{len(lines)}: the last line has no end: was the file truncated? "
            "(partial=True reads it anyway)"
        )
    return lines


def _unpacked(path: Path) -> bytes:
    data = path.read_bytes()
    packed: dict[bytes, Any] = {b"\x1f\x8b": gzip.open, b"\xfd7zXZ\x00": lzma.open}
    for magic, kind in packed.items():
        if data.startswith(magic):
            try:
                with kind(io.BytesIO(data)) as file:
                    return _bounded(path, file)
            except (EOFError, OSError, lzma.LZMAError, zlib.error) as error:
                raise FormatError(f"{path}: a damaged packed file: {error}") from None
    return data


def _bounded(path: Path, file: BinaryIO) -> bytes:
    """Contents of a decompressed file, unless a line is too long: a small file may hold a huge line."""
    blocks, line, begun = [], 1, 0
    while block := file.read(1 << 20):
        blocks.append(block)
        last = block.rfind(b"\n")
        line += block.count(b"\n")
        begun = begun + len(block) if last < 0 else len(block) - last - 1
        if begun > LINE_BYTES:
            raise FormatError(f"{path}:{line}: longer than {LINE_BYTES:,} bytes: is this text?")
    return b"".join(blocks)


def _decoded(path: Path, data: bytes, encoding: str) -> str:
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        bad = data[error.start]
        line, column = _line_of(data, error.start), error.start - data.rfind(b"\n", 0, error.start)
        raise FormatError(
            f"{path}:{line}: byte {column} of the line (0x{bad:02x}) is not {encoding}; "
            f"as latin-1 it would be {chr(bad)!r}"
        ) from None


def _line_of(data: bytes, position: int) -> int:
    return data.count(b"\n", 0, position) + 1


@dataclass(frozen=True)
class Table:
    """How lines of a file are split into columns.

    Attributes:
        columns: Names of the columns.
        label: Column of the label.
        sentences: Columns of the sentences.
        separators: Separators, each used once, in this order. None: every tab. `()`: one column.
        header: Whether the first line has the names of the columns.
        more: Number of the column before which further ones are ignored.
        encoding: Encoding of the file.
    """

    columns: tuple[str, ...] = ("sentence",)
    label: str = "label"
    sentences: tuple[str, ...] = ("sentence",)
    separators: tuple[str, ...] | None = None
    header: bool = False
    more: int | None = None
    encoding: str = "utf-8"

    def examples(self, path: Path, *, whole: bool) -> list[Example]:
        """Examples of a file, one per line."""
        label = self.columns.index(self.label)
        first, *second = (self.columns.index(column) for column in self.sentences)
        return [
            Example(path, line, row[label], (row[first], *(row[i] for i in second)))
            for line, row in self.rows(path, whole=whole)
        ]

    def rows(self, path: Path, *, whole: bool) -> list[tuple[int, list[str]]]:
        """Line numbers and columns of the lines."""
        lines = list(enumerate(read_lines(path, self.encoding, whole=whole), 1))
        last = len(lines)
        if self.header:
            _, names = lines.pop(0)
            if tuple(names.split("\t")) != self.columns:
                expected = ", ".join(self.columns)
                raise FormatError(f"{path}:1: expected the columns {expected}, got {names!r}")
        rows = [(number, self._columns(line)) for number, line in lines]
        for number, row in rows:
            if len(row) != len(self.columns):
                raise FormatError(
                    f"{path}:{number}: expected {len(self.columns)} columns ({', '.join(self.columns)}), "
                    f"got {len(row)}"
                    + (" (the last line: was the file truncated?)" if number == last else "")
                )
        return rows

    def _columns(self, line: str) -> list[str]:
        if self.separators is None:
            row = line.split("\t")
            if self.more is not None and len(row) > len(self.columns):
                del row[self.more : self.more + len(row) - len(self.columns)]
            return row
        row = [line]
        for separator in self.separators:
            row += row.pop().split(separator, 1)
        return row


@dataclass(frozen=True)
class Scores:
    """Labels that are numbers in a range."""

    low: float = -math.inf
    high: float = math.inf

    def names(self, examples: Sequence[Example]) -> tuple[str, ...]:
        """Empty: scores have no names."""
        return ()

    def values(self, examples: Sequence[Example], names: tuple[str, ...]) -> NDArray[np.float64]:
        """Scores of examples."""
        return np.array([self._score(example) for example in examples], dtype=np.float64)

    def _score(self, example: Example) -> float:
        try:
            score = float(example.label)
        except ValueError:
            score = math.nan
        if not (math.isfinite(score) and self.low <= score <= self.high):
            expected = (
                f"a score from {self.low:g} to {self.high:g}" if math.isfinite(self.high) else "a number"
            )
            raise FormatError(f"{example.path}:{example.line}: expected {expected}, got {example.label!r}")
        return score


@dataclass(frozen=True)
class Classes:
    """Labels that are names of classes: the known ones, or those of the training examples."""

    known: tuple[str, ...] = ()

    def names(self, examples: Sequence[Example]) -> tuple[str, ...]:
        """Names of the classes in the order of their indices."""
        for example in examples:
            if not example.label.strip():
                raise FormatError(f"{example.path}:{example.line}: expected a class, got {example.label!r}")
        return self.known or tuple(sorted({example.label.strip() for example in examples}))

    def values(self, examples: Sequence[Example], names: tuple[str, ...]) -> NDArray[np.int64]:
        """Class indices of examples."""
        indices = {name: i for i, name in enumerate(names)}
        for example in examples:
            if example.label.strip() not in indices:
                some = ", ".join(names[:20]) + (f", ... ({len(names)} classes)" if len(names) > 20 else "")
                raise FormatError(
                    f"{example.path}:{example.line}: expected one of {some}, got {example.label!r}"
                )
        return np.array([indices[example.label.strip()] for example in examples], dtype=np.int64)


@dataclass(frozen=True)
class OneClass:
    """Labels that are 1 for one of the known classes, and 0 for the others."""

    known: tuple[str, ...]
    positive: str

    def names(self, examples: Sequence[Example]) -> tuple[str, ...]:
        """Names of the two classes."""
        return (f"not {self.positive}", self.positive)

    def values(self, examples: Sequence[Example], names: tuple[str, ...]) -> NDArray[np.int64]:
        """Whether examples are of the class."""
        classes = Classes(self.known).values(examples, self.known)
        positive: NDArray[np.int64] = np.equal(classes, self.known.index(self.positive)).astype(np.int64)
        return positive


def splits_of(
    examples: Mapping[str, Sequence[Example]], labels: Scores | Classes | OneClass
) -> tuple[dict[str, Split], tuple[str, ...]]:
    """Splits with labels, and the names of the classes, which the first split determines."""
    names = labels.names(next(iter(examples.values())))
    splits = {
        split: Split(
            tuple([tokens(text) for text in side] for side in zip(*(e.sentences for e in some), strict=True)),
            labels.values(some, names),
        )
        for split, some in examples.items()
    }
    return splits, names


def check_size(paths: Sequence[Path], number: int, published: int | range | None) -> None:
    """Check that files have the published number of examples; None: any number but 0."""
    files = f"{paths[0]} holds" if len(paths) == 1 else f"{' and '.join(map(str, paths))} hold"
    if number == 0:
        raise FormatError(f"{files} no examples")
    if isinstance(published, range):
        expected, fits = f"about {published.start} to {published.stop - 1}", number in published
    else:
        expected, fits = f"{published}", published in (None, number)
    if not fits:
        raise FormatError(
            f"{files} {number} examples, but {expected} were published (partial=True reads it anyway)"
        )
