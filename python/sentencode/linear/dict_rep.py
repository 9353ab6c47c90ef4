"""Encoders that are trained on a dictionary (Hill et al. 2016)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NoReturn

import numpy as np
import numpy.typing as npt

from .. import _core
from ..checks import checked_words
from ..text.sides import sides_of
from ..text.tokenizer import Tokenizer, lowercased
from ..vectors import Vectors, WordVectors
from .base import LinearEncoder
from .table_training import Trial
from .trained_average import TrainedAverage

__all__ = ["DictRep"]

Floats = npt.NDArray[np.float32]


class _Trained(TrainedAverage):
    _reported = "DictRep"
    _oovs: tuple[str, ...] = ("skip",)  # the row of unknown words would have to be the bias


class DictRep(LinearEncoder):
    """The word vector that a sentence defines: a bag of words that is trained on a dictionary.

    This is the bag-of-words DictRep of Hill et al. (2016). `fit` trains the word vectors of definitions, and
    a linear map of their mean, to predict the vector of the defined word: a `TrainedAverage` with the head
    "RowRegression" whose targets have length 1. (The paper maximises the cosine.) `encode` returns the
    prediction. It lies in the space of the initial vectors, so their `most_similar` finds words for it. For
    similarity the average of the built-in vectors is better than `DictRep` of them (docs/which_encoder.md).

    The map is multiplied into the table, and the encoder is saved, exported and encodes in C++ as an
    `Average`.

    Args:
        vectors: Initial word vectors, whose directions are the targets; or an `Average`, `SIF` or `USIF`, as
            for `TrainedAverage`.
        tokenizer: As for `Average`.
        lowercase: As for `Average`.
        learning_rate: As for `TrainedAverage`, as all further parameters.
        head_learning_rate: Rate of the linear map.
        word_dropout: Probability that a word is left out of a definition. None: 0 and 0.3 are tried.
        batch_size: Definitions of a step.
        max_epochs: Passes over the definitions, at most.
        patience: Passes without a better validation loss after which training stops.
        max_minutes: Time for the training. None: no limit.
        validation_fraction: Fraction of the definitions that is held out.
        seed: Seed of everything random.

    Attributes:
        trial_: How the model was trained, as for `TrainedAverage`.

    Example:
        >>> import sentencode as se
        >>> vectors = se.WordVectors.default()
        >>> definitions = ["a small animal that purrs", "a person who sails a ship", "frozen water"] * 5
        >>> encoder = se.DictRep(vectors).fit(definitions, ["cat", "sailor", "ice"] * 5)
        >>> vectors.most_similar(encoder.encode("a person who sails"), topn=1)[0][0]
        'sailor'
    """

    _kind = "Average"
    _unsaved = frozenset({"vectors"})
    _in_files = frozenset({"class"})

    trial_: Trial

    def __init__(
        self,
        vectors: Vectors | LinearEncoder,
        *,
        tokenizer: Any = "auto",
        lowercase: bool | Literal["auto"] = "auto",
        learning_rate: float = 0.01,
        head_learning_rate: float = 0.001,
        word_dropout: float | None = None,
        batch_size: int | None = None,
        max_epochs: int = 10,
        patience: int = 3,
        max_minutes: float | None = None,
        validation_fraction: float = 0.1,
        seed: int = 0,
    ) -> None:
        self.vectors = vectors  # type: ignore[assignment]
        self.tokenizer = tokenizer
        self.lowercase = lowercase
        self.learning_rate = learning_rate
        self.head_learning_rate = head_learning_rate
        self.word_dropout = word_dropout
        self.batch_size = batch_size
        self.max_epochs = max_epochs
        self.patience = patience
        self.max_minutes = max_minutes
        self.validation_fraction = validation_fraction
        self.seed = seed

    def fit(
        self, sentences: Any, y: Sequence[str] | None = None, *, show_progress_bar: bool | None = None
    ) -> Any:
        """Train on definitions and the words that they define, as `se.definitions` yields them.

        Args:
            sentences: Definitions; or, if `y` is None, pairs of a definition and a word.
            y: The defined words. Definitions of words without a vector are left out.
            show_progress_bar: As for `TrainedAverage`.

        Returns:
            The encoder itself.

        Raises:
            TypeError: A word is not a `str`.
            ValueError: A parameter is invalid, or no defined word has a vector.
        """
        sides = sides_of(sentences, (1, 2))
        if y is None and len(sides) == 1:
            raise ValueError("DictRep: y, the defined words, is missing; or pass pairs (definition, word)")
        definitions, words = sides[0], checked_words("y", sides[1] if y is None else y)
        if len(definitions) != len(words):
            raise ValueError(f"DictRep: {len(definitions)} definitions, but {len(words)} words in y")
        trained = _Trained(head="RowRegression", normalize=False, **self.get_params(deep=False))
        table = trained._word_vectors
        spelled = words if table.cased else lowercased(words)
        known = [i for i, word in enumerate(spelled) if word in table]
        if not known:
            raise ValueError(
                f"DictRep: none of the {len(words)} defined words has a vector, such as {words[:3]!r:.60}"
            )
        targets = table.matrix([spelled[i] for i in known]).astype(np.float32)
        targets /= np.maximum(np.linalg.norm(targets, axis=1, keepdims=True), 1e-9)
        trained.fit([definitions[i] for i in known], targets, show_progress_bar=show_progress_bar)
        # The mean of W x + b over the words is W mean(x) + b.
        rows = trained._model.head.predict([trained._fitted_vectors._core.rows(np.arange(len(table)))])
        mapped = WordVectors.from_array(table.words, rows, table.counts)
        tokenizer = trained.tokenizer_
        core = tokenizer.core(lowercase=not table.cased)
        self._resolved = self.vectors, table
        self._adopt(_core.Average(mapped._core, core, None, normalize=False), tokenizer)
        self._fitted_vectors, self.trial_ = mapped, trained.trial_
        return self

    def merge(self, other: Any) -> NoReturn:
        """Not available.

        Raises:
            NotImplementedError: Always.
        """
        raise NotImplementedError("DictRep cannot be merged")

    def _partial_fit(self, batch: Any) -> NoReturn:
        raise NotImplementedError("DictRep has no partial_fit: call fit with all definitions")

    # Parameters and files: those of an average.

    def _options(self) -> dict[str, Any]:
        return {"normalize": False}

    def _weights(self) -> None:
        return None

    def _linear(self, rows: Floats) -> Floats:
        return rows

    def _solve(self) -> None:
        """Nothing is left to solve."""

    def _config(self) -> dict[str, Any]:
        return {**super()._config(), "class": "DictRep"}

    @classmethod
    def _from_model(cls, model: Any, params: dict[str, Any], tokenizer: Tokenizer, *, trust: bool) -> Any:
        params = {name: value for name, value in params.items() if name != "class"}
        return super()._from_model(model, params, tokenizer, trust=trust)

    @classmethod
    def _weights_of(cls, model: Any, params: dict[str, Any]) -> dict[str, Any]:
        if model.weights is not None:
            raise ValueError("params: a DictRep has no word weights")
        return {}

    def _identity(self) -> Any:
        self._check_fitted()
        return self._fitted_vectors.fingerprint, self._described_model().to_bytes(statistics=False)
