"""Equal examples: those that are held out for validation must not be trained on."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable

import numpy as np
import numpy.typing as npt

__all__ = ["groups_of", "held_out_masks", "key_of"]

Numbers = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
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


def key_of(sentences: tuple[bytes, ...]) -> Hashable:
    """Return the key of an example, given what is read of its sentences; pairs have no order."""
    return tuple(sorted(sentences)) if len(sentences) == 2 else sentences


def held_out_masks(
    choose: Callable[[Numbers | None, int], Iterable[Numbers]], groups: Numbers, labels: Numbers | None
) -> list[Mask]:
    """Return which examples are held out [n], in each part; none is equal to one that is trained on.

    A few examples with equal ones are trained on. If these were more than a tenth, groups are held out
    instead, those that are not large: otherwise classes with many equal examples would hardly be held out.

    Args:
        choose: Function from the classes of n examples, and n, to the indices to hold out, for each part.
        groups: Group of each example [n].
        labels: Class of each example [n], or None. The last examples of a class are not held out.
    """
    n = len(groups)
    masks = [_mask(numbers, n) for numbers in choose(labels, n)]
    single = [held_out & ~np.isin(groups, groups[~held_out]) for held_out in masks]
    if 10 * sum(map(np.count_nonzero, single)) < 9 * sum(map(np.count_nonzero, masks)):
        begins = np.unique(groups, return_index=True)[1]
        sizes = np.bincount(groups)
        small = sizes <= max(n // _LARGE, 2 * n / len(sizes))
        chosen = choose(None if labels is None else labels[begins], len(begins)) if len(begins) > 1 else []
        by_group = [(_mask(numbers, len(begins)) & small)[groups] for numbers in chosen]
        single = [held_out for held_out in by_group if held_out.any()] or masks
    single = [held_out for held_out in single if held_out.any()]
    if labels is not None:
        of_all = [held_out & np.isin(labels, labels[~held_out]) for held_out in single]
        single = [a if a.any() else b for a, b in zip(of_all, single, strict=True)]
    return single


def _mask(numbers: Numbers, n: int) -> Mask:
    mask = np.zeros(n, np.bool_)
    mask[numbers] = True
    return mask
