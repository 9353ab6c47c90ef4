"""What every encoder should beat: random rows, random word vectors, counts of words, the commonest class.

Rows depend on the sentence and the seed alone, not on what else is encoded, nor on the version of NumPy.
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

Rows = NDArray[np.float32]
Sentences = Iterable[str | Sequence[str]]

_BLOCK = 1 << 12  # sentences whose words are looked up at a time


def baseline(name: str, **options: Any) -> RandomSentences | RandomWords | BagOfWords | MajorityClass:
    """A baseline by its name, to be evaluated as an encoder is.

    Args:
        name: `"random"`: a random row for each sentence; what is left of a figure when nothing is known of
            sentences. `"random-words"`: the mean of random word vectors, which is much better than one would
            think. `"bow"`: counts of words. `"majority"`: no row at all, but the commonest class.
        **options: `dim` and `seed`, of those that have them.

    Returns:
        The baseline.

    Raises:
        ValueError: There is none of that name, or an option is out of range.
        TypeError: It has no such option.

    Example:
        >>> import sentencode as se
        >>> se.evaluation.baseline("bow", dim=8).encode(["the cat and the dog"]).sum()
        np.float32(5.0)
    """
    if checked_str("name", name) not in _BASELINES:
        raise ValueError(f"no baseline is named {name!r}; there are {', '.join(_BASELINES)}")
    found: RandomSentences | RandomWords | BagOfWords | MajorityClass = _BASELINES[name](**options)
    return found


class _Baseline:
    """What all have in common."""

    def fingerprint(self) -> str:
        """Tells it from others."""
        return f"1 {self!r}"


@dataclass(frozen=True)
class _Random(_Baseline):
    """What both random ones have in common."""

    dim: int = 300
    seed: int = 1111

    def __post_init__(self) -> None:
        checked_int("dim", self.dim, 1)


@dataclass(frozen=True)
class RandomSentences(_Random):
    """A random row for each sentence, the same wherever it stands.

    Attributes:
        dim: Numbers a row: uniform, with a mean of 0 and a variance of 1.
        seed: Decides which.

    Example:
        >>> a, b = RandomSentences(dim=300).encode(["a cat", "a dog"])
        >>> bool(abs(a @ b) < 0.3 * (a @ a))
        True
    """

    __name__ = "random"

    def encode(self, sentences: Sentences) -> Rows:
        """A row each, `(n, dim)`, of strings or of lists of tokens."""
        return _random_rows([" ".join(_tokens(sentence)) for sentence in sentences], self.dim, self.seed)


@dataclass(frozen=True)
class RandomWords(_Random):
    """The mean of random vectors of words; zeros for a sentence without words.

    Attributes:
        dim: Numbers a row: uniform, for each word with a mean of 0 and a variance of 1.
        seed: Decides which.

    Example:
        >>> one, other = RandomWords().encode(["a cat sat", "sat a cat"])
        >>> bool(np.allclose(one, other, atol=1e-6))
        True
    """

    __name__ = "random-words"

    def encode(self, sentences: Sentences) -> Rows:
        """A row each, `(n, dim)`, of strings or of lists of tokens."""
        found = _Words.of(sentences)
        table = _random_rows(found.words, self.dim, self.seed)
        rows = np.zeros((len(found.lengths), self.dim), dtype=np.float32)
        for first, owners, numbers in found.blocks():
            starts = np.flatnonzero(np.diff(owners, prepend=-1))
            if len(starts):
                there = first + owners[starts]
                sums = np.add.reduceat(table[numbers], starts, axis=0, dtype=np.float64)
                rows[there] = sums / found.lengths[there, None]
        return rows


@dataclass(frozen=True)
class BagOfWords(_Baseline):
    """How often each word stands in a sentence; words share columns by hash, so that rows are no wider.

    Attributes:
        dim: Columns. Few, and words that have nothing in common share them; many, and classifiers take long.

    Example:
        >>> BagOfWords(dim=2).encode(["yes", "no no", ""]).sum(axis=1)
        array([1., 2., 0.], dtype=float32)
    """

    dim: int = 1024
    __name__ = "bow"

    def __post_init__(self) -> None:
        checked_int("dim", self.dim, 1)

    def encode(self, sentences: Sentences) -> Rows:
        """A row each, `(n, dim)`, of strings or of lists of tokens."""
        found = _Words.of(sentences)
        hashes = [hashlib.blake2b(_bytes(word), digest_size=8).digest() for word in found.words]
        column = (np.frombuffer(b"".join(hashes), "<u8") % self.dim).astype(np.int64)
        rows = np.zeros((len(found.lengths), self.dim), dtype=np.float32)
        for first, owners, numbers in found.blocks():
            np.add.at(rows, (first + owners, column[numbers]), 1)
        return rows


@dataclass(frozen=True)
class MajorityClass(_Baseline):
    """The class that most training examples have: a row of a report, without a row of any sentence.

    It stands in place of the protocol's classifier; tasks without classes have no figure of it.

    Example:
        >>> import sentencode as se
        >>> from sentencode.evaluation import Kind, Split, Task
        >>> words = [str(i) for i in range(30)]
        >>> kind = Kind("classification", "nested", features=("u",))
        >>> task = Task("mine", {"all": Split((words,), np.arange(30) % 3 // 2)}, kind)
        >>> se.evaluate(MajorityClass(), task, protocol="fast")["mine"]["acc"]
        66.67
    """

    __name__ = "majority"

    def encode(self, sentences: Sentences) -> Rows:
        """One number for every sentence, which tells nothing of it."""
        return np.zeros((sum(1 for _ in sentences), 1), dtype=np.float32)

    def penalties(self, validation: str) -> Sequence[float]:
        """There is nothing to choose."""
        return (0.0,)

    def predict(self, examples: Examples, fits: Sequence[Fit], on_progress: Progress | None) -> Predictions:
        """The commonest class of each fit's training examples, for all examples."""
        commonest = [np.bincount(examples.labels[fit.train]).argmax() for fit in fits]
        classes = np.repeat(np.array(commonest)[:, None], len(examples.labels), axis=1)
        return Predictions(classes, np.zeros(len(fits)))


_BASELINES: dict[str, Any] = {
    "random": RandomSentences,
    "random-words": RandomWords,
    "bow": BagOfWords,
    "majority": MajorityClass,
}


class _Words(NamedTuple):
    """The distinct words of sentences, and which of them each sentence has, one after the other."""

    words: list[str]
    numbers: NDArray[np.int64]
    lengths: NDArray[np.int64]

    @classmethod
    def of(cls, sentences: Sentences) -> _Words:
        number: dict[str, int] = {}
        numbers: list[int] = []
        lengths: list[int] = []
        for sentence in sentences:
            tokens = _tokens(sentence)
            numbers += [number.setdefault(token, len(number)) for token in tokens]
            lengths.append(len(tokens))
        return cls(list(number), np.array(numbers, dtype=np.int64), np.array(lengths, dtype=np.int64))

    def blocks(self) -> Iterable[tuple[int, NDArray[np.int64], NDArray[np.int64]]]:
        """Some sentences at a time: the first, and of each word the sentence (from it) and the number."""
        ends = np.concatenate([[0], np.cumsum(self.lengths)])
        for first in range(0, len(self.lengths), _BLOCK):
            lengths = self.lengths[first : first + _BLOCK]
            owners = np.repeat(np.arange(len(lengths)), lengths)
            yield first, owners, self.numbers[ends[first] : ends[first + len(lengths)]]


def _tokens(sentence: str | Sequence[str]) -> Sequence[str]:
    return sentence.split() if isinstance(sentence, str) else sentence


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _random_rows(texts: list[str], dim: int, seed: int) -> Rows:
    """Uniform numbers of variance 1, made of a hash of each text."""
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
