"""The interval in which each figure lies for other examples of the same kind, by the bootstrap."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ... import _core
from ...checks import checked_int
from .scores import Correlation, as_scores, f1_columns, f1_of_means, values_of

__all__ = [
    "SEED",
    "Interval",
    "bootstrap_difference",
    "bootstrap_f1",
    "bootstrap_interval",
    "bootstrap_mean",
    "f1_of_resamples",
    "mean_of_runs",
    "percentile_interval",
    "resampled_correlations",
    "resampled_differences",
    "resampled_in_parts",
    "resampled_means",
]

SEED = 1111  # of what intervals draw, as of the original's folds

_FEW_KINDS = 64  # examples of so many kinds are resampled by counting kinds
_DRAWS_AT_ONCE = 1 << 21  # 16 MiB of places, and as much of values


class Interval(NamedTuple):
    """The ends of an interval."""

    low: float
    high: float


def bootstrap_mean(
    values: ArrayLike, *, confidence: float = 0.95, resamples: int = 2000, seed: int = SEED
) -> Interval:
    """The percentile bootstrap interval of a mean over examples.

    Of an accuracy it is the interval of the mean of what was found, `predicted == gold`; of a mean squared
    error, that of the squared errors.

    Args:
        values: A value for each example.
        confidence: How much of the resampled means the interval holds.
        resamples: How often the examples are drawn anew, with replacement.
        seed: Decides which examples are drawn.

    Returns:
        The interval; of a single example, that example twice.

    Raises:
        ValueError: There is no value, one is not finite, or an option is out of range.

    Example:
        >>> from sentencode.evaluation import bootstrap_mean
        >>> low, high = bootstrap_mean([True] * 80 + [False] * 20)
        >>> 0.7 < low < 0.75 < 0.85 < high < 0.9
        True
    """
    means = resampled_means([values_of("values", values)], resamples, seed)
    return percentile_interval(means[:, 0], confidence)


def bootstrap_f1(
    predicted: ArrayLike,
    gold: ArrayLike,
    positive: Any = 1,
    *,
    confidence: float = 0.95,
    resamples: int = 2000,
    seed: int = SEED,
) -> Interval:
    """The percentile bootstrap interval of an F1 score.

    Args:
        predicted: A class for each example: numbers or names.
        gold: The classes that are right.
        positive: The class that is looked for.
        confidence: How much of the resampled scores the interval holds.
        resamples: How often the examples are drawn anew, with replacement.
        seed: Decides which examples are drawn.

    Returns:
        The interval.

    Raises:
        ValueError: As in `f1`, or an option is out of range.

    Example:
        >>> from sentencode.evaluation import bootstrap_f1, f1
        >>> predicted, gold = [1, 1, 0, 1, 0] * 40, [1, 0, 0, 1, 1] * 40
        >>> low, high = bootstrap_f1(predicted, gold)
        >>> low < f1(predicted, gold) < high
        True
    """
    means = resampled_means(f1_columns(predicted, gold, positive), resamples, seed)
    return percentile_interval(f1_of_means(means), confidence)


def bootstrap_interval(
    x: ArrayLike,
    y: ArrayLike,
    correlation: Correlation = "pearson",
    *,
    confidence: float = 0.95,
    resamples: int = 2000,
    seed: int = SEED,
) -> Interval:
    """The percentile bootstrap interval of a correlation.

    Args:
        x: Scores.
        y: As many other scores.
        correlation: `"pearson"` or `"spearman"`.
        confidence: How much of the resampled correlations the interval holds.
        resamples: How often the pairs are drawn anew, with replacement.
        seed: Decides which pairs are drawn; the same seed gives the same interval on any number of threads.

    Returns:
        The interval; not a number where the correlation is undefined.

    Raises:
        ValueError: Lengths differ, a value is not finite, or an option is out of range.

    Example:
        >>> from sentencode.evaluation import bootstrap_interval
        >>> low, high = bootstrap_interval(range(100), [i + i % 7 for i in range(100)])
        >>> 0.99 < low < high < 1
        True
    """
    return percentile_interval(resampled_correlations(x, y, correlation, resamples, seed), confidence)


def bootstrap_difference(
    a: ArrayLike,
    b: ArrayLike,
    y: ArrayLike,
    correlation: Correlation = "pearson",
    *,
    confidence: float = 0.95,
    resamples: int = 2000,
    seed: int = SEED,
) -> Interval:
    """The interval of how much better `a` correlates with `y` than `b` does, both on the same resamples.

    Two systems that are scored on the same pairs err alike, so this interval is narrower than what the two
    intervals of `bootstrap_interval` suggest: an interval without 0 tells the systems apart.

    Args:
        a: Scores of one system.
        b: Scores of the other, for the same pairs.
        y: The scores that are right.
        correlation: `"pearson"` or `"spearman"`.
        confidence: How much of the resampled differences the interval holds.
        resamples: How often the pairs are drawn anew, with replacement.
        seed: Decides which pairs are drawn.

    Returns:
        The interval of the correlation of `a` less that of `b`.

    Raises:
        ValueError: Lengths differ, a value is not finite, or an option is out of range.

    Example:
        >>> from sentencode.evaluation import bootstrap_difference
        >>> gold = list(range(100))
        >>> low, high = bootstrap_difference(gold, [i + i % 31 for i in gold], gold)
        >>> 0 < low < high
        True
    """
    return percentile_interval(resampled_differences(a, b, y, correlation, resamples, seed), confidence)


def percentile_interval(values: NDArray[np.float64], confidence: float) -> Interval:
    """What the middle of the values spans."""
    return Interval(*_core.percentile_interval(np.ascontiguousarray(values), confidence))


def resampled_correlations(
    x: ArrayLike, y: ArrayLike, correlation: Correlation, resamples: int, seed: int
) -> NDArray[np.float64]:
    """Correlations over pairs that are drawn with replacement: the same ones for the same seed."""
    values: NDArray[np.float64] = _core.bootstrap(as_scores(x), as_scores(y), correlation, resamples, seed)
    return values


def resampled_differences(
    a: ArrayLike, b: ArrayLike, gold: ArrayLike, correlation: Correlation, resamples: int, seed: int
) -> NDArray[np.float64]:
    """By how much `a` correlates better with `gold` than `b` does, over the same pairs."""
    of_a, of_b = (resampled_correlations(x, gold, correlation, resamples, seed) for x in (a, b))
    return of_a - of_b


def resampled_in_parts(
    parts: Sequence[tuple[ArrayLike, ArrayLike]], correlation: Correlation, resamples: int, seed: int
) -> NDArray[np.float64]:
    """Correlations of several parts, `(parts, resamples)`, each drawn apart from the others.

    One that does not exist counts as 0: else a single subset would take the mean of all with it.
    """
    drawn = [resampled_correlations(x, y, correlation, resamples, seed + i) for i, (x, y) in enumerate(parts)]
    return np.nan_to_num(np.stack(drawn))


def resampled_means(columns: Sequence[NDArray[Any]], resamples: int, seed: int) -> NDArray[np.float64]:
    """Means of columns over examples that are drawn with replacement, the same ones for all columns.

    Where the examples are of few kinds, as right and wrong, it does not matter which are drawn but how many
    of each kind: a multinomial draw, whose cost does not grow with the examples. Otherwise they are drawn one
    by one, in blocks of bounded memory. Columns of the opposite sign have the opposite means.

    Args:
        columns: Equally long values of the examples.
        resamples: How often.
        seed: Decides which are drawn.

    Returns:
        `(resamples, columns)`.
    """
    resamples = checked_int("resamples", resamples, 1)
    random = np.random.default_rng(checked_int("seed", seed, 0, 2**64 - 1))
    table = np.stack(columns).astype(np.float64)
    n = table.shape[1]
    first, counts = _kinds(table)
    if len(first) <= _FEW_KINDS:
        drawn = random.multinomial(n, counts / n, size=resamples)
        few: NDArray[np.float64] = drawn @ table[:, first].T / n
        return few
    means = np.empty((resamples, len(table)))
    block = max(1, _DRAWS_AT_ONCE // n)
    for begin in range(0, resamples, block):
        places = random.integers(0, n, size=(min(block, resamples - begin), n))
        for column, values in enumerate(table):
            means[begin : begin + block, column] = values[places].mean(axis=1)
    return means


def mean_of_runs(drawn: NDArray[np.float64], seed: int) -> NDArray[np.float64]:
    """The means of runs that are drawn with replacement too, of figures `(resamples, runs)`.

    Example:
        >>> import numpy as np
        >>> sorted(set(mean_of_runs(np.array([[1.0, 2.0]] * 50), seed=0).tolist()))
        [1.0, 1.5, 2.0]
    """
    chosen = np.random.default_rng(seed).integers(0, drawn.shape[1], size=drawn.shape)
    means: NDArray[np.float64] = np.take_along_axis(drawn, chosen, axis=1).mean(axis=1)
    return means


def f1_of_resamples(
    predicted: Sequence[ArrayLike], gold: ArrayLike, resamples: int, seed: int
) -> NDArray[np.float64]:
    """F1 scores of class 1 of several systems, `(resamples, systems)`, on the same draws for all."""
    columns = [column for one in predicted for column in f1_columns(one, gold, 1)]
    means = resampled_means(columns, resamples, seed)
    return f1_of_means(means.reshape(resamples, len(predicted), 2))


def _kinds(table: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Where each kind of example stands first, in this order, and how many there are of it."""
    kind = np.zeros(table.shape[1], dtype=np.int64)
    for row in table:
        _, value = np.unique(row, return_inverse=True)
        _, kind = np.unique(kind * (value.max() + 1) + value, return_inverse=True)
    _, first, counts = np.unique(kind, return_index=True, return_counts=True)
    order = np.argsort(first)
    return first[order], counts[order]
