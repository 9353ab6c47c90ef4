"""Correlations between scores, with the interval in which they lie."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _core

__all__ = ["Interval", "bootstrap_difference", "bootstrap_interval", "cosine_of_pairs", "pearson", "spearman"]

Correlation = Literal["pearson", "spearman"]


class Interval(NamedTuple):
    """The ends of an interval."""

    low: float
    high: float


def pearson(x: ArrayLike, y: ArrayLike) -> float:
    """Pearson's correlation.

    Args:
        x: Scores.
        y: As many other scores.

    Returns:
        Between -1 and 1; not a number where it is undefined, as with fewer than two pairs, or all of one
        side equal.

    Raises:
        ValueError: The two are not equally long, or hold a value that is not finite.

    Example:
        >>> from sentencode.evaluation import pearson
        >>> round(pearson([1, 2, 3, 4], [1, 2, 3, 5]), 4)
        0.9827
    """
    return float(_core.pearson(_scores(x), _scores(y)))


def spearman(x: ArrayLike, y: ArrayLike) -> float:
    """Spearman's rank correlation; equal values share the mean of their ranks.

    Args:
        x: Scores.
        y: As many other scores.

    Returns:
        Between -1 and 1; not a number where it is undefined, as with fewer than two pairs, or all of one
        side equal.

    Raises:
        ValueError: The two are not equally long, or hold a value that is not finite.

    Example:
        >>> from sentencode.evaluation import spearman
        >>> spearman([1, 2, 3, 4], [1, 20, 30, 500])
        1.0
    """
    return float(_core.spearman(_scores(x), _scores(y)))


def cosine_of_pairs(a: ArrayLike, b: ArrayLike) -> NDArray[np.float64]:
    """The cosine of each row of `a` with the same row of `b`, summed in double precision.

    Args:
        a: Vectors `(n, d)`.
        b: As many others.

    Returns:
        `n` cosines; 0 where a row is zero.

    Raises:
        ValueError: The shapes differ.

    Example:
        >>> from sentencode.evaluation import cosine_of_pairs
        >>> cosine_of_pairs([[1, 0], [0, 0]], [[3, 4], [1, 1]])
        array([0.6, 0. ])
    """
    result: NDArray[np.float64] = _core.cosine_of_pairs(_rows(a), _rows(b))
    return result


def bootstrap_interval(
    x: ArrayLike,
    y: ArrayLike,
    correlation: Correlation = "pearson",
    *,
    confidence: float = 0.95,
    resamples: int = 2000,
    seed: int = 1111,
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
    values = _core.bootstrap(_scores(x), _scores(y), correlation, resamples, seed)
    return Interval(*_core.percentile_interval(values, confidence))


def bootstrap_difference(
    a: ArrayLike,
    b: ArrayLike,
    y: ArrayLike,
    correlation: Correlation = "pearson",
    *,
    confidence: float = 0.95,
    resamples: int = 2000,
    seed: int = 1111,
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
    right = _scores(y)
    of_a, of_b = (_core.bootstrap(_scores(x), right, correlation, resamples, seed) for x in (a, b))
    return Interval(*_core.percentile_interval(of_a - of_b, confidence))


def _scores(values: Any) -> NDArray[np.float64]:
    return np.ascontiguousarray(values, dtype=np.float64)


def _rows(values: Any) -> NDArray[np.float32]:
    return np.ascontiguousarray(values, dtype=np.float32)
