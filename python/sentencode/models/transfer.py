"""Transfer: weights copied from another encoder, and weights that training does not change."""

from __future__ import annotations

import fnmatch
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from ..checks import checked_str
from .task import UNKNOWN

__all__ = ["copy_weights", "frozen_names", "word_tables"]

Tables = Mapping[str, Sequence[Hashable]]


def word_tables(network: Any, words: Tables) -> dict[str, Sequence[Hashable]]:
    """The word of each row of each word table of a network.

    A network of C++ names its word tables as `word_tables`, with the option that is their number of rows. In
    other networks every tensor with `words` rows is one. `words` are those of `Task.table_words`.
    """
    state = network.state_dict()
    named = getattr(network, "word_tables", None)
    if named is None:
        named = {
            name: "words" for name, tensor in state.items() if tensor.dim() and len(tensor) == network.words
        }
    return {
        name: words[option]
        for name, option in named.items()
        if name in state and option in words and len(words[option]) == len(state[name])
    }


def copy_weights(network: Any, tables: Tables, other: Any, other_tables: Tables) -> None:
    """Copies weights of another network: word tables word by word, others if name and shape are equal.

    `tables` are the `word_tables` of both networks. A table that is not trained keeps its rows of words,
    whose vectors encoding reads, unless the network has `word_rows`. ValueError if there is nothing to copy.
    """
    named, not_copied = getattr(network, "word_tables", ()), getattr(network, "corpus_tensors", ())
    theirs: dict[str, Tensor] = other.state_dict()
    fixed: set[str] = set()
    if not hasattr(network, "word_rows"):
        fixed = {name for name, parameter in network.named_parameters() if not parameter.requires_grad}
    copied = 0
    with torch.no_grad():
        for name, tensor in network.state_dict().items():
            source = theirs.get(name)
            if source is None or name in not_copied or source.dim() != tensor.dim():
                continue
            if name in tables and name in other_tables:
                if source.shape[1:] != tensor.shape[1:]:
                    continue
                rows = {word: row for row, word in enumerate(other_tables[name])}
                shared = [
                    (row, rows[word])
                    for row, word in enumerate(tables[name])
                    if word in rows
                    and (name not in fixed or (isinstance(word, tuple) and word != (UNKNOWN,)))
                ]
                if shared:
                    to, from_ = torch.tensor(shared).T
                    tensor[to.to(tensor.device)] = source[from_.to(source.device)].to(tensor)
                copied += 1
            elif name not in named and source.shape == tensor.shape:
                tensor.copy_(source)
                copied += 1
    if copied == 0:
        raise ValueError(
            f"init: no weight of that {type(other).__name__} has the name and shape of one of this network"
        )


def frozen_names(network: Any, freeze: Sequence[str]) -> list[str]:
    """The names of the weights that the names of weights or parts, or patterns, in `freeze` match."""
    if isinstance(freeze, str) or not isinstance(freeze, Sequence):
        raise TypeError(f"freeze must be a list of names, got {freeze!r:.40}")
    names = [name for name, _ in network.named_parameters()]
    frozen: set[str] = set()
    for i, pattern in enumerate(freeze):
        checked_str(f"freeze[{i}]", pattern)
        matches = {
            name for name in names if name.startswith(f"{pattern}.") or fnmatch.fnmatchcase(name, pattern)
        }
        if not matches:
            raise ValueError(f"freeze[{i}]: no weight is called {pattern!r}; there are {', '.join(names)}")
        frozen |= matches
    return sorted(frozen)
