"""Weights of words by their frequency."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["SavedWeights", "smooth_weights"]

Floats = npt.NDArray[np.float32]


class SavedWeights:
    """The words' weights as a file holds them: what `frequencies` is for an encoder that was loaded."""

    def __init__(self, weights: Floats, a: float | None) -> None:
        self.weights = weights
        self.a = a

    def __repr__(self) -> str:
        return "<as saved>"


def smooth_weights(name: str, vectors: Any, frequencies: Any, a: float | None) -> Floats | None:
    """SIF's a / (a + p(w)) for every row of the vectors; None, for all one, where `a` is None."""
    if isinstance(frequencies, SavedWeights):
        if a != frequencies.a:
            raise ValueError(
                f"{name}: a={a!r}, but this encoder was loaded with weights made with a={frequencies.a!r}; "
                "give it frequencies to make others"
            )
        return frequencies.weights
    if a is None:
        return None
    if not (isinstance(a, float | int) and 0 < a < float("inf")):
        raise ValueError(f"{name}: a must be a number greater than 0, or None for no weights, got {a!r}")
    from ..vectors import resolve_frequencies

    return resolve_frequencies(frequencies, vectors).sif_weights(a)
