"""The bag of words."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from ..vectors import Vectors
from .base import LinearEncoder
from .weights import smooth_weights

__all__ = ["Average"]


class Average(LinearEncoder):
    """The mean of a sentence's word vectors: the bag of words. Nothing to fit.

    Args:
        vectors: Word vectors: `WordVectors`, the path of a file, a dict of a vector for each word, or
            gensim's `KeyedVectors`.
        tokenizer: "words" (as the Penn Treebank writes English), "punctuation" (cuts around it),
            "whitespace" (text that is tokenised already), a `Tokenizer`, any callable, or a tokenizer of
            Hugging Face. "auto": "words" if the vectors hold words such as *n't*, else "punctuation".
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

    _kind = "Average"

    def __init__(
        self,
        vectors: Vectors,
        *,
        tokenizer: Any = "auto",
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
    def _learns(self) -> bool:
        return False

    def _check_fitted(self) -> None:
        # Parameters may change at any time, and nobody calls fit in between.
        if "_model" not in self.__dict__ or self._changes():
            self._forget()

    def partial_fit(self, sentences: Any, y: Any = None, *, show_progress_bar: bool | None = None) -> Any:
        """Checks the parameters; sentences are not even read, as there is nothing to fit."""
        self._forget()
        return self

    def merge(self, other: Any) -> Any:
        """Does nothing, as there is nothing to fit."""
        return self

    def __getstate__(self) -> dict[str, Any]:
        made = {"_resolved": self._resolved} if "_resolved" in self.__dict__ else {}
        return {**self.get_params(deep=False), **made}

    def _options(self) -> dict[str, Any]:
        return {}

    def _weights(self) -> npt.NDArray[np.float32] | None:
        return smooth_weights("Average", self._word_vectors, self.frequencies, self.a)
