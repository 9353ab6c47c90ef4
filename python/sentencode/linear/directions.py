"""What SIF and uSIF share."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import numpy.typing as npt

from .base import LinearEncoder

__all__ = ["CommonDirections"]


class CommonDirections(LinearEncoder):
    """Sentence means without the directions that all sentences share."""

    components: int

    @property
    def components_(self) -> npt.NDArray[np.float32]:
        """The directions that are taken away [components, dim], rows of length 1."""
        found: npt.NDArray[np.float32] = self._fitted_model().directions
        return found

    @property
    def singular_values_(self) -> npt.NDArray[np.float32]:
        """Of the sentences' means, [components]."""
        found: npt.NDArray[np.float32] = self._fitted_model().singular_values
        return found

    @property
    def n_sentences_(self) -> int:
        """How many sentences were learnt from, those without known words left out."""
        statistics = self._fitted_model().statistics()
        if statistics is None:
            raise AttributeError(f"this {type(self).__name__} was loaded from a file without statistics")
        return int(statistics["count"])

    def _checked_components(self) -> int:
        name = type(self).__name__
        try:
            components = operator.index(self.components)
        except TypeError:
            raise ValueError(f"{name}: components must be a whole number, got {self.components!r}") from None
        if not 0 <= components <= self._word_vectors.dim:
            raise ValueError(
                f"{name}: components must be from 0 to {self._word_vectors.dim}, the vectors' dimension, "
                f"got {components}"
            )
        return components

    def _facts(self) -> dict[str, Any]:
        facts = super()._facts()
        if hasattr(self, "n_sentences_"):
            facts["sentences"] = f"{self.n_sentences_:,}"
        return facts
