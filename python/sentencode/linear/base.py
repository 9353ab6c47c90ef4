"""What the linear encoders share: word vectors, a tokenizer, weights, and an encoder of the core."""

from __future__ import annotations

import json
import os
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import _core
from ..encoder import Encoder
from ..errors import NotFittedError
from ..text.tokenizer import Tokenizer
from ..vectors import WordVectors
from .weights import SavedWeights

__all__ = ["LinearEncoder"]

Floats = npt.NDArray[np.float32]


class LinearEncoder(Encoder):
    """An encoder over weighted word vectors. It is one of `Average`, `SIF`, `USIF` and `LAES`."""

    vectors: WordVectors
    tokenizer: Any
    lowercase: Any
    frequencies: Any
    _model: Any  # of the core; there once something was fitted

    # What a class fills in.

    def _make_model(self, vectors: Any, tokenizer: Any, weights: Floats | None) -> Any:
        """An encoder of the core; checks the parameters that are its own."""
        raise NotImplementedError

    def _weights(self) -> Floats | None:
        """The weight of each of the vectors' rows; None: all one."""
        raise NotImplementedError

    # What all share.

    @property
    def dim(self) -> int:
        """The length of a row."""
        return int(self._fitted_model().dim)

    @property
    def fitted(self) -> bool:
        """Whether there is all that encoding needs."""
        return "_model" in self.__dict__

    def merge(self, other: Any) -> Any:
        """Takes over what another encoder with the same parameters has learnt, as if from its sentences.

        Args:
            other: Fitted with the same parameters and vectors; it stays as it is.

        Returns:
            The encoder itself.

        Raises:
            ValueError: If the encoders differ in more than what they have learnt.
        """
        if type(other) is not type(self):
            raise ValueError(f"merge: expected another {type(self).__name__}, got a {type(other).__name__}")
        other._check_fitted()
        self._current_model().merge(other._model)
        return self

    def save(self, path: str | os.PathLike[str], *, vectors: bool = True, statistics: bool = False) -> None:
        """Writes the encoder to one file, which `sentencode.load` reads, and C++ as well.

        The file is there whole or not at all. It is a safetensors file with the configuration as JSON in its
        header; nothing in it can be executed.

        Args:
            path: Where to; a file of that name is replaced.
            vectors: Whether the word vectors are part of the file. Without them it is small, but needs the
                file that the vectors are mapped from, at the same place.
            statistics: Whether to keep what `partial_fit`, `merge` and `select` need to go on. For LAES they
                may be large; those of SIF and uSIF are small and always there.

        Raises:
            NotFittedError: If the encoder was not fitted.
            OSError: If the file cannot be written.
        """
        self._described_model().save(os.fspath(path), vectors=vectors, statistics=statistics)

    def _described_model(self) -> Any:
        """The model, with the parameters that it will be saved with."""
        model = self._fitted_model()
        model.params = json.dumps(self._config())
        return model

    def _config(self) -> dict[str, Any]:
        """The parameters as JSON has them. Vectors and weights are elsewhere in the file."""
        config = self.get_params(deep=False)
        del config["vectors"], config["frequencies"]
        config["tokenizer"] = self._tokenizer().to_config()
        return config

    def _identity(self) -> Any:
        return self.vectors.fingerprint, self._described_model().to_bytes(statistics=False)

    @classmethod
    def _from_model(cls, model: Any, tokenizer: Any) -> Any:
        """The Python face of an encoder of the core that was read from a file."""
        config = json.loads(model.params)
        if set(config) != set(cls._defaults()) - {"vectors", "frequencies"}:
            raise ValueError(f"unknown or missing parameters of {cls.__name__} in {sorted(config)}")
        cut = Tokenizer.from_config(config.pop("tokenizer"), tokenizer)
        frequencies = None if model.weights is None else SavedWeights(model.weights, config.get("a"))
        vectors = WordVectors(model.vectors)
        encoder = cls(vectors, tokenizer=cut, frequencies=frequencies, **config)  # type: ignore[call-arg]
        encoder._model = model
        return encoder

    def _forget(self) -> None:
        self.__dict__.pop("_model", None)
        self._model = self._new_model()

    def _finish(self) -> None:
        try:
            self._model.solve()
        except ValueError as error:  # NotFittedError is one too: not even a sentence without known words
            del self._model
            reason = "there was no sentence" if isinstance(error, NotFittedError) else str(error)
            raise ValueError(f"{type(self).__name__}: nothing to fit to: {reason}") from None

    def _new_model(self) -> Any:
        if not isinstance(self.vectors, WordVectors):
            raise ValueError(
                f"{type(self).__name__}: vectors must be WordVectors, got a {type(self.vectors).__name__}; "
                "see WordVectors.load, from_array and from_dict"
            )
        cased = self.vectors.cased
        return self._make_model(
            self.vectors._core, self._tokenizer().core(lowercase=not cased), self._weights()
        )

    def _tokenizer(self) -> Tokenizer:
        if not isinstance(self.tokenizer, Tokenizer):
            return Tokenizer(self.tokenizer, lowercase=self.lowercase)
        if self.lowercase != "auto":
            raise ValueError(
                f"{type(self).__name__}: lowercase={self.lowercase!r} goes with a tokenizer that is given by "
                "name; this one has its own: Tokenizer(..., lowercase=...)"
            )
        return self.tokenizer

    def _partial_fit(self, batch: Any) -> None:
        self._current_model().partial_fit(self._tokenizer().prepare(batch))

    def _encode_into(self, batch: Any, out: Floats) -> None:
        self._fitted_model().encode_into(self._tokenizer().prepare(batch), out)

    def _current_model(self) -> Any:
        """What was learnt so far, or an empty model."""
        if "_model" not in self.__dict__:
            self._forget()
        return self._model

    def _fitted_model(self) -> Any:
        """What was learnt, with its parameters solved for."""
        self._check_fitted()
        self._model.solve()
        return self._model

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        if "_model" in state:
            state["_model"] = state["_model"].to_bytes(statistics=True)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        learnt = state.pop("_model", None)
        self.__dict__.update(state)
        if learnt is not None:
            self._model = _core.encoder_from_bytes(learnt, self.vectors._core)

    def _facts(self) -> dict[str, str]:
        facts = super()._facts()
        if self.fitted:
            facts["dim"] = str(self.dim)
        return facts
