"""Networks that are written in Python, as the core sees them."""

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
from ..training.trainer import ModuleParts

__all__ = ["Inputs", "Words", "core_network", "network_name", "register"]


@dataclass(frozen=True)
class Inputs:
    """Sentences that a network in Python is to encode.

    Attributes:
        x: Words' vectors [B, T, features], or what `word_rows` makes of the words; zero where there is none.
        lengths: [B] int64.
        mask: [B, T] bool: true where there is a word.
    """

    x: Tensor
    lengths: Tensor
    mask: Tensor

    def __len__(self) -> int:
        return len(self.x)


@dataclass(frozen=True)
class Words:
    """Distinct words, as a network sees them that makes their rows itself.

    Attributes:
        vectors: [W, features]; of words without a vector what the policy of the vectors says, else zero.
        known: [W] bool: whether it is a vector of the word's own.
        ids: [W] int64; of words without an id that of unknown ones.
        characters: [W, max_characters] int64, where the network has an `alphabet`, else None: 2 is the
            first of the alphabet, 1 stands for all others, 0 is behind the last character.
    """

    vectors: Tensor
    known: Tensor
    ids: Tensor
    characters: Tensor | None = None

    def __len__(self) -> int:
        return len(self.ids)


class _NetworkParts(ModuleParts):
    """A module as C++ sees it (`_nn.PythonNetwork`)."""

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
        """Rows; `evaluating`, as if the module were not in training."""
        with self._evaluating() if evaluating else nullcontext():
            found: Tensor = self.module.encode(Inputs(x, lengths, mask))  # type: ignore[operator]
        if not isinstance(found, Tensor):
            raise TypeError(
                f"{type(self.module).__name__}.encode must return a tensor, got {type(found).__name__}"
            )
        return found

    def word_rows(
        self, vectors: Tensor, known: Tensor, ids: Tensor, characters: Tensor | None, evaluating: bool
    ) -> Tensor:
        """The rows of words; `evaluating`, as if the module were not in training."""
        with self._evaluating() if evaluating else nullcontext():
            found: Tensor = self.module.word_rows(Words(vectors, known, ids, characters))  # type: ignore[operator]
        if not isinstance(found, Tensor):
            raise TypeError(
                f"{type(self.module).__name__}.word_rows must return a tensor, got {type(found).__name__}"
            )
        return found

    @contextmanager
    def _evaluating(self) -> Iterator[None]:
        """No part of the module is in training, until the last of the threads that encode has left."""
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
        """Those that are kept: of the others a network makes its own."""
        kept = self.module.state_dict()
        return [(name, tensor) for name, tensor in super().buffers() if name in kept]

    def end(self) -> None:
        """Sentences have no end here."""


def alphabet_of(network: Any) -> tuple[str, int]:
    """The characters that a network tells apart, and how many of a word it sees; "" and 0: none.

    Args:
        network: Which may have `alphabet` and `max_characters`.
    """
    if not hasattr(network, "alphabet"):
        return "", 0
    name = type(network).__name__
    most = checked_int(f"{name}.max_characters", getattr(network, "max_characters", None), 1)
    return checked_str(f"{name}.alphabet", network.alphabet), most


def core_network(network: Any, name: str, settings: dict[str, Any], *, head: bool = False) -> Any:
    """What the core's encoder is made with.

    Args:
        network: One of C++, or any module with `dim`, `encode` and `loss`, made with `words` and `features`.
        name: The encoder's class, for messages.
        settings: The network's options.
        head: Whether a head learns from its rows, so that it needs no `loss`.

    Raises:
        TypeError: The module lacks one of these.
    """
    if isinstance(network, CppModule):
        return network._cpp
    for wanted in ("dim", "encode", "loss", "words", "features"):
        if not hasattr(network, wanted) and not (head and wanted == "loss"):
            raise TypeError(f"{name}: the network {type(network).__name__} has no {wanted}")
    sizes = {"words": int(network.words), "features": int(network.features)}
    config = {"network": network_name(name, type(network)), **sizes, **settings}
    for option, value in settings.items():
        if json.loads(json.dumps(value, default=repr)) != value or isinstance(value, dict):
            raise TypeError(
                f"{name}: {option}={value!r:.40} cannot be kept: only numbers, strings, None and lists can"
            )
    return _nn.PythonNetwork(_NetworkParts(network, config))


def _check_size(network: Any, options: dict[str, Any]) -> None:
    """Refuses what is larger than the file that describes it, before there is memory for it."""
    try:
        with torch.device("meta"):
            empty = network(**options)
    except Exception:  # it computes with its weights, which have no values there
        return
    for tensor in empty.state_dict().values():
        _nn.check_limit(list(tensor.shape))


def network_name(encoder: str, network: Any) -> str:
    """What files call a network in Python: two encoders may have networks of one name."""
    return f"{encoder}.{network.__name__}"


def register(encoder: str, network: Any) -> None:
    """Lets files of an encoder be read whose network is a class in Python.

    Args:
        encoder: The encoder's class.
        network: The network's.
    """

    def make(config: str) -> Any:
        options = json.loads(config)
        options.pop("network")
        with isolated_generators(), float32_default():
            _check_size(network, options)
            module = network(**options)
        return _nn.PythonNetwork(_NetworkParts(module, json.loads(config)))

    _nn.register_network(network_name(encoder, network), make)
