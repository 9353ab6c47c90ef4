"""Significance tests against SciPy, textbooks, and the null hypothesis."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sentencode.evaluation import (
    Interval,
    bootstrap_mean,
    mcnemar_test,
    paired_bootstrap,
    paired_t_test,
    steiger_test,
    williams_test,
)

stats = pytest.importorskip("scipy.stats")


def correct(n=300, gain=0.1, seed=0):
    """Correctness of two systems with similar errors."""
    random = np.random.default_rng(seed)
    easy = random.random(n)
    return easy + 0.3 * random.random(n) > 0.5 - gain, easy + 0.3 * random.random(n) > 0.5


def scores_with(correlations, n):
    """Samples with exactly the correlations of the matrix."""
    random = np.random.default_rng(0)
    centred = random.normal(size=(n, len(correlations)))
    centred -= centred.mean(axis=0)
    orthonormal, _ = np.linalg.qr(centred)
    return (orthonormal @ np.linalg.cholesky(np.array(correlations, dtype=float)).T).T


def overlapping(r_a, r_b, r_ab, n):
    return scores_with([[1, r_ab, r_a], [r_ab, 1, r_b], [r_a, r_b, 1]], n)


MEANS = pytest.mark.parametrize("compare", [paired_t_test, mcnemar_test, paired_bootstrap])
CORRELATIONS = pytest.mark.parametrize("compare", [williams_test, steiger_test])


# --- means ---


@pytest.mark.parametrize("gain", [-0.1, 0.0, 0.03, 0.3])
def test_t_test_is_scipys(gain):
    a, b = correct(gain=gain)
    result = paired_t_test(a, b, confidence=0.9)
    two, one = (stats.ttest_rel(1.0 * a, 1.0 * b, alternative=which) for which in ("two-sided", "greater"))
    assert result.n == 300
    assert result.statistic == pytest.approx(two.statistic, rel=1e-9, abs=1e-12)
    assert result.p_two_tailed == pytest.approx(two.pvalue, rel=1e-9)
    assert result.p_one_tailed == pytest.approx(one.pvalue, rel=1e-9)
    assert result.interval == pytest.approx(tuple(two.confidence_interval(0.9)), abs=1e-9)
    assert result.difference == pytest.approx(a.mean() - b.mean())


def rows_with(only_a, only_b, both=30, neither=5):
    pattern = [(1, 0)] * only_a + [(0, 1)] * only_b + [(1, 1)] * both + [(0, 0)] * neither
    return np.array(pattern).T


@pytest.mark.parametrize(("only_a", "only_b"), [(9, 1), (1, 9), (6, 6), (0, 7), (24, 0), (12, 11)])
def test_mcnemar_is_exact_for_few(only_a, only_b):
    result = mcnemar_test(*rows_with(only_a, only_b))
    two, one = (
        stats.binomtest(only_a, only_a + only_b, alternative=which).pvalue
        for which in ("two-sided", "greater")
    )
    assert result.test == "McNemar, exact binomial"
    assert result.statistic == min(only_a, only_b)
    assert result.p_two_tailed == pytest.approx(two)
    assert result.p_one_tailed == pytest.approx(one)


@pytest.mark.parametrize(("only_a", "only_b"), [(20, 5), (13, 12), (13, 13), (5, 40), (300, 250)])
def test_mcnemar_is_chi_square_for_many(only_a, only_b):
    result = mcnemar_test(*rows_with(only_a, only_b))
    assert result.test == "McNemar, chi-square with continuity correction"
    observed = np.array([only_a, only_b])
    expected = observed.mean()
    by_hand = (
        max(abs(only_a - expected) - 0.5, 0) ** 2 + max(abs(only_b - expected) - 0.5, 0) ** 2
    ) / expected
    assert result.statistic == pytest.approx(by_hand)
    assert result.p_two_tailed == pytest.approx(stats.chi2.sf(by_hand, 1))
    exact = stats.binomtest(only_a, only_a + only_b, alternative="greater").pvalue
    assert result.p_one_tailed == pytest.approx(exact, abs=0.01)


def test_mcnemar_of_a_textbook():
    """Agresti, Categorical Data Analysis, 10.1: 794, 150, 86, 570 of 1600 voters; z^2 = 17.36 uncorrected."""
    result = mcnemar_test(*rows_with(150, 86, 794, 570))
    assert result.difference == pytest.approx(0.04)
    assert result.statistic == pytest.approx((64 - 1) ** 2 / 236)
    assert result.interval == pytest.approx((0.021, 0.059), abs=0.0005)


def test_interval_of_mcnemar_is_walds_with_half_an_example_more_a_cell():
    shares = (np.array([3, 1, 6, 2]) + 0.5) / 14
    values = np.array([1, -1, 0, 0])  # a less b
    mean = shares @ values
    reach = stats.norm.ppf(0.975) * np.sqrt((shares @ values**2 - mean**2) / 14)
    result = mcnemar_test(*rows_with(3, 1, 6, 2))
    assert result.interval == pytest.approx((mean - reach, mean + reach))
    assert mcnemar_test([1], [0], confidence=0.999).interval == (-1, 1)


@MEANS
def test_intervals_hold_the_truth(compare):
    """About 95 % of 400 intervals contain the true difference."""
    options = {"resamples": 1000} if compare is paired_bootstrap else {}
    held = 0
    for seed in range(400):
        random = np.random.default_rng(seed)
        cell = random.choice(4, size=150, p=[0.15, 0.1, 0.6, 0.15])
        interval = compare((cell == 0) | (cell == 2), (cell == 1) | (cell == 2), **options).interval
        held += interval.low <= 0.05 <= interval.high
    assert 0.92 <= held / 400 <= 0.98


@MEANS
def test_no_difference_gives_any_p_value(compare):
    """Under the null hypothesis at most 5 % of p-values are below 5 %."""
    options = {"resamples": 300} if compare is paired_bootstrap else {}
    rejected = np.zeros(2)
    for seed in range(500):
        a, b = correct(n=200, gain=0, seed=seed)
        result = compare(a, b, **options)
        rejected += result.p_two_tailed < 0.05, result.p_one_tailed < 0.05
    assert (rejected / 500 < 0.08).all()
    assert (rejected / 500 > 0.005).all()


def test_paired_bootstrap_agrees_with_the_t_test():
    for gain in (0.02, 0.05, 0.08):
        a, b = correct(n=400, gain=gain)
        ours, t = paired_bootstrap(a, b, resamples=20000), paired_t_test(a, b)
        assert ours.p_two_tailed == pytest.approx(t.p_two_tailed, abs=0.03)
        assert ours.p_one_tailed == pytest.approx(t.p_one_tailed, abs=0.03)
        assert ours.interval == pytest.approx(t.interval, abs=0.004)


def test_paired_bootstrap_of_real_values():
    """Distinct errors are resampled one by one: against SciPy's bootstrap of the differences."""
    random = np.random.default_rng(3)
    a = random.exponential(size=200)
    b = a + random.normal(0.05, 0.3, size=200)
    expected = stats.bootstrap(
        (a - b,), np.mean, method="percentile", n_resamples=10000, rng=1, vectorized=True
    ).confidence_interval
    ours = paired_bootstrap(a, b, resamples=10000)
    assert ours.interval == pytest.approx(tuple(expected), abs=0.07 * (expected.high - expected.low))
    assert ours.p_two_tailed == pytest.approx(paired_t_test(a, b).p_two_tailed, abs=0.02)
    assert paired_bootstrap(a, b) == paired_bootstrap(a, b)
    assert paired_bootstrap(a, b) != paired_bootstrap(a, b, seed=2)


@MEANS
@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=60))
@settings(deadline=None)
def test_means_swap(compare, pairs):
    a, b = np.array(pairs).T
    options = {"resamples": 100} if compare is paired_bootstrap else {}
    here, there = compare(a, b, **options), compare(b, a, **options)
    assert here.difference == pytest.approx(-there.difference)
    assert here.interval == pytest.approx((-there.interval.high, -there.interval.low))
    assert abs(here.statistic) == pytest.approx(abs(there.statistic))
    assert here.p_two_tailed == pytest.approx(there.p_two_tailed)
    assert 0 <= here.p_two_tailed <= 1
    assert 0 <= here.p_one_tailed <= 1
    assert here.p_one_tailed + there.p_one_tailed > 1 - 1e-9
    assert here.test == there.test


@MEANS
def test_equal_systems(compare):
    a, _ = correct()
    result = compare(a, a)
    assert (result.difference, result.statistic, result.p_two_tailed, result.p_one_tailed) == (0, 0, 1, 1)
    assert result.interval.low <= 0 <= result.interval.high
    if compare is not mcnemar_test:
        assert result.test.endswith("undecided: the two are the same")
        assert result.interval == (0, 0)


@pytest.mark.parametrize("compare", [paired_t_test, paired_bootstrap])
def test_one_example_is_not_significant(compare):
    result = compare([1], [0])
    assert result.test.endswith("undecided: there is one example")
    assert result[1:] == (1.0, (-math.inf, math.inf), 0.0, 1.0, 1.0, 1)


def test_one_example_for_mcnemar():
    result = mcnemar_test([1], [0])
    assert (result.difference, result.p_two_tailed, result.p_one_tailed) == (1, 1, 0.5)
    assert result.interval.low < 0


def test_equal_differences():
    result = paired_t_test([1, 2, 3], [0, 1, 2])
    assert result[1:] == (1, (1, 1), math.inf, 0, 0, 3)
    assert paired_t_test([0, 1, 2], [1, 2, 3])[3:] == (-math.inf, 0, 1, 3)


@MEANS
def test_means_refuse(compare):
    with pytest.raises(ValueError, match="a and b must be equally long, got 2 and 3"):
        compare([1, 0], [1, 0, 1])
    with pytest.raises(ValueError, match="a is empty; expected at least one example"):
        compare([], [])
    with pytest.raises(ValueError, match=r"b must be finite, but b\[1\] is nan"):
        compare([1, 0], [1, math.nan])
    with pytest.raises(ValueError, match="a must have one dimension, got 2"):
        compare([[1, 0]], [1])
    with pytest.raises(ValueError, match="confidence must be less than 1, got 95"):
        compare([1, 0], [1, 1], confidence=95)
    with pytest.raises(TypeError, match="confidence must be a number"):
        compare([1, 0], [1, 1], confidence="0.9")


def test_mcnemar_needs_zeros_and_ones():
    with pytest.raises(ValueError, match=r"b must be 1 \(right\) or 0 \(wrong\), but b\[2\] is 0.5"):
        mcnemar_test([1, 0, 1], [1, 1, 0.5])


# --- correlations ---


def test_williams_of_the_literature():
    """Silver, Hittner and May, Applied Psychological Measurement 30 (2006): .3, .4, .5, n = 100."""
    result = williams_test(*overlapping(0.3, 0.4, 0.5, 100))
    assert result.difference == pytest.approx(-0.1)
    assert result.statistic == pytest.approx(-1.0767, abs=5e-5)
    assert result.p_two_tailed == pytest.approx(0.2843, abs=5e-5)
    assert result.p_one_tailed == pytest.approx(1 - 0.2843 / 2, abs=5e-5)


def test_steiger_of_the_literature():
    """The same, and case A of Steiger (1980), whose printed -0.89 results from rounded steps."""
    result = steiger_test(*overlapping(0.3, 0.4, 0.5, 100))
    assert result.statistic == pytest.approx(-1.0718, abs=5e-5)
    assert result.p_two_tailed == pytest.approx(0.2838, abs=5e-5)
    assert steiger_test(*overlapping(0.4, 0.5, 0.1, 103)).statistic == pytest.approx(-0.89, abs=0.005)


@CORRELATIONS
def test_interval_of_the_literature(compare):
    """Zou, Psychological Methods 12 (2007), page 409: .396, .179, .088, n = 66."""
    interval = compare(*overlapping(0.396, 0.179, 0.088, 66)).interval
    assert interval == pytest.approx((-0.093, 0.517), abs=5e-4)


@CORRELATIONS
@pytest.mark.parametrize("r_ab", [0.1, 0.8])
def test_equal_correlations_give_any_p_value(compare, r_ab):
    """Normal scores with equal correlations: p-values are uniform, and intervals contain 0."""
    factor = np.linalg.cholesky([[1, r_ab, 0.6], [r_ab, 1, 0.6], [0.6, 0.6, 1]])
    random = np.random.default_rng(7)
    results = [compare(*(factor @ random.normal(size=(3, 60)))) for _ in range(600)]
    for values in zip(*((result.p_two_tailed, result.p_one_tailed) for result in results), strict=True):
        assert stats.kstest(values, "uniform").pvalue > 0.001
    held = np.mean([result.interval.low <= 0 <= result.interval.high for result in results])
    assert 0.92 <= held <= 0.98


@CORRELATIONS
def test_a_real_difference_is_significant(compare):
    gold, one, other = np.random.default_rng(0).normal(size=(3, 500))
    comparison = compare(gold + 0.5 * one, gold + 0.8 * other, gold)
    assert comparison.p_one_tailed < comparison.p_two_tailed < 1e-6
    assert 0 < comparison.interval.low < comparison.difference < comparison.interval.high


@CORRELATIONS
def test_spearman_is_compared_by_ranks(compare):
    a, b, gold = overlapping(0.7, 0.6, 0.5, 50)
    ranked = compare(a, b, gold, "spearman")
    assert compare(np.exp(a), b**3, gold, "spearman") == ranked
    assert ranked.difference == pytest.approx(stats.spearmanr(a, gold)[0] - stats.spearmanr(b, gold)[0])
    expected = compare(*map(stats.rankdata, (a, b, gold)))
    assert ranked.statistic == pytest.approx(expected.statistic)
    assert ranked.interval == pytest.approx(expected.interval)


@CORRELATIONS
@given(st.lists(st.tuples(*[st.integers(-3, 3)] * 3), min_size=1, max_size=30), st.booleans())
@settings(deadline=None)
def test_correlations_swap(compare, rows, ranks):
    a, b, gold = np.array(rows, dtype=float).T
    correlation = "spearman" if ranks else "pearson"
    here, there = compare(a, b, gold, correlation), compare(b, a, gold, correlation)
    assert here.difference == pytest.approx(-there.difference, nan_ok=True, abs=1e-12)
    assert here.statistic == pytest.approx(-there.statistic, rel=1e-4, abs=1e-9)
    assert here.p_two_tailed == pytest.approx(there.p_two_tailed, rel=1e-4)
    assert 0 <= here.p_two_tailed <= 1
    assert 0 <= here.p_one_tailed <= 1
    decided = "undecided" not in here.test
    assert here.p_one_tailed + there.p_one_tailed == pytest.approx(1 if decided else 2)
    assert math.isnan(here.difference) == ("are equal" in here.test)
    if decided:
        assert here.interval == pytest.approx((-there.interval.high, -there.interval.low), abs=1e-9)
        assert here.interval.low <= here.difference <= here.interval.high


@CORRELATIONS
def test_correlations_that_do_not_exist(compare):
    moving = [1.0, 2.0, 4.0, 3.0, 5.0]
    comparison = compare([2] * 5, moving, moving)
    assert comparison.test.endswith("undecided: all scores of a are equal")
    assert math.isnan(comparison.difference)
    assert (comparison.statistic, comparison.p_two_tailed, comparison.p_one_tailed) == (0, 1, 1)
    assert compare(moving, moving, [1] * 5).test.endswith("undecided: all scores of gold are equal")
    same = compare(moving, np.multiply(moving, 3.7) - 1, moving[::-1])
    assert same[1:] == (0, Interval(0, 0), 0, 1, 1, 5)
    few = compare([1, 2, 4], [1, 3, 2], [1, 2, 3])
    assert few.test.endswith("undecided: there are 3 examples")
    assert few.interval == (-2, 2)


def test_opposite_and_perfect_scores():
    a, _, gold = overlapping(0.5, 0.1, 0.2, 40)
    nearly = a + 1e-5 * np.random.default_rng(1).normal(size=40)
    # The formula is 0 / 0 for opposite scores; near them it approaches the limit.
    assert williams_test(a, -a, gold).statistic == pytest.approx(
        williams_test(a, -nearly, gold).statistic, rel=1e-3
    )
    assert steiger_test(gold, a, gold)[3:6] == (math.inf, 0, 0)
    assert williams_test(gold, -gold, gold)[3:6] == (math.inf, 0, 0)
    assert 0 < williams_test(gold, a, gold).p_two_tailed < 1e-6


@CORRELATIONS
def test_correlations_refuse(compare):
    with pytest.raises(ValueError, match="a and b and gold must be equally long, got 4 and 4 and 5"):
        compare([1, 2, 3, 5], [1, 2, 4, 3], [1, 2, 3, 4, 5])
    with pytest.raises(ValueError, match=r"gold must be finite, but gold\[0\] is inf"):
        compare([1, 2], [1, 2], [math.inf, 1])
    with pytest.raises(ValueError, match="correlation must be 'pearson' or 'spearman', got 'kendall'"):
        compare([1, 2], [1, 2], [1, 2], "kendall")
    with pytest.raises(ValueError, match="confidence must be more than 0, got 0"):
        compare([1, 2], [1, 2], [1, 2], confidence=0)


def test_large_sets_are_quick_and_small_in_memory():
    """550,000 examples: right and wrong by counts, real values in blocks."""
    import tracemalloc

    a, b = correct(n=550_000, gain=0.001)
    tracemalloc.start()
    result = paired_bootstrap(a, b)
    interval = bootstrap_mean(np.random.default_rng(0).random(550_000), resamples=20)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 120e6
    assert result.interval == pytest.approx(paired_t_test(a, b).interval, abs=1e-4)
    assert interval.low < 0.5 < interval.high


# --- groups ---


def grouped(groups=120, size=5, seed=0, share=0.5):
    """Correctness of two systems, equal for all examples of a group."""
    random = np.random.default_rng(seed)
    right = (np.repeat(random.random(groups) < share, size) for _ in range(2))
    return *right, np.repeat(np.arange(groups), size)


@MEANS
def test_examples_that_hang_together_are_no_proof(compare):
    """For equally good systems, one tenth of p-values are below 0.1; without groups four tenths."""
    options = {"resamples": 300} if compare is paired_bootstrap else {}
    p_values = {True: [], False: []}
    for seed in range(200):
        a, b, groups = grouped(seed=seed)
        for by_group in p_values:
            group_ids = groups if by_group else None
            p_values[by_group].append(compare(a, b, groups=group_ids, **options).p_two_tailed < 0.1)
    assert 0.04 < np.mean(p_values[True]) < 0.16
    assert np.mean(p_values[False]) > 0.3


@MEANS
@pytest.mark.parametrize("groups", [14, 120])
def test_equal_examples_of_a_group_count_once(compare, groups):
    """Five equal examples count as one; groups may have any names, in any order."""
    a, b, names = grouped(groups, seed=3)
    alone, by_groups = compare(a[::5], b[::5]), compare(a, b, groups=names)
    assert " by groups" in by_groups.test
    assert by_groups.n == alone.n == groups
    assert by_groups.difference == pytest.approx(alone.difference)
    assert by_groups[4:6] == pytest.approx(alone[4:6])
    order = np.random.default_rng(0).permutation(len(a))
    again = compare(a[order], b[order], groups=np.array([f"g{name:04}" for name in names])[order])
    assert again == by_groups


@pytest.mark.parametrize(("only_a", "only_b"), [(9, 1), (6, 6), (0, 7), (20, 15), (300, 250)])
def test_mcnemar_of_groups_of_one_is_mcnemars(only_a, only_b):
    a, b = rows_with(only_a, only_b)
    by_groups, expected = mcnemar_test(a, b, groups=np.arange(len(a))), mcnemar_test(a, b)
    assert by_groups[1:] == expected[1:]
    assert by_groups.test.split(", ")[0] == "McNemar by groups"


def test_mcnemar_of_few_groups_counts_all_signs():
    differences = [3, -1, 2, 2, 0]  # of 16 ways, the sum is at least 6 in one of + + + +, and one of + - + +
    a = np.concatenate([[d > 0] * abs(d) + [True] * (3 - abs(d)) for d in differences])
    b = np.concatenate([[d < 0] * abs(d) + [True] * (3 - abs(d)) for d in differences])
    by_groups = mcnemar_test(a, b, groups=np.repeat(np.arange(5), 3))
    assert by_groups.test == "McNemar by groups, exact by signs"
    assert (by_groups.p_one_tailed, by_groups.p_two_tailed) == (2 / 16, 4 / 16)
    assert (by_groups.statistic, by_groups.n, by_groups.difference) == (1, 5, 6 / 15)


@pytest.mark.parametrize("compare", [paired_t_test, paired_bootstrap])
def test_groups_count_by_their_sizes(compare):
    """The difference is over all examples; its deviation is over resampled groups."""
    random = np.random.default_rng(1)
    sizes = random.integers(1, 12, size=150)
    groups = np.repeat(np.arange(150), sizes)
    a = random.random(len(groups)) < random.random(150)[groups]
    b = random.random(len(groups)) < random.random(150)[groups]
    by_groups = compare(a, b, groups=groups)
    assert by_groups.difference == pytest.approx(a.mean() - b.mean())
    sums = np.bincount(groups, weights=1.0 * a - b)
    samples = random.integers(0, 150, size=(4000, 150))
    spread = np.std(sums[samples].sum(1) / sizes[samples].sum(1))
    assert by_groups.interval.high - by_groups.interval.low == pytest.approx(2 * 1.96 * spread, rel=0.06)


@MEANS
def test_groups_without_evidence(compare):
    one = compare([1, 1, 0], [0, 1, 0], groups=[7, 7, 7])
    if compare is not mcnemar_test:
        assert one.test.endswith("by groups, undecided: there is one group")
    assert (one.n, one.p_two_tailed) == (1, 1)
    cancelled = compare([1, 0, 1, 0], [0, 1, 0, 1], groups=[1, 1, 2, 2])
    assert (cancelled.difference, cancelled.p_two_tailed, cancelled.n) == (0, 1, 2)
    with pytest.raises(ValueError, match="a and groups must be equally long, got 3 and 2"):
        compare([1, 1, 0], [0, 1, 0], groups=[1, 2])
