"""Controls: encoders that are not trained, to stand beside those that are."""

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
    """The mean and the maximum of words' vectors: what a pooling alone gives."""

    def __init__(self, vectors: WordVectors) -> None:
        self.vectors = vectors

    def fingerprint(self) -> str:
        """What tells it from other encoders."""
        return f"mean and max of {self.vectors.fingerprint}"

    def encode(self, sentences: Sequence[Sequence[str]]) -> npt.NDArray[np.float32]:
        """Rows of sentences that are lists of tokens; zeros where no word is known."""
        known = [[word for word in self._words(tokens) if word in self.vectors] for tokens in sentences]
        places = {word: i for i, word in enumerate(dict.fromkeys(itertools.chain.from_iterable(known)))}
        table = self.vectors.matrix(list(places))  # [words, d]
        rows = np.zeros((len(sentences), 2 * self.vectors.dim), np.float32)
        for row, words in zip(rows, known, strict=True):
            if words:
                found = table[[places[word] for word in words]]  # [T, d]
                row[: self.vectors.dim], row[self.vectors.dim :] = found.mean(0), found.max(0)
        return rows

    def _words(self, tokens: Sequence[str]) -> Sequence[str]:
        return tokens if self.vectors.cased else [token.lower() for token in tokens]


# `rows.untrained` makes the third one, of a row of the family.
CONTROLS = {
    "average of words": Row(trained=False, make=Average),
    "mean and max of words": Row(trained=False, make=MeanMaxOfWords),
}
