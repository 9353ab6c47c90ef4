"""What word vectors tell of words: their rows, and which words are near each other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .. import _core
from ..checks import checked_int, checked_words
from .words import UnknownWordError, Words

__all__ = ["Lookup", "Subwords"]

Floats = npt.NDArray[np.float32]


class Subwords(NamedTuple):
    """The pieces of words that have vectors: runs of so many characters, hashed into so many buckets."""

    shortest: int
    longest: int
    buckets: int


class Lookup:
    """A table of the core, and what can be asked of it."""

    __slots__ = ("_core",)

    _core: _core.WordVectors

    @property
    def dim(self) -> int:
        """How many numbers a vector has."""
        return self._core.dim

    @property
    def words(self) -> Words:
        """The words in the order of their rows; a sequence."""
        return Words(self._core)

    @property
    def counts(self) -> npt.NDArray[np.int64] | None:
        """How often each word was counted where the vectors were trained, or None. Read-only."""
        counts: npt.NDArray[np.int64] | None = self._core.counts
        return counts

    @property
    def storage(self) -> str:
        """How the numbers are stored."""
        return self._core.storage

    @property
    def oov(self) -> str:
        """What stands for a word that is not there."""
        return self._core.oov

    @property
    def subwords(self) -> Subwords | None:
        """Which pieces of words have vectors, as fastText's models have them; None where there are none."""
        shortest, longest, buckets = self._core.subwords
        return Subwords(shortest, longest, buckets) if buckets else None

    @property
    def cased(self) -> bool:
        """Whether words with upper-case letters are part of the table (more than one in a hundred)."""
        return self._core.cased

    @property
    def compounds(self) -> bool:
        """Whether words hold punctuation, as *n't* and *co-op* do (more than one in a thousand)."""
        return self._core.compounds

    @property
    def path(self) -> str | None:
        """The file that is mapped, or None."""
        return self._core.path or None

    @property
    def fingerprint(self) -> str:
        """A SHA-256 of words, numbers and counts: equal tables have equal ones."""
        return self._core.fingerprint()

    def __len__(self) -> int:
        return len(self._core)

    def __contains__(self, word: object) -> bool:
        return isinstance(word, str) and self._core.find(word) >= 0

    def __iter__(self) -> Iterator[str]:
        return iter(self.words)

    def __getitem__(self, word: str | Sequence[str]) -> Floats:
        """The vector of a word [dim], or those of several [n, dim]; oov="subwords": of unknown ones, too."""
        return self.matrix([word])[0] if isinstance(word, str) else self.matrix(word)

    def get(self, word: str, default: Any = None) -> Any:
        """The vector of a word, or `default` where it is not there, whatever the policy.

        Args:
            word: A word.
            default: What to give otherwise.

        Returns:
            An array [dim], or `default`.
        """
        if word not in self:
            return default
        return self[word]

    def matrix(self, words: Iterable[str] | None = None) -> Floats:
        """The vectors as a float32 array, a copy.

        Args:
            words: Whose vectors. None: all, in the table's order.

        Returns:
            An array [n, dim].

        Raises:
            KeyError: If one of `words` is not there.
        """
        if words is None:
            everything: Floats = self._core.matrix()
            return everything
        wanted = checked_words("words", words)
        if self.oov == "subwords" and (unknown := [i for i, word in enumerate(wanted) if word not in self]):
            listed = [max(self._core.find(word), 0) for word in wanted]
            rows: Floats = self._core.rows(np.array(listed, dtype=np.int64))
            for i in unknown:
                made = self._core.row_of_subwords(wanted[i])
                rows[i] = self._core.rows(np.array([self._find(wanted[i])])) if made is None else made
            return rows
        rows = self._core.rows(np.array([self._find(word) for word in wanted], dtype=np.int64))
        return rows

    def most_similar(
        self, word: str | Iterable[str] | npt.ArrayLike, topn: int = 10
    ) -> list[tuple[str, float]]:
        """The words whose vectors point most nearly the same way, by cosine.

        Args:
            word: A word, some words (the mean of their directions), or a vector. The words given are not
                among those found.
            topn: How many to find.

        Returns:
            Pairs of word and cosine, best first.

        Raises:
            KeyError: If a word is not there.
        """
        topn = checked_int("topn", topn, 0)
        if isinstance(word, str):
            return self._nearest({word: 1.0}, topn)
        query = word if isinstance(word, np.ndarray) else list(word)  # type: ignore[arg-type]
        if len(query) and isinstance(query[0], str):
            return self._nearest(dict.fromkeys(map(str, query), 1.0), topn)
        found: list[tuple[str, float]] = self._core.most_similar(
            np.asarray(query, dtype=np.float32), topn, []
        )
        return found

    def analogy(self, a: str, b: str, c: str, topn: int = 10) -> list[tuple[str, float]]:
        """What is to `c` as `b` is to `a`: the words nearest to b - a + c, each of length one.

        Args:
            a: A word, as "man".
            b: What belongs to it, as "king".
            c: Another, as "woman".
            topn: How many to find.

        Returns:
            Pairs of word and cosine, best first; `a`, `b` and `c` are not among them.

        Raises:
            KeyError: If a word is not there.
        """
        return self._nearest({a: -1.0, b: 1.0, c: 1.0}, checked_int("topn", topn, 0))

    def similarity(self, a: str, b: str) -> float:
        """The cosine of two words' vectors; 0 where one is zero.

        Args:
            a: A word.
            b: Another.

        Returns:
            A number from -1 to 1.

        Raises:
            KeyError: If a word is not there.
        """
        x, y = _unit(self.matrix([a, b]))
        return float(x @ y)

    def _find(self, word: str) -> int:
        if not isinstance(word, str):
            raise TypeError(f"words are str, got {type(word).__name__}")
        i = self._core.find(word)
        if i < 0:
            raise UnknownWordError(word, self.words)
        return i

    def _nearest(self, signs: Mapping[str, float], topn: int) -> list[tuple[str, float]]:
        query = np.array(list(signs.values()), dtype=np.float32) @ _unit(self.matrix(signs))
        exclude = [i for i in map(self._core.find, signs) if i >= 0]  # what matrix() has not refused
        found: list[tuple[str, float]] = self._core.most_similar(query, topn, exclude)
        return found


def _unit(rows: Floats) -> Floats:
    unit = np.array(rows, dtype=np.float32, order="C")
    _core.normalize_rows(unit)
    return unit
