"""Weights to begin with, and weights that stay as they begin."""

from __future__ import annotations

import fnmatch
from collections.abc import Sequence
from typing import Any

import torch

from ..checks import checked_str
from ..text.vocabulary import Vocabulary

__all__ = ["begin_with", "frozen_names"]


def begin_with(network: Any, vocabulary: Vocabulary, other: Any, others: Vocabulary, symbols: int) -> None:
    """Copies another network's weights; those of words, word by word.

    Args:
        network: Whose weights are set.
        vocabulary: The words that it knows by ids.
        other: The network whose weights are taken where name and shape are the same.
        others: The words that this one knows.
        symbols: How many ids there are behind those of words, in both.

    Raises:
        ValueError: If there is no such weight.
    """
    mine, theirs = network.state_dict(), other.state_dict()
    places = {word: i for i, word in enumerate(others.words)}
    shared = [(i, places[word]) for i, word in enumerate(vocabulary.words) if word in places]
    taken = 0
    with torch.no_grad():
        for name, tensor in mine.items():
            given = theirs.get(name)
            if given is None or given.dim() != tensor.dim():
                continue
            given = given.to(tensor)
            # Rows of words, and behind them of the same symbols.
            rows = (len(tensor), len(given)) if tensor.dim() else (0, 0)
            of_words = rows == (len(vocabulary) + symbols, len(places) + symbols)
            if of_words and tensor.shape[1:] == given.shape[1:]:
                if shared:
                    to, origin = torch.tensor(shared, device=tensor.device).T
                    tensor[to] = given[origin]
                tensor[-symbols:] = given[-symbols:]
                taken += 1
            elif given.shape == tensor.shape:
                tensor.copy_(given)
                taken += 1
    if taken == 0:
        raise ValueError(
            f"init: no weight of that {type(other).__name__} has the name and shape of one of this network"
        )


def frozen_names(network: Any, freeze: Sequence[str]) -> list[str]:
    """The names of the weights that are to stay as they begin.

    Args:
        network: Whose they are.
        freeze: Names of weights, of parts of the network, or patterns.

    Raises:
        TypeError: If it is no list of strings.
        ValueError: If no weight has one of the names.
    """
    if isinstance(freeze, str) or not isinstance(freeze, Sequence):
        raise TypeError(f"freeze must be a list of names, got {freeze!r:.40}")
    names = [name for name, _ in network.named_parameters()]
    found: set[str] = set()
    for i, wanted in enumerate(freeze):
        checked_str(f"freeze[{i}]", wanted)
        meant = {name for name in names if name.startswith(f"{wanted}.") or fnmatch.fnmatchcase(name, wanted)}
        if not meant:
            raise ValueError(f"freeze[{i}]: no weight is called {wanted!r}; there are {', '.join(names)}")
        found |= meant
    return sorted(found)
