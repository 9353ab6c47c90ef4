"""Baselines: random embeddings, random word vectors, bags of words, and the majority class.

Embeddings depend only on the sentence and the seed, not on other sentences or the version of NumPy.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...checks import checked_int, checked_str
from .classifiers import Examples, Fit, Predictions, Progress

__all__ = ["BagOfWords", "MajorityClass", "RandomSentences", "RandomWords", "baseline"]

Embeddings = NDArray[np.float32]
Sentences = Iterable[str | Sequence[str]]

_BLOCK = 1 << 12  # sentences per lookup of word vectors


def baseline(name: str, **options: Any) -> RandomSentences | RandomWords | BagOfWords | MajorityClass:
    """A baseline by name, which `evaluate` takes as an encoder.

    Args:
        name: `"random"`: a random embedding of each sentence. `"random-words"`: the mean of random word
            vectors, a surprisingly strong baseline. `"bow"`: word counts. `"majority"`: the most frequent
            class, without embeddings.
        **options: `dim` and `seed`, if the baseline has them.

    Raises:
        ValueError: There is no such baseline, or an option is out of range.
        TypeError: The baseline has no such option.

    Example:
        >>> import sentencode as se
        >>> se.evaluation.baseline("bow", dim=8).encode(["the cat and the dog"]).sum()
        np.float32(5.0)
    """
    if checked_str("name", name) not in _BASELINES:
        raise ValueError(f"no baseline is named {name!r}; there are {', '.join(_BASELINES)}")
    encoder: RandomSentences | RandomWords | BagOfWords | MajorityClass = _BASELINES[name](**options)
    return encoder


class _Baseline:
    """Base class of the baselines."""

    def fingerprint(self) -> str:
        """Identify the baseline and its options."""
        return f"1 {self!r}"


@dataclass(frozen=True)
class _Random(_Baseline):
    """Base class of the random baselines."""

    dim: int = 300
    seed: int = 1111

    def __post_init__(self) -> None:
        checked_int("dim", self.dim, 1)


@dataclass(frozen=True)
class RandomSentences(_Random):
    """A random embedding of each sentence, the same for equal sentences.

    Attributes:
        dim: Dimension of the embeddings: uniform values of mean 0 and variance 1.
        seed: Seed of the values.
    """

    __name__ = "random"

    def encode(self, sentences: Sentences) -> Embeddings:
        """Embeddings `(n, dim)` of strings or lists of tokens."""
        return _random_rows([" ".join(_tokens(sentence)) for sentence in sentences], self.dim, self.seed)


@dataclass(frozen=True)
class RandomWords(_Random):
    """Mean of random word vectors; zeros for a sentence without words.

    Attributes:
        dim: Dimension of the random vectors of words: uniform values of mean 0 and variance 1.
        seed: Seed of the values.
    """

    __name__ = "random-words"

    def encode(self, sentences: Sentences) -> Embeddings:
        """Embeddings `(n, dim)` of strings or lists of tokens."""
        words = _Words.of(sentences)
        table = _random_rows(words.words, self.dim, self.seed)
        rows = np.zeros((len(words.lengths), self.dim), dtype=np.float32)
        for first, owners, ids in words.blocks():
            starts = np.flatnonzero(np.diff(owners, prepend=-1))
            if len(starts):
                nonempty = first + owners[starts]
                sums = np.add.reduceat(table[ids], starts, axis=0, dtype=np.float64)
                rows[nonempty] = sums / words.lengths[nonempty, None]
        return rows


@dataclass(frozen=True)
class BagOfWords(_Baseline):
    """Word counts with the hashing trick.

    Attributes:
        dim: Number of columns: words share a column with probability `1 / dim`.
    """

    dim: int = 1024
    __name__ = "bow"

    def __post_init__(self) -> None:
        checked_int("dim", self.dim, 1)

    def encode(self, sentences: Sentences) -> Embeddings:
        """Embeddings `(n, dim)` of strings or lists of tokens."""
        words = _Words.of(sentences)
        hashes = [hashlib.blake2b(_bytes(word), digest_size=8).digest() for word in words.words]
        column = (np.frombuffer(b"".join(hashes), "<u8") % self.dim).astype(np.int64)
        rows = np.zeros((len(words.lengths), self.dim), dtype=np.float32)
        for first, owners, ids in words.blocks():
            np.add.at(rows, (first + owners, column[ids]), 1)
        return rows


@dataclass(frozen=True)
class MajorityClass(_Baseline):
    """The majority class of the training examples, which replaces the protocol's classifier.

    Tasks without classes cannot be evaluated.
    """

    __name__ = "majority"

    def encode(self, sentences: Sentences) -> Embeddings:
        """The same embedding for all sentences."""
        return np.zeros((sum(1 for _ in sentences), 1), dtype=np.float32)

    def penalties(self, validation: str) -> Sequence[float]:
        """A grid of one value, which has no effect."""
        return (0.0,)

    def predict(self, examples: Examples, fits: Sequence[Fit], on_progress: Progress | None) -> Predictions:
        """Predict the most frequent class of each fit's training examples."""
        majority = [np.bincount(examples.labels[fit.train]).argmax() for fit in fits]
        classes = np.repeat(np.array(majority)[:, None], len(examples.labels), axis=1)
        return Predictions(classes, np.zeros(len(fits)))


_BASELINES: dict[str, Any] = {
    "random": RandomSentences,
    "random-words": RandomWords,
    "bow": BagOfWords,
    "majority": MajorityClass,
}


class _Words(NamedTuple):
    """Distinct words, the ids of the words of all sentences, and the sentences' lengths."""

    words: list[str]
    ids: NDArray[np.int64]
    lengths: NDArray[np.int64]

    @classmethod
    def of(cls, sentences: Sentences) -> _Words:
        vocabulary: dict[str, int] = {}
        ids: list[int] = []
        lengths: list[int] = []
        for sentence in sentences:
            tokens = _tokens(sentence)
            ids += [vocabulary.setdefault(token, len(vocabulary)) for token in tokens]
            lengths.append(len(tokens))
        return cls(list(vocabulary), np.array(ids, dtype=np.int64), np.array(lengths, dtype=np.int64))

    def blocks(self) -> Iterable[tuple[int, NDArray[np.int64], NDArray[np.int64]]]:
        """Blocks of sentences: index of the first, and sentence (in the block) and id of each word."""
        ends = np.concatenate([[0], np.cumsum(self.lengths)])
        for first in range(0, len(self.lengths), _BLOCK):
            lengths = self.lengths[first : first + _BLOCK]
            owners = np.repeat(np.arange(len(lengths)), lengths)
            yield first, owners, self.ids[ends[first] : ends[first + len(lengths)]]


def _tokens(sentence: str | Sequence[str]) -> Sequence[str]:
    return sentence.split() if isinstance(sentence, str) else sentence


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _random_rows(texts: list[str], dim: int, seed: int) -> Embeddings:
    """Embeddings of uniform values of variance 1, from a hash of each text."""
    rows = np.empty((len(texts), dim), dtype=np.float32)
    start = hashlib.shake_128(f"{seed}\n".encode())
    for row, text in zip(rows, texts, strict=True):
        digest = start.copy()
        digest.update(_bytes(text))
        row[:] = np.frombuffer(digest.digest(2 * dim), "<u2")
    rows += 0.5
    rows *= 3**0.5 / 2**15
    rows -= 3**0.5
    return rows
