"""Word frequencies, from which encoders compute word weights."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from .. import _core
from ..text.vocabulary import Vocabulary
from .word_vectors import WordVectors

__all__ = ["Frequencies", "resolve_frequencies"]


class Frequencies:
    """Word frequencies: counted, or estimated from ranks.

    Encoders with word weights have the argument `frequencies`. It may also be the path of a file, a dict or a
    `Vocabulary` of counts, "zipf", or None: the counts of the vectors, or "zipf" if they have none.

    For lower-cased vectors, counts of "The" and "the" are added. For others, words without a count get that
    of their lower-cased form.

    Attributes:
        vocabulary: The words and their counts, or None.

    Example:
        >>> import sentencode as se
        >>> frequencies = se.Frequencies.from_counts({"the": 60, "cat": 30, "dog": 10})
        >>> vectors = se.WordVectors.from_dict({"cat": [1, 0], "cow": [0, 1], "the": [1, 1]})
        >>> frequencies.probabilities(vectors).tolist()
        [0.3, 0.0, 0.6]
        >>> se.Frequencies.zipf().probabilities(vectors).round(2).tolist()
        [0.41, 0.32, 0.27]
    """

    __slots__ = ("_vocabulary",)

    def __init__(self, vocabulary: Vocabulary | None) -> None:
        if not isinstance(vocabulary, Vocabulary | None):
            raise TypeError(
                f"Frequencies: vocabulary must be a Vocabulary or None, got a {type(vocabulary).__name__}; "
                "Frequencies.from_counts takes a dict or a Series"
            )
        self._vocabulary = vocabulary

    @classmethod
    def from_corpus(cls, corpus: Any, tokenizer: Any = "words") -> Frequencies:
        """Count the words of a corpus, on all threads.

        Args:
            corpus: A `Corpus`, its path, or an iterable of sentences.
            tokenizer: A `Tokenizer`, or its argument; best that of the encoder.
        """
        return cls(Vocabulary.from_corpus(corpus, tokenizer))

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Frequencies:
        """Read a file with a line `word count` per word, compressed or not, such as SIF's enwiki file.

        Args:
            path: The file.

        Raises:
            FormatError: A line is not a word and its count.
        """
        return cls(Vocabulary.read(path))

    @classmethod
    def from_counts(cls, counts: Mapping[str, int]) -> Frequencies:
        """Create from counts.

        Args:
            counts: Count of each word: a dict, or a pandas Series by word.
        """
        if hasattr(counts, "to_dict"):
            counts = counts.to_dict()
        return cls(counts if isinstance(counts, Vocabulary) else Vocabulary(counts))

    @classmethod
    def zipf(cls) -> Frequencies:
        """Estimate from ranks: the r-th word of the vectors has a probability proportional to 1 / (r + 2.7).

        Published vectors have their words in descending order of frequency.
        """
        return cls(None)

    @property
    def vocabulary(self) -> Vocabulary | None:
        """The words and their counts; None if they are estimated from ranks."""
        return self._vocabulary

    def probabilities(self, vectors: WordVectors) -> Any:
        """Return the probability of each word of a table [len(vectors)]; 0 for words without a count.

        Args:
            vectors: The table.
        """
        return self.of(vectors).probability[: len(vectors)]

    def of(self, vectors: WordVectors) -> _core.Frequencies:
        """Return the frequencies for a table.

        Args:
            vectors: The table.

        Returns:
            An object with `sif_weights(a)` and `usif_weights(sentence_length)`, the weights of all rows,
            including those of unknown words.
        """
        if self._vocabulary is None:
            return _core.Frequencies.zipf(vectors._core)
        return _core.Frequencies.from_vocabulary(vectors._core, self._vocabulary.core)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Frequencies) and self._vocabulary == other._vocabulary

    def __hash__(self) -> int:
        return hash(self._vocabulary)

    def __reduce__(self) -> tuple[type[Frequencies], tuple[Vocabulary | None]]:
        return Frequencies, (self._vocabulary,)

    def __repr__(self) -> str:
        if self._vocabulary is None:
            return "Frequencies.zipf()"
        return f"Frequencies({len(self._vocabulary):,} words, {self._vocabulary.total:,} tokens)"


def resolve_frequencies(frequencies: Any, vectors: WordVectors) -> _core.Frequencies:
    """Convert an encoder's argument `frequencies` to the frequencies for a table.

    Args:
        frequencies: None (the counts of the vectors, or ranks), "zipf", the path of a file of counts, a
            dict, pandas Series or `Vocabulary` of counts, or a `Frequencies`.
        vectors: The table.

    Returns:
        An object with `sif_weights(a)` and `usif_weights(sentence_length)`.

    Raises:
        TypeError: It is something else.
    """
    if frequencies is None:
        counted = vectors.counts is not None
        return (_core.Frequencies.from_counts if counted else _core.Frequencies.zipf)(vectors._core)
    if isinstance(frequencies, Frequencies):
        return frequencies.of(vectors)
    if isinstance(frequencies, str) and frequencies == "zipf":
        return Frequencies.zipf().of(vectors)
    if isinstance(frequencies, (str, os.PathLike)):
        return Frequencies.read(frequencies).of(vectors)
    if isinstance(frequencies, Mapping) or hasattr(frequencies, "to_dict"):
        return Frequencies.from_counts(frequencies).of(vectors)
    raise TypeError(
        "frequencies must be None, 'zipf', a path, a dict, a Series, a Vocabulary or Frequencies, "
        f"got {type(frequencies).__name__}"
    )
