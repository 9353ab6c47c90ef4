"""What the linear encoders share: word vectors, a tokenizer, weights, and an encoder of the core."""

from __future__ import annotations

import copy
import json
import os
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import _core
from ..core_encoder import CoreEncoder, checked_keys, plain
from ..errors import NotFittedError
from ..text.tokenizer import Tokenizer
from ..vectors import WordVectors
from .weights import SavedWeights

__all__ = ["LinearEncoder"]

Floats = npt.NDArray[np.float32]


class LinearEncoder(CoreEncoder):
    """An encoder over weighted word vectors. It is one of `Average`, `SIF`, `USIF` and `LAES`."""

    frequencies: Any

    # What a class fills in.

    _kind: str  # the core's class
    _unsaved: frozenset[str] = frozenset({"vectors", "frequencies"})  # parameters that files do not hold so

    def _options(self) -> dict[str, Any]:
        """The options of the core's class; checks the parameters that are the class's own."""
        raise NotImplementedError

    def _weights(self) -> Floats | None:
        """The weight of each of the vectors' rows; None: all one."""
        raise NotImplementedError

    @property
    def _learns(self) -> bool:
        """Whether there is anything to fit; where there is not, `fit` checks the parameters alone."""
        return True

    # What all share.

    @property
    def fitted(self) -> bool:
        """Whether there is all that encoding needs."""
        return not self._learns or super().fitted

    def fit(self, sentences: Any, y: Any = None, *, show_progress_bar: bool | None = None) -> Any:
        """As `Encoder.fit`. Where there is nothing to fit, sentences are not even read."""
        if not self._learns:
            return self.partial_fit(sentences)
        return super().fit(sentences, y, show_progress_bar=show_progress_bar)

    def partial_fit(self, sentences: Any, y: Any = None, *, show_progress_bar: bool | None = None) -> Any:
        """As `Encoder.partial_fit`. Where there is nothing to fit, sentences are not even read."""
        if self._learns:
            return super().partial_fit(sentences, y, show_progress_bar=show_progress_bar)
        self._new_model()
        return self

    @property
    def dim(self) -> int:
        """The length of a row."""
        return int(self._fitted_model().dim)

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
        other._check_learnt()
        model, cut = self._current_model()
        model.merge(other._model)
        self._adopt(model, cut)
        return self

    def save(self, path: str | os.PathLike[str], *, vectors: bool = True, statistics: bool = False) -> None:
        """Writes the encoder to one file, which `sentencode.load` reads, and C++ as well.

        The file is there whole or not at all. It is a safetensors file with the configuration as JSON in its
        header; nothing in it can be executed.

        Args:
            path: Where to; a file of that name is replaced.
            vectors: Whether the word vectors are part of the file. Without them it is small, but needs the
                file that the vectors are mapped from. If that is in its folder or below, both can be moved
                together; if not, `load` wants to be told where it is.
            statistics: Whether to keep what `partial_fit`, `merge` and `select` need to go on. For LAES they
                may be large; those of SIF and uSIF are small and always there.

        Raises:
            NotFittedError: If the encoder was not fitted, or its parameters have changed since.
            OSError: If the file cannot be written.

        Warns:
            UserWarning: If the tokenizer is neither built in nor found again by its name: it has to be given
                to `load`.
        """
        model = self._described_model()
        self._check_tokenizer_name()
        model.save(_core.link_target(path), vectors=vectors, statistics=statistics)

    def _described_model(self) -> Any:
        """The model, with the parameters that it will be saved with."""
        model = self._fitted_model()
        model.params = json.dumps(self._config())
        return model

    def _config(self) -> dict[str, Any]:
        """The parameters as JSON has them. Vectors and weights are elsewhere in the file."""
        config = {k: v for k, v in self.get_params(deep=False).items() if k not in self._unsaved}
        config["tokenizer"] = self._tokenizer().to_config()
        return {name: plain(value) for name, value in config.items()}

    def _identity(self) -> Any:
        return self._word_vectors.fingerprint, self._described_model().to_bytes(statistics=False)

    @classmethod
    def _read_params(cls, model: Any) -> dict[str, Any]:
        """The parameters that stand in a file; whether their values fit is checked by `_from_model`."""
        try:
            params = json.loads(model.params)
        except ValueError as error:  # or UnicodeDecodeError
            raise ValueError(f"params are no JSON: {error}") from None
        return checked_keys(cls, params, set(cls._defaults()) - cls._unsaved)

    @classmethod
    def _from_model(cls, model: Any, params: dict[str, Any], cut: Tokenizer, *, trust: bool) -> Any:
        """The Python face of an encoder of the core that was read from a file; it has no other tokenizers."""
        lowercase = params["lowercase"]
        if lowercase != "auto":
            if cut.lowercase not in ("auto", lowercase):
                raise ValueError(f"params: lowercase={lowercase!r} contradicts {cut!r}")
            cut = Tokenizer(cut, invalid=cut.invalid)  # type: ignore[arg-type]  # the encoder says it
        weights = model.weights
        if "a" in params and (params["a"] is None) != (weights is None):
            raise ValueError(f"params: a={params['a']!r} contradicts the weights, or that there are none")
        made_with = params.get("a", params.get("sentence_length"))
        encoder = cls(
            WordVectors(model.vectors),  # type: ignore[call-arg]
            frequencies=None if weights is None else SavedWeights(weights, made_with),
            **{**params, "tokenizer": cut},
        )
        encoder._weights()
        own = {name: getattr(model, name) for name in ("components", "normalize") if hasattr(model, name)}
        own = getattr(model, "options", own)
        for name, value in encoder._options().items():
            if own[name] != value:
                raise ValueError(f"params: {name}={value!r}, but config has {own[name]!r}")
        core = encoder._new_tokenizer().core(lowercase=not encoder._word_vectors.cased)
        for name in ("split", "lowercase", "invalid"):
            if getattr(core, name) != getattr(model.tokenizer, name):
                raise ValueError(f"params: another {name} of the tokenizer than config has")
        encoder._adopt(model)
        return encoder

    def _forget(self) -> None:
        self._adopt(*self._new_model())

    def _solve(self) -> None:
        """Makes parameters of what was counted, if anything was since the last time."""
        self._model.solve()

    def _finish(self) -> None:
        try:
            self._solve()
        except NotFittedError:
            raise ValueError(
                f"{type(self).__name__}: there is nothing to fit to: there was no sentence"
            ) from None

    # What was counted, apart from what is made of it: for workers, which send their sums to each other.

    def _statistics_to_bytes(self) -> bytes:
        """The sums that were learnt from, without vectors; nothing is solved for. Empty: there are none."""
        model = self.__dict__.get("_model")
        try:
            return b"" if model is None else bytes(model.to_bytes(statistics=True))
        except NotFittedError:  # nothing was added
            return b""

    def _add_statistics(self, content: bytes) -> None:
        """Takes over the sums of another encoder with the same parameters, as `merge` does."""
        model, cut = self._current_model()
        if content:
            learnt: Any = content
            model.merge(_core.encoder_from_bytes(learnt, self._word_vectors._core))
        self._adopt(model, cut)

    # Parameters, and what was made of them.

    def _new_model(self) -> tuple[Any, Tokenizer]:
        """An empty encoder of the core, and the tokenizer; checks the parameters."""
        self._check_vectors()
        cut = self._new_tokenizer()
        core = cut.core(lowercase=not self._word_vectors.cased)
        model = getattr(_core, self._kind)(self._word_vectors._core, core, self._weights(), **self._options())
        return model, cut

    def _adopt(self, model: Any, cut: Tokenizer | None = None) -> None:
        """Takes an encoder of the core as what was learnt with the parameters as they are now."""
        self._cut = self._new_tokenizer() if cut is None else cut
        self._model = model
        self._made_with = self._word_vectors
        self._made_of = self.get_params(deep=False)  # last: other threads may be looking

    def _check_fitted(self) -> None:
        if self._learns:
            super()._check_fitted()

    def _check_learnt(self) -> None:
        """Whether there is a model, which encoding alone may not need."""
        self._check_fitted()

    def _tokenizer(self) -> Tokenizer:
        """The tokenizer of the model; loads and copies nothing again."""
        self._fitted_model()
        return self._cut

    def _partial_fit(self, batch: Any) -> None:
        model, cut = self._current_model()
        model.partial_fit(cut.prepare(batch))
        self._keep(model, cut)

    def _keep(self, model: Any, cut: Tokenizer) -> None:
        """Takes a model that has learnt; merges it where another thread was the first to learn."""
        self.__dict__.setdefault("_cut", cut)
        first = self.__dict__.setdefault("_model", model)
        if first is model:
            self._adopt(model, cut)
        else:
            first.merge(model)

    def _encode_into(self, batch: Any, out: Floats) -> None:
        self._fitted_model().encode_into(self._tokenizer().prepare(batch), out)

    @property
    def _takes_lists(self) -> bool:
        return self._tokenizer().split != "external" and bool(self._model.side_by_side)

    def _current_model(self) -> tuple[Any, Tokenizer]:
        """What was learnt so far, or an empty model."""
        if "_model" not in self.__dict__ and self._learns:
            return self._new_model()
        self._check_learnt()
        return self._model, self._cut

    def _fitted_model(self) -> Any:
        """What was learnt, with its parameters solved for."""
        self._check_learnt()
        self._solve()
        return self._model

    def _with_statistics(self) -> bool:
        """Whether a pickle holds what is needed to go on fitting."""
        return True

    def _state(self, statistics: bool) -> dict[str, Any]:
        state = self.__dict__.copy()
        if "_model" in state:
            state["_model"] = state["_model"].to_bytes(statistics=statistics)
        return state

    def __getstate__(self) -> dict[str, Any]:
        return self._state("_model" in self.__dict__ and self._with_statistics())

    def __copy__(self) -> Any:
        copied = type(self).__new__(type(self))
        copied.__setstate__(self._state(statistics=True))
        return copied

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        copied = type(self).__new__(type(self))
        memo[id(self)] = copied
        copied.__setstate__(copy.deepcopy(self._state(statistics=True), memo))
        return copied

    def __setstate__(self, state: dict[str, Any]) -> None:
        learnt = state.pop("_model", None)
        self.__dict__.update(state)
        if learnt is not None:
            table = state.get("_made_with") or self._made_of["vectors"]
            self._model = _core.encoder_from_bytes(learnt, table._core)
