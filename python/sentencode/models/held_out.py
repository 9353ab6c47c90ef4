"""Examples that `fit` holds out for validation where none are given."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..training import Examples

__all__ = ["held_out"]

Numbers = npt.NDArray[np.int64]
_LEAST, _MOST = 50, 10_000  # examples
_MOST_SENTENCES = 2_000  # without labels: the loss of their tens of thousands of words varies little
_BLOCKS = 20  # at least, of consecutive sentences


def held_out(
    examples: Examples, fraction: float, *, seed: int, stratify: bool = False, blocks: bool = False
) -> tuple[Examples, Examples] | None:
    """Return the examples to train on and those to validate on; None if there are too few.

    A fraction that is less than 50 examples becomes 50, but at most a fifth of all; the maximum is 10,000,
    and 2,000 in blocks. Unless in blocks, equal examples count as one, and are held out together.

    Args:
        examples: All examples.
        fraction: Fraction to hold out.
        seed: Seed of the selection.
        stratify: Whether each class gets its share. The last example of a class is trained on.
        blocks: Whether to hold out blocks of consecutive examples, as the next sentences of one example may
            be an example themselves.
    """
    groups = np.arange(len(examples)) if blocks else _groups(examples)
    first = np.unique(groups, return_index=True)[1]
    n = len(first)
    count = min(max(round(fraction * n), min(_LEAST, n // 5)), _MOST_SENTENCES if blocks else _MOST, n // 2)
    if n < 10 or fraction == 0:
        return None
    random = np.random.default_rng(seed)
    if stratify:
        labels = examples.labels
        assert labels is not None
        numbers = _of_each_class(labels.astype(np.int64)[first], count, random)
    else:
        size = max(1, count // _BLOCKS) if blocks else 1
        begins = random.permutation(-(-n // size))[: -(-count // size)] * size
        numbers = (begins[:, None] + np.arange(size)).ravel()
        numbers = numbers[numbers < n]
    if len(numbers) == 0:  # each class has one example
        return None
    is_held = np.isin(groups, numbers)
    return examples.part(np.flatnonzero(~is_held)), examples.part(np.flatnonzero(is_held))


def _groups(examples: Examples) -> Numbers:
    """The number of each example's group of equal ones, in the order of the first."""
    groups: dict[Any, int] = {}
    keys = (tuple(one[field].tobytes() for field in examples.fields) for one in examples)
    return np.array([groups.setdefault(key, len(groups)) for key in keys], np.int64)


def _of_each_class(labels: Numbers, count: int, random: np.random.Generator) -> Numbers:
    """`count` indices, or a few less: of each class its share, rounded by largest remainders."""
    _, classes, sizes = np.unique(labels, return_inverse=True, return_counts=True)
    shares = count * sizes / len(labels)
    counts = np.floor(shares).astype(np.int64)
    counts[np.argsort(counts - shares, kind="stable")[: count - counts.sum()]] += 1
    counts = np.minimum(counts, sizes - 1)
    shuffled = random.permutation(len(labels))
    by_class = shuffled[np.argsort(classes[shuffled], kind="stable")]
    begins = np.cumsum(sizes) - sizes
    return np.concatenate([by_class[b : b + c] for b, c in zip(begins, counts, strict=True)])
