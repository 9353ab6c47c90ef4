"""Average of word vectors."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from ..vectors import Vectors
from .base import LinearEncoder
from .weights import smooth_weights

__all__ = ["Average"]


class Average(LinearEncoder):
    """The mean of a sentence's word vectors. Needs no `fit`.

    Args:
        vectors: Word vectors: `WordVectors`, the path of a file, a dict of vectors, or gensim's
            `KeyedVectors`.
        tokenizer: "words" (English as in the Penn Treebank), "punctuation" (splits there), "whitespace" (for
            tokenised text), a `Tokenizer`, a callable, or a tokenizer of Hugging Face. "auto": "words" if the
            vectors have words such as *n't*, else "punctuation".
        lowercase: Whether to lower-case. "auto": unless the vectors have words with upper-case letters.
        a: Words of probability p(w) have the weight a / (a + p(w)), as in SIF; 1e-3 is usual. None: no
            weights.
        frequencies: Source of p(w): a `Frequencies`, a `Vocabulary`, a dict of counts, the path of a file of
            words and counts, or "zipf" (the order of the vectors). None: the counts of the vectors, or "zipf"
            if they have none.

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
        # Parameters may have changed without a call of fit.
        if "_model" not in self.__dict__ or self._changes():
            self._forget()

    def partial_fit(self, sentences: Any, y: Any = None, *, show_progress_bar: bool | None = None) -> Any:
        """Check the parameters. Sentences are not read, as there is nothing to fit."""
        self._forget()
        return self

    def merge(self, other: Any) -> Any:
        """Do nothing, as there is nothing to fit."""
        return self

    def __getstate__(self) -> dict[str, Any]:
        resolved = {"_resolved": self._resolved} if "_resolved" in self.__dict__ else {}
        return {**self.get_params(deep=False), **resolved}

    def _options(self) -> dict[str, Any]:
        return {}

    def _weights(self) -> npt.NDArray[np.float32] | None:
        return smooth_weights("Average", self._word_vectors, self.frequencies, self.a)
