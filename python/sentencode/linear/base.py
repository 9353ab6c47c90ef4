"""Base class of the linear encoders."""

from __future__ import annotations

import copy
import json
import os
import tempfile
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from .. import _core
from ..core_encoder import (
    CoreEncoder,
    check_same_tokenizer,
    checked_keys,
    current_names,
    parsed_params,
    plain,
)
from ..errors import NotFittedError
from ..files import as_name
from ..static_models.card import BUILT_IN, checked_facts
from ..static_models.folded import Folded, Format
from ..static_models.hub import upload
from ..static_models.writing import Dtype, write_folded
from ..text.tokenizer import Tokenizer
from ..vectors import WordVectors
from .weights import SavedWeights

__all__ = ["LinearEncoder"]

Floats = npt.NDArray[np.float32]


class LinearEncoder(CoreEncoder):
    """An encoder of weighted word vectors: `Average`, `SIF`, `USIF`, `LAES` or `TrainedAverage`."""

    frequencies: Any

    # Word vectors, and what is known of them for the model card: keys of `static_models.card.FACTS`.
    _card: tuple[WordVectors, dict[str, str]] | None = None

    # Defined by each class.

    _kind: str  # class of the core
    _unsaved: frozenset[str] = frozenset({"vectors", "frequencies"})  # parameters that are stored elsewhere
    _export_notes: ClassVar[tuple[str, ...]] = ()  # differences of an exported model
    _added: ClassVar[dict[str, Any]] = {}  # parameters that early files lack, and their values there
    _in_files: frozenset[str] = frozenset()  # what files have next to the parameters

    def _options(self) -> dict[str, Any]:
        """Check the parameters of the class, and return the options of the core's class."""
        raise NotImplementedError

    def _weights(self) -> Floats | None:
        """Weights of all rows of the vectors; None: all one."""
        raise NotImplementedError

    @property
    def _learns(self) -> bool:
        """Whether there is anything to fit; if not, `fit` only checks the parameters."""
        return True

    @property
    def fitted(self) -> bool:
        """Whether the encoder can encode."""
        return not self._learns or super().fitted

    def fit(self, sentences: Any, y: Any = None, *, show_progress_bar: bool | None = None) -> Any:
        """`Encoder.fit`. Sentences are not read if there is nothing to fit."""
        if not self._learns:
            return self.partial_fit(sentences)
        return super().fit(sentences, y, show_progress_bar=show_progress_bar)

    def partial_fit(self, sentences: Any, y: Any = None, *, show_progress_bar: bool | None = None) -> Any:
        """`Encoder.partial_fit`. Sentences are not read if there is nothing to fit."""
        if self._learns:
            return super().partial_fit(sentences, y, show_progress_bar=show_progress_bar)
        self._new_model()
        return self

    @property
    def dim(self) -> int:
        """Dimension of the embeddings."""
        return int(self._fitted_model().dim)

    def merge(self, other: Any) -> Any:
        """Add the statistics of another encoder, as if from its sentences.

        Args:
            other: An encoder that was fitted with the same parameters and vectors. It is not changed.

        Returns:
            self.

        Raises:
            ValueError: The parameters or vectors differ.
        """
        if type(other) is not type(self):
            raise ValueError(f"merge: expected another {type(self).__name__}, got a {type(other).__name__}")
        other._check_learnt()
        model, tokenizer = self._current_model()
        model.merge(other._model)
        self._adopt(model, tokenizer)
        return self

    def save(self, path: str | os.PathLike[str], *, vectors: bool = True, statistics: bool = False) -> None:
        """Write the encoder to a file for `sentencode.load` and for C++.

        It is a safetensors file with the configuration as JSON in its header, and contains no code. It is
        written atomically.

        Args:
            path: File, which is replaced.
            vectors: Whether the file contains the word vectors. Otherwise it refers to the file that they are
                mapped from. If that is in the same folder or below, both can be moved together; if not,
                `load` needs the vectors as an argument.
            statistics: Whether the file contains the statistics that `partial_fit`, `merge` and `select`
                need. Those of LAES may be large; those of SIF and uSIF are small and always included.

        Raises:
            NotFittedError: The encoder was not fitted, or its parameters have changed since.
            OSError: The file cannot be written.

        Warns:
            UserWarning: The tokenizer cannot be imported by its name, and must be passed to `load`.
        """
        model = self._described_model(card=True)
        self._check_tokenizer_name()
        model.save(_core.link_target(as_name(path)), vectors=vectors, statistics=statistics)

    def export(
        self,
        path: str | os.PathLike[str],
        *,
        format: Format = "model2vec",
        dtype: Dtype = "float32",
        card: Mapping[str, Any] | None = None,
        overwrite: bool = False,
    ) -> None:
        """Write the encoder as a folder of another library, which then gives the same embeddings.

        What is linear is multiplied into the table: word weights, and the removal of common directions. The
        tokenizer is written as parts of Hugging Face. The folder appears completely or not at all.

        Args:
            path: Folder.
            format: "model2vec" or "sentence-transformers".
            dtype: Type of the table: "float32", "float16", or "int8" with a scale for each row, which early
                versions of sentence-transformers do not read.
            card: What only you know, for the model card README.md, all optional: "name" on the Hub,
                "license", "language", "teacher", "sentences", "scores" (by task; a number, or the score, and
                the lower and upper end of its interval), "limits". Of the built-in vectors, all but
                the name are known; of a student, teacher and sentences.
            overwrite: Whether to replace an existing folder.

        Raises:
            NotImplementedError: A part of the encoder has no equivalent; the message names it.
            NotFittedError: The encoder is not fitted.
            OSError: The folder exists or cannot be written.

        Example:
            >>> import tempfile, pathlib
            >>> import sentencode as se
            >>> encoder = se.Average({"cat": [1.0, 0.0], "dog": [0.0, 1.0]})
            >>> folder = pathlib.Path(tempfile.mkdtemp(), "pets")
            >>> encoder.export(folder, card={"license": "cc0-1.0"})
            >>> se.load(folder).encode("cat dog")
            array([0.5, 0.5], dtype=float32)
        """
        write_folded(self._folded(), path, format, dtype, card, overwrite)

    def push_to_hub(
        self,
        repository: str,
        *,
        format: Format = "model2vec",
        dtype: Dtype = "float32",
        card: Mapping[str, Any] | None = None,
        private: bool = False,
    ) -> str:
        """Export the encoder to the Hugging Face Hub by `huggingface_hub`, whose login it uses.

        Args:
            repository: `user/name`, which is created if it does not exist.
            format: As for `export`.
            dtype: As for `export`.
            card: As for `export`.
            private: Whether a new repository is private.

        Returns:
            The address of the repository.

        Raises:
            ImportError: `huggingface_hub` is not installed.
            OSError: The Hub refuses the upload, or cannot be reached.
        """
        with tempfile.TemporaryDirectory(prefix="sentencode-") as folder:
            target = os.path.join(folder, "model")
            card = {"name": repository, **(card or {})}
            write_folded(self._folded(), target, format, dtype, card, overwrite=False)
            return upload(target, repository, private=private)

    def _folded(self) -> Folded:
        """The encoder as an average of rows."""
        self._check_learnt()
        vectors, name = self._fitted_vectors, type(self).__name__
        if vectors.oov in ("random", "subwords"):
            raise NotImplementedError(
                f"{name}.export: vectors with oov={vectors.oov!r} represent unknown words by their spelling, "
                "which other libraries cannot; use vectors.with_oov('skip') or 'zero' or 'mean'"
            )
        table, weights = vectors._core, self._fitted_model().weights
        rows = table.rows(np.arange(table.row_count))
        if weights is not None:
            rows *= weights[:, None]
        rows = self._linear(rows)
        tokenizer, normalize = self._tokenizer(), self._options().get("normalize") is True
        known = len(vectors)
        return Folded(
            name,
            list(vectors.words),
            rows[:known],
            rows[known] if len(rows) > known else None,
            tokenizer,
            bool(tokenizer.core(lowercase=not vectors.cased).lowercase),
            normalize,
            (self._options().get("truncate_dim") or None) if normalize else None,
            self._export_notes,
            self._known(),
        )

    def _known(self) -> Mapping[str, str]:
        """What is known of the word vectors, for the model card."""
        vectors = self._word_vectors
        trained = getattr(self, "_fitted_vectors", vectors)._core is not vectors._core
        known: Mapping[str, str] = {}
        if self._card is not None and self._card[0]._core is vectors._core:
            known = self._card[1]
        elif vectors.fingerprint == WordVectors.default().fingerprint:
            known = BUILT_IN
        # The rest is true of the initial vectors only.
        return {name: known[name] for name in known if not trained or name in ("license", "language")}

    def _linear(self, rows: Floats) -> Floats:
        """The rows after all that the encoder does to a mean, which must be linear."""
        name = type(self).__name__
        raise NotImplementedError(f"{name} is not an average of rows of word vectors; Average, SIF, USIF are")

    def _described_model(self, *, card: bool = False) -> Any:
        """The model with the parameters for saving, and perhaps what is known for the model card."""
        model, config = self._fitted_model(), self._config()
        if card and self._card is not None and self._card[0]._core is self._fitted_vectors._core:
            config["card"] = self._card[1]
        model.params = json.dumps(config)
        return model

    def _config(self) -> dict[str, Any]:
        """The parameters for JSON, without vectors and weights."""
        config = {k: v for k, v in self.get_params(deep=False).items() if k not in self._unsaved}
        config["tokenizer"] = self._tokenizer().to_config(content=False)
        return {name: plain(value) for name, value in config.items()}

    def _identity(self) -> Any:
        return self._word_vectors.fingerprint, self._described_model().to_bytes(statistics=False)

    @classmethod
    def _read_params(cls, model: Any) -> dict[str, Any]:
        """The parameters in a file. `_from_model` checks their values."""
        params = {"card": {}, **cls._added, **parsed_params(model)}
        return checked_keys(cls, params, (set(cls._defaults()) - cls._unsaved) | cls._in_files | {"card"})

    @classmethod
    def _from_model(cls, model: Any, params: dict[str, Any], tokenizer: Tokenizer, *, trust: bool) -> Any:
        """Wrap an encoder of the core that was read from a file."""
        params = dict(params)
        card = params.pop("card")
        if not isinstance(card, dict) or not all(isinstance(fact, str) for fact in card.values()):
            raise ValueError(f"params: card must be an object of strings, got {card!r:.60}")
        lowercase = params["lowercase"]
        if lowercase != "auto":
            if tokenizer.lowercase not in ("auto", lowercase):
                raise ValueError(f"params: lowercase={lowercase!r} contradicts {tokenizer!r}")
            tokenizer = Tokenizer(tokenizer, invalid=tokenizer.invalid)  # type: ignore[arg-type]
        encoder = cls(
            WordVectors(model.vectors),  # type: ignore[call-arg]
            **{**params, "tokenizer": tokenizer, **cls._weights_of(model, params)},
        )
        if isinstance(saved := getattr(encoder, "frequencies", None), SavedWeights):
            saved.vectors = encoder._word_vectors  # the same object, which pickles then hold once
        encoder._weights()
        encoder._card = (encoder._word_vectors, checked_facts(card)) if card else None
        names = ("components", "normalize", "truncate_dim")
        config = {name: getattr(model, name) for name in names if hasattr(model, name)}
        config = getattr(model, "options", config)
        for name, value in encoder._options().items():
            if config[name] != value:
                raise ValueError(f"params: {name}={value!r}, but config has {config[name]!r}")
        core = encoder._new_tokenizer().core(lowercase=not encoder._word_vectors.cased)
        check_same_tokenizer(core, model.tokenizer)
        encoder._adopt(model)
        return encoder

    @classmethod
    def _weights_of(cls, model: Any, params: dict[str, Any]) -> dict[str, Any]:
        """The parameters that stand for the weights of an encoder that was read from a file."""
        weights = model.weights
        if "a" in params and (params["a"] is None) != (weights is None):
            raise ValueError(f"params: a={params['a']!r} contradicts the weights of the file")
        made_with = params.get("a", params.get("sentence_length"))
        return {"frequencies": None if weights is None else SavedWeights(weights, made_with)}

    def _forget(self) -> None:
        self._adopt(*self._new_model())

    def _solve(self) -> None:
        """Compute the parameters from the statistics, if these have changed."""
        self._model.solve()

    def _finish(self) -> None:
        try:
            self._solve()
        except NotFittedError:
            raise ValueError(
                f"{type(self).__name__}: there is nothing to fit to: there are no sentences"
            ) from None

    # For workers, which exchange statistics.

    def _statistics_to_bytes(self) -> bytes:
        """The statistics, without solving; empty if there are none."""
        model = self.__dict__.get("_model")
        try:
            return b"" if model is None else bytes(model.to_bytes(statistics=True))
        except NotFittedError:  # nothing was added
            return b""

    def _add_statistics(self, content: bytes) -> None:
        """Add statistics of an encoder with the same parameters, as `merge` does."""
        model, tokenizer = self._current_model()
        if content:
            statistics: Any = content
            model.merge(_core.encoder_from_bytes(statistics, self._word_vectors._core))
        self._adopt(model, tokenizer)

    def _new_model(self) -> tuple[Any, Tokenizer]:
        """Check the parameters, and return a new encoder of the core and the tokenizer."""
        self._check_vectors()
        tokenizer = self._new_tokenizer()
        core = tokenizer.core(lowercase=not self._word_vectors.cased)
        model = getattr(_core, self._kind)(self._word_vectors._core, core, self._weights(), **self._options())
        return model, tokenizer

    def _adopt(self, model: Any, tokenizer: Tokenizer | None = None) -> None:
        """Set the encoder of the core that was fitted with the current parameters."""
        self._fitted_tokenizer = self._new_tokenizer() if tokenizer is None else tokenizer
        self._model = model
        self._fitted_vectors = self._word_vectors
        self._fitted_params = self.get_params(deep=False)  # last, because other threads may be reading

    def _check_fitted(self) -> None:
        if self._learns:
            super()._check_fitted()

    def _check_learnt(self) -> None:
        """Check that there is a model, which encoding may not need."""
        self._check_fitted()

    def _tokenizer(self) -> Tokenizer:
        """The tokenizer of the model."""
        self._fitted_model()
        return self._fitted_tokenizer

    def _partial_fit(self, batch: Any) -> None:
        model, tokenizer = self._current_model()
        model.partial_fit(tokenizer.prepare(batch))
        self._keep(model, tokenizer)

    def _keep(self, model: Any, tokenizer: Tokenizer) -> None:
        """Set the model, or merge it if another thread has set one first."""
        self.__dict__.setdefault("_fitted_tokenizer", tokenizer)
        first = self.__dict__.setdefault("_model", model)
        if first is model:
            self._adopt(model, tokenizer)
        else:
            first.merge(model)

    def _encode_into(self, batch: Any, out: Floats) -> None:
        self._fitted_model().encode_into(self._tokenizer().prepare(batch), out)

    @property
    def _takes_lists(self) -> bool:
        return self._tokenizer().split != "external" and bool(self._model.side_by_side)

    def _current_model(self) -> tuple[Any, Tokenizer]:
        """The current model, or a new one."""
        if "_model" not in self.__dict__ and self._learns:
            return self._new_model()
        self._check_learnt()
        return self._model, self._fitted_tokenizer

    def _fitted_model(self) -> Any:
        """The model with up-to-date parameters."""
        self._check_learnt()
        self._solve()
        return self._model

    def _with_statistics(self) -> bool:
        """Whether pickles contain the statistics."""
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
        state = current_names(state)
        model = state.pop("_model", None)
        self.__dict__.update(state)
        if model is not None:
            table = state.get("_fitted_vectors") or self._fitted_params["vectors"]
            self._model = _core.encoder_from_bytes(model, table._core)
