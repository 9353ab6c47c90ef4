"""Controls: encoders without training."""

from __future__ import annotations

import importlib.util
import itertools
import os
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from ..linear import SIF, Average, DictRep
from ..paragraph_vec import ParagraphVec
from ..saved import load
from ..text.definitions import definitions
from ..text.tokenizer import lowercased
from ..vectors import WordVectors
from .evaluator import Adapted
from .rows import NotAvailableError, Row

__all__ = [
    "CONTROLS",
    "AverageOfWord2vec",
    "MeanMaxOfWords",
    "Projection",
    "average_of_first",
    "of_wordnet",
    "paragraph_vec",
    "saved_row",
]

_SEED = 20181111


class MeanMaxOfWords:
    """The mean and the maximum of the word vectors of a sentence."""

    def __init__(self, vectors: WordVectors) -> None:
        self.vectors = vectors

    def fingerprint(self) -> str:
        """The identity of the encoder."""
        return f"mean and max of {self.vectors.fingerprint}"

    def encode(self, sentences: Sequence[Sequence[str]]) -> npt.NDArray[np.float32]:
        """The embeddings of tokenized sentences [n, 2 d]; zeros without known words."""
        texts = [[word for word in self._words(tokens) if word in self.vectors] for tokens in sentences]
        index = {word: i for i, word in enumerate(dict.fromkeys(itertools.chain.from_iterable(texts)))}
        table = self.vectors.matrix(list(index))  # [words, d]
        embeddings = np.zeros((len(sentences), 2 * self.vectors.dim), np.float32)
        for embedding, words in zip(embeddings, texts, strict=True):
            if words:
                x = table[[index[word] for word in words]]  # [T, d]
                embedding[: self.vectors.dim], embedding[self.vectors.dim :] = x.mean(0), x.max(0)
        return embeddings

    def _words(self, tokens: Sequence[str]) -> Sequence[str]:
        return tokens if self.vectors.cased else lowercased(tokens)


class Projection:
    """A random linear map of the embeddings of `MeanMaxOfWords`, whose entries are N(0, 1 / width).

    Args:
        vectors: Word vectors.
        width: Dimensions of an embedding.
    """

    def __init__(self, vectors: WordVectors, width: int) -> None:
        self.words, self.width = MeanMaxOfWords(vectors), width
        shape = 2 * vectors.dim, width
        self.matrix = np.random.default_rng(_SEED).normal(0, width**-0.5, shape).astype(np.float32)

    def fingerprint(self) -> str:
        """The identity of the encoder."""
        return f"projection to {self.width} of {self.words.fingerprint()}"

    def encode(self, sentences: Sequence[Sequence[str]]) -> npt.NDArray[np.float32]:
        """The embeddings of tokenized sentences [n, width]."""
        embeddings: npt.NDArray[np.float32] = self.words.encode(sentences) @ self.matrix
        return embeddings


class AverageOfWord2vec:
    """The average of word vectors that word2vec trains on the training sentences.

    Args:
        vectors: Word vectors, which have the dimension of the trained ones.
    """

    average: Average

    def __init__(self, vectors: WordVectors) -> None:
        self.dim = vectors.dim

    def fit(self, sentences: Any, *, show_progress_bar: bool) -> None:
        """Train the word vectors."""
        _check_gensim()
        words = WordVectors.train(sentences, self.dim, method="word2vec", progress=show_progress_bar)
        self.average = Average(words)

    def fingerprint(self) -> str:
        """The identity of the encoder."""
        return self.average.fingerprint()

    def encode(self, sentences: Sequence[Sequence[str]]) -> npt.NDArray[np.float32]:
        """The embeddings of tokenized sentences [n, dim]."""
        embeddings: npt.NDArray[np.float32] = self.average.encode(sentences)
        return embeddings


def _check_gensim() -> None:
    if importlib.util.find_spec("gensim") is None:
        raise NotAvailableError("gensim is not installed")


# `rows.untrained` makes a further control from a row of the family.
CONTROLS = {
    "average of words": Row(trained=False, make=Average),
    "mean and max of words": Row(trained=False, make=MeanMaxOfWords),
    "SIF": Row(trained=False, make=lambda vectors: SIF(vectors, statistics="evaluated")),
}


def of_wordnet(vectors: WordVectors) -> DictRep:
    """A `DictRep` that is trained on the definitions of WordNet."""
    try:
        pairs = list(definitions())
    except FileNotFoundError as missing:
        raise NotAvailableError(f"{missing.filename}: {missing.strerror}") from None
    encoder: DictRep = DictRep(vectors).fit(pairs)
    return encoder


def paragraph_vec(mode: Literal["dbow", "dm"]) -> Row:
    """A row of `ParagraphVec`."""

    def make(_: WordVectors) -> ParagraphVec:
        _check_gensim()
        return ParagraphVec(mode)

    return Row(trained=False, make=make, fitted="sample")


def average_of_first(count: int) -> Row:
    """A row: the average of the vectors of the first words of a sentence."""

    def make(vectors: WordVectors) -> Adapted:
        words = Average(vectors)
        fingerprint = f"first {count} words of {words.fingerprint()}"
        return Adapted(lambda x: words.encode([tokens[:count] for tokens in x]), fingerprint, words)

    return Row(trained=False, make=make)


def saved_row(path: str | os.PathLike[str] | None) -> Row:
    """A row of a saved encoder. None: there is none."""

    def make(_: WordVectors) -> Any:
        if path is None:
            raise NotAvailableError("no encoder was given")
        return load(path)

    return Row(trained=False, make=make)
