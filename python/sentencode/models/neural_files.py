"""How neural encoders are kept: files, pickles, fingerprints."""

from __future__ import annotations

import copy
import json
import os
import uuid
from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar
from weakref import WeakKeyDictionary

import torch

from .. import _core, _nn
from ..checks import checked_int
from ..code_digest import code_digest
from ..core_encoder import CoreEncoder, checked_keys, is_still, plain
from ..generators import isolated_generators
from ..nn.module import CppModule
from ..text.tokenizer import Tokenizer
from ..text.vocabulary import Vocabulary
from ..vectors import WordVectors
from .heads import as_head
from .prediction import Learnt
from .task import SentenceTask, Task

__all__ = ["NeuralFiles"]

# Without which encoders are what they were before.
_NEW = ("head", "sparse_rows", "boundaries", "orthogonal")
# Parameters that files lack which were written before there were any of these.
_LATER = frozenset(
    {
        *("batching", "max_tokens", "momentum", "optimizer_epsilon", "weight_decay", "schedule_steps"),
        *("schedule_end", "epoch_decay", "least_rate", "clip_each", "save_every", "higher_is_better"),
        *("bad_steps", "read_every", "places", "trainable_words", *_NEW),
    }
)
# Networks in Python whose code cannot be told from others: each class is one of its own, in this process.
_UNLIKE: WeakKeyDictionary[type, str] = WeakKeyDictionary()


class NeuralFiles(CoreEncoder):
    """The side of a `NeuralEncoder` that is kept."""

    network_class: ClassVar[Any]
    task_class: ClassVar[type[Task]] = SentenceTask
    _unsaved: ClassVar[tuple[str, ...]] = ("vectors", "vocabulary")  # parameters that files keep elsewhere
    _formerly: ClassVar[dict[str, str]] = {}  # parameters that older files know by other names
    vocabulary_: Vocabulary
    device: Any
    # What the encoder has.
    network: Any
    seed: Any
    origin_: Any
    _learnt: Learnt | None
    _adopt: Callable[..., None]
    _device_here: Callable[[], torch.device]
    _network_name: ClassVar[Callable[[], str]]
    _ids: Callable[[Any, Vocabulary], dict[str, Any]]
    _network_settings: Callable[[dict[str, Any]], dict[str, Any]]
    settings: Callable[[], dict[str, Any]]

    def _more_content(self) -> dict[str, Any]:
        """What files of a family have besides, as JSON."""
        return {}

    def _take_content(self, content: dict[str, Any], trust: bool) -> None:
        """Takes it again; a tokenizer in it as far as files are trusted.

        Raises:
            ValueError: If it is not what it should be.
        """
        if content != {}:
            raise ValueError(f"params: more: expected nothing, got {content!r:.40}")

    def _sizes(self, config: dict[str, Any], vocabulary: Vocabulary) -> dict[str, int]:
        """What the options of a network have to be that depend on the vocabulary."""
        return self.task_class.ids(len(vocabulary))

    def save(self, path: str | os.PathLike[str], *, vectors: bool = True) -> None:
        """Writes the encoder to one file, which `sentencode.load` reads, and C++ as well.

        The file is there whole or not at all. It is a safetensors file with the configuration as JSON in its
        header; nothing in it can be executed.

        Args:
            path: Where to; a file of that name is replaced.
            vectors: Whether the word vectors are part of the file. Without them it needs the file that they
                are mapped from, at the same place.

        Raises:
            NotFittedError: If the encoder was not fitted, or its parameters have changed since.
            OSError: If the file cannot be written.

        Warns:
            UserWarning: If the tokenizer is neither built in nor found again by its name: it has to be given
                to `load`.
        """
        model = self._described_model()
        self._check_tokenizer_name()
        model.save(_core.link_target(path), vectors=vectors)

    def _described_model(self) -> Any:
        """The model, with the parameters that it will be saved with."""
        self._check_fitted()
        model = self._model  # that of now: another thread may expand the vocabulary
        config = self.get_params(deep=False)
        for name in self._unsaved:
            del config[name]
        config["tokenizer"] = self._cut.to_config()
        if callable(config["metric"]):
            config["metric"] = "function"  # that it was one; nothing in a file can be executed
        if (head := as_head(config["head"])) is not None:
            config["head"] = head.to_config()
        params = {name: plain(value) for name, value in config.items()}
        words = {"words": self.vocabulary_.words, "counts": self.vocabulary_.counts.tolist()}
        content = {"params": params, "vocabulary": words, "origin": self.origin_}
        if more := self._more_content():
            content["more"] = more
        if self._learnt is not None:
            content["learnt"] = {"sides": self._learnt.sides, "classes": self._learnt.classes}
        model.params = json.dumps(content)
        return model

    @staticmethod
    def _open(path: str, options: _core.LoadOptions) -> _nn.NeuralEncoder:
        """What the core makes of a file."""
        with isolated_generators():  # weights are drawn before they are read
            return _nn.NeuralEncoder.load(path, options)

    @classmethod
    def _read_params(cls, model: Any) -> dict[str, Any]:
        """The parameters that stand in a file; whether their values fit is checked by `_from_model`."""
        content = json.loads(model.params)
        always, now_and_then = {"params", "vocabulary", "origin"}, {"learnt", "more"}
        if not isinstance(content, dict) or set(content) - now_and_then != always:
            raise ValueError("params: expected a JSON object with params, vocabulary and origin")
        known = cls._defaults()
        given = content["params"]
        if isinstance(given, dict):
            given = {cls._formerly.get(name, name): value for name, value in given.items()}
            there = {**known, **json.loads(model.network.config())}  # whatever the preset now says
            given = {**{name: there[name] for name in _LATER & set(known)}, **given}
        params = checked_keys(cls, given, set(known) - set(cls._unsaved))
        words, origin = content["vocabulary"], content["origin"]
        if not isinstance(origin, dict | None):
            raise ValueError("params: origin must be a JSON object or null")
        vocabulary = Vocabulary(dict(zip(words["words"], words["counts"], strict=True)))
        if params["head"] is not None:
            params["head"] = as_head(params["head"])
        return {
            **params,
            "vocabulary": vocabulary,
            "origin": origin,
            "learnt": content.get("learnt"),
            "more": content.get("more", {}),
        }

    @classmethod
    def _from_model(cls, model: Any, params: dict[str, Any], cut: Tokenizer, *, trust: bool) -> Any:
        """The Python face of an encoder of the core that was read from a file; `trust` as in `load`."""
        names = ("vocabulary", "origin", "learnt", "more")
        vocabulary, origin, learnt, more = (params.pop(name) for name in names)
        kind: Any = cls
        encoder = kind(WordVectors(model.vectors), **{**params, "tokenizer": cut})
        encoder._check_vectors()
        checked_int("params: seed", encoder.seed, 0)  # what else only training looks at, that checks
        encoder._take_content(more, trust)
        config = json.loads(model.network.config())
        if config.pop("network") != cls._network_name():
            raise ValueError(f"config: the network is no {cls.network_class.__name__}")
        there = {"max_words": model.max_words, "unit_words": model.weights is not None, **config}
        chosen = encoder.settings()
        for name in ("max_words", "unit_words", *encoder._network_settings(chosen)):
            if not is_still(chosen[name], there[name]):
                raise ValueError(f"params: {name}={chosen[name]!r}, but config has {there[name]!r}")
        core = encoder._new_tokenizer().core()
        for name in ("split", "lowercase", "invalid"):
            if getattr(core, name) != getattr(model.tokenizer, name):
                raise ValueError(f"params: another {name} of the tokenizer than config has")
        for name, size in encoder._sizes(config, vocabulary).items():
            if config[name] != size:
                raise ValueError(
                    f"config: {name} of the network is {config[name]}; by its vocabulary of "
                    f"{len(vocabulary)} words it must be {size}"
                )
        if {"ids": model.ids, "unknown": model.unknown} != encoder._ids(model.network, vocabulary):
            raise ValueError("config: the ids are not those of the vocabulary")
        network = _network_of(cls.network_class, model.network, config)
        network = network.to(encoder._device_here()).eval()
        found = Learnt.read(model.head, learnt, chosen["head"], int(model.dim))
        if found is not None:
            found.head.to(encoder._device_here()).eval()
        encoder._adopt(network, vocabulary, cut, encoder._word_vectors, model=model, learnt=found)
        encoder.origin_ = origin
        return encoder

    def _identity(self) -> Any:
        params = json.loads(self._described_model().params)
        del params["origin"]  # where its texts lay makes no other encoder
        params.pop("learnt", None)  # nor what was learnt from rows
        for name in _NEW:
            if not params["params"].get(name, True):
                del params["params"][name]  # as before there were any
        state = {name: tensor.float().cpu().numpy() for name, tensor in self.network.state_dict().items()}
        # The rows of a network in Python are its code's, too; code that cannot be told is like no other.
        code = None
        if not isinstance(self.network, CppModule):
            code = code_digest(type(self.network)) or _UNLIKE.setdefault(type(self.network), uuid.uuid4().hex)
        words = self._made_with
        policy = [] if words.oov == "skip" else [words.oov]
        return words.fingerprint, json.dumps(params), state, *([code] if code else []), *policy

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        if (model := state.pop("_model", None)) is not None:
            state["_weighted"] = model.weights
        if (network := state.get("_network")) is not None:
            # Tensors of a GPU could not be read where there is none.
            state["_network_device"] = str(next(network.parameters()).device)
            if state["_network_device"] != "cpu":
                state["_network"] = copy.deepcopy(network).cpu()
                if (learnt := state.get("_learnt")) is not None:
                    state["_learnt"] = replace(learnt, head=copy.deepcopy(learnt.head).cpu())
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        made_of = state.get("_made_of")
        self.__dict__.update(state)
        device = self.__dict__.pop("_network_device", "cpu")
        weights = self.__dict__.pop("_weighted", "auto")
        if made_of is not None:
            now = self.get_params(deep=False)
            if device != "cpu":
                self.device = device
                self.network.to(self._device_here())
                if self._learnt is not None:
                    self._learnt.head.to(self._device_here())
            self.set_params(**made_of)
            words = state.get("_made_with") or self._word_vectors
            self._adopt(
                self.network, self.vocabulary_, self._cut, words, weights=weights, learnt=self._learnt
            )
            self.set_params(**now)


def _network_of(kind: Any, core: Any, config: dict[str, Any]) -> Any:
    """The Python face of a network that was read from a file."""
    return kind.of(core, config) if issubclass(kind, CppModule) else core.parts.module
