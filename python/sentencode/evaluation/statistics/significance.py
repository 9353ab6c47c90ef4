"""Whether one system is better than another on the same examples, or was lucky with them.

Every test returns a `Comparison`. What cannot be tested has a result too: where one example says nothing of
others, where two systems are the same, or where a correlation does not exist, both p-values are 1, the
statistic is 0, and `Comparison.test` says why. A p-value is always a number.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..._extras import require
from ..metrics.intervals import (
    Interval,
    mean_of_runs,
    percentile_interval,
    resampled_differences,
    resampled_means,
)
from ..metrics.scores import CORRELATIONS, Correlation, same_length, values_of

__all__ = [
    "Comparison",
    "bootstrap_of_figures",
    "bootstrap_of_means",
    "bootstrapped",
    "mcnemar_test",
    "paired_bootstrap",
    "paired_bootstrap_correlation",
    "paired_t_test",
    "steiger_test",
    "williams_test",
]

_FEW_DISCORDANT = 25  # fewer than so many: McNemar's test is exact
_ROUNDING = 1e-12  # correlations that differ by less are equal


class Comparison(NamedTuple):
    """What a test says of two systems, a and b.

    Attributes:
        test: Which test it was, and what was special.
        difference: Of a less b, as the examples show it.
        interval: Where the difference lies for other examples of the same kind.
        statistic: The test's own.
        p_two_tailed: How likely a difference as large as this, either way, would be if there were none.
        p_one_tailed: How likely a difference as much in favour of greater values for a would be.
        n: The number of examples, or of groups where these were tested.
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
    """Student's t-test of the differences example by example, or group by group.

    Of groups it is the test of their mean differences; where they are not equally large, of the sums that
    they add to the difference of all examples (its linearisation as a ratio).

    Args:
        a: A value for each example by one system: whether it was right, or an error.
        b: The same by the other system.
        groups: Which group each example is of, where those of one group hang together, as captions of one
            image do. None: no example says anything of another.
        confidence: Of the interval, which is Student's too.

    Returns:
        The comparison of the means. With one example the difference is not tested, and its interval is
        unbounded; if all examples differ by the same, the statistic is infinite and the p-values are its
        limits, 0 and 1: of classes, `mcnemar_test` says more then. So it is with groups in place of examples.

    Raises:
        ValueError: There is no example, lengths differ, a value is not finite, or an option is out of range.

    Example:
        >>> from sentencode.evaluation import paired_t_test
        >>> result = paired_t_test([1, 1, 1, 0, 1, 1, 1, 1], [0, 1, 0, 0, 1, 0, 1, 0])
        >>> result.difference, round(result.p_two_tailed, 4), round(result.p_one_tailed, 4)
        (0.5, 0.0331, 0.0166)
    """
    test, level = _named("paired t-test", groups), _level(confidence)
    sums, sizes = _by_group(np.subtract(*_pair(a, b)), groups)
    n, mean = len(sums), float(sums.sum() / sizes.sum())
    if not sums.any():
        return _undecided(test, "the two are the same", 0.0, Interval(0.0, 0.0), n)
    if n == 1:
        return _undecided(test, _single(groups), mean, Interval(-math.inf, math.inf), n)
    differences = sums if groups is None else mean + (sums - mean * sizes) * n / sizes.sum()
    error = float(np.std(differences, ddof=1)) / math.sqrt(n) if np.ptp(differences) > 0 else 0.0
    law = _scipy_stats().t(n - 1)
    statistic = mean / error if error > 0 else math.copysign(math.inf, mean)
    reach = float(law.ppf(level)) * error
    return Comparison(test, mean, Interval(mean - reach, mean + reach), statistic, *_tails(statistic, law), n)


def mcnemar_test(
    a: ArrayLike, b: ArrayLike, *, groups: ArrayLike | None = None, confidence: float = 0.95
) -> Comparison:
    """McNemar's test: of the examples that one system alone got right, is it one half each?

    With fewer than 25 such examples the test is exact, by the binomial law, and the statistic is the smaller
    of the two counts. With more it is chi-square with the continuity correction, `max(|n_a - n_b| - 1, 0)^2 /
    (n_a + n_b)`, and its one-tailed p-value is that of the root of it.

    Of groups, each has the number `d` of examples that a alone got right less that of those that b alone did,
    which without a difference is as likely to be `-d`. With fewer than 25 groups where it is not 0, all signs
    that they could have are counted; with more the statistic is `max(|sum of d| - c, 0)^2 / sum of d^2`, `c`
    the greatest number that divides every `d`. (Obuchowski, "On the comparison of correlated proportions for
    clustered data", Statistics in Medicine, 1998, has the variance.) With one example a group, these are the
    same tests.

    Args:
        a: Whether one system was right, for each example: True and False, or 1 and 0.
        b: The same of the other system.
        groups: Which group each example is of, where those of one group hang together, as captions of one
            image do. None: no example says anything of another.
        confidence: Of the interval: Wald's with one half added to each of the four counts (Agresti and Min,
            "Simple improved confidence intervals for comparing matched proportions", Statistics in Medicine,
            2005), so that it has a width even for equal systems.

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
    level, stats = _level(confidence), _scipy_stats()
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
    middle = total / (n + 2)
    spread = float(np.sum((only - middle * sizes) ** 2)) + 1 + 2 * middle**2
    reach = float(stats.norm.ppf(level)) * math.sqrt(spread) / (n + 2)
    interval = Interval(max(middle - reach, -1.0), min(middle + reach, 1.0))
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
    """The bootstrap test of a difference between two means, both over the same resamples.

    The p-values ask how often a resample differs from the examples by as much as these differ from no
    difference: `(1 + #{|d* - d| >= |d|}) / (1 + resamples)`, and one-tailed `d* - d >= d` (Efron and
    Tibshirani, "An Introduction to the Bootstrap", 1993, chapter 16; Berg-Kirkpatrick, Burkett and Klein, "An
    Empirical Investigation of Statistical Significance in NLP", 2012). They cannot be less than what that
    many resamples can show.

    Args:
        a: A value for each example by one system: whether it was right, an error, or anything whose mean is
            reported.
        b: The same by the other system.
        groups: Which group each example is of, where those of one group hang together, as captions of one
            image do: whole groups are drawn. None: single examples are.
        confidence: How much of the resampled differences the interval holds.
        resamples: How often the examples are drawn anew, with replacement.
        seed: Decides which examples are drawn.

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
    one, other = _pair(a, b)
    options = {"confidence": confidence, "resamples": resamples, "seed": seed}
    return bootstrap_of_means([one], [other], groups, options)


def bootstrap_of_means(
    a: Sequence[NDArray[Any]], b: Sequence[NDArray[Any]], groups: ArrayLike | None, options: dict[str, Any]
) -> Comparison:
    """`paired_bootstrap` of the means of several runs of each system, which are drawn anew, too.

    Args:
        a: A value for each example by each run of one system, as of several seeds.
        b: The same of the other system.
        groups: As of `paired_bootstrap`.
        options: `confidence`, `resamples` and `seed`.

    Returns:
        The comparison.
    """
    # Less b's first run, which changes no difference: of one run each, their differences are what is drawn.
    rows = [np.subtract(row, b[0], dtype=np.float64) for row in (*a, *b)]
    sums, (*_, sizes) = zip(*(_by_group(row, groups) for row in rows), strict=True)
    n, means = len(sizes), [float(row.sum() / sizes.sum()) for row in sums]
    difference = float(np.mean(means[: len(a)]) - np.mean(means[len(a) :]))
    drawn = resampled_means([*sums, sizes], options["resamples"], options["seed"])
    test = _named("paired bootstrap", groups)
    if len(sums) == 2 and not sums[0].any():
        _level(options["confidence"])
        return _undecided(test, "the two are the same", 0.0, Interval(0.0, 0.0), n)
    if n == 1:
        return _undecided(test, _single(groups), difference, Interval(-math.inf, math.inf), n)
    slack = _ROUNDING * float(np.abs(sums).max())
    figures = drawn[:, :-1] / drawn[:, -1:]
    return bootstrap_of_figures(test, difference, figures, len(a), n, options, slack=slack)


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
    """The bootstrap test of two correlations with the same gold scores, both over the same resamples.

    It supposes nothing of how scores are distributed, as `williams_test` does; its p-values are those of
    `paired_bootstrap`.

    Args:
        a: One system's scores.
        b: The other system's, for the same examples.
        gold: The scores that are right.
        correlation: `"pearson"` or `"spearman"`.
        confidence: How much of the resampled differences the interval holds.
        resamples: How often the examples are drawn anew, with replacement.
        seed: Decides which examples are drawn.

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
    _level(confidence)
    agreement = _agreement(test, a, b, gold, correlation)
    if isinstance(agreement, Comparison):
        return agreement
    r_a, r_b, _, n = agreement
    drawn = resampled_differences(a, b, gold, correlation, resamples, seed)
    return bootstrapped(test, r_a - r_b, drawn, n, confidence=confidence)


def bootstrap_of_figures(
    test: str,
    difference: float,
    figures: NDArray[np.float64],
    first: int,
    n: int,
    options: dict[str, Any],
    *,
    slack: float = _ROUNDING,
) -> Comparison:
    """The comparison of figures `(resamples, runs)`, the first so many of which are runs of a.

    Where a system has several runs, these are drawn, too, and the test's name says that they are of seeds.
    """
    of_a, of_b = (
        mean_of_runs(each, options["seed"] + i) for i, each in enumerate(np.split(figures, [first], axis=1))
    )
    test = "paired bootstrap over seeds" if figures.shape[1] > 2 else test
    return bootstrapped(test, difference, of_a - of_b, n, confidence=options["confidence"], slack=slack)


def bootstrapped(
    test: str,
    difference: float,
    resampled: NDArray[np.float64],
    n: int,
    *,
    confidence: float,
    slack: float = _ROUNDING,
) -> Comparison:
    """The comparison that resampled differences make.

    Args:
        test: What it is called.
        difference: That of the examples themselves.
        resampled: Those of the resamples; where one is not a number, it does not count.
        n: The number of examples.
        confidence: How much of the resampled differences the interval holds.
        slack: Differences that are nearer than this are equal, so that ties count as such, whatever was
            rounded.

    Returns:
        The comparison.
    """
    interval = percentile_interval(resampled, confidence)
    away = resampled[np.isfinite(resampled)] - difference
    two = _share(np.abs(away) >= abs(difference) - slack)
    return Comparison(test, difference, interval, difference, two, _share(away >= difference - slack), n)


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

    has Student's law with n - 3 degrees of freedom. (Williams, "The Comparison of Regression Variables",
    Journal of the Royal Statistical Society B, 1959; in this form as T2 in Steiger, "Tests for Comparing
    Elements of a Correlation Matrix", Psychological Bulletin, 1980.) It supposes normal scores, and is an
    approximation for ranks. The interval is Zou's for overlapping correlations ("Toward Using Confidence
    Intervals to Compare Correlations", Psychological Methods, 2007).

    Args:
        a: One system's scores.
        b: The other system's, for the same examples.
        gold: The scores that are right.
        correlation: `"pearson"` or `"spearman"`.
        confidence: Of the interval.

    Returns:
        The comparison of the correlations. It is undecided with fewer than four examples; where the two
        systems are the same but for scale; and where all scores of one side are equal: the difference and its
        interval are not numbers then.

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
    law = _scipy_stats().t(max(np.size(gold) - 3, 1))
    return _compare_correlations("Williams", a, b, gold, correlation, confidence, _williams, law)


def steiger_test(
    a: ArrayLike,
    b: ArrayLike,
    gold: ArrayLike,
    correlation: Correlation = "pearson",
    *,
    confidence: float = 0.95,
) -> Comparison:
    """Steiger's test of two correlations with the same gold scores, by Fisher's transformation.

    With the names of `williams_test`,

        z = (atanh(r_a) - atanh(r_b)) sqrt((n - 3) / (2 - 2 s))
        s = (r_ab (1 - 2 r^2) - r^2 (1 - 2 r^2 - r_ab^2) / 2) / (1 - r^2)^2

    has the normal law. (Steiger, "Tests for Comparing Elements of a Correlation Matrix", Psychological
    Bulletin, 1980, equation 14, after Dunn and Clark, 1969.) The interval is Zou's, as there.

    Args:
        a: One system's scores.
        b: The other system's, for the same examples.
        gold: The scores that are right.
        correlation: `"pearson"` or `"spearman"`.
        confidence: Of the interval.

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
    law = _scipy_stats().norm
    return _compare_correlations("Steiger", a, b, gold, correlation, confidence, _steiger, law)


def _compare_correlations(
    test: str,
    a: ArrayLike,
    b: ArrayLike,
    gold: ArrayLike,
    correlation: Correlation,
    confidence: float,
    statistic_of: Callable[[float, float, float, int], float],
    law: Any,
) -> Comparison:
    level = _level(confidence)
    agreement = _agreement(test, a, b, gold, correlation)
    if isinstance(agreement, Comparison):
        return agreement
    r_a, r_b, r_ab, n = agreement
    statistic = statistic_of(r_a, r_b, r_ab, n)
    interval = _zou_interval(r_a, r_b, r_ab, n, level)
    return Comparison(test, r_a - r_b, interval, statistic, *_tails(statistic, law), n)


def _agreement(
    test: str, a: ArrayLike, b: ArrayLike, gold: ArrayLike, correlation: Correlation
) -> tuple[float, float, float, int] | Comparison:
    """The correlations of both with gold, and with each other; or why nothing can be said of them."""
    if correlation not in CORRELATIONS:
        raise ValueError(f"correlation must be 'pearson' or 'spearman', got {correlation!r}")
    agree = CORRELATIONS[correlation]
    scores = {name: values_of(name, row) for name, row in {"a": a, "b": b, "gold": gold}.items()}
    same_length(scores)
    n = len(scores["gold"])
    pairs = (("a", "gold"), ("b", "gold"), ("a", "b"))
    r_a, r_b, r_ab = (_unrounded(agree(scores[x], scores[y])) for x, y in pairs)
    if constant := [name for name, row in scores.items() if np.ptp(row) == 0]:
        why = f"all scores of {' and '.join(constant)} are equal"
        return _undecided(test, why, math.nan, Interval(math.nan, math.nan), n)
    if r_ab == 1:
        return _undecided(test, "the two are the same", 0.0, Interval(0.0, 0.0), n)
    if n < 4:
        return _undecided(test, f"there are {n} examples", r_a - r_b, Interval(-2.0, 2.0), n)
    return r_a, r_b, r_ab, n


def _williams(r_a: float, r_b: float, r_ab: float, n: int) -> float:
    if r_ab == -1:  # opposite scores: 0 / 0, whose limit tests r_a alone
        return _ratio(r_a * math.sqrt(n - 3), math.sqrt(1 - r_a**2))
    determinant = 1 - r_a**2 - r_b**2 - r_ab**2 + 2 * r_a * r_b * r_ab
    determinant = determinant if determinant > _ROUNDING else 0.0
    mean = (r_a + r_b) / 2
    variance = 2 * determinant * (n - 1) / (n - 3) + mean**2 * (1 - r_ab) ** 3
    return _ratio((r_a - r_b) * math.sqrt((n - 1) * (1 + r_ab)), math.sqrt(variance))


def _steiger(r_a: float, r_b: float, r_ab: float, n: int) -> float:
    square = ((r_a + r_b) / 2) ** 2
    shared = r_ab * (1 - 2 * square) - square * (1 - 2 * square - r_ab**2) / 2
    variance = 2 - 2 * shared / (1 - square) ** 2
    with np.errstate(divide="ignore"):  # a perfect correlation is infinitely far from others
        distance = float(np.arctanh(r_a) - np.arctanh(r_b))
    return _ratio(distance * math.sqrt(n - 3), math.sqrt(max(variance, 0)))


def _zou_interval(r_a: float, r_b: float, r_ab: float, n: int, level: float) -> Interval:
    """From the limits of each correlation and how the two vary together."""
    reach = float(_scipy_stats().norm.ppf(level)) / math.sqrt(n - 3)
    with np.errstate(divide="ignore"):
        middles = np.arctanh([r_a, r_b])
    (low_a, low_b), (high_a, high_b) = np.tanh(middles - reach), np.tanh(middles + reach)
    spread = (1 - r_a**2) * (1 - r_b**2)
    together = (r_ab - r_a * r_b / 2) * (1 - r_a**2 - r_b**2 - r_ab**2) + r_ab**3
    share = min(max(_ratio(together, spread), -1.0), 1.0)

    def away(of_a: float, of_b: float) -> float:
        return math.sqrt(max(of_a**2 + of_b**2 - 2 * share * of_a * of_b, 0))

    difference = r_a - r_b
    below, above = away(r_a - low_a, high_b - r_b), away(high_a - r_a, r_b - low_b)
    return Interval(difference - below, difference + above)


def _unrounded(r: float) -> float:
    """A correlation that is perfect but for rounding is perfect."""
    return math.copysign(1.0, r) if 1 - abs(r) < _ROUNDING else r


def _ratio(x: float, y: float) -> float:
    """Their quotient, infinite where the second is 0; but 0 where both are."""
    if y > 0:
        return x / y
    return math.copysign(math.inf, x) if x else 0.0


def _tails(statistic: float, law: Any) -> tuple[float, float]:
    """The p-values, two-tailed and one-tailed, of a statistic whose law is symmetric."""
    return 2 * float(law.sf(abs(statistic))), float(law.sf(statistic))


def _share(extreme: NDArray[np.bool_]) -> float:
    return (1 + int(extreme.sum())) / (1 + len(extreme))


def _undecided(test: str, why: str, difference: float, interval: Interval, n: int) -> Comparison:
    return Comparison(f"{test}, undecided: {why}", difference, interval, 0.0, 1.0, 1.0, n)


def _pair(a: ArrayLike, b: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    rows = {"a": values_of("a", a), "b": values_of("b", b)}
    same_length(rows)
    return rows["a"], rows["b"]


def _by_group(
    values: NDArray[np.float64], groups: ArrayLike | None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The sum of each group's values, and how many it has; without groups each example is one."""
    if groups is None:
        return values, np.ones_like(values)
    names = np.asarray(groups)
    same_length({"a": values, "groups": names})
    _, place, sizes = np.unique(names, return_inverse=True, return_counts=True)
    return np.bincount(place, weights=values).astype(np.float64), sizes.astype(np.float64)


def _named(test: str, groups: ArrayLike | None) -> str:
    return test if groups is None else f"{test} by groups"


def _single(groups: ArrayLike | None) -> str:
    return f"there is one {'example' if groups is None else 'group'}"


def _tails_of_signs(numbers: NDArray[np.int64]) -> tuple[float, float]:
    """The p-values, two-tailed and one-tailed, of a sum of numbers that have either sign as likely."""
    law = np.ones(1)  # of the sums from that of all negative to that of all positive
    for size in np.abs(numbers).tolist():
        law = (np.pad(law, (0, 2 * size)) + np.pad(law, (2 * size, 0))) / 2
    total, most = int(numbers.sum()), len(law) // 2
    sums = np.arange(-most, most + 1)
    return float(law[np.abs(sums) >= abs(total)].sum()), float(law[sums >= total].sum())


def _right(name: str, row: NDArray[np.float64]) -> NDArray[np.bool_]:
    wrong = (row != 0) & (row != 1)
    if wrong.any():
        place = int(np.argmax(wrong))
        raise ValueError(
            f"{name} must tell right from wrong by 1 and 0, but {name}[{place}] is {row[place]:g}"
        )
    return row.astype(np.bool_)


def _level(confidence: float) -> float:
    """Where the upper end of an interval lies in the law."""
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must lie between 0 and 1, got {confidence}")
    return 0.5 + confidence / 2


def _scipy_stats() -> Any:
    return require("scipy.stats", "eval")
