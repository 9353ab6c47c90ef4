"""The bag of words."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from .. import _core
from ..vectors import WordVectors
from .base import LinearEncoder
from .weights import smooth_weights

__all__ = ["Average"]


class Average(LinearEncoder):
    """The mean of a sentence's word vectors: the bag of words. Nothing to fit.

    Args:
        vectors: Word vectors.
        tokenizer: "words" (as the Penn Treebank writes English), "whitespace" (text that is tokenised
            already), a `Tokenizer`, any callable, or a tokenizer of Hugging Face.
        lowercase: Whether to lower-case. "auto": unless the vectors hold words with upper-case letters.
        a: Weighs a word of probability p(w) by a / (a + p(w)), as SIF does; 1e-3 is usual. None: all words
            alike.
        frequencies: Where p(w) comes from, if `a` is given: a `Frequencies`, a `Vocabulary`, a dict of
            counts, the path of a file of words and counts, or "zipf" (the order of the vectors). None: the
            counts that the vectors carry, or "zipf" where they carry none.

    Example:
        >>> import numpy as np, sentencode as se
        >>> vectors = se.WordVectors.from_array(["cat", "dog"], np.eye(2, dtype=np.float32))
        >>> se.Average(vectors).encode(["Cat dog!", "cat cat cat dog", "unknown"])
        array([[0.5 , 0.5 ],
               [0.75, 0.25],
               [0.  , 0.  ]], dtype=float32)
    """

    def __init__(
        self,
        vectors: WordVectors,
        *,
        tokenizer: Any = "words",
        lowercase: bool | Literal["auto"] = "auto",
        a: float | None = None,
        frequencies: Any = None,
    ) -> None:
        self.vectors = vectors
        self.tokenizer = tokenizer
        self.lowercase = lowercase
        self.a = a
        self.frequencies = frequencies

    @property
    def fitted(self) -> bool:
        """Always: there is nothing to fit."""
        return True

    def partial_fit(self, sentences: Any, y: Any = None, *, show_progress_bar: bool | None = None) -> Any:
        """Checks the parameters; there is nothing to fit, so that sentences are not even read."""
        self._fitted_model()
        return self

    def _fitted_model(self) -> Any:
        # Parameters may change at any time, and nobody calls fit in between.
        parameters = list(self.get_params(deep=False).values())
        made_of = self.__dict__.get("_made_of")
        if made_of is None or any(a is not b for a, b in zip(made_of, parameters, strict=True)):
            self._model = self._new_model()
            self._made_of = parameters
        return self._model

    def _current_model(self) -> Any:
        return self._fitted_model()

    def merge(self, other: Any) -> Any:
        """Does nothing, as there is nothing to fit."""
        return self

    def __getstate__(self) -> dict[str, Any]:
        return self.get_params(deep=False)

    def _make_model(self, vectors: Any, tokenizer: Any, weights: npt.NDArray[np.float32] | None) -> Any:
        return _core.Average(vectors, tokenizer, weights)

    def _weights(self) -> npt.NDArray[np.float32] | None:
        return smooth_weights("Average", self.vectors, self.frequencies, self.a)
