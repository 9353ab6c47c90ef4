"""Word weights by frequency."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..checks import checked_smoothing
from ..vectors import WordVectors, resolve_frequencies

__all__ = ["SavedWeights", "smooth_weights"]

Floats = npt.NDArray[np.float32]


class SavedWeights:
    """Word weights from a file: `frequencies` of a loaded encoder."""

    vectors: WordVectors | None = None  # that they are for; None: not known, in early pickles

    def __init__(self, weights: Floats, parameter: float | None) -> None:
        self.weights = weights  # of all rows
        self.parameter = parameter  # value of `a` or `sentence_length`

    def made_with(self, name: str, parameter: str, value: float | None, vectors: WordVectors) -> Floats:
        """Return the weights; ValueError if they are for another value, or other vectors."""
        if value != self.parameter:
            raise ValueError(
                f"{name}: {parameter}={value!r}, but this encoder was loaded with weights for "
                f"{parameter}={self.parameter!r}; set frequencies to compute others"
            )
        own = self.vectors
        if own is None or own._core is vectors._core:
            return self.weights
        rows = vectors._core.row_count
        if rows > len(self.weights) or list(own.words) != list(vectors.words):
            raise ValueError(
                f"{name}: this encoder was loaded with weights for other word vectors, or another oov; set "
                "frequencies, such as to None for the counts of the vectors"
            )
        return self.weights[:rows]

    def __repr__(self) -> str:
        return "<as saved>"


def smooth_weights(name: str, vectors: WordVectors, frequencies: Any, a: float | None) -> Floats | None:
    """SIF's weights a / (a + p(w)) of all rows of the vectors; None if `a` is None."""
    smoothing = checked_smoothing(name, a)
    if isinstance(frequencies, SavedWeights):
        return frequencies.made_with(name, "a", a, vectors)
    return None if smoothing is None else resolve_frequencies(frequencies, vectors).sif_weights(smoothing)
