"""Precomputed embeddings, evaluated like an encoder."""

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

_BLOCK = 1 << 14  # rows per block of hashing
_TOLERANCE = 0.02  # relative difference of two embeddings of the same sentence, for rounding


class Precomputed:
    """Sentences and their embeddings, which `sentencode.evaluate` takes as an encoder.

    Sentences are compared with white space normalised. `sentences_of` returns those of tasks.

    Args:
        sentences: Sentences as strings or lists of tokens; or a text file with one per line, perhaps
            compressed.
        rows: Embedding of each sentence `(n, d)`: an array, a memory map, or a `.npy` file, which is
            memory-mapped.
        name: Name in reports. None: the name of the `.npy` file, or `"Precomputed"`.

    Raises:
        ValueError: The numbers of embeddings and sentences differ, or a repeated sentence has different
            embeddings.
        FormatError: The `.npy` file is not an array.
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
        self.rows: NDArray[Any] = _mapped(Path(where)) if from_file else np.asarray(rows)
        self.__name__ = name or (Path(where).stem if from_file else type(self).__name__)
        if self.rows.ndim != 2 or self.rows.dtype.kind not in "fiu":
            shape = f"{self.rows.dtype} of shape {list(self.rows.shape)}"
            raise ValueError(f"{where} must be numbers [sentences, d], is {shape}")
        source = "sentences"
        if isinstance(sentences, (str, bytes, os.PathLike)):
            source = as_name(sentences)
            sentences = Corpus(Path(source), keep_empty=True)
        self._index: dict[str, int] = {}
        count = 0
        for i, sentence in enumerate(sentences):
            count = i + 1
            key = _joined(sentence)
            first = self._index.setdefault(key, i)
            if first != i and count <= len(self.rows):
                self._check_same(key, first, i, where)
        if count != len(self.rows):
            raise ValueError(f"{where} has {len(self.rows)} rows for {count} sentences of {source}")

    @classmethod
    def of_task(cls, task: Task, rows: Mapping[str, Any], name: str | None = None) -> Precomputed:
        """Embeddings in the order of the examples of a task.

        Args:
            task: The task.
            rows: Embeddings of the examples of each split: an array, or two for pairs.
            name: Name in reports, as for `Precomputed`.

        Raises:
            ValueError: A split has no embeddings, or not as many as examples.

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
            sides = rows[split_name] if len(split.sentences) == 2 else (rows[split_name],)
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
        """Look up the embeddings of sentences.

        Args:
            sentences: Strings, or lists of tokens.

        Raises:
            ValueError: A sentence has no embedding.
        """
        keys = [_joined(sentence) for sentence in sentences]
        missing = [key for key in keys if key not in self._index]
        if missing:
            raise ValueError(
                f"{len(missing)} of {len(keys)} sentences have no row among the {len(self.rows)} of "
                f"{self.__name__}; the first of them: {missing[0]!r}"
            )
        embeddings: NDArray[Any] = self.rows[[self._index[key] for key in keys]]
        return embeddings

    def fingerprint(self) -> str:
        """Identify these sentences and embeddings."""
        digest = hashlib.sha256(f"precomputed {self.rows.dtype.str} {self.rows.shape}\n".encode())
        for sentence, index in self._index.items():
            digest.update(f"{index} {sentence}\n".encode("utf-8", "surrogatepass"))
        for first in range(0, len(self.rows), _BLOCK):
            digest.update(np.ascontiguousarray(self.rows[first : first + _BLOCK]).tobytes())
        return digest.hexdigest()

    def __repr__(self) -> str:
        return (
            f"Precomputed({self.__name__!r}, {len(self._index)} sentences, {self.rows.shape[1]} dimensions)"
        )

    def _check_same(self, sentence: str, first: int, again: int, where: str) -> None:
        """Embeddings in a wrong order show where a sentence is repeated."""
        a, b = (np.asarray(self.rows[i], dtype=np.float64) for i in (first, again))
        if np.linalg.norm(a - b) > _TOLERANCE * np.linalg.norm(a):
            raise ValueError(
                f"{where}: rows {first} and {again} differ, but both are of the sentence {sentence!r}: are "
                "rows and sentences in the same order?"
            )


def sentences_of(*tasks: Task) -> list[str]:
    """Distinct sentences of tasks, in the order of their examples, for embedding them elsewhere.

    Args:
        *tasks: The tasks.

    Returns:
        The sentences, without line breaks.

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


def _mapped(path: Path) -> NDArray[Any]:
    try:
        rows: NDArray[Any] = np.lib.format.open_memmap(path, mode="r")
    except (EOFError, ValueError) as error:
        raise FormatError(f"{path}: not an array of NumPy (.npy): {error}") from None
    return rows
