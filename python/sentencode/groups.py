"""Equal examples: those that are held out for validation must not be trained on."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["groups_of", "held_out_groups", "keys_of"]

Numbers = npt.NDArray[np.int64]
_LARGE = 20  # a group of more than this part of the examples, and of twice the mean, is trained on


def groups_of(keys: Iterable[Hashable]) -> Numbers:
    """Return the number of each example's group, 0, 1, ... in the order of the first examples [n].

    Args:
        keys: Something that is equal for equal examples.

    Example:
        >>> groups_of(["a", "b", "a"]).tolist()
        [0, 1, 0]
    """
    groups: dict[int, int] = {}
    return np.array([groups.setdefault(hash(key), len(groups)) for key in keys], np.int64)


def keys_of(sides: Sequence[Sequence[Any]]) -> Iterator[Hashable]:
    """Yield a key of each example, given columns of sentences, which are texts or lists of tokens."""
    for row in zip(*sides, strict=True):
        yield tuple(one if isinstance(one, str | bytes) else tuple(one) for one in row)


def held_out_groups(groups: Numbers, chosen: Numbers, labels: Numbers | None = None) -> npt.NDArray[np.bool_]:
    """Return which examples are held out [n]: those of the chosen groups, unless these are large.

    Args:
        groups: Group of each example [n].
        chosen: Groups to hold out.
        labels: Class of each example [n]; the last examples of a class are not held out.
    """
    sizes = np.bincount(groups)
    small = chosen[sizes[chosen] <= max(len(groups) // _LARGE, 2 * len(groups) / len(sizes))]
    is_held = np.zeros(len(sizes), np.bool_)
    is_held[small if len(small) else chosen] = True
    held_out: npt.NDArray[np.bool_] = is_held[groups]
    if labels is not None:
        held_out &= np.isin(labels, labels[~held_out])
    return held_out
