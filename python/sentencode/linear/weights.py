"""Weights of words by their frequency."""

from __future__ import annotations

import math
import numbers
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["SavedWeights", "is_positive", "smooth_weights"]

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


def smooth_weights(name: str, vectors: Any, frequencies: Any, a: float | None) -> Floats | None:
    """SIF's a / (a + p(w)) for every row of the vectors; None, for all one, where `a` is None."""
    if a is not None and not is_positive(a):
        raise ValueError(f"{name}: a must be a number greater than 0, or None for no weights, got {a!r}")
    if isinstance(frequencies, SavedWeights):
        return frequencies.made_with(name, "a", a)
    if a is None:
        return None
    from ..vectors import resolve_frequencies

    return resolve_frequencies(frequencies, vectors).sif_weights(float(a))


def is_positive(value: Any) -> bool:
    """Whether this is a finite number greater than 0, of Python's or of NumPy's."""
    return isinstance(value, numbers.Real) and math.isfinite(value) and float(value) > 0
