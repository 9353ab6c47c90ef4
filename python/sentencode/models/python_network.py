"""Networks written in Python, as C++ reads them."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from .. import _nn
from ..checks import checked_int, checked_str
from ..generators import isolated_generators
from ..nn.module import CppModule, float32_default
from ..training.python_model import ModuleParts

__all__ = ["Inputs", "Words", "core_network", "network_name", "register"]


@dataclass(frozen=True)
class Inputs:
    """The input of `encode` of a network in Python.

    Attributes:
        x: Word vectors [B, T, features], or the result of `word_rows`; zero for padding.
        lengths: [B] int64.
        mask: [B, T] bool: true for words, false for padding.
    """

    x: Tensor
    lengths: Tensor
    mask: Tensor

    def __len__(self) -> int:
        return len(self.x)


@dataclass(frozen=True)
class Words:
    """The input of `word_rows` of a network in Python: distinct words.

    Attributes:
        vectors: [W, features]; of words without a vector the policy's substitute, or zero.
        known: [W] bool: whether the word itself has a vector.
        ids: [W] int64; of words without an id that of unknown words.
        characters: [W, max_characters] int64, if the network has an `alphabet`, else None: 2 is the first
            character of the alphabet, 1 stands for all other characters, 0 is padding.
    """

    vectors: Tensor
    known: Tensor
    ids: Tensor
    characters: Tensor | None = None

    def __len__(self) -> int:
        return len(self.ids)


class _NetworkParts(ModuleParts):
    """The methods of a module that C++ calls (`_nn.PythonNetwork`)."""

    def __init__(self, module: nn.Module, config: dict[str, Any]) -> None:
        super().__init__(module, ("tokens",))
        self.module = module
        self.dim = int(module.dim)  # type: ignore[arg-type]
        self.features = int(config["features"])
        self.config = json.dumps(config)
        makes_rows = hasattr(module, "word_rows")
        self.ids = int(config["words"]) if makes_rows else 0
        self.alphabet, self.characters = alphabet_of(module) if makes_rows else ("", 0)
        self._lock, self._encoding = threading.Lock(), 0
        self._trained: list[nn.Module] = []

    def encode(self, x: Tensor, lengths: Tensor, mask: Tensor, evaluating: bool) -> Tensor:
        """Return embeddings; with `evaluating` as in evaluation mode."""
        with self._evaluating() if evaluating else nullcontext():
            z: Tensor = self.module.encode(Inputs(x, lengths, mask))  # type: ignore[operator]
        return self._checked("encode", z)

    def word_rows(
        self, vectors: Tensor, known: Tensor, ids: Tensor, characters: Tensor | None, evaluating: bool
    ) -> Tensor:
        """Return word vectors; with `evaluating` as in evaluation mode."""
        with self._evaluating() if evaluating else nullcontext():
            rows: Tensor = self.module.word_rows(Words(vectors, known, ids, characters))  # type: ignore[operator]
        return self._checked("word_rows", rows)

    def _checked(self, method: str, result: Any) -> Tensor:
        if not isinstance(result, Tensor):
            name = type(self.module).__name__
            raise TypeError(f"{name}.{method} must return a tensor, got {type(result).__name__}")
        return result

    @contextmanager
    def _evaluating(self) -> Iterator[None]:
        """All parts of the module are in evaluation mode until the last encoding thread has left."""
        with self._lock:
            if self._encoding == 0:
                self._trained = [part for part in self.module.modules() if part.training]
                for part in self._trained:
                    part.training = False
            self._encoding += 1
        try:
            yield
        finally:
            with self._lock:
                self._encoding -= 1
                if self._encoding == 0:
                    for part in self._trained:
                        part.training = True

    def buffers(self) -> list[tuple[str, Tensor]]:
        """The persistent buffers."""
        state = self.module.state_dict()
        return [(name, tensor) for name, tensor in super().buffers() if name in state]

    def end(self) -> None:
        """Sentences of networks in Python have no end."""


def alphabet_of(network: Any) -> tuple[str, int]:
    """The characters that have ids, and how many of a word a network reads; "" and 0: none."""
    if not hasattr(network, "alphabet"):
        return "", 0
    name = type(network).__name__
    most = checked_int(f"{name}.max_characters", getattr(network, "max_characters", None), 1)
    return checked_str(f"{name}.alphabet", network.alphabet), most


def core_network(network: Any, name: str, settings: dict[str, Any], *, head: bool = False) -> Any:
    """Return a network of an encoder class as C++ reads it. With a head, it needs no `loss`."""
    if isinstance(network, CppModule):
        return network._cpp
    for required in ("dim", "encode", "loss", "words", "features"):
        if not hasattr(network, required) and not (head and required == "loss"):
            raise TypeError(f"{name}: the network {type(network).__name__} has no {required}")
    sizes = {"words": int(network.words), "features": int(network.features)}
    config = {"network": network_name(name, type(network)), **sizes, **settings}
    for option, value in settings.items():
        if json.loads(json.dumps(value, default=repr)) != value or isinstance(value, dict):
            raise TypeError(
                f"{name}: {option}={value!r:.40} cannot be saved: only numbers, strings, None and lists can"
            )
    return _nn.PythonNetwork(_NetworkParts(network, config))


def _check_size(network: Any, options: dict[str, Any]) -> None:
    """Refuses a network that is larger than its file, before it allocates memory."""
    try:
        with torch.device("meta"):
            empty = network(**options)
    except Exception:  # it reads its weights, which have no values on "meta"
        return
    for tensor in empty.state_dict().values():
        _nn.check_limit(list(tensor.shape))


def network_name(encoder: str, network: Any) -> str:
    """The name of a network class in files. Networks in Python of two encoders may have one name."""
    name: str = network.__name__
    return name if issubclass(network, CppModule) else f"{encoder}.{name}"


def register(encoder: str, network: Any) -> None:
    """Lets `load` read files of an encoder class whose network is a class in Python."""

    def make(config: str) -> Any:
        options = json.loads(config)
        options.pop("network")
        with isolated_generators(), float32_default():
            _check_size(network, options)
            module = network(**options)
        return _nn.PythonNetwork(_NetworkParts(module, json.loads(config)))

    _nn.register_network(network_name(encoder, network), make)
