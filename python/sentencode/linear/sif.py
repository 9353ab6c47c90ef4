"""Smooth inverse frequency."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from ..checks import checked_int
from ..encoder import Encoder
from ..text.inputs import is_single
from ..vectors import Vectors
from .directions import CommonDirections
from .evaluated import Evaluated
from .selection import Selection, checked_scores, split_pairs
from .weights import smooth_weights

__all__ = ["SIF"]


class SIF(CommonDirections):
    """Smooth inverse frequency (Arora, Liang and Ma 2017): weighted means without their common directions.

    Words of probability p(w) have the weight a / (a + p(w)). From the mean e of the weighted vectors its
    projection on the leading directions is subtracted: e - sum_m (e . c_m) c_m, where c_m are right singular
    vectors of the sentence means (not centred). `fit` computes them, so that an embedding does not depend on
    the other sentences of its batch.

    Embeddings are zero if less than 1e-6 of the norm remains, and for sentences without known words.

    Args:
        vectors: Word vectors: `WordVectors`, the path of a file, a dict of vectors, or gensim's
            `KeyedVectors`.
        a: Parameter of the weights; 1e-3 in the paper. None: no weights.
        components: Number of directions; 1 in the paper. 0: the weighted mean.
        tokenizer: "words", "punctuation", "whitespace", a `Tokenizer`, a callable, or a tokenizer of Hugging
            Face. "auto": "words" if the vectors have words such as *n't*, else "punctuation".
        lowercase: Whether to lower-case. "auto": unless the vectors have words with upper-case letters.
        frequencies: Source of p(w): a `Frequencies`, a `Vocabulary`, a dict of counts, the path of a file of
            words and counts, or "zipf" (the order of the vectors). None: the counts of the vectors, or "zipf"
            if they have none.
        statistics: "fit": directions are computed by `fit`. "evaluated": as in the paper, they are computed
            from the sentences that are encoded together (or compared: both sides), without `fit`; embeddings
            then depend on the other sentences. Saving, merging and attributes raise `NotFittedError`.

    Attributes:
        components_: Normalised directions [components, dim].
        singular_values_: Singular values of the sentence means [components].
        n_sentences_: Number of sentences of `fit` with known words.

    Example:
        >>> import sentencode as se
        >>> vectors = se.WordVectors.from_dict({"the": [3, 1], "cat": [1, 2], "dog": [1, -2]})
        >>> sif = se.SIF(vectors, a=None).fit(["the cat", "the dog", "the"])
        >>> sif.components_.round(2)
        array([[0.95, 0.31]], dtype=float32)
        >>> sif.encode("the cat").round(2)
        array([-0.25,  0.76], dtype=float32)
    """

    _kind = "SIF"

    def __init__(
        self,
        vectors: Vectors,
        *,
        a: float | None = 1e-3,
        components: int = 1,
        tokenizer: Any = "auto",
        lowercase: bool | Literal["auto"] = "auto",
        frequencies: Any = None,
        statistics: Literal["fit", "evaluated"] = "fit",
    ) -> None:
        self.vectors = vectors
        self.a = a
        self.components = components
        self.tokenizer = tokenizer
        self.lowercase = lowercase
        self.frequencies = frequencies
        self.statistics = statistics

    def select(self, pairs: Any, scores: Any, components: Iterable[int] = range(151)) -> Selection:
        """Select the number of components whose cosines correlate best with human scores.

        All numbers are evaluated with one decomposition.

        Args:
            pairs: Pairs of sentences.
            scores: Human similarity scores, one per pair.
            components: Numbers to evaluate; those above the vectors' dimension are ignored.

        Returns:
            The Pearson correlations, and the encoder with the best.

        Raises:
            NotFittedError: The encoder was not fitted.
            ValueError: Numbers of pairs and scores differ, or a number of components is negative.

        Example:
            >>> import sentencode as se
            >>> vectors = se.WordVectors.from_dict({"the": [3, 1], "cat": [1, 2], "dog": [1, -2]})
            >>> sif = se.SIF(vectors, a=None).fit(["the cat", "the dog", "the"])
            >>> pairs = [("the cat", "cat"), ("the cat", "dog"), ("dog", "the dog")]
            >>> best = sif.select(pairs, [5, 0, 5], components=[0, 1])
            >>> best.components, round(best.score, 3)
            (1, 1.0)
            >>> best.encoder
            SIF(vectors=WordVectors(3 words, dim=2, storage='float32', oov='skip'), a=None)
        """
        if self._evaluated:
            self._evaluated.refuse_selection()
        model = self._fitted_model()
        numbers = sorted({checked_int("SIF.select: components", c, 0) for c in components})
        numbers = [number for number in numbers if number <= model.dim]
        if not numbers:
            raise ValueError(f"SIF.select: components must contain a number from 0 to {model.dim}")
        first, second = (self._tokenizer().prepare(side) for side in split_pairs(pairs))
        curve = model.select(first, second, checked_scores(scores, len(first)), numbers[-1])
        return Selection.of(
            "components", np.array(numbers), {"SIF": curve["pearson"][numbers]}, self._with_components
        )

    def _with_components(self, _: str, components: int) -> SIF:
        model = self._fitted_model().with_components(components)
        encoder = self._sibling(SIF, **{**self.get_params(deep=False), "components": components})
        encoder._adopt(model, self._fitted_tokenizer)
        return encoder

    @property
    def dim(self) -> int:
        """Dimension of the embeddings."""
        return self._word_vectors.dim

    # statistics="evaluated"

    @property
    def _evaluated(self) -> Evaluated | None:
        mode = self.statistics
        return Evaluated(self) if isinstance(mode, str) and mode == "evaluated" else None

    @property
    def _learns(self) -> bool:
        return self._evaluated is None

    def _together(self, *sides: Any) -> tuple[Encoder, tuple[Any, ...]]:
        return self._evaluated.together(sides) if self._evaluated else super()._together(*sides)

    def _check_learnt(self) -> None:
        if self._evaluated:
            self._evaluated.refuse_learnt()
        super()._check_learnt()

    def _chunks(
        self, what: str, sentences: Any, size: int | None, default: int, **options: Any
    ) -> Iterator[Any]:
        if self._evaluated and not is_single(sentences):
            self._evaluated.refuse_streams(what)
        return super()._chunks(what, sentences, size, default, **options)

    def _options(self) -> dict[str, Any]:
        if self.statistics not in ("fit", "evaluated"):
            raise ValueError(f"SIF: statistics must be 'fit' or 'evaluated', got {self.statistics!r}")
        return {"components": self._checked_components()}

    def _weights(self) -> npt.NDArray[np.float32] | None:
        return smooth_weights("SIF", self._word_vectors, self.frequencies, self.a)
