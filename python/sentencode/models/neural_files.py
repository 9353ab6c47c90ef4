"""Files, pickles and fingerprints of neural encoders."""

from __future__ import annotations

import copy
import json
import uuid
from dataclasses import replace
from typing import Any
from weakref import WeakKeyDictionary

from .. import _core, _nn
from ..checks import checked_int
from ..code_digest import code_digest
from ..core_encoder import check_same_tokenizer, checked_keys, current_names, is_still, parsed_params, plain
from ..generators import isolated_generators
from ..nn.module import CppModule
from ..text.tokenizer import Tokenizer
from ..text.vocabulary import Vocabulary
from ..vectors import WordVectors
from .core_model import word_ids
from .device import device_of, replaced_device
from .heads import as_head
from .prediction import TrainedHead
from .python_network import network_name

__all__ = [
    *("described_model", "from_model", "identity", "open_model", "pickled_state", "read_params"),
    "restore_state",
]

# Parameters that are left out of fingerprints while they have no effect: older versions do not know them.
_NEW = (
    *("head", "sparse_rows", "boundaries", "orthogonal", "max_minutes", "validation_fraction", "anchor"),
    "layer_norm",
    *("word_sum", "word_dropout"),
)
# Parameters that older files lack.
_LATER = frozenset(
    {
        *("batching", "max_tokens", "momentum", "optimizer_epsilon", "weight_decay", "schedule_steps"),
        *("schedule_end", "epoch_decay", "least_rate", "clip_each", "save_every", "higher_is_better"),
        *("bad_steps", "read_every", "places", "trainable_words", "validate_first", *_NEW),
    }
)
# Networks in Python without a digest of their code: each class is unique in this process.
_UNIQUE: WeakKeyDictionary[type, str] = WeakKeyDictionary()


def described_model(encoder: Any) -> Any:
    """The encoder in C++, with the parameters that are saved with it."""
    encoder._check_fitted()
    model = encoder._model  # another thread may replace it
    config = encoder.get_params(deep=False)
    for name in encoder._unsaved:
        del config[name]
    config["tokenizer"] = encoder._fitted_tokenizer.to_config(content=False)
    if callable(config["metric"]):
        config["metric"] = "function"  # files have no code
    if (head := as_head(config["head"])) is not None:
        config["head"] = head.to_config()
    params = {name: plain(value) for name, value in config.items()}
    words = {"words": encoder.vocabulary_.words, "counts": encoder.vocabulary_.counts.tolist()}
    content = {"params": params, "vocabulary": words, "origin": encoder.origin_}
    if more := encoder.task_class.saved_attributes(encoder):
        content["more"] = more
    if (head := encoder._trained_head) is not None:
        content["learnt"] = {"sides": head.sides, "classes": head.classes}
    model.params = json.dumps(content)
    return model


def open_model(path: str, options: _core.LoadOptions) -> _nn.NeuralEncoder:
    """The encoder of a file, in C++."""
    with isolated_generators():  # weights are initialised before they are read
        return _nn.NeuralEncoder.load(path, options)


def read_params(kind: Any, model: Any) -> dict[str, Any]:
    """The parameters in a file of an encoder class; `from_model` checks their values."""
    content = parsed_params(model)
    required, optional = {"params", "vocabulary", "origin"}, {"learnt", "more"}
    if set(content) - optional != required:
        raise ValueError("params: expected a JSON object with params, vocabulary and origin")
    defaults = kind._defaults()
    saved = content["params"]
    if isinstance(saved, dict):
        saved = {kind._renamed.get(name, name): value for name, value in saved.items()}
        # The network's own options, not the preset's, which may have changed.
        missing = {**defaults, **json.loads(model.network.config())}
        saved = {**{name: missing[name] for name in _LATER & set(defaults)}, **saved}
    params = checked_keys(kind, saved, set(defaults) - set(kind._unsaved))
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


def from_model(kind: Any, model: Any, params: dict[str, Any], tokenizer: Tokenizer, *, trust: bool) -> Any:
    """The encoder of a file. `model` is the encoder in C++; `trust` as in `load`."""
    names = ("vocabulary", "origin", "learnt", "more")
    vocabulary, origin, saved_head, more = (params.pop(name) for name in names)
    encoder = kind(WordVectors(model.vectors), **{**params, "tokenizer": tokenizer})
    encoder._check_vectors()
    checked_int("params: seed", encoder.seed, 0)  # training checks the other parameters that it reads
    kind.task_class.load_attributes(encoder, more, trust=trust)
    config = json.loads(model.network.config())
    if config.pop("network") != network_name(kind.__name__, kind.network_class):
        raise ValueError(f"config: the network is no {kind.network_class.__name__}")
    _keep_sizes(encoder, config)
    _keep_head(encoder, model.head)
    _keep_unit_words(encoder, model.weights)
    _check_parameters(encoder, model, config, vocabulary)
    if issubclass(kind.network_class, CppModule):
        network = kind.network_class.of(model.network, config)
    else:
        network = model.network.parts.module
    device = replaced_device(encoder.device, kind.__name__)
    head = TrainedHead.read(model.head, saved_head, encoder.settings()["head"], int(model.dim))
    if head is not None:
        head.head.to(device).eval()
    network = network.to(device).eval()
    encoder._adopt(network, vocabulary, tokenizer, encoder._word_vectors, model=model, head=head)
    encoder.origin_ = origin
    return encoder


def _keep_sizes(encoder: Any, config: dict[str, Any]) -> None:
    """Sets the options that the file left to its preset where the default has changed since."""
    for name, value in encoder._network_settings(encoder.settings()).items():
        parameter = encoder._renamed.get(name, name)
        if getattr(encoder, parameter) is None and not is_still(value, config[name]):
            setattr(encoder, parameter, config[name])


def _keep_head(encoder: Any, core: Any) -> None:
    """Sets the head that the file left to its preset if the default has changed since."""
    preset = encoder.settings()["head"]
    if core is None or preset is None or encoder.head is not None:
        return
    config = json.loads(core.config())
    if config["head"] == type(preset).__name__:
        kept = replace(preset, **{name: config[name] for name in preset.options})
        if kept != preset:
            encoder.head = kept


def _keep_unit_words(encoder: Any, weights: Any) -> None:
    """Notes whether word vectors have factors, if their default is different now."""
    if encoder.unit_words is None and encoder.settings()["unit_words"] != (weights is not None):
        encoder._unit_words = weights is not None


def _check_parameters(encoder: Any, model: Any, config: dict[str, Any], vocabulary: Vocabulary) -> None:
    """ValueError if parameters of an encoder contradict the encoder in C++ and its network's config."""
    in_config = {"max_words": model.max_words, "unit_words": model.weights is not None, **config}
    settings = encoder.settings()
    in_params = {
        **{name: settings[name] for name in ("max_words", "unit_words")},
        **encoder._network_settings(settings),
    }
    for name, value in in_params.items():
        if not is_still(value, in_config[name]):
            raise ValueError(f"params: {name}={value!r}, but config has {in_config[name]!r}")
    check_same_tokenizer(encoder._new_tokenizer().core(), model.tokenizer)
    for name, size in encoder.task_class.fitted_sizes(encoder, config, vocabulary).items():
        if config[name] != size:
            raise ValueError(
                f"config: {name} of the network is {config[name]}; by its vocabulary of "
                f"{len(vocabulary)} words it must be {size}"
            )
    if {"ids": model.ids, "unknown": model.unknown} != word_ids(encoder, model.network, vocabulary):
        raise ValueError("config: the ids are not those of the vocabulary")


def identity(encoder: Any) -> Any:
    """Everything that embeddings depend on, for the fingerprint."""
    params = json.loads(described_model(encoder).params)
    del params["origin"]  # the path of the texts does not matter
    params.pop("learnt", None)  # nor does the head
    params["params"]["device"] = "auto"  # the default: `to` changes it
    for name in _NEW:
        if not params["params"].get(name, True):
            del params["params"][name]
    network = encoder.network
    state = {name: tensor.float().cpu().numpy() for name, tensor in network.state_dict().items()}
    # The embeddings of a network in Python depend on its code.
    code = None
    if not isinstance(network, CppModule):
        code = code_digest(type(network)) or _UNIQUE.setdefault(type(network), uuid.uuid4().hex)
    words = encoder._fitted_vectors
    policy = [] if words.oov == "skip" else [words.oov]
    return words.fingerprint, json.dumps(params), state, *([code] if code else []), *policy


def pickled_state(encoder: Any) -> dict[str, Any]:
    """The attributes in a pickle: without the encoder in C++ and a stopped training; tensors on the CPU."""
    state: dict[str, Any] = vars(encoder).copy()
    state.pop("_stopped", None)
    if (model := state.pop("_model", None)) is not None:
        state["_word_weights"] = model.weights
    if (network := state.get("_network")) is not None:
        # Tensors of a GPU could not be unpickled on a machine without one.
        state["_network_device"] = str(device_of(network, state.get("_trained_head")))
        if state["_network_device"] != "cpu":
            state["_network"] = copy.deepcopy(network).cpu()
            if (head := state.get("_trained_head")) is not None:
                state["_trained_head"] = replace(head, head=copy.deepcopy(head.head).cpu())
    return state


def restore_state(encoder: Any, state: dict[str, Any]) -> None:
    """Sets the attributes of a pickle, and makes the encoder in C++."""
    state = current_names(state)
    device, weights = state.pop("_network_device", "cpu"), state.pop("_word_weights", "auto")
    defaults = {name: value for name, value in encoder._defaults().items() if name != "vectors"}
    vars(encoder).update({**defaults, **state})  # earlier versions lack parameters
    if (params := state.get("_fitted_params")) is None:
        return
    params = {**defaults, **params}
    now = encoder.get_params(deep=False)
    head = encoder._trained_head
    if device != "cpu":
        encoder.device = device
        here = replaced_device(device, type(encoder).__name__)
        encoder.network.to(here)
        if head is not None:
            head.head.to(here)
    encoder.set_params(**params)
    if not isinstance(weights, str):
        _keep_unit_words(encoder, weights)
    if isinstance(encoder.network, CppModule):
        _keep_sizes(encoder, json.loads(encoder._core_network(encoder.network, head=False).config()))
    words = state.get("_fitted_vectors") or encoder._word_vectors
    encoder._adopt(
        encoder.network, encoder.vocabulary_, encoder._fitted_tokenizer, words, weights=weights, head=head
    )
    encoder.set_params(**{name: value for name, value in now.items() if not is_still(value, params[name])})
