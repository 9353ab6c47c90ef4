"""How frequent words are, which is what encoders weigh them by."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from .. import _core
from ..text.vocabulary import Vocabulary
from .word_vectors import WordVectors

__all__ = ["Frequencies", "resolve_frequencies"]


class Frequencies:
    """How frequent words are: counted, or guessed from their ranks.

    Encoders that weigh words take it as `frequencies`. They also take what it is made of: the path of a file,
    a dict or a `Vocabulary` of counts, or "zipf"; and None, which stands for the counts that the vectors
    carry themselves, or, where they carry none, for "zipf".

    Where the vectors are lower-cased, counts of "The" and "the" are added up; where they are not, a word that
    was not counted takes the count of its lower-cased form.

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
        self._vocabulary = vocabulary

    @classmethod
    def from_corpus(cls, corpus: Any, tokenizer: Any = "words") -> Frequencies:
        """Counts the words of a corpus, on all threads.

        Args:
            corpus: A Corpus, the path of one, or whatever holds sentences.
            tokenizer: A `Tokenizer`, or what one is made of; best that of the encoder.

        Returns:
            The frequencies.
        """
        return cls(Vocabulary.from_corpus(corpus, tokenizer))

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Frequencies:
        """Reads a file of `word count` a line, packed or not, as SIF's counts of Wikipedia are.

        Args:
            path: The file.

        Returns:
            The frequencies.

        Raises:
            FormatError: If a line is not a word and its count.
        """
        return cls(Vocabulary.read(path))

    @classmethod
    def from_counts(cls, counts: Mapping[str, int]) -> Frequencies:
        """Takes counts that are known.

        Args:
            counts: How often each word was seen.

        Returns:
            The frequencies.
        """
        return cls(counts if isinstance(counts, Vocabulary) else Vocabulary(counts))

    @classmethod
    def zipf(cls) -> Frequencies:
        """Guesses from ranks: the r-th word of the vectors has a probability proportional to 1 / (r + 2.7).

        Published vectors have their words in falling order of frequency.

        Returns:
            The frequencies.
        """
        return cls(None)

    @property
    def vocabulary(self) -> Vocabulary | None:
        """The words and their counts; None where they are guessed from ranks."""
        return self._vocabulary

    def probabilities(self, vectors: WordVectors) -> Any:
        """How probable each word of a table is; 0 for words never counted.

        Args:
            vectors: The table.

        Returns:
            A float64 array [len(vectors)].
        """
        return self.of(vectors).probability[: len(vectors)]

    def of(self, vectors: WordVectors) -> _core.Frequencies:
        """The same for one table, with the weights that follow from it.

        Args:
            vectors: The table.

        Returns:
            An object with `sif_weights(a)` and `usif_weights(sentence_length)`, arrays with a weight for each
            row, those of unknown words included.
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
    """What a user gave as `frequencies`, for one table.

    Args:
        frequencies: None (the vectors' own counts, else ranks), "zipf", the path of a file of counts, a dict
            or a `Vocabulary` of them, or a `Frequencies`.
        vectors: The table.

    Returns:
        An object with `sif_weights(a)` and `usif_weights(sentence_length)`.

    Raises:
        TypeError: If it is something else.
    """
    if frequencies is None:
        known = vectors.counts is not None
        return (_core.Frequencies.from_counts if known else _core.Frequencies.zipf)(vectors._core)
    if isinstance(frequencies, Frequencies):
        return frequencies.of(vectors)
    if frequencies == "zipf":
        return Frequencies.zipf().of(vectors)
    if isinstance(frequencies, (str, os.PathLike)):
        return Frequencies.read(frequencies).of(vectors)
    if isinstance(frequencies, Mapping):
        return Frequencies.from_counts(frequencies).of(vectors)
    raise TypeError(
        "frequencies must be None, 'zipf', a path, a dict, a Vocabulary or Frequencies, "
        f"got {type(frequencies).__name__}"
    )
