"""Unsupervised smooth inverse frequency."""

from __future__ import annotations

from typing import Any, Literal, cast

import numpy as np
import numpy.typing as npt

from ..checks import is_positive
from ..vectors import Vectors, resolve_frequencies
from .directions import CommonDirections
from .weights import SavedWeights

__all__ = ["USIF"]


class USIF(CommonDirections):
    """Unsupervised smooth inverse frequency (Ethayarajh 2018): SIF without a tuned parameter.

    Words of probability p(w) have the weight a / (a / 2 + p(w)), where `a` is computed from the vocabulary
    and the length of sentences. From the mean e its projections on the leading directions c_m are subtracted,
    e - sum_m lambda_m (e . c_m) c_m, with lambda_m = s_m^2 / sum_i s_i^2 for singular values s.

    Embeddings are zero if less than 1e-6 of the norm remains, and for sentences without known words.

    Args:
        vectors: Word vectors: `WordVectors`, the path of a file, a dict of vectors, or gensim's
            `KeyedVectors`.
        components: Number of directions; 5 in the paper.
        tokenizer: "words", "punctuation", "whitespace", a `Tokenizer`, a callable, or a tokenizer of Hugging
            Face. "auto": "words" if the vectors have words such as *n't*, else "punctuation".
        lowercase: Whether to lower-case. "auto": unless the vectors have words with upper-case letters.
        frequencies: Source of p(w): a `Frequencies`, a `Vocabulary`, a dict of counts, the path of a file of
            words and counts, or "zipf" (the order of the vectors). None: the counts of the vectors, or "zipf"
            if they have none.
        sentence_length: Mean number of words of a sentence; 11 in the public code.
        normalize: "dimension": each dimension is first divided by its norm over the words of the sentence, as
            in the public code. "none": as in the paper.

    Attributes:
        components_: Normalised directions [components, dim].
        factors_: Factors lambda [components].
        singular_values_: Singular values of the sentence means [components].
        n_sentences_: Number of sentences of `fit` with known words.

    Example:
        >>> import sentencode as se
        >>> vectors = se.WordVectors.from_dict({"the": [3, 1], "cat": [1, 2], "dog": [1, -2]})
        >>> usif = se.USIF(vectors, components=1).fit(["the cat", "the dog", "the"])
        >>> usif.encode(["cat", "dog"]).shape
        (2, 2)
        >>> usif.factors_
        array([1.], dtype=float32)
    """

    _kind = "USIF"

    def __init__(
        self,
        vectors: Vectors,
        *,
        components: int = 5,
        tokenizer: Any = "auto",
        lowercase: bool | Literal["auto"] = "auto",
        frequencies: Any = None,
        sentence_length: float = 11.0,
        normalize: Literal["dimension", "none"] = "dimension",
    ) -> None:
        self.vectors = vectors
        self.components = components
        self.tokenizer = tokenizer
        self.lowercase = lowercase
        self.frequencies = frequencies
        self.sentence_length = sentence_length
        self.normalize = normalize

    @property
    def factors_(self) -> npt.NDArray[np.float32]:
        """Factors lambda of the directions [components]."""
        return cast("npt.NDArray[np.float32]", self._fitted_model().factors)

    def _linear(self, rows: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        if self.normalize == "dimension":
            raise NotImplementedError(
                "USIF.export: normalize='dimension' divides each dimension by its norm over the sentence, "
                "which is not linear; fit it with normalize='none'"
            )
        return super()._linear(rows)

    def _options(self) -> dict[str, Any]:
        if self.normalize not in ("dimension", "none"):
            raise ValueError(f"USIF: normalize must be 'dimension' or 'none', got {self.normalize!r}")
        return {"components": self._checked_components(), "normalize": self.normalize}

    def _weights(self) -> npt.NDArray[np.float32] | None:
        length = self.sentence_length
        if not is_positive(length):
            raise ValueError(f"USIF: sentence_length must be a number greater than 0, got {length!r}")
        if isinstance(self.frequencies, SavedWeights):
            return self.frequencies.made_with("USIF", "sentence_length", length, self._word_vectors)
        return resolve_frequencies(self.frequencies, self._word_vectors).usif_weights(float(length))
