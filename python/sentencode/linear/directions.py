"""Base class of SIF and uSIF."""

from __future__ import annotations

import operator
import warnings
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from .base import LinearEncoder

__all__ = ["CommonDirections"]


class CommonDirections(LinearEncoder):
    """Sentence means without their common directions."""

    components: int
    _export_notes = ("Embeddings of which less than 1e-6 of the norm remains are not set to zero.",)

    @property
    def components_(self) -> npt.NDArray[np.float32]:
        """Normalised common directions [components, dim], which are removed."""
        return cast("npt.NDArray[np.float32]", self._fitted_model().directions)

    @property
    def singular_values_(self) -> npt.NDArray[np.float32]:
        """Singular values of the sentence means [components]."""
        return cast("npt.NDArray[np.float32]", self._fitted_model().singular_values)

    @property
    def n_sentences_(self) -> int:
        """Number of sentences of `fit` with known words."""
        statistics = self._fitted_model().statistics()
        if statistics is None:
            raise AttributeError(f"this {type(self).__name__} was loaded from a file without statistics")
        return int(statistics["count"])

    def _linear(self, rows: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        model = self._fitted_model()
        directions: npt.NDArray[np.float64] = model.directions.astype(np.float64)  # [m, d]
        removed = (rows @ directions.T * model.factors) @ directions
        folded: npt.NDArray[np.float32] = (rows - removed).astype(np.float32)
        return folded

    def _finish(self) -> None:
        super()._finish()
        sentences, removed = self.n_sentences_, int(np.sum(self._fitted_model().factors == 1))
        if min(sentences, self.dim) <= removed:
            warnings.warn(
                f"{type(self).__name__}: components={self.components} leaves nothing of the means of the "
                f"sentences ({sentences:,}), so embeddings are zero: use fewer components or more sentences",
                UserWarning,
                stacklevel=4,
            )

    def _checked_components(self) -> int:
        name = type(self).__name__
        try:
            components = operator.index(self.components)
        except TypeError:
            raise ValueError(f"{name}: components must be an integer, got {self.components!r}") from None
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
