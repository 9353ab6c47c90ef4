"""Unsupervised smooth inverse frequency."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from ..checks import is_positive
from ..vectors import Vectors
from .directions import CommonDirections
from .weights import SavedWeights

__all__ = ["USIF"]


class USIF(CommonDirections):
    """Unsupervised smooth inverse frequency (Ethayarajh 2018): SIF without a parameter to choose.

    A word of probability p(w) weighs a / (a / 2 + p(w)), with `a` from the vocabulary and the length of
    sentences. Of the mean e, share lambda_m of its projection on the m-th leading direction c_m is taken
    away, e - sum_m lambda_m (e . c_m) c_m, with lambda_m = s_m^2 / sum s^2.

    A row of which no more than 1e-6 would be left, and that of a sentence without known words, is zero.

    Args:
        vectors: Word vectors: `WordVectors`, the path of a file, a dict of a vector for each word, or
            gensim's `KeyedVectors`.
        components: How many directions; 5 is the paper's.
        tokenizer: "words", "punctuation", "whitespace", a `Tokenizer`, any callable, or a tokenizer of
            Hugging Face. "auto": "words" if the vectors hold words such as *n't*, else "punctuation".
        lowercase: Whether to lower-case. "auto": unless the vectors hold words with upper-case letters.
        frequencies: Where p(w) comes from: a `Frequencies`, a `Vocabulary`, a dict of counts,
            the path of a file of words and counts, or "zipf" (the order of the vectors). None: the counts
            that the vectors carry, or "zipf" where they carry none.
        sentence_length: The mean length of sentences, in words; 11 is the public code's.
        normalize: "dimension": each dimension is first divided by its norm over the words of the sentence, as
            the public code does. "none": as the paper writes it.

    Attributes:
        components_: The directions [components, dim], rows of length 1.
        factors_: The shares lambda [components].
        singular_values_: Of the sentences' means, [components].
        n_sentences_: How many sentences were learnt from, those without known words left out.

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
        """The share lambda of each direction that is taken away."""
        found: npt.NDArray[np.float32] = self._fitted_model().factors
        return found

    def _options(self) -> dict[str, Any]:
        if self.normalize not in ("dimension", "none"):
            raise ValueError(f"USIF: normalize must be 'dimension' or 'none', got {self.normalize!r}")
        return {"components": self._checked_components(), "normalize": self.normalize}

    def _weights(self) -> npt.NDArray[np.float32] | None:
        length = self.sentence_length
        if not is_positive(length):
            raise ValueError(f"USIF: sentence_length must be a number greater than 0, got {length!r}")
        if isinstance(self.frequencies, SavedWeights):
            return self.frequencies.made_with("USIF", "sentence_length", length)
        from ..vectors import resolve_frequencies

        return resolve_frequencies(self.frequencies, self._word_vectors).usif_weights(float(length))
