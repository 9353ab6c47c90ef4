"""Paired significance tests of two systems on the same examples: means and accuracies.

Every test returns a `Comparison`. What cannot be tested has a result too: with a single example, or equal
systems, both p-values are 1, the statistic is 0, and `Comparison.test` says why. A p-value is never NaN.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..._extras import require
from ...checks import checked_float
from ..metrics.intervals import Interval, mean_of_runs, percentile_interval, resampled_means
from ..metrics.scores import same_length, values_of

__all__ = [
    "Comparison",
    "bootstrap_of_means",
    "bootstrap_of_runs",
    "bootstrapped",
    "mcnemar_test",
    "paired_bootstrap",
    "paired_t_test",
    "quantile_level",
    "scipy_stats",
    "tails",
    "undecided",
]

_FEW_DISCORDANT = 25  # McNemar's test is exact below this number of discordant examples
ROUNDING = 1e-12  # correlations, and resampled differences, that differ by less are equal


class Comparison(NamedTuple):
    """Result of a significance test of two systems, a and b.

    Attributes:
        test: Name of the test, and what was special.
        difference: Observed difference, a minus b.
        interval: Confidence interval of the difference.
        statistic: Test statistic.
        p_two_tailed: Probability of a difference at least this large in either direction, if there is none.
        p_one_tailed: Probability of a difference at least this much in favour of greater values for a.
        n: Number of examples, or of groups where these were tested.
    """

    test: str
    difference: float
    interval: Interval
    statistic: float
    p_two_tailed: float
    p_one_tailed: float
    n: int


def paired_t_test(
    a: ArrayLike, b: ArrayLike, *, groups: ArrayLike | None = None, confidence: float = 0.95
) -> Comparison:
    """Paired Student's t-test of the differences of examples or groups.

    With groups it tests the means of the groups' differences; with groups of unequal size, their
    contributions to the difference of all examples (its linearisation as a ratio).

    Args:
        a: Value of each example by one system: whether it was right, or an error.
        b: The same by the other system.
        groups: Group of each example, for examples that are not independent, such as the captions of one
            image. None: all examples are independent.
        confidence: Confidence level of the interval, which is Student's too.

    Returns:
        The comparison of the means. With one example (or group) the difference is not tested, and its
        interval is unbounded. If all examples differ by the same amount, the statistic is infinite and the
        p-values are its limits, 0 and 1; for classes, `mcnemar_test` is more informative then.

    Raises:
        ValueError: There is no example, lengths differ, a value is not finite, or an option is out of range.

    Example:
        >>> from sentencode.evaluation import paired_t_test
        >>> result = paired_t_test([1, 1, 1, 0, 1, 1, 1, 1], [0, 1, 0, 0, 1, 0, 1, 0])
        >>> result.difference, round(result.p_two_tailed, 4), round(result.p_one_tailed, 4)
        (0.5, 0.0331, 0.0166)
    """
    test, level = _named("paired t-test", groups), quantile_level(confidence)
    sums, sizes = _by_group(np.subtract(*_pair(a, b)), groups)
    n, mean = len(sums), float(sums.sum() / sizes.sum())
    if not sums.any():
        return undecided(test, "the two are the same", 0.0, Interval(0.0, 0.0), n)
    if n == 1:
        return undecided(test, _single(groups), mean, Interval(-math.inf, math.inf), n)
    differences = sums if groups is None else mean + (sums - mean * sizes) * n / sizes.sum()
    error = float(np.std(differences, ddof=1)) / math.sqrt(n) if np.ptp(differences) > 0 else 0.0
    distribution = scipy_stats().t(n - 1)
    t = mean / error if error > 0 else math.copysign(math.inf, mean)
    margin = float(distribution.ppf(level)) * error
    return Comparison(test, mean, Interval(mean - margin, mean + margin), t, *tails(t, distribution), n)


def mcnemar_test(
    a: ArrayLike, b: ArrayLike, *, groups: ArrayLike | None = None, confidence: float = 0.95
) -> Comparison:
    """McNemar's test of two accuracies, on the examples that only one of the systems got right.

    With fewer than 25 such (discordant) examples the test is exact, by the binomial distribution, and the
    statistic is the smaller of the two counts. Otherwise it is chi-square with the continuity correction,
    `max(|n_a - n_b| - 1, 0)^2 / (n_a + n_b)`; the one-tailed p-value is that of its root.

    With groups, `d` is the number of examples of a group that only a got right minus those that only b got
    right; without a difference, `-d` is equally likely. With fewer than 25 groups where `d` is not 0, all
    combinations of signs are counted; otherwise the statistic is `max(|sum of d| - c, 0)^2 / sum of d^2`, `c`
    being the greatest common divisor of all `d` (variance: Obuchowski, "On the comparison of correlated
    proportions for clustered data", Statistics in Medicine, 1998). With one example per group, these are the
    same tests.

    Args:
        a: Whether one system was right, for each example: True and False, or 1 and 0.
        b: The same of the other system.
        groups: Group of each example, as for `paired_t_test`.
        confidence: Confidence level of the interval: Wald's with one half added to each of the four counts
            (Agresti and Min, "Simple improved confidence intervals for comparing matched proportions",
            Statistics in Medicine, 2005), which has a width even for equal systems.

    Returns:
        The comparison of the accuracies; `test` says which of the two it was.

    Raises:
        ValueError: There is no example, lengths differ, a value is neither 0 nor 1, or an option is out of
            range.

    Example:
        >>> from sentencode.evaluation import mcnemar_test
        >>> result = mcnemar_test([1] * 9 + [0] + [1] * 90, [0] * 9 + [1] + [1] * 90)
        >>> result.test, result.difference, round(result.p_two_tailed, 4)
        ('McNemar, exact binomial', 0.08, 0.0215)
    """
    level, stats = quantile_level(confidence), scipy_stats()
    right_a, right_b = (_right(name, row) for name, row in zip("ab", _pair(a, b), strict=True))
    test, n = _named("McNemar", groups), len(right_a)
    only, sizes = _by_group(right_a.astype(np.float64) - right_b, groups)
    total, discordant = int(only.sum()), only[only != 0].astype(np.int64)
    if len(discordant) < _FEW_DISCORDANT:
        test += ", exact binomial" if groups is None else ", exact by signs"
        statistic = float(min(only[only > 0].sum(), -only[only < 0].sum()))
        two, one = _tails_of_signs(discordant)
    else:
        test += ", chi-square with continuity correction"
        root, step = math.sqrt(np.sum(discordant**2)), int(np.gcd.reduce(discordant))
        statistic = (max(abs(total) - step, 0) / root) ** 2
        two, one = float(stats.chi2.sf(statistic, 1)), float(stats.norm.sf((total - step) / root))
    centre = total / (n + 2)
    variance = float(np.sum((only - centre * sizes) ** 2)) + 1 + 2 * centre**2
    margin = float(stats.norm.ppf(level)) * math.sqrt(variance) / (n + 2)
    interval = Interval(max(centre - margin, -1.0), min(centre + margin, 1.0))
    return Comparison(test, total / n, interval, statistic, two, one, len(only))


def paired_bootstrap(
    a: ArrayLike,
    b: ArrayLike,
    *,
    groups: ArrayLike | None = None,
    confidence: float = 0.95,
    resamples: int = 2000,
    seed: int = 1111,
) -> Comparison:
    """Paired bootstrap test of the difference of two means.

    The p-values count how often a resampled difference `d*` is as far from the observed one, `d`, as that is
    from 0: `(1 + #{|d* - d| >= |d|}) / (1 + resamples)`, and one-tailed `d* - d >= d` (Efron and Tibshirani,
    "An Introduction to the Bootstrap", 1993, chapter 16; Berg-Kirkpatrick, Burkett and Klein, "An Empirical
    Investigation of Statistical Significance in NLP", 2012). They cannot be below `1 / (1 + resamples)`.

    Args:
        a: Value of each example by one system: whether it was right, an error, or anything whose mean is
            reported.
        b: The same by the other system.
        groups: Group of each example, as for `paired_t_test`: whole groups are sampled.
        confidence: Confidence level of the percentile interval.
        resamples: Number of resamples.
        seed: Seed of the resampling.

    Returns:
        The comparison of the means; the statistic is the difference. With one example it is not tested, and
        its interval is unbounded.

    Raises:
        ValueError: There is no example, lengths differ, a value is not finite, or an option is out of range.

    Example:
        >>> from sentencode.evaluation import paired_bootstrap
        >>> result = paired_bootstrap([0.1, 0.3, 0.2, 0.4] * 50, [0.2, 0.3, 0.4, 0.5] * 50)
        >>> result.interval.high < 0, result.p_two_tailed < 0.001, result.p_one_tailed > 0.999
        (True, True, True)
    """
    values_a, values_b = _pair(a, b)
    options = {"confidence": confidence, "resamples": resamples, "seed": seed}
    return bootstrap_of_means([values_a], [values_b], groups, options)


def bootstrap_of_means(
    a: Sequence[NDArray[Any]],
    b: Sequence[NDArray[Any]],
    groups: ArrayLike | None,
    options: dict[str, Any],
    sizes: NDArray[Any] | None = None,
) -> Comparison:
    """`paired_bootstrap` of the means over several runs of each system; runs are resampled too.

    Args:
        a: Value of each example by each run (seed) of one system.
        b: The same of the other system.
        groups: Group of each example, as for `paired_t_test`.
        options: `confidence`, `resamples` and `seed`.
        sizes: Number of trials of each example, if its values are sums over trials; without groups.
    """
    # Minus b's first run, which changes no difference: with one run each, the differences are resampled.
    rows = [np.subtract(row, b[0], dtype=np.float64) for row in (*a, *b)]
    sums, (*_, counts) = zip(*(_by_group(row, groups) for row in rows), strict=True)
    sizes = counts if sizes is None else sizes
    n, means = len(sizes), [float(row.sum() / sizes.sum()) for row in sums]
    difference = float(np.mean(means[: len(a)]) - np.mean(means[len(a) :]))
    resampled = resampled_means([*sums, sizes], options["resamples"], options["seed"])
    test = _named("paired bootstrap", groups)
    if len(sums) == 2 and not sums[0].any():
        quantile_level(options["confidence"])
        return undecided(test, "the two are the same", 0.0, Interval(0.0, 0.0), n)
    if n == 1:
        return undecided(test, _single(groups), difference, Interval(-math.inf, math.inf), n)
    tolerance = ROUNDING * float(np.abs(sums).max())
    scores = resampled[:, :-1] / resampled[:, -1:]
    return bootstrap_of_runs(test, difference, scores, len(a), n, options, tolerance=tolerance)


def bootstrap_of_runs(
    test: str,
    difference: float,
    scores: NDArray[np.float64],
    runs_of_a: int,
    n: int,
    options: dict[str, Any],
    *,
    tolerance: float = ROUNDING,
) -> Comparison:
    """Comparison of resampled scores `(resamples, runs)`; the first `runs_of_a` columns are those of a.

    If a system has several runs, these are resampled too, and the name of the test says "over seeds".
    """
    resampled_a, resampled_b = (
        mean_of_runs(columns, options["seed"] + i)
        for i, columns in enumerate(np.split(scores, [runs_of_a], axis=1))
    )
    test = "paired bootstrap over seeds" if scores.shape[1] > 2 else test
    return bootstrapped(
        test, difference, resampled_a - resampled_b, n, confidence=options["confidence"], tolerance=tolerance
    )


def bootstrapped(
    test: str,
    difference: float,
    resampled: NDArray[np.float64],
    n: int,
    *,
    confidence: float,
    tolerance: float = ROUNDING,
) -> Comparison:
    """Comparison by the percentile interval and the p-values of resampled differences.

    Args:
        test: Name of the test.
        difference: Observed difference.
        resampled: Differences of the resamples; NaNs do not count.
        n: Number of examples.
        confidence: Confidence level of the interval.
        tolerance: Difference up to which values count as ties, which rounding would break.
    """
    interval = percentile_interval(resampled, confidence)
    shifted = resampled[np.isfinite(resampled)] - difference
    two, one = (
        (1 + int(extreme.sum())) / (1 + len(extreme))
        for extreme in (
            np.abs(shifted) >= abs(difference) - tolerance,
            shifted >= difference - tolerance,
        )
    )
    return Comparison(test, difference, interval, difference, two, one, n)


def tails(statistic: float, distribution: Any) -> tuple[float, float]:
    """Two-tailed and one-tailed p-value of a statistic with a symmetric distribution."""
    return 2 * float(distribution.sf(abs(statistic))), float(distribution.sf(statistic))


def undecided(test: str, why: str, difference: float, interval: Interval, n: int) -> Comparison:
    """Comparison where nothing can be tested: p-values of 1, and the reason in the name of the test."""
    return Comparison(f"{test}, undecided: {why}", difference, interval, 0.0, 1.0, 1.0, n)


def quantile_level(confidence: float) -> float:
    """Probability below the upper end of a central interval: 0.975 for 0.95."""
    return 0.5 + checked_float("confidence", confidence, 0, 1, above=True, below=True) / 2


def _pair(a: ArrayLike, b: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    rows = {"a": values_of("a", a), "b": values_of("b", b)}
    same_length(rows)
    return rows["a"], rows["b"]


def _by_group(
    values: NDArray[np.float64], groups: ArrayLike | None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Sum of the values of each group, and its size; without groups each example is one."""
    if groups is None:
        return values, np.ones_like(values)
    names = np.asarray(groups)
    same_length({"a": values, "groups": names})
    _, group, sizes = np.unique(names, return_inverse=True, return_counts=True)
    return np.bincount(group, weights=values).astype(np.float64), sizes.astype(np.float64)


def _named(test: str, groups: ArrayLike | None) -> str:
    return test if groups is None else f"{test} by groups"


def _single(groups: ArrayLike | None) -> str:
    return f"there is one {'example' if groups is None else 'group'}"


def _tails_of_signs(values: NDArray[np.int64]) -> tuple[float, float]:
    """Two-tailed and one-tailed p-value of a sum of values whose signs are equally likely."""
    probabilities = np.ones(1)  # of the sums from that of all negative to that of all positive
    for size in np.abs(values).tolist():
        probabilities = (np.pad(probabilities, (0, 2 * size)) + np.pad(probabilities, (2 * size, 0))) / 2
    total, most = int(values.sum()), len(probabilities) // 2
    sums = np.arange(-most, most + 1)
    return float(probabilities[np.abs(sums) >= abs(total)].sum()), float(probabilities[sums >= total].sum())


def _right(name: str, row: NDArray[np.float64]) -> NDArray[np.bool_]:
    wrong = (row != 0) & (row != 1)
    if wrong.any():
        i = int(np.argmax(wrong))
        raise ValueError(f"{name} must be 1 (right) or 0 (wrong), but {name}[{i}] is {row[i]:g}")
    return row.astype(np.bool_)


def scipy_stats() -> Any:
    """The module `scipy.stats`."""
    return require("scipy.stats", "eval")
