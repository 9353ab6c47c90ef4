"""Examples of several sentences."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from .corpus import Corpus
from .inputs import column_names, to_batch

__all__ = ["is_empty", "sides_of"]

_MOST = 3  # sentences of an example


def sides_of(sentences: Any, allowed: Sequence[int] = (1,), *, files: bool = True) -> list[Any]:
    """Return examples as columns: all first sentences, all second ones, ...

    Args:
        sentences: Sentences; tuples of two or three; an array or data frame with as many columns; or the name
            of a text file.
        allowed: Numbers of sentences that an example may have. Without 1, a list is an example, not tokens.
        files: Whether a text is the name of a file.

    Raises:
        TypeError: If something is not a sentence.
        ValueError: If examples differ in their number of sentences.
    """
    columns = _columns(sentences, allowed, files)
    for k, column in enumerate(columns):
        for i, one in enumerate(column):
            if not isinstance(one, str | bytes | list | tuple | np.ndarray):
                where = f"sentences[{i}]" + (f"[{k}]" if len(columns) > 1 else "")
                raise TypeError(f"{where} is {type(one).__name__} ({one!r:.40}); expected str")
    return columns


def _columns(sentences: Any, allowed: Sequence[int], files: bool) -> list[Any]:
    if isinstance(sentences, str) and not files:
        raise ValueError(f"sentences is one text, {sentences!r:.40}; give a list, or a file as a Path")
    if sentences is None or isinstance(sentences, bytes | dict | set | frozenset):
        raise TypeError(f"sentences is {type(sentences).__name__}; expected a list of sentences")
    if isinstance(sentences, str | os.PathLike):
        return [list(Corpus(sentences, keep_empty=True))]
    if (names := column_names(sentences)) is not None:
        return [list(to_batch(sentences[name])) for name in names]
    if hasattr(sentences, "to_pylist"):  # of Arrow
        rows = sentences.to_pylist()
    else:
        rows = sentences.tolist() if isinstance(sentences, np.ndarray) else list(sentences)
    if not rows:
        raise ValueError("there is no sentence to learn from")
    matrix = isinstance(sentences, np.ndarray) and sentences.ndim == 2
    if not matrix and not isinstance(rows[0], tuple) and (1 in allowed or not isinstance(rows[0], list)):
        _check_tokens(rows)
        return [rows]
    count = len(rows[0])
    for i, row in enumerate(rows):
        if not isinstance(row, tuple | list) or len(row) != count or not 1 <= count <= _MOST:
            raise ValueError(
                f"sentences[{i}] is {row!r:.60}; expected a tuple of "
                f"{count if 1 <= count <= _MOST else '1 to 3'} sentences, as sentences[0]"
            )
    return [list(column) for column in zip(*rows, strict=True)]


def _check_tokens(rows: Iterable[Any]) -> None:
    for i, row in enumerate(rows):
        if isinstance(row, list) and any(isinstance(token, str) and len(token.split()) > 1 for token in row):
            raise ValueError(
                f"sentences[{i}] is {row!r:.60}: a list is the tokens of one sentence; a pair is a tuple"
            )


def is_empty(sentences: Any) -> bool:
    """Whether there is no example, in a list or an array."""
    return not isinstance(sentences, str) and hasattr(sentences, "__len__") and len(sentences) == 0
