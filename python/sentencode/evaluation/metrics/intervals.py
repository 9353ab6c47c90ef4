"""Percentile bootstrap intervals of scores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ... import _core
from ...checks import checked_float, checked_int
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

SEED = 1111  # of resampling; SentEval's seed of folds

_MAX_DISTINCT = 64  # up to this number of distinct examples, their counts are sampled
_BLOCK = 1 << 21  # sampled indices in a block: 16 MiB, and as much of values


class Interval(NamedTuple):
    """Lower and upper end of an interval."""

    low: float
    high: float


def bootstrap_mean(
    values: ArrayLike, *, confidence: float = 0.95, resamples: int = 2000, seed: int = SEED
) -> Interval:
    """Percentile bootstrap interval of a mean over examples.

    For an accuracy the values are `predicted == gold`; for a mean squared error, the squared errors.

    Args:
        values: Value of each example.
        confidence: Confidence level.
        resamples: Number of resamples.
        seed: Seed of the resampling.

    Returns:
        The interval; for a single example, its value twice.

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
    """Percentile bootstrap interval of an F1 score.

    Args:
        predicted: Predicted class of each example: numbers or names.
        gold: Gold classes.
        positive: Class whose F1 is computed.
        confidence: Confidence level.
        resamples: Number of resamples.
        seed: Seed of the resampling.

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
    """Percentile bootstrap interval of a correlation.

    Args:
        x: Scores.
        y: Other scores, as many.
        correlation: `"pearson"` or `"spearman"`.
        confidence: Confidence level.
        resamples: Number of resamples.
        seed: Seed of the resampling; the interval does not depend on the number of threads.

    Returns:
        The interval; NaN where the correlation is undefined.

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
    """Percentile bootstrap interval of the difference of two correlations with `y`, on the same resamples.

    Two systems make similar errors on the same pairs, so this interval is narrower than the two of
    `bootstrap_interval` suggest: if it does not contain 0, the systems differ.

    Args:
        a: Scores of one system.
        b: Scores of the other system, for the same pairs.
        y: Gold scores.
        correlation: `"pearson"` or `"spearman"`.
        confidence: Confidence level.
        resamples: Number of resamples.
        seed: Seed of the resampling.

    Returns:
        The interval of the correlation of `a` minus that of `b`.

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
    """Central interval of the values at a confidence level."""
    confidence = checked_float("confidence", confidence, 0, 1, above=True, below=True)
    return Interval(*_core.percentile_interval(np.ascontiguousarray(values), confidence))


def resampled_correlations(
    x: ArrayLike, y: ArrayLike, correlation: Correlation, resamples: int, seed: int
) -> NDArray[np.float64]:
    """Correlations on resamples of the pairs; the same seed gives the same resamples."""
    values: NDArray[np.float64] = _core.bootstrap(
        as_scores(x), as_scores(y), correlation, *_checked(resamples, seed)
    )
    return values


def resampled_differences(
    a: ArrayLike, b: ArrayLike, gold: ArrayLike, correlation: Correlation, resamples: int, seed: int
) -> NDArray[np.float64]:
    """Correlation of `a` with `gold` minus that of `b`, on the same resamples."""
    resampled_a, resampled_b = (resampled_correlations(x, gold, correlation, resamples, seed) for x in (a, b))
    return resampled_a - resampled_b


def resampled_in_parts(
    parts: Sequence[tuple[ArrayLike, ArrayLike]], correlation: Correlation, resamples: int, seed: int
) -> NDArray[np.float64]:
    """Correlations of several subsets, `(subsets, resamples)`, which are resampled independently.

    An undefined correlation counts as 0: otherwise a single subset would make the mean of all NaN.
    """
    resampled = [
        resampled_correlations(x, y, correlation, resamples, seed + i) for i, (x, y) in enumerate(parts)
    ]
    return np.nan_to_num(np.stack(resampled))


def resampled_means(columns: Sequence[NDArray[Any]], resamples: int, seed: int) -> NDArray[np.float64]:
    """Means of columns on resamples of the examples, the same ones for all columns.

    If there are few distinct examples, as right and wrong, their counts have a multinomial distribution; the
    cost of sampling it does not depend on the number of examples. Otherwise examples are sampled one by one,
    in blocks of bounded memory. Columns of the opposite sign have the opposite means.

    Args:
        columns: Values of the examples, equally long.
        resamples: Number of resamples.
        seed: Seed of the resampling.

    Returns:
        Means `(resamples, columns)`.
    """
    resamples, seed = _checked(resamples, seed)
    random = np.random.default_rng(seed)
    table = np.stack(columns).astype(np.float64)
    n = table.shape[1]
    first, counts = _distinct(table)
    if len(first) <= _MAX_DISTINCT:
        sampled = random.multinomial(n, counts / n, size=resamples)
        from_counts: NDArray[np.float64] = sampled @ table[:, first].T / n
        return from_counts
    means = np.empty((resamples, len(table)))
    block = max(1, _BLOCK // n)
    for begin in range(0, resamples, block):
        indices = random.integers(0, n, size=(min(block, resamples - begin), n))
        for column, values in enumerate(table):
            means[begin : begin + block, column] = values[indices].mean(axis=1)
    return means


def mean_of_runs(scores: NDArray[np.float64], seed: int) -> NDArray[np.float64]:
    """Means of scores `(resamples, runs)` over runs, which are sampled with replacement for each resample."""
    runs = np.random.default_rng(seed).integers(0, scores.shape[1], size=scores.shape)
    means: NDArray[np.float64] = np.take_along_axis(scores, runs, axis=1).mean(axis=1)
    return means


def f1_of_resamples(
    predicted: Sequence[ArrayLike], gold: ArrayLike, resamples: int, seed: int
) -> NDArray[np.float64]:
    """F1 scores of class 1 of several systems on the same resamples, `(resamples, systems)`."""
    columns = [column for system in predicted for column in f1_columns(system, gold, 1)]
    means = resampled_means(columns, resamples, seed)
    return f1_of_means(means.reshape(resamples, len(predicted), 2))


def _checked(resamples: int, seed: int) -> tuple[int, int]:
    return checked_int("resamples", resamples, 1), checked_int("seed", seed, 0, 2**64 - 1)


def _distinct(table: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Index of the first of each distinct example, rising, and how often each occurs."""
    group = np.zeros(table.shape[1], dtype=np.int64)
    for row in table:
        _, value = np.unique(row, return_inverse=True)
        _, group = np.unique(group * (value.max() + 1) + value, return_inverse=True)
    _, first, counts = np.unique(group, return_index=True, return_counts=True)
    order = np.argsort(first)
    return first[order], counts[order]
