"""Baselines: random embeddings, random word vectors, bags of words, the majority class, and BM25.

Embeddings depend only on the sentence and the seed, not on other sentences or the version of NumPy.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..._extras import require
from ...checks import checked_float, checked_int, checked_str
from ...text.tokenizer import Tokenizer
from .classifiers import Examples, Fit, Predictions, Progress

__all__ = ["BM25", "BagOfWords", "MajorityClass", "RandomSentences", "RandomWords", "baseline"]

Embeddings = NDArray[np.float32]
Sentences = Iterable[str | Sequence[str]]

_BLOCK = 1 << 12  # sentences per lookup of word vectors
_SCORES = 1 << 23  # scores of queries and documents in a block


def baseline(name: str, **options: Any) -> RandomSentences | RandomWords | BagOfWords | MajorityClass | BM25:
    """A baseline by name, which `evaluate` takes as an encoder.

    Args:
        name: `"random"`: a random embedding of each sentence. `"random-words"`: the mean of random word
            vectors, a surprisingly strong baseline. `"bow"`: word counts. `"majority"`: the most frequent
            class, without embeddings. `"bm25"`: BM25, which ranks the documents of searches by their words.
        **options: `dim` and `seed`, or `k1` and `b`, if the baseline has them.

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
    encoder: RandomSentences | RandomWords | BagOfWords | MajorityClass | BM25 = _BASELINES[name](**options)
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
    question = "classification"
    only = "predicts only classes"

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


@dataclass(frozen=True)
class BM25(_Baseline):
    """Okapi BM25, as in Lucene, over lower-cased words split at punctuation.

    The score of a document is the sum over the words w of the query

        log(1 + (N - n_w + 0.5) / (n_w + 0.5)) f_w (k1 + 1) / (f_w + k1 (1 - b + b l / mean l))

    with N documents, n_w of them with the word, f_w its count in the document, and l the document's length.

    Attributes:
        k1: How slowly repetitions of a word saturate.
        b: How much long documents are discounted, from 0 to 1.

    Example:
        >>> from sentencode.evaluation import baseline
        >>> baseline("bm25").rank(["a red ship"], ["the sea", "a blue ship", "red ships"], 2).tolist()
        [[1, 2]]
    """

    k1: float = 1.2
    b: float = 0.75
    __name__ = "bm25"
    question = "search"
    only = "ranks only the documents of searches"

    def __post_init__(self) -> None:
        checked_float("k1", self.k1, 0)
        checked_float("b", self.b, 0, 1)

    def encode(self, sentences: Sentences) -> Embeddings:
        """The same embedding for all sentences: `rank` compares words."""
        return np.zeros((sum(1 for _ in sentences), 1), dtype=np.float32)

    def rank(self, queries: Sequence[str], documents: Sequence[str], top: int) -> NDArray[np.int64]:
        """Indices [queries, top] of the documents with the highest scores, the best first.

        Args:
            queries: Queries as strings.
            documents: Documents as strings.
            top: Number of documents, at most all.
        """
        both = _counts(queries, documents)
        asked, counts = both[: len(queries)], both[len(queries) :]
        lengths = np.asarray(counts.sum(axis=1)).ravel()
        discount = self.k1 * (1 - self.b + self.b * lengths / max(lengths.mean(), 1e-12))
        having = np.bincount(counts.indices, minlength=counts.shape[1])
        idf = np.log1p((len(documents) - having + 0.5) / (having + 0.5))
        per_entry = np.repeat(discount, np.diff(counts.indptr))
        counts.data = idf[counts.indices] * counts.data * (self.k1 + 1) / (counts.data + per_entry)
        weights = counts.T.tocsr()
        ranked = np.empty((len(queries), top), dtype=np.int64)
        block = max(1, _SCORES // len(documents))
        for first in range(0, len(queries), block):
            scores = -(asked[first : first + block] @ weights).toarray()
            best = np.sort(np.argpartition(scores, top - 1, axis=1)[:, :top], axis=1)
            order = np.argsort(np.take_along_axis(scores, best, axis=1), axis=1, kind="stable")
            ranked[first : first + block] = np.take_along_axis(best, order, axis=1)
        return ranked


_BASELINES: dict[str, Any] = {
    "random": RandomSentences,
    "random-words": RandomWords,
    "bow": BagOfWords,
    "majority": MajorityClass,
    "bm25": BM25,
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


def _counts(*texts: Sequence[str]) -> Any:
    """Counts of the words of all texts, a sparse matrix [texts, words]."""
    tokenize = Tokenizer("punctuation", lowercase=True)
    words = _Words.of(tokens for part in texts for tokens in tokenize(list(part)))
    rows = np.repeat(np.arange(len(words.lengths)), words.lengths)
    shape = (len(words.lengths), len(words.words))
    return require("scipy.sparse", "eval").csr_matrix((np.ones(len(rows)), (rows, words.ids)), shape=shape)


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
