"""Files, pickles and fingerprints of neural encoders."""

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

# Parameters that are left out of fingerprints while they have no effect: older versions do not know them.
_NEW = ("head", "sparse_rows", "boundaries", "orthogonal")
# Parameters that older files lack.
_LATER = frozenset(
    {
        *("batching", "max_tokens", "momentum", "optimizer_epsilon", "weight_decay", "schedule_steps"),
        *("schedule_end", "epoch_decay", "least_rate", "clip_each", "save_every", "higher_is_better"),
        *("bad_steps", "read_every", "places", "trainable_words", *_NEW),
    }
)
# Networks in Python without a digest of their code: each class is unique in this process.
_UNIQUE: WeakKeyDictionary[type, str] = WeakKeyDictionary()


class NeuralFiles(CoreEncoder):
    """Saving and loading of a `NeuralEncoder`."""

    network_class: ClassVar[Any]
    task_class: ClassVar[type[Task]] = SentenceTask
    _unsaved: ClassVar[tuple[str, ...]] = (
        "vectors",
        "vocabulary",
    )  # parameters that are not among those in files
    _renamed: ClassVar[dict[str, str]] = {}  # network options, and parameters of old files, by other names
    vocabulary_: Vocabulary
    device: Any
    # Defined in NeuralEncoder.
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
        """What files of this family have in addition, as JSON."""
        return {}

    def _take_content(self, content: dict[str, Any], trust: bool) -> None:
        """Reads `_more_content`; tokenizers in it are trusted as `load` says.

        Raises:
            ValueError: If it is malformed.
        """
        if content != {}:
            raise ValueError(f"params: more: expected nothing, got {content!r:.40}")

    def _sizes(self, config: dict[str, Any], vocabulary: Vocabulary) -> dict[str, int]:
        """The network's options that follow from the vocabulary."""
        return self.task_class.ids(len(vocabulary))

    def save(self, path: str | os.PathLike[str], *, vectors: bool = True) -> None:
        """Write the encoder to one file, for `sentencode.load` and C++ programs.

        The file is written completely or not at all. It is a safetensors file with the configuration as JSON
        in its header; nothing in it can be executed.

        Args:
            path: The file, which is replaced if it exists.
            vectors: Whether the word vectors are part of the file. Without them, loading needs the file that
                they are mapped from, at the same path.

        Raises:
            NotFittedError: If the encoder is not fitted, or its parameters have changed since.
            OSError: If the file cannot be written.

        Warns:
            UserWarning: If the tokenizer is neither built in nor found by its name: `load` then requires it.
        """
        model = self._described_model()
        self._check_tokenizer_name()
        model.save(_core.link_target(path), vectors=vectors)

    def _described_model(self) -> Any:
        """The model in C++, with the parameters that are saved with it."""
        self._check_fitted()
        model = self._model  # another thread may replace it
        config = self.get_params(deep=False)
        for name in self._unsaved:
            del config[name]
        config["tokenizer"] = self._cut.to_config()
        if callable(config["metric"]):
            config["metric"] = "function"  # files have no code
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
        """The encoder of a file, in C++."""
        with isolated_generators():  # weights are initialised before they are read
            return _nn.NeuralEncoder.load(path, options)

    @classmethod
    def _read_params(cls, model: Any) -> dict[str, Any]:
        """The parameters in a file; `_from_model` checks their values."""
        content = json.loads(model.params)
        required, optional = {"params", "vocabulary", "origin"}, {"learnt", "more"}
        if not isinstance(content, dict) or set(content) - optional != required:
            raise ValueError("params: expected a JSON object with params, vocabulary and origin")
        defaults = cls._defaults()
        saved = content["params"]
        if isinstance(saved, dict):
            saved = {cls._renamed.get(name, name): value for name, value in saved.items()}
            # The network's own options, not the preset's, which may have changed.
            missing = {**defaults, **json.loads(model.network.config())}
            saved = {**{name: missing[name] for name in _LATER & set(defaults)}, **saved}
        params = checked_keys(cls, saved, set(defaults) - set(cls._unsaved))
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
        """The encoder of a file, given that of C++; `trust` as in `load`."""
        names = ("vocabulary", "origin", "learnt", "more")
        vocabulary, origin, saved_head, more = (params.pop(name) for name in names)
        kind: Any = cls
        encoder = kind(WordVectors(model.vectors), **{**params, "tokenizer": cut})
        encoder._check_vectors()
        checked_int("params: seed", encoder.seed, 0)  # training checks the other parameters that it reads
        encoder._take_content(more, trust)
        config = json.loads(model.network.config())
        if config.pop("network") != cls._network_name():
            raise ValueError(f"config: the network is no {cls.network_class.__name__}")
        in_config = {"max_words": model.max_words, "unit_words": model.weights is not None, **config}
        settings = encoder.settings()
        in_params = {
            **{name: settings[name] for name in ("max_words", "unit_words")},
            **encoder._network_settings(settings),
        }
        for name, value in in_params.items():
            if not is_still(value, in_config[name]):
                raise ValueError(f"params: {name}={value!r}, but config has {in_config[name]!r}")
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
        learnt = Learnt.read(model.head, saved_head, settings["head"], int(model.dim))
        if learnt is not None:
            learnt.head.to(encoder._device_here()).eval()
        encoder._adopt(network, vocabulary, cut, encoder._word_vectors, model=model, learnt=learnt)
        encoder.origin_ = origin
        return encoder

    def _identity(self) -> Any:
        params = json.loads(self._described_model().params)
        del params["origin"]  # the path of the texts does not matter
        params.pop("learnt", None)  # nor does the head
        for name in _NEW:
            if not params["params"].get(name, True):
                del params["params"][name]
        state = {name: tensor.float().cpu().numpy() for name, tensor in self.network.state_dict().items()}
        # The embeddings of a network in Python depend on its code.
        code = None
        if not isinstance(self.network, CppModule):
            code = code_digest(type(self.network)) or _UNIQUE.setdefault(type(self.network), uuid.uuid4().hex)
        words = self._made_with
        policy = [] if words.oov == "skip" else [words.oov]
        return words.fingerprint, json.dumps(params), state, *([code] if code else []), *policy

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        if (model := state.pop("_model", None)) is not None:
            state["_weighted"] = model.weights
        if (network := state.get("_network")) is not None:
            # Tensors of a GPU could not be unpickled on a machine without one.
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
    """The network of a file as a module, given that of C++."""
    return kind.of(core, config) if issubclass(kind, CppModule) else core.parts.module
