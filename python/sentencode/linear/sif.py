"""Smooth inverse frequency."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from ..encoder import Encoder
from ..text.inputs import is_single
from ..vectors import Vectors
from .directions import CommonDirections
from .evaluated import Evaluated
from .selection import Selection, checked_scores, split_pairs
from .weights import smooth_weights

__all__ = ["SIF"]


class SIF(CommonDirections):
    """Smooth inverse frequency (Arora, Liang and Ma 2017): a weighted mean, less what all sentences share.

    A word of probability p(w) weighs a / (a + p(w)). From the mean e of the weighted vectors its projection
    on the leading directions of many sentences is taken away: e - sum_m (e . c_m) c_m, where the c_m are
    right singular vectors of the sentences' means (not centred). They are learnt in `fit` and kept, so that
    a sentence has the same row alone and among others.

    A row of which no more than 1e-6 would be left, and that of a sentence without known words, is zero.

    Args:
        vectors: Word vectors: `WordVectors`, the path of a file, a dict of a vector for each word, or
            gensim's `KeyedVectors`.
        a: As above; 1e-3 is the paper's. None: all words weigh the same.
        components: How many directions are taken away; 1 is the paper's. 0 leaves the weighted mean.
        tokenizer: "words", "punctuation", "whitespace", a `Tokenizer`, any callable, or a tokenizer of
            Hugging Face. "auto": "words" if the vectors hold words such as *n't*, else "punctuation".
        lowercase: Whether to lower-case. "auto": unless the vectors hold words with upper-case letters.
        frequencies: Where p(w) comes from: a `Frequencies`, a `Vocabulary`, a dict of counts,
            the path of a file of words and counts, or "zipf" (the order of the vectors). None: the counts
            that the vectors carry, or "zipf" where they carry none.
        statistics: "fit": directions are learnt in `fit`. "evaluated": as the paper did it, directions are
            those of the very sentences that are encoded together (or compared: both sides), and nothing is
            fitted; rows then depend on the other sentences. Where no word is known they are zero. There is
            nothing to save, to merge or to look at: that is a `NotFittedError`.

    Attributes:
        components_: The directions [components, dim], rows of length 1.
        singular_values_: Of the sentences' means, [components].
        n_sentences_: How many sentences were learnt from, those without known words left out.

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
        """Chooses the number of components whose cosines agree best with people's scores.

        All numbers are tried with one decomposition.

        Args:
            pairs: Pairs of sentences.
            scores: How similar people found them, one number a pair.
            components: The numbers to try; those above the vectors' dimension are left out.

        Returns:
            The Pearson correlation for each, and the encoder with the best.

        Raises:
            NotFittedError: If the encoder was not fitted.
            ValueError: If pairs and scores do not go together.

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
        wanted = sorted({int(c) for c in components if 0 <= int(c) <= model.dim})
        if not wanted:
            raise ValueError(f"SIF.select: components must hold a number from 0 to {model.dim}")
        first, second = (self._tokenizer().prepare(side) for side in split_pairs(pairs))
        curve = model.select(first, second, checked_scores(scores, len(first)), wanted[-1])
        return Selection.of(
            "components", np.array(wanted), {"SIF": curve["pearson"][wanted]}, self._with_components
        )

    def _with_components(self, _: str, components: int) -> SIF:
        model = self._fitted_model().with_components(components)
        encoder = self._sibling(SIF, **{**self.get_params(deep=False), "components": components})
        encoder._adopt(model, self._cut)
        return encoder

    @property
    def dim(self) -> int:
        """The length of a row."""
        return self._word_vectors.dim

    # The paper's own mode.

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

    def _chunks(self, sentences: Any, size: int | None, default: int, **options: Any) -> Iterator[Any]:
        if self._evaluated and not is_single(sentences):
            self._evaluated.refuse_streams()
        return super()._chunks(sentences, size, default, **options)

    def _options(self) -> dict[str, Any]:
        if self.statistics not in ("fit", "evaluated"):
            raise ValueError(f"SIF: statistics must be 'fit' or 'evaluated', got {self.statistics!r}")
        return {"components": self._checked_components()}

    def _weights(self) -> npt.NDArray[np.float32] | None:
        return smooth_weights("SIF", self._word_vectors, self.frequencies, self.a)
