"""Examples that `fit` holds out for validation where none are given."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..groups import groups_of, held_out_masks, key_of
from ..training import Examples

__all__ = ["held_out"]

Numbers = npt.NDArray[np.int64]
_LEAST, _MOST = 50, 10_000  # examples
_MOST_SENTENCES = 2_000  # without labels: the loss of their tens of thousands of words varies little
_BLOCKS = 20  # of consecutive sentences, at least
_BLOCK = 8  # sentences in each, at least: only neighbours of its ends are trained on
_MOST_GROUPED = 1_000_000  # examples; in larger data, equal ones hardly matter


def held_out(
    examples: Examples, fraction: float, *, seed: int, stratify: bool = False, blocks: bool = False
) -> tuple[Examples, Examples] | None:
    """Return the examples to train on and those to validate on; None if there are too few.

    A fraction that is less than 50 examples becomes 50, but at most a fifth of all; the maximum is 10,000,
    and 2,000 in blocks. Otherwise none is equal to an example that is trained on.

    Args:
        examples: All examples.
        fraction: Fraction to hold out.
        seed: Seed of the selection.
        stratify: Whether each class gets its share. The last example of a class is trained on.
        blocks: Whether to hold out blocks of consecutive examples, as the next sentences of one example may
            be an example themselves.
    """
    if len(examples) < 10 or fraction == 0:
        return None
    if blocks:
        random = np.random.default_rng(seed)
        n = len(examples)
        count = min(_count(n, fraction), _MOST_SENTENCES)
        size = max(_BLOCK, count // _BLOCKS)
        begins = random.permutation(-(-n // size))[: -(-count // size)] * size
        numbers = (begins[:, None] + np.arange(size)).ravel()
        is_held = np.zeros(n, np.bool_)
        is_held[numbers[numbers < n][:count]] = True
    else:
        labels = examples.labels.astype(np.int64) if stratify else None  # type: ignore[union-attr]

        def choose(labels: Numbers | None, n: int) -> list[Numbers]:
            if n < 10:
                return []
            count = _count(n, fraction)
            random = np.random.default_rng(seed)
            if labels is None:
                return [random.permutation(n)[:count]]
            return [_of_each_class(labels, count, random)]

        is_held = next(iter(held_out_masks(choose, _groups(examples), labels)), np.zeros(0, np.bool_))
    if not is_held.any():  # each class has one example
        return None
    return examples.part(np.flatnonzero(~is_held)), examples.part(np.flatnonzero(is_held))


def _count(n: int, fraction: float) -> int:
    """How many of n examples are held out."""
    return min(max(round(fraction * n), min(_LEAST, n // 5)), _MOST, n // 2)


def _groups(examples: Examples) -> Numbers:
    """Group of each example; of very many, each is a group of its own."""
    if len(examples) > _MOST_GROUPED:
        return np.arange(len(examples))
    return groups_of(key_of(tuple(one[field].tobytes() for field in examples.fields)) for one in examples)


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
