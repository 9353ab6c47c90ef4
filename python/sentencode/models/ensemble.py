"""Several networks as one: the mean of their probabilities, or of their weights."""

from __future__ import annotations

import copy
import math
import os
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from .. import _nn
from ..checks import checked_int
from ..nn.decoding import Decoder
from ..training.checkpoints import step_files

__all__ = ["EnsembleDecoder", "average_checkpoints", "average_weights"]


class EnsembleDecoder(Decoder):
    """A decoder whose probability of each word is the mean of several decoders'.

    Args:
        decoders: Decoders with the same words.
        given: The number of tensors of the memory of each, in order.

    Example:
        >>> import torch
        >>> from sentencode.models import EnsembleDecoder
        >>> from sentencode.nn import Decoder, greedy_search
        >>> class Always(Decoder):
        ...     def start(self, memory):
        ...         return memory
        ...
        ...     def step(self, ids, state):
        ...         return state[0].log(), state
        >>> both = EnsembleDecoder([Always(), Always()], [1, 1])
        >>> one, other = torch.tensor([[0.2, 0.5, 0.3]]), torch.tensor([[0.1, 0.1, 0.8]])
        >>> greedy_search(both, [one, other], torch.tensor([0]), end=0, max_length=2).ids
        tensor([[[2, 2]]])
    """

    def __init__(self, decoders: Sequence[Any], given: Sequence[int]) -> None:
        super().__init__()
        if not decoders or len(decoders) != len(given):
            raise ValueError(f"there are {len(decoders)} decoders, and parts of the memory for {len(given)}")
        self.decoders = list(decoders)
        self.given = list(given)
        self._memories: list[int] = []
        self._caches: list[int] = []
        self._apart: list[bool] = []  # whether `step` takes the memory, which may be empty

    def start(self, memory: Sequence[Tensor]) -> tuple[list[Tensor], list[Tensor]]:
        """Return the memories and caches of all decoders, concatenated."""
        started, self._apart = [], []
        for decoder, part in zip(self.decoders, _parts(memory, self.given), strict=True):
            start = decoder.start(part)
            self._apart.append(isinstance(start, tuple))
            started.append(start if isinstance(start, tuple) else ([], start))
        memories, caches = zip(*started, strict=True)
        self._memories, self._caches = list(map(len, memories)), list(map(len, caches))
        return [t for memory in memories for t in memory], [t for cache in caches for t in cache]

    def step(
        self, ids: Tensor, memory: Sequence[Tensor], cache: Sequence[Tensor]
    ) -> tuple[Tensor, list[Tensor], Tensor | None]:
        """Return the logarithm of the mean probabilities [hypotheses, words], and the next caches."""
        log_p, caches = [], []
        parts = zip(_parts(memory, self._memories), _parts(cache, self._caches), self._apart, strict=True)
        for decoder, (part, state, apart) in zip(self.decoders, parts, strict=True):
            step = decoder.step(ids, part, state) if apart else decoder.step(ids, state)
            log_p.append(step[0].log_softmax(-1))
            caches += step[1]
        return torch.stack(log_p).logsumexp(0) - math.log(len(log_p)), caches, None

    def reorder(self, cache: Sequence[Tensor], index: Tensor) -> list[Tensor]:
        """Return the caches of the hypotheses `index`."""
        caches = []
        for decoder, part in zip(self.decoders, _parts(cache, self._caches), strict=True):
            caches += decoder.reorder(part, index)
        return caches


def average_weights(encoders: Sequence[Any]) -> Any:
    """Return an encoder with the mean of the weights of several, such as of steps of one training.

    Args:
        encoders: Fitted neural encoders of one architecture, with the same words.

    Returns:
        A new encoder, otherwise equal to the first one.

    Raises:
        NotFittedError: If one is not fitted.
        TypeError: If one has no network.
        ValueError: If there are none, or classes, words or shapes differ.

    Example:
        >>> import sentencode as se
        >>> from sentencode.models import average_weights
        >>> source, target = ["a dog", "a cat"], ["ein Hund", "eine Katze"]
        >>> small = {"features": 8, "hidden": 8, "decoder_hidden": 8, "heads": 2, "attention": 8}
        >>> nmt = se.CompoundNMT
        >>> runs = [
        ...     nmt(**small, max_epochs=None, max_steps=n, device="cpu").fit(source, target) for n in (1, 2)
        ... ]
        >>> average_weights(runs).encode(source).shape
        (2, 16)
    """
    encoders = list(encoders)
    if not encoders:
        raise ValueError("encoders: give at least one")
    first, states = encoders[0], []
    for i, encoder in enumerate(encoders):
        if not hasattr(type(encoder), "network_class"):
            raise TypeError(f"encoders[{i}] must be a neural encoder, got {type(encoder).__name__}")
        if type(encoder) is not type(first):
            raise ValueError(
                f"encoders[{i}] is a {type(encoder).__name__}, the first a {type(first).__name__}"
            )
        states.append(_weights(encoder))
        check_same_words(first, encoder, f"encoders[{i}]")
        for name in sorted(states[0].keys() | states[i].keys()):
            first_shape, shape = (
                None if name not in state else list(state[name].shape) for state in (states[0], states[i])
            )
            if first_shape != shape:
                raise ValueError(f"encoders[{i}]: {name} is {shape}, that of the first {first_shape}")
        _check_same_input(first, encoder, f"encoders[{i}]")
    return _with_mean(first, states)


def average_checkpoints(encoder: Any, folder: str | os.PathLike[str], *, last: int = 5) -> Any:
    """Return an encoder with the mean of the weights in the last checkpoints of its training.

    Args:
        encoder: A neural encoder, fitted with `checkpoints=folder`, and `keep_last` of at least `last`.
        folder: The folder of its checkpoints.
        last: The number of checkpoints, those of the last steps.

    Returns:
        A new encoder, otherwise equal to `encoder`.

    Raises:
        NotFittedError: If it is not fitted.
        TypeError: If it has no network.
        FormatError: If a checkpoint is damaged.
        ValueError: If there are fewer checkpoints, or one is of another network.

    Example:
        >>> import tempfile
        >>> import sentencode as se
        >>> from sentencode.models import average_checkpoints
        >>> folder = tempfile.TemporaryDirectory()
        >>> small = {"features": 8, "hidden": 8, "decoder_hidden": 8, "heads": 2, "attention": 8}
        >>> kind = se.CompoundNMT
        >>> nmt = kind(**small, max_steps=6, max_epochs=None, save_every=2, device="cpu")
        >>> source, target = ["a dog", "a cat"], ["ein Hund", "eine Katze"]
        >>> nmt = nmt.fit(source, target, checkpoints=folder.name, keep_last=3)
        >>> average_checkpoints(nmt, folder.name, last=3).encode("a dog").shape
        (16,)
        >>> folder.cleanup()
    """
    if not hasattr(type(encoder), "network_class"):
        raise TypeError(f"encoder must be a neural encoder, got {type(encoder).__name__}")
    weights, last = _weights(encoder), checked_int("last", last, 1)
    files = step_files(folder)
    if len(files) < last:
        raise ValueError(
            f"{os.fsdecode(folder)} holds {len(files)} checkpoints of steps, but last is {last}: "
            "fit(..., keep_last=...) sets how many there are"
        )
    parameters = encoder.network.named_parameters()
    frozen = {name: parameter.detach() for name, parameter in parameters if not parameter.requires_grad}
    states = []
    for path in files[-last:]:
        state = _nn.checkpoint_weights(path)
        if encoder._trained_head is not None:
            state = {name.removeprefix("network."): weight for name, weight in state.items()}
        state = {**frozen, **state}  # checkpoints do not have them
        for name in sorted(weights.keys() | state.keys()):
            expected, shape = (list(s[name].shape) if name in s else None for s in (weights, state))
            if expected != shape:
                raise ValueError(f"{path}: {name} is {shape}, that of the encoder {expected}")
        states.append(state)
    return _with_mean(encoder, states)


def check_same_words(first: Any, other: Any, name: str) -> None:
    """ValueError, which calls the other encoder `name`, if its vocabularies differ from the first one's."""
    for attribute, side in (("vocabulary_", ""), ("target_vocabulary_", " of the target")):
        vocabularies = (getattr(encoder, attribute, None) for encoder in (first, other))
        words, other_words = (getattr(vocabulary, "words", None) for vocabulary in vocabularies)
        if words != other_words:
            raise ValueError(f"{name} has other words{side} than the first encoder")


def _check_same_input(first: Any, other: Any, name: str) -> None:
    """ValueError if the classes, or the word vectors that are read, differ from the first one's."""
    values = []
    for encoder in (first, other):
        head, params = encoder._trained_head, encoder.get_params(deep=False)
        read = params.get("vectors") is not None  # else the network has all vectors
        values.append(
            {
                "classes": None if head is None else head.classes,
                "word vectors": encoder._fitted_vectors.fingerprint if read else None,
                "unit_words": encoder.settings().get("unit_words"),
            }
        )
    for what, value in values[0].items():
        if value != values[1][what]:
            raise ValueError(f"{name} has other {what} than the first encoder")


def _parts(tensors: Sequence[Tensor], counts: Sequence[int]) -> list[list[Tensor]]:
    parts, begin = [], 0
    for count in counts:
        parts.append(list(tensors[begin : begin + count]))
        begin += count
    return parts


def _with_mean(first: Any, states: Sequence[dict[str, Tensor]]) -> Any:
    mean = copy.deepcopy(first)
    with torch.no_grad():
        for name, weight in _weights(mean).items():
            if weight.is_floating_point():
                parts = [state[name].to(weight.device, torch.float64) for state in states]
                weight.copy_(torch.stack(parts).mean(0))
    return mean


def _weights(encoder: Any) -> dict[str, Tensor]:
    """The weights of its network and head."""
    weights: dict[str, Tensor] = dict(encoder.network.state_dict())
    if (learnt := encoder._trained_head) is not None:
        weights |= {f"head.{name}": weight for name, weight in learnt.head.state_dict().items()}
    return weights
