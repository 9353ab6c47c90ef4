"""Reads labelled sentences and pairs, as `fit` takes them."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ...checks import checked_str
from ...errors import FormatError
from ...files import as_path
from .files import read_lines

__all__ = ["NO_MAJORITY", "Labelled", "check_header", "read_labelled", "rows_of"]

_NLI = ("gold_label", "sentence1", "sentence2")
NO_MAJORITY = "-"  # label of SNLI and MultiNLI where annotators disagreed
_SENTEVAL_FILES = ("labels", "s1", "s2")
# Names of columns that are usual in other formats.
_LABELS = {"label", "labels", "class", "category", "target", "sentiment", "rating", "stars", "score"}
_TEXTS = {"sentence", "sentences", "text", "texts", "review", "question", "content", "comment", "title"}


class Labelled(NamedTuple):
    """Labelled examples of a file.

    Attributes:
        sentences: Sentences, or pairs of sentences.
        labels: Label of each: strings; from JSON also numbers.
        left_out: Number of examples without a label ("-"), which are left out.
    """

    sentences: list[Any]
    labels: list[Any]
    left_out: int


def read_labelled(
    path: str | os.PathLike[str], *, columns: Sequence[str] | None = None, split: str | None = None
) -> Labelled:
    r"""Read labelled sentences, or pairs, for `fit` of an encoder with a head.

    Args:
        path: A UTF-8 file, perhaps compressed (gzip, xz). `.jsonl`: one object per line. Otherwise
            tab-separated columns: with a header, `gold_label`, `sentence1` and `sentence2`, as in SNLI and
            MultiNLI; without, a label and a sentence (Yelp, Age), or a label and two sentences. Or a folder
            with SentEval's files `labels.SPLIT`, `s1.SPLIT` and `s2.SPLIT`.
        columns: Names of the columns, or keys, of the label and of one or two sentences, if they are
            different: `("stars", "text")`.
        split: Split of a folder: "train", "dev" or "test".

    Returns:
        Sentences, labels, and the number of examples without a label.

    Raises:
        FormatError: A file has an invalid format; the message has file, line and column.
        ValueError: An argument is invalid.

    Example:
        >>> import pathlib, tempfile
        >>> from sentencode.evaluation import read_labelled
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = pathlib.Path(folder, "ratings.tsv")
        ...     _ = file.write_text("5\tvery good food\n1\tnever again\n")
        ...     read_labelled(file)
        Labelled(sentences=['very good food', 'never again'], labels=['5', '1'], left_out=0)
    """
    file = as_path(path)
    if columns is not None:
        if isinstance(columns, str) or len(columns) not in (2, 3):
            raise ValueError(f"columns must name a label and one or two sentences, got {columns!r:.60}")
        columns = [checked_str(f"columns[{i}]", name) for i, name in enumerate(columns)]
    if file.is_dir():
        if split is None or columns is not None:
            raise ValueError(f"{file} is a folder, which requires split and has no columns")
        rows = _parallel_rows(file, split)
    elif split is not None:
        raise ValueError(f"split is for folders, and {file} is not one")
    else:
        rows = rows_of(file, columns)
    sentences: list[Any] = []
    labels: list[Any] = []
    left_out = 0
    for _, (label, *texts) in rows:
        if label == NO_MAJORITY:
            left_out += 1
            continue
        labels.append(label)
        sentences.append(texts[0] if len(texts) == 1 else tuple(texts))
    if not labels:
        raise FormatError(f"{file} holds no example with a label")
    return Labelled(sentences, labels, left_out)


def rows_of(path: Path, names: Sequence[str] | None) -> Iterator[tuple[int, list[Any]]]:
    """Yield the line number, and a list of the label and the sentences, of each line.

    Args:
        path: A file of objects (`.jsonl`), or of tab-separated columns.
        names: Names of keys or columns. None: those of SNLI, if the header has them; otherwise all columns.
    """
    return _json_rows(path, names or _NLI) if ".jsonl" in path.suffixes else _table_rows(path, names)


def _json_rows(path: Path, names: Sequence[str]) -> Iterator[tuple[int, list[Any]]]:
    for number, line in enumerate(read_lines(path), 1):
        try:
            row = json.loads(line)
        except json.JSONDecodeError as error:
            raise FormatError(f"{path}:{number}: not JSON: {error.msg} at column {error.colno}") from None
        expected = f"expected an object with strings {', '.join(names)}"
        if not isinstance(row, dict):
            raise FormatError(f"{path}:{number}: {expected}, got {line:.40}")
        for i, name in enumerate(names):  # a label may be a number
            if not isinstance(row.get(name), str if i else str | int | float):
                raise FormatError(
                    f"{path}:{number}: {expected}, but {name} is {json.dumps(row.get(name)):.40}"
                )
        yield number, [row[name] for name in names]


def _table_rows(path: Path, names: Sequence[str] | None) -> Iterator[tuple[int, list[str]]]:
    lines = read_lines(path)
    header = lines[0].split("\t")
    width = len(header)
    if names is None and set(_NLI) <= set(header):
        names = _NLI
    if names is None:
        if width not in (2, 3):
            raise FormatError(
                f"{path}:1: expected 2 or 3 columns, a label and one or two sentences, or columns named "
                f"{', '.join(_NLI)}; got {width}"
            )
        check_header(path, lines[0], "name the columns (columns=...), or ")
        indices = list(range(width))
    else:
        if missing := [name for name in names if name not in header]:
            raise FormatError(
                f"{path}:1: expected columns named {', '.join(names)}, got {', '.join(header)}: no "
                f"{', '.join(missing)}"
            )
        indices = [header.index(name) for name in names]
    for number, line in enumerate(lines, 1):
        if names is not None and number == 1:
            continue
        row = line.split("\t")
        if len(row) <= max(indices) or (names is None and len(row) != width):
            raise FormatError(f"{path}:{number}: expected {width} columns, got {len(row)}")
        if not row[indices[0]].strip():
            raise FormatError(f"{path}:{number}: column {indices[0] + 1}: the label is empty")
        yield number, [row[indices[0]].strip(), *(row[i] for i in indices[1:])]


def check_header(path: Path, line: str, advice: str = "") -> None:
    """Raises a FormatError if the first line of a file without a header looks like one."""
    header = line.split("\t")
    columns = {name.strip().lower() for name in header[:2]}
    if columns & _LABELS and columns & _TEXTS:
        raise FormatError(
            f"{path}:1: {header[0]!r} and {header[1]!r} look like a header: {advice}remove the line; "
            "without a header, the label is first"
        )


def _parallel_rows(folder: Path, split: str) -> Iterator[tuple[int, list[str]]]:
    paths = [folder / f"{side}.{split}" for side in _SENTEVAL_FILES]
    columns = [read_lines(path) for path in paths]
    for path, lines in zip(paths, columns, strict=True):
        if len(lines) != len(columns[0]):
            raise FormatError(f"{path} has {len(lines)} lines, but {paths[0]} has {len(columns[0])}")
    for number, row in enumerate(zip(*columns, strict=True), 1):
        if not row[0].strip():
            raise FormatError(f"{paths[0]}:{number}: column 1: the label is empty")
        yield number, [row[0].strip(), *row[1:]]
