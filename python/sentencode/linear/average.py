"""Average of word vectors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from ..checks import checked_bool, checked_int
from ..vectors import Vectors, WordVectors
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
        normalize: Whether to divide each embedding by its norm; a zero embedding stays zero.
        truncate_dim: Number of dimensions that are kept after that, the first ones. None: all.
        a: Words of probability p(w) have the weight a / (a + p(w)), as in SIF; 1e-3 is usual. None: no
            weights.
        frequencies: Source of p(w): a `Frequencies`, a `Vocabulary`, a dict of counts, the path of a file of
            words and counts, or "zipf" (the order of the vectors). None: the counts of the vectors, or "zipf"
            if they have none.
        weights: Weight of each word, instead of `a` and `frequencies`: numbers [len(vectors)] in the order of
            the vectors, or a dict or a pandas Series by word, which must have all words of the vectors. Rows
            of unknown words have the weight 1.

    Example:
        >>> import numpy as np, sentencode as se
        >>> vectors = se.WordVectors.from_array(["cat", "dog"], np.eye(2, dtype=np.float32))
        >>> se.Average(vectors).encode(["Cat dog!", "cat cat cat dog", "unknown"])
        array([[0.5 , 0.5 ],
               [0.75, 0.25],
               [0.  , 0.  ]], dtype=float32)
        >>> se.Average(vectors, weights=[3, 4], normalize=True).encode("cat dog")
        array([0.6, 0.8], dtype=float32)
    """

    _kind = "Average"
    _unsaved = LinearEncoder._unsaved | {"weights"}
    _added: ClassVar[dict[str, Any]] = {"normalize": False, "truncate_dim": None}

    def __init__(
        self,
        vectors: Vectors,
        *,
        tokenizer: Any = "auto",
        lowercase: bool | Literal["auto"] = "auto",
        a: float | None = None,
        frequencies: Any = None,
        weights: npt.ArrayLike | Mapping[str, float] | None = None,
        normalize: bool = False,
        truncate_dim: int | None = None,
    ) -> None:
        self.vectors = vectors
        self.tokenizer = tokenizer
        self.lowercase = lowercase
        self.a = a
        self.frequencies = frequencies
        self.weights = weights
        self.normalize = normalize
        self.truncate_dim = truncate_dim

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
        more: dict[str, Any] = {k: v for k, v in vars(self).items() if k in ("_resolved", "_card")}
        return {**self.get_params(deep=False), **more}

    def _linear(self, rows: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        return rows if self.normalize else rows[:, : self.truncate_dim]

    def _options(self) -> dict[str, Any]:
        dim = 0
        if self.truncate_dim is not None:
            dim = checked_int("Average: truncate_dim", self.truncate_dim, 1, self._word_vectors.dim)
        return {"normalize": checked_bool("Average: normalize", self.normalize), "truncate_dim": dim}

    def _weights(self) -> npt.NDArray[np.float32] | None:
        vectors = self._word_vectors
        if self.weights is None:
            return smooth_weights("Average", vectors, self.frequencies, self.a)
        if self.a is not None or self.frequencies is not None:
            raise ValueError("Average: weights exclude a and frequencies, which would compute others")
        with np.errstate(over="ignore"):  # infinite weights are refused
            weights = np.asarray(_in_order(self.weights, vectors), dtype=np.float32)
        if weights.shape != (len(vectors),):
            raise ValueError(
                f"Average: weights must be an array [{len(vectors)}], one for each word, "
                f"got shape {list(weights.shape)}"
            )
        unknown = np.ones(vectors._core.row_count - len(vectors), np.float32)
        return np.concatenate([weights, unknown])

    @classmethod
    def _weights_of(cls, model: Any, params: dict[str, Any]) -> dict[str, Any]:
        if params["a"] is None and model.weights is not None:
            return {"weights": model.weights[: len(model.vectors)]}
        return super()._weights_of(model, params)


def _in_order(weights: Any, vectors: WordVectors) -> Any:
    """Weights by word as a list in the order of the vectors; others unchanged."""
    if hasattr(weights, "to_dict") and hasattr(weights, "index"):  # a Series of pandas
        if list(weights.index) == list(range(len(weights))):  # it has no words
            return weights
        weights = weights.to_dict()
    if not isinstance(weights, Mapping):
        return weights
    if (missing := next((word for word in vectors.words if word not in weights), None)) is not None:
        raise ValueError(f"Average: weights must have all words of the vectors, but lack {missing!r}")
    return [weights[word] for word in vectors.words]
