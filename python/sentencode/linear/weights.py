"""Weights of words by their frequency."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..checks import checked_smoothing
from ..vectors import WordVectors, resolve_frequencies

__all__ = ["SavedWeights", "smooth_weights"]

Floats = npt.NDArray[np.float32]


class SavedWeights:
    """The words' weights as a file holds them: what `frequencies` is for an encoder that was loaded."""

    def __init__(self, weights: Floats, parameter: float | None) -> None:
        self.weights = weights
        self.parameter = parameter  # that they were made with

    def made_with(self, name: str, parameter: str, value: float | None) -> Floats:
        """The weights, if they are those for this value."""
        if value != self.parameter:
            raise ValueError(
                f"{name}: {parameter}={value!r}, but this encoder was loaded with weights made with "
                f"{parameter}={self.parameter!r}; give it frequencies to make others"
            )
        return self.weights

    def __repr__(self) -> str:
        return "<as saved>"


def smooth_weights(name: str, vectors: WordVectors, frequencies: Any, a: float | None) -> Floats | None:
    """SIF's a / (a + p(w)) for every row of the vectors; None, for all one, where `a` is None."""
    smoothing = checked_smoothing(name, a)
    if isinstance(frequencies, SavedWeights):
        return frequencies.made_with(name, "a", a)
    return None if smoothing is None else resolve_frequencies(frequencies, vectors).sif_weights(smoothing)
