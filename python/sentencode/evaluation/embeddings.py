"""Sentences of tasks as rows: every distinct one encoded once, whatever the encoder, and kept on disk."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ..encoder_rows import DegenerateEncoderError, EncoderRows, Rows
from ..text.tokenizer import chosen_tokenizer
from ..vectors import WordVectors
from .data import Task
from .precomputed import Precomputed, sentences_of

__all__ = ["DegenerateEncoderError", "Embedder", "distinct"]

_REMEMBERED = 1 << 30  # bytes of rows
_AT_ONCE = 1 << 16  # sentences


@dataclass
class Embedder(EncoderRows):
    """Gives the rows of tasks' sentences, and tells how fast they came and which words were unknown.

    Rows of sentences that several tasks have (`expect`) are kept in memory as well. Of what is `Precomputed`,
    none are kept on disk.

    Attributes:
        seconds: How long encoding took; what came from the cache or was computed elsewhere is left out.
        sentences: How many sentences that were.
        timings: The same of each call of the encoder.
    """

    seconds: float = field(default=0.0, init=False)
    sentences: int = field(default=0, init=False)
    timings: list[tuple[int, float]] = field(default_factory=list, init=False, repr=False)
    _shared: set[str] = field(default_factory=set, init=False, repr=False)
    _rows: dict[str, Rows] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        if isinstance(self.encoder, Precomputed):
            self.cache = None
        super().__post_init__()

    def __call__(self, sentences: list[str]) -> Rows:
        """As of `EncoderRows`; sentences that are kept in memory are not encoded again."""
        rows = super().__call__(sentences)
        self._remember(sentences, rows)
        return rows

    def speeds(self) -> list[float]:
        """Sentences a second, least and most, of the calls of some size; empty where there are not two."""
        some = [
            count / seconds for count, seconds in self.timings if seconds > 0 and 50 * count > self.sentences
        ]
        return [round(min(some), 1), round(max(some), 1)] if len(some) > 1 else []

    def expect(self, tasks: Iterable[Task]) -> None:
        """Says which tasks will be encoded, so that a sentence of several of them is encoded once.

        Their rows are kept in memory, up to a gibibyte: first come, first kept.

        Args:
            tasks: All that are to come.
        """
        found = Counter(sentence for task in tasks for sentence in sentences_of(task))
        self._shared = {sentence for sentence, count in found.items() if count > 1}

    def unknown(self, sentences: list[str]) -> float | None:
        """The share of tokens that the encoder's word vectors do not hold; None where it has none.

        Args:
            sentences: Tokens with a space between them.

        Returns:
            From 0 to 1.
        """
        vectors = getattr(self.encoder, "vectors", None)
        if not self.tokens or not isinstance(vectors, WordVectors):
            return None
        lowercase = getattr(self.encoder, "lowercase", "auto")
        lower = not vectors.cased if lowercase == "auto" else bool(lowercase)
        tokenizer = getattr(self.encoder, "tokenizer", "whitespace")
        cut = chosen_tokenizer("", tokenizer, lowercase, compounds=vectors.compounds)
        if cut.split == "punctuation":  # it cuts tokens further
            sentences = [" ".join(tokens) for tokens in cut(sentences)]
        counts = Counter(token for sentence in sentences for token in sentence.split())
        missing = sum(n for token, n in counts.items() if (token.lower() if lower else token) not in vectors)
        return missing / max(1, counts.total())

    def _remember(self, sentences: list[str], rows: Rows) -> None:
        room = _REMEMBERED // (rows.shape[1] * rows.itemsize)
        for i, sentence in enumerate(sentences):
            if sentence in self._shared and sentence not in self._rows and len(self._rows) < room:
                self._rows[sentence] = rows[i].copy()

    def _encoded(self, sentences: list[str]) -> Rows:
        new = [i for i, sentence in enumerate(sentences) if sentence not in self._rows]
        if len(new) == len(sentences):
            return self._timed(sentences)
        assert self.dim is not None
        rows = np.empty((len(sentences), self.dim), dtype=np.float32)
        for i, sentence in enumerate(sentences):
            if sentence in self._rows:
                rows[i] = self._rows[sentence]
        for first in range(0, len(new), _AT_ONCE):  # else all would be held twice
            some = new[first : first + _AT_ONCE]
            rows[some] = self._timed([sentences[i] for i in some])
        return rows

    def _timed(self, sentences: list[str]) -> Rows:
        begin = time.perf_counter()
        rows = super()._encoded(sentences)
        if not isinstance(self.encoder, Precomputed):
            seconds = time.perf_counter() - begin
            self.seconds += seconds
            self.sentences += len(sentences)
            self.timings.append((len(sentences), seconds))
        return rows


def distinct(sides: Iterable[list[str]]) -> tuple[list[str], list[NDArray[np.int64]]]:
    """The distinct sentences of several lists, by first appearance, and each list as numbers of them.

    Example:
        >>> distinct([["a", "b", "a"], ["b", "c"]])
        (['a', 'b', 'c'], [array([0, 1, 0]), array([1, 2])])
    """
    number: dict[str, int] = {}
    places = [np.array([number.setdefault(s, len(number)) for s in side], dtype=np.int64) for side in sides]
    return list(number), places
