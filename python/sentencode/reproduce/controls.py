"""Controls: encoders without training."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ..linear import Average
from ..vectors import WordVectors
from .rows import Row

__all__ = ["CONTROLS", "MeanMaxOfWords"]


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
        return tokens if self.vectors.cased else [token.lower() for token in tokens]


# `rows.untrained` makes the third control from a row of the family.
CONTROLS = {
    "average of words": Row(trained=False, make=Average),
    "mean and max of words": Row(trained=False, make=MeanMaxOfWords),
}
