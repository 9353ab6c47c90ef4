"""Significance tests of two correlations with the same gold scores.

Where a correlation is undefined, or the systems are equal, the comparison is undecided.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..metrics.intervals import Interval, resampled_differences
from ..metrics.scores import CORRELATIONS, Correlation, same_length, values_of
from .significance import ROUNDING, Comparison, bootstrapped, quantile_level, scipy_stats, tails, undecided

__all__ = ["paired_bootstrap_correlation", "steiger_test", "williams_test"]


def paired_bootstrap_correlation(
    a: ArrayLike,
    b: ArrayLike,
    gold: ArrayLike,
    correlation: Correlation = "pearson",
    *,
    confidence: float = 0.95,
    resamples: int = 2000,
    seed: int = 1111,
) -> Comparison:
    """Paired bootstrap test of two correlations with the same gold scores.

    It assumes no distribution of the scores, as `williams_test` does; its p-values are those of
    `paired_bootstrap`.

    Args:
        a: Scores of one system.
        b: Scores of the other system, for the same examples.
        gold: Gold scores.
        correlation: `"pearson"` or `"spearman"`.
        confidence: Confidence level of the percentile interval.
        resamples: Number of resamples.
        seed: Seed of the resampling.

    Returns:
        The comparison of the correlations; the statistic is the difference. It is undecided where that of
        `williams_test` is.

    Raises:
        ValueError: There is no example, lengths differ, a value is not finite, or an option is out of range.

    Example:
        >>> from sentencode.evaluation import paired_bootstrap_correlation
        >>> gold = list(range(20))
        >>> near, far = [i + i % 3 for i in gold], [i + 9 * (i % 3) for i in gold]
        >>> result = paired_bootstrap_correlation(near, far, gold)
        >>> round(result.difference, 3), result.interval.low > 0
        (0.35, True)
    """
    test = "paired bootstrap"
    quantile_level(confidence)
    correlations = _correlations(test, a, b, gold, correlation)
    if isinstance(correlations, Comparison):
        return correlations
    r_a, r_b, _, n = correlations
    resampled = resampled_differences(a, b, gold, correlation, resamples, seed)
    return bootstrapped(test, r_a - r_b, resampled, n, confidence=confidence)


def williams_test(
    a: ArrayLike,
    b: ArrayLike,
    gold: ArrayLike,
    correlation: Correlation = "pearson",
    *,
    confidence: float = 0.95,
) -> Comparison:
    """Williams' test of two correlations with the same gold scores.

    With `r_a` and `r_b` those correlations, `r_ab` that between the systems, `r` the mean of the first two
    and `D = 1 - r_a^2 - r_b^2 - r_ab^2 + 2 r_a r_b r_ab`,

        t = (r_a - r_b) sqrt((n - 1) (1 + r_ab) / (2 D (n - 1) / (n - 3) + r^2 (1 - r_ab)^3))

    has Student's t-distribution with n - 3 degrees of freedom. (Williams, "The Comparison of Regression
    Variables", Journal of the Royal Statistical Society B, 1959; in this form as T2 in Steiger, "Tests for
    Comparing Elements of a Correlation Matrix", Psychological Bulletin, 1980.) It assumes normal scores, and
    is an approximation for ranks. The interval is Zou's for overlapping correlations ("Toward Using
    Confidence Intervals to Compare Correlations", Psychological Methods, 2007).

    Args:
        a: Scores of one system.
        b: Scores of the other system, for the same examples.
        gold: Gold scores.
        correlation: `"pearson"` or `"spearman"`.
        confidence: Confidence level of the interval.

    Returns:
        The comparison of the correlations. It is undecided with fewer than four examples; where the two
        systems are equal but for scale; and where all scores of a, b or gold are equal: the difference and
        its interval are NaN then.

    Raises:
        ValueError: There is no example, lengths differ, a value is not finite, or an option is out of range.

    Example:
        >>> from sentencode.evaluation import williams_test
        >>> gold = list(range(20))
        >>> near, far = [i + i % 3 for i in gold], [i + 9 * (i % 3) for i in gold]
        >>> result = williams_test(near, far, gold)
        >>> round(result.difference, 3), result.p_two_tailed < 0.001
        (0.35, True)
    """
    distribution = scipy_stats().t(max(np.size(gold) - 3, 1))
    return _test("Williams", a, b, gold, correlation, confidence, _williams, distribution)


def steiger_test(
    a: ArrayLike,
    b: ArrayLike,
    gold: ArrayLike,
    correlation: Correlation = "pearson",
    *,
    confidence: float = 0.95,
) -> Comparison:
    """Steiger's test of two correlations with the same gold scores, by Fisher's transformation.

    With the symbols of `williams_test`,

        z = (atanh(r_a) - atanh(r_b)) sqrt((n - 3) / (2 - 2 s))
        s = (r_ab (1 - 2 r^2) - r^2 (1 - 2 r^2 - r_ab^2) / 2) / (1 - r^2)^2

    has the normal distribution. (Steiger, "Tests for Comparing Elements of a Correlation Matrix",
    Psychological Bulletin, 1980, equation 14, after Dunn and Clark, 1969.) The interval is Zou's, as there.

    Args:
        a: Scores of one system.
        b: Scores of the other system, for the same examples.
        gold: Gold scores.
        correlation: `"pearson"` or `"spearman"`.
        confidence: Confidence level of the interval.

    Returns:
        The comparison of the correlations, undecided where that of `williams_test` is.

    Raises:
        ValueError: There is no example, lengths differ, a value is not finite, or an option is out of range.

    Example:
        >>> from sentencode.evaluation import steiger_test
        >>> gold = list(range(20))
        >>> near, far = [i + i % 3 for i in gold], [i + 9 * (i % 3) for i in gold]
        >>> result = steiger_test(near, far, gold)
        >>> round(result.difference, 3), result.p_two_tailed < 0.001
        (0.35, True)
    """
    return _test("Steiger", a, b, gold, correlation, confidence, _steiger, scipy_stats().norm)


def _test(
    test: str,
    a: ArrayLike,
    b: ArrayLike,
    gold: ArrayLike,
    correlation: Correlation,
    confidence: float,
    statistic_of: Callable[[float, float, float, int], float],
    distribution: Any,
) -> Comparison:
    level = quantile_level(confidence)
    correlations = _correlations(test, a, b, gold, correlation)
    if isinstance(correlations, Comparison):
        return correlations
    r_a, r_b, r_ab, n = correlations
    statistic = statistic_of(r_a, r_b, r_ab, n)
    interval = _zou_interval(r_a, r_b, r_ab, n, level)
    return Comparison(test, r_a - r_b, interval, statistic, *tails(statistic, distribution), n)


def _correlations(
    test: str, a: ArrayLike, b: ArrayLike, gold: ArrayLike, correlation: Correlation
) -> tuple[float, float, float, int] | Comparison:
    """r_a, r_b, r_ab and n; or an undecided comparison where nothing can be tested."""
    if correlation not in CORRELATIONS:
        raise ValueError(f"correlation must be 'pearson' or 'spearman', got {correlation!r}")
    scores = {name: values_of(name, row) for name, row in {"a": a, "b": b, "gold": gold}.items()}
    same_length(scores)
    n = len(scores["gold"])
    r_a, r_b, r_ab = (
        _unrounded(CORRELATIONS[correlation](scores[x], scores[y]))
        for x, y in (("a", "gold"), ("b", "gold"), ("a", "b"))
    )
    if constant := [name for name, row in scores.items() if np.ptp(row) == 0]:
        why = f"all scores of {' and '.join(constant)} are equal"
        return undecided(test, why, math.nan, Interval(math.nan, math.nan), n)
    if r_ab == 1:
        return undecided(test, "the two are the same", 0.0, Interval(0.0, 0.0), n)
    if n < 4:
        return undecided(test, f"there are {n} examples", r_a - r_b, Interval(-2.0, 2.0), n)
    return r_a, r_b, r_ab, n


def _williams(r_a: float, r_b: float, r_ab: float, n: int) -> float:
    if r_ab == -1:  # opposite scores: 0 / 0, whose limit tests r_a alone
        return _ratio(r_a * math.sqrt(n - 3), math.sqrt(1 - r_a**2))
    determinant = 1 - r_a**2 - r_b**2 - r_ab**2 + 2 * r_a * r_b * r_ab
    determinant = determinant if determinant > ROUNDING else 0.0
    mean = (r_a + r_b) / 2
    variance = 2 * determinant * (n - 1) / (n - 3) + mean**2 * (1 - r_ab) ** 3
    return _ratio((r_a - r_b) * math.sqrt((n - 1) * (1 + r_ab)), math.sqrt(variance))


def _steiger(r_a: float, r_b: float, r_ab: float, n: int) -> float:
    square = ((r_a + r_b) / 2) ** 2
    s = r_ab * (1 - 2 * square) - square * (1 - 2 * square - r_ab**2) / 2
    variance = 2 - 2 * s / (1 - square) ** 2
    with np.errstate(divide="ignore"):  # atanh of a perfect correlation is infinite
        distance = float(np.arctanh(r_a) - np.arctanh(r_b))
    return _ratio(distance * math.sqrt(n - 3), math.sqrt(max(variance, 0)))


def _zou_interval(r_a: float, r_b: float, r_ab: float, n: int, level: float) -> Interval:
    """From the limits of each correlation and the correlation of the two."""
    margin = float(scipy_stats().norm.ppf(level)) / math.sqrt(n - 3)
    with np.errstate(divide="ignore"):
        centres = np.arctanh([r_a, r_b])
    (low_a, low_b), (high_a, high_b) = np.tanh(centres - margin), np.tanh(centres + margin)
    covariance = (r_ab - r_a * r_b / 2) * (1 - r_a**2 - r_b**2 - r_ab**2) + r_ab**3
    correlation = min(max(_ratio(covariance, (1 - r_a**2) * (1 - r_b**2)), -1.0), 1.0)

    def distance(x: float, y: float) -> float:
        return math.sqrt(max(x**2 + y**2 - 2 * correlation * x * y, 0))

    difference = r_a - r_b
    below, above = distance(r_a - low_a, high_b - r_b), distance(high_a - r_a, r_b - low_b)
    return Interval(difference - below, difference + above)


def _unrounded(r: float) -> float:
    """A correlation that is perfect but for rounding is perfect."""
    return math.copysign(1.0, r) if 1 - abs(r) < ROUNDING else r


def _ratio(x: float, y: float) -> float:
    """The quotient: infinite where y is 0, but 0 where both are."""
    if y > 0:
        return x / y
    return math.copysign(math.inf, x) if x else 0.0
