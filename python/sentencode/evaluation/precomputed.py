"""Rows that were computed elsewhere, in the place of an encoder."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import FormatError
from ..files import as_name
from ..text.corpus import Corpus
from .data import Task

__all__ = ["Precomputed", "sentences_of"]

_BLOCK = 1 << 14  # rows that are hashed at a time
_APART = 0.02  # of a row's length: rows of one sentence differ by rounding, not by more


class Precomputed:
    """Sentences and their rows, which `sentencode.evaluate` takes as it takes an encoder.

    Sentences are found by their tokens with one space between them, whatever white space they were given
    with. `sentences_of` gives those of tasks.

    Args:
        sentences: The sentences, as strings or lists of tokens; or a text file of them, one a line, which may
            be packed.
        rows: `(n, d)`, one for each: an array, a memory map, or a `.npy` file, which is not read as a whole.
        name: What it is called in reports. None: the name of the file of rows, or `"Precomputed"`.

    Raises:
        ValueError: There are not as many rows as sentences, or a sentence that is there twice has rows that
            are not the same.
        FormatError: The file of rows is no array.
        OSError: A file cannot be read.

    Example:
        >>> import numpy as np
        >>> from sentencode.evaluation import Precomputed
        >>> rows = Precomputed(["a cat", "two  dogs"], np.eye(2))
        >>> rows.encode(["two dogs"])
        array([[0., 1.]])
        >>> rows.encode(["a cat", "no bird"])
        Traceback (most recent call last):
        ValueError: 1 of 2 sentences have no row among the 2 of Precomputed; the first of them: 'no bird'
    """

    def __init__(
        self,
        sentences: str | os.PathLike[str] | Iterable[str | Sequence[str]],
        rows: str | os.PathLike[str] | ArrayLike,
        name: str | None = None,
    ) -> None:
        from_file = isinstance(rows, (str, bytes, os.PathLike))
        where = as_name(rows) if isinstance(rows, (str, bytes, os.PathLike)) else "rows"
        self.rows: NDArray[Any] = _opened(Path(where)) if from_file else np.asarray(rows)
        self.__name__ = name or (Path(where).stem if from_file else type(self).__name__)
        if self.rows.ndim != 2 or self.rows.dtype.kind not in "fiu":
            shape = f"{self.rows.dtype} of shape {list(self.rows.shape)}"
            raise ValueError(f"{where} must be numbers [sentences, d], is {shape}")
        source = "sentences"
        if isinstance(sentences, (str, bytes, os.PathLike)):
            source = as_name(sentences)
            sentences = Corpus(Path(source), keep_empty=True)
        self._place: dict[str, int] = {}
        count = 0
        for i, sentence in enumerate(sentences):
            count = i + 1
            key = _joined(sentence)
            first = self._place.setdefault(key, i)
            if first != i and count <= len(self.rows):
                self._check_same(key, first, i, where)
        if count != len(self.rows):
            raise ValueError(f"{where} has {len(self.rows)} rows for {count} sentences of {source}")

    @classmethod
    def of_task(cls, task: Task, rows: Mapping[str, Any], name: str | None = None) -> Precomputed:
        """Rows that stand as the examples of a task do.

        Args:
            task: The task.
            rows: By split, an array with a row for each example; of pairs, two of them.
            name: As in `Precomputed`.

        Returns:
            The sentences of the task with these rows.

        Raises:
            ValueError: A split has no rows, or not as many as examples.

        Example:
            >>> import numpy as np
            >>> from sentencode.evaluation import Kind, Precomputed, Split, Task
            >>> pairs = Split((["a cat", "a dog"], ["cats", "dogs"]), np.array([5.0, 4.0]))
            >>> task = Task("mine", {"test": pairs}, Kind("similarity"))
            >>> Precomputed.of_task(task, {"test": (np.eye(2), np.ones((2, 2)))}).encode(["dogs"])
            array([[1., 1.]])
        """
        sentences: list[str] = []
        blocks = []
        for split_name, split in task.splits.items():
            if split_name not in rows:
                raise ValueError(
                    f"rows of {task.name} have no {split_name!r}; there are {', '.join(rows) or 'none'}"
                )
            given = rows[split_name]
            sides = given if len(split.sentences) == 2 else (given,)
            if len(sides) != len(split.sentences) or any(len(side) != len(split) for side in sides):
                raise ValueError(
                    f"rows of {task.name}, {split_name}: expected "
                    f"{'two arrays' if len(split.sentences) == 2 else 'an array'} of {len(split)} rows, got "
                    f"{' and '.join(str(len(side)) for side in sides)}"
                )
            for side, block in zip(split.sentences, sides, strict=True):
                sentences += side
                blocks.append(np.asarray(block))
        return cls(sentences, np.concatenate(blocks), name)

    def encode(self, sentences: Iterable[str | Sequence[str]]) -> NDArray[Any]:
        """Looks up the rows of sentences.

        Args:
            sentences: Strings, or lists of tokens.

        Returns:
            Their rows.

        Raises:
            ValueError: Some have none.
        """
        wanted = [_joined(sentence) for sentence in sentences]
        missing = [sentence for sentence in wanted if sentence not in self._place]
        if missing:
            raise ValueError(
                f"{len(missing)} of {len(wanted)} sentences have no row among the {len(self.rows)} of "
                f"{self.__name__}; the first of them: {missing[0]!r}"
            )
        found: NDArray[Any] = self.rows[[self._place[sentence] for sentence in wanted]]
        return found

    def fingerprint(self) -> str:
        """Tells these sentences and rows from all others."""
        digest = hashlib.sha256(f"precomputed {self.rows.dtype.str} {self.rows.shape}\n".encode())
        for sentence, place in self._place.items():
            digest.update(f"{place} {sentence}\n".encode("utf-8", "surrogatepass"))
        for first in range(0, len(self.rows), _BLOCK):
            digest.update(np.ascontiguousarray(self.rows[first : first + _BLOCK]).tobytes())
        return digest.hexdigest()

    def __repr__(self) -> str:
        return (
            f"Precomputed({self.__name__!r}, {len(self._place)} sentences, {self.rows.shape[1]} numbers each)"
        )

    def _check_same(self, sentence: str, first: int, again: int, where: str) -> None:
        """Rows that were mixed up with others' show here, where a sentence is there twice."""
        a, b = (np.asarray(self.rows[i], dtype=np.float64) for i in (first, again))
        if np.linalg.norm(a - b) > _APART * np.linalg.norm(a):
            raise ValueError(
                f"{where}: rows {first} and {again} differ, but both are of the sentence {sentence!r}: are "
                "rows and sentences in the same order?"
            )


def sentences_of(*tasks: Task) -> list[str]:
    """The distinct sentences of tasks, in the order of their examples: what rows are needed of.

    Args:
        *tasks: Any tasks.

    Returns:
        The sentences; none has a line end in it.

    Example:
        >>> import numpy as np
        >>> from sentencode.evaluation import Kind, Split, Task, sentences_of
        >>> pairs = Split((["a cat", "a dog"], ["cats", "a cat"]), np.array([5.0, 4.0]))
        >>> sentences_of(Task("mine", {"test": pairs}, Kind("similarity")))
        ['a cat', 'a dog', 'cats']
    """
    sides = (side for task in tasks for split in task.splits.values() for side in split.sentences)
    return list(dict.fromkeys(sentence for side in sides for sentence in side))


def _joined(sentence: str | bytes | Sequence[str]) -> str:
    if isinstance(sentence, bytes):
        sentence = sentence.decode("utf-8")
    return " ".join(sentence.split() if isinstance(sentence, str) else sentence)


def _opened(path: Path) -> NDArray[Any]:
    try:
        rows: NDArray[Any] = np.lib.format.open_memmap(path, mode="r")
    except (EOFError, ValueError) as error:
        raise FormatError(f"{path}: not an array of NumPy (.npy): {error}") from None
    return rows
