"""Properties, rows, nearest words and export of a table of word vectors."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from .. import _core
from ..checks import checked_int, checked_str, checked_words
from ..files import as_name
from .words import UnknownWordError, Words

__all__ = ["Lookup", "Subwords"]

Floats = npt.NDArray[np.float32]


class Subwords(NamedTuple):
    """Subwords of a table: n-grams of `shortest` to `longest` characters, hashed into `buckets`."""

    shortest: int
    longest: int
    buckets: int


class Lookup:
    """A table of word vectors of the core: what `WordVectors` does with it, but for creating others."""

    __slots__ = ("_core",)

    _core: _core.WordVectors

    @property
    def dim(self) -> int:
        """Dimension of the vectors."""
        return self._core.dim

    @property
    def words(self) -> Words:
        """Sequence of the words, in the order of their rows."""
        return Words(self._core)

    @property
    def counts(self) -> npt.NDArray[np.int64] | None:
        """Counts of the words in the training corpus, read-only, or None."""
        counts: npt.NDArray[np.int64] | None = self._core.counts
        return counts

    @property
    def storage(self) -> str:
        """Storage type."""
        return self._core.storage

    @property
    def oov(self) -> str:
        """Representation of unknown words."""
        return self._core.oov

    @property
    def subwords(self) -> Subwords | None:
        """Subwords, as in fastText's models, or None."""
        shortest, longest, buckets = self._core.subwords
        return Subwords(shortest, longest, buckets) if buckets else None

    @property
    def cased(self) -> bool:
        """Whether more than 1 % of the words have upper-case letters."""
        return self._core.cased

    @property
    def compounds(self) -> bool:
        """Whether more than 0.1 % of the words contain punctuation, such as *n't* and *co-op*."""
        return self._core.compounds

    @property
    def path(self) -> str | None:
        """The mapped file, or None."""
        return self._core.path or None

    @property
    def fingerprint(self) -> str:
        """SHA-256 of words, vectors and counts."""
        return self._core.fingerprint()

    def __len__(self) -> int:
        return len(self._core)

    def __contains__(self, word: object) -> bool:
        return isinstance(word, str) and self._core.find(word) >= 0

    def __iter__(self) -> Iterator[str]:
        return iter(self.words)

    def __getitem__(self, word: str | Sequence[str]) -> Floats:
        """Return the vector of a word [dim], or of several [n, dim]; by subwords also of unknown words."""
        return self.matrix([word])[0] if isinstance(word, str) else self.matrix(word)

    def get(self, word: str, default: Any = None) -> Any:
        """Return the vector of a word [dim], or `default` if it is not in the table.

        Args:
            word: A word.
            default: Value for unknown words.
        """
        return self.matrix([word])[0] if word in self else default

    def matrix(self, words: Iterable[str] | None = None) -> Floats:
        """Copy vectors to a float32 array [n, dim].

        Args:
            words: The words. None: all, in the table's order.

        Raises:
            KeyError: One of `words` is not in the table.
        """
        if words is None:
            return self._core.matrix()
        words = checked_words("words", words)
        unknown = [i for i, word in enumerate(words) if word not in self] if self.oov == "subwords" else []
        subwords = {i: self._core.row_of_subwords(words[i]) for i in unknown}
        ids = [0 if subwords.get(i) is not None else self._find(word) for i, word in enumerate(words)]
        rows = self._core.rows(np.array(ids, dtype=np.int64))
        for i in unknown:
            rows[i] = subwords[i]
        return rows

    def most_similar(
        self, word: str | Iterable[str] | npt.ArrayLike, topn: int = 10
    ) -> list[tuple[str, float]]:
        """Return the nearest words by cosine and their cosines, best first.

        Args:
            word: A word, several words (the mean of their normalised vectors), or a vector. These words are
                not returned.
            topn: Number of words.

        Raises:
            KeyError: A word is not in the table.
            ValueError: The vector has NaN or infinite elements.
        """
        topn = checked_int("topn", topn, 0)
        if isinstance(word, str):
            return self._nearest([(word, 1.0)], topn)
        query = word if isinstance(word, np.ndarray) else list(word)  # type: ignore[arg-type]
        if len(query) and isinstance(query[0], str):
            return self._nearest([(str(one), 1.0) for one in query], topn)
        vector = np.asarray(query, dtype=np.float32)
        if not np.isfinite(vector).all():
            raise ValueError("most_similar: the vector has NaN or infinite elements")
        return self._core.most_similar(vector, topn, [])

    def analogy(self, a: str, b: str, c: str, topn: int = 10) -> list[tuple[str, float]]:
        """Return the nearest words to b - a + c, with normalised vectors, and their cosines, best first.

        Args:
            a: A word, such as "man".
            b: A related word, such as "king".
            c: The word to complete, such as "woman".
            topn: Number of words, without `a`, `b` and `c`.

        Raises:
            KeyError: A word is not in the table.
        """
        return self._nearest([(a, -1.0), (b, 1.0), (c, 1.0)], checked_int("topn", topn, 0))

    def similarity(self, a: str, b: str) -> float:
        """Return the cosine of the vectors of two words; 0 if one is zero.

        Args:
            a: A word.
            b: Another word.

        Raises:
            KeyError: A word is not in the table.
        """
        x, y = _unit(self.matrix([a, b]))
        return float(x @ y)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the native format, which `load` maps in milliseconds and processes share in memory.

        Args:
            path: File, which is replaced atomically.

        Raises:
            OSError: It cannot be written.
        """
        self._core.save(_core.link_target(as_name(path)))

    def export(
        self,
        path: str | os.PathLike[str],
        format: Literal["glove", "word2vec", "word2vec_binary"] = "word2vec",
    ) -> None:
        """Write a format of other programs, without loss of precision.

        Args:
            path: File, which is replaced atomically.
            format: "word2vec" (text with a header line, for gensim and fastText), "glove" (text without it;
                words may contain spaces, then `load` needs `dim`) or "word2vec_binary".

        Raises:
            ValueError: A word contains white space, which the format does not allow.
            OSError: The file cannot be written.
        """
        self._core.write(_core.link_target(as_name(path)), checked_str("format", format))

    def to_keyed_vectors(self) -> Any:
        """Copy to gensim's `KeyedVectors`, with the counts, if any.

        Raises:
            ImportError: gensim is not installed.
        """
        try:
            from gensim.models import KeyedVectors
        except ImportError as error:
            raise ImportError("KeyedVectors need gensim: pip install gensim") from error
        keyed_vectors = KeyedVectors(vector_size=self.dim, count=0)
        keyed_vectors.add_vectors(list(self.words), self.matrix())
        if self.counts is not None:
            for word, count in zip(self.words, self.counts.tolist(), strict=True):
                keyed_vectors.set_vecattr(word, "count", count)
        return keyed_vectors

    def __repr__(self) -> str:
        return f"WordVectors({len(self):,} words, dim={self.dim}, storage={self.storage!r}, oov={self.oov!r})"

    def _repr_html_(self) -> str:
        import html

        megabytes = len(self) * self.dim * {"float32": 4, "float16": 2, "int8": 1}[self.storage] / 1e6
        rows = {
            "words": f"{len(self):,}",
            "dim": f"{self.dim}",
            "storage": f"{self.storage}, {megabytes:,.1f} MB{', mapped' if self.path else ''}",
            "unknown words": self.oov,
            "counts": "no" if self.counts is None else f"yes, {int(self.counts.sum()):,} tokens",
            "first words": ", ".join(self.words[:8]),
        }
        cells = "".join(
            f"<tr><th style='text-align:left'>{key}</th>"
            f"<td style='text-align:left'>{html.escape(value)}</td></tr>"
            for key, value in rows.items()
        )
        return f"<table><caption>WordVectors</caption>{cells}</table>"

    def _find(self, word: str) -> int:
        if not isinstance(word, str):
            raise TypeError(f"words are str, got {type(word).__name__}")
        i = self._core.find(word)
        if i < 0:
            raise UnknownWordError(word, self.words)
        return i

    def _nearest(self, signs: Sequence[tuple[str, float]], topn: int) -> list[tuple[str, float]]:
        words = [word for word, _ in signs]
        query = np.array([sign for _, sign in signs], np.float32) @ _unit(self.matrix(words))
        exclude = [i for i in map(self._core.find, set(words)) if i >= 0]  # subwords may represent the others
        return self._core.most_similar(query, topn, exclude)


def _unit(rows: Floats) -> Floats:
    unit = np.array(rows, dtype=np.float32, order="C")
    _core.normalize_rows(unit)
    return unit
