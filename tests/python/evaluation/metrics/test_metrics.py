from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sentencode.evaluation import (
    accuracy,
    bootstrap_difference,
    bootstrap_f1,
    bootstrap_interval,
    bootstrap_mean,
    cosine_of_pairs,
    f1,
    mean_squared_error,
    pearson,
    spearman,
)

stats = pytest.importorskip("scipy.stats")
oracle = pytest.importorskip("sklearn.metrics")

BOTH = pytest.mark.parametrize(
    ("ours", "theirs"), [(pearson, stats.pearsonr), (spearman, stats.spearmanr)], ids=["pearson", "spearman"]
)


def correlated(n=400, noise=1.0, seed=0):
    random = np.random.default_rng(seed)
    x = random.normal(size=n)
    return x, np.round(2 * (x + noise * random.normal(size=n))) / 2  # with ties, as human scores have


@BOTH
@pytest.mark.parametrize("noise", [0.01, 1, 100])
def test_agrees_with_scipy(ours, theirs, noise):
    x, y = correlated(noise=noise)
    assert ours(x, y) == pytest.approx(theirs(x, y)[0], abs=1e-12)


@BOTH
def test_wrong_arguments(ours, theirs):
    with pytest.raises(ValueError, match="equally long, got 2 and 3"):
        ours([1, 2], [1, 2, 3])
    with pytest.raises(ValueError, match=r"x must be finite, but x\[1\] is nan"):
        ours([1, np.nan], [1, 2])
    with pytest.raises(ValueError, match="x must have one dimension, got 2"):
        ours([[1, 2]], [1, 2])


def test_cosine_of_pairs():
    random = np.random.default_rng(0)
    a, b = random.normal(size=(2, 700, 33)).astype(np.float32)
    a[3] = 0
    expected = (a * b).sum(1) / np.maximum(np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1), 1e-30)
    np.testing.assert_allclose(cosine_of_pairs(a, b), expected, atol=1e-6)
    with pytest.raises(ValueError, match=r"same shape, got \[700, 33\] and \[700, 32\]"):
        cosine_of_pairs(a, b[:, :32])


@pytest.mark.parametrize("name", ["pearson", "spearman"])
def test_bootstrap_agrees_with_scipy(name):
    x, y = correlated(150)

    def statistic(a, b):
        return {"pearson": stats.pearsonr, "spearman": stats.spearmanr}[name](a, b)[0]

    theirs = stats.bootstrap(
        (x, y), statistic, paired=True, vectorized=False, method="percentile", n_resamples=2000, rng=1
    ).confidence_interval
    ours = bootstrap_interval(x, y, name, resamples=20000)
    # Both are random: an end of 2,000 samples is known to about a twentieth of the interval.
    assert ours == pytest.approx(tuple(theirs), abs=0.07 * (theirs.high - theirs.low))


def test_more_confidence_is_wider():
    x, y = correlated()
    narrower, wider = (bootstrap_interval(x, y, confidence=c) for c in (0.5, 0.99))
    assert wider.low < narrower.low < narrower.high < wider.high


def test_difference_is_paired():
    x, y = correlated(2000)
    noise = np.random.default_rng(5).normal(size=2000)
    low, high = bootstrap_difference(x, x + 0.2 * noise, y)
    assert 0 < low < pearson(x, y) - pearson(x + 0.2 * noise, y) < high
    # Apart, the two intervals overlap.
    assert bootstrap_interval(x, y).low < bootstrap_interval(x + 0.2 * noise, y).high
    assert bootstrap_difference(x, x, y) == (0, 0)


def test_bootstrap_refuses():
    with pytest.raises(ValueError, match="'pearson' or 'spearman', got 'kendall'"):
        bootstrap_interval([1, 2], [1, 2], "kendall")
    with pytest.raises(ValueError, match="resamples must be at least 1, got 0"):
        bootstrap_interval([1, 2], [1, 2], resamples=0)
    with pytest.raises(ValueError, match="confidence must be less than 1, got 95"):
        bootstrap_interval([1, 2], [1, 2], confidence=95)
    with pytest.raises(TypeError, match="confidence must be a number, got '95'"):
        bootstrap_interval([1, 2], [1, 2], confidence="95")
    with pytest.raises(TypeError, match=r"resamples must be a whole number, got 1.5 \(float\)"):
        bootstrap_interval([1, 2], [1, 2], resamples=1.5)
    with pytest.raises(ValueError, match="seed must be at least 0, got -1"):
        bootstrap_interval([1, 2], [1, 2], seed=-1)


CLASSES = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=1, max_size=40)


@given(CLASSES)
def test_classes_agree_with_sklearn(pairs):
    predicted, gold = np.array(pairs).T
    assert accuracy(predicted, gold) == pytest.approx(oracle.accuracy_score(gold, predicted))
    for positive in (1, 2):
        expected = oracle.f1_score(gold == positive, predicted == positive, zero_division=0)
        assert f1(predicted, gold, positive) == pytest.approx(expected)
    assert mean_squared_error(predicted, gold) == pytest.approx(oracle.mean_squared_error(gold, predicted))
    names = np.array(["no", "yes", "maybe"])
    assert accuracy(names[predicted], names[gold]) == accuracy(predicted, gold)
    assert f1(names[predicted], names[gold], "yes") == f1(predicted, gold)


def slow_bootstrap(figure, columns, resamples=4000):
    """Example by example, resample by resample."""
    random = np.random.default_rng(9)
    n = len(columns[0])
    samples = (random.integers(0, n, n) for _ in range(resamples))
    return np.quantile([figure(*(column[rows] for column in columns)) for rows in samples], [0.025, 0.975])


@pytest.mark.parametrize("kinds", [2, 5, 1000])
def test_bootstrap_of_means_is_a_bootstrap(kinds):
    """Few distinct examples are resampled by counts, many one by one."""
    values = np.random.default_rng(0).integers(0, kinds, 300) ** 2
    low, high = slow_bootstrap(np.mean, [values])
    assert bootstrap_mean(values, resamples=20000) == pytest.approx((low, high), abs=0.06 * (high - low))
    assert bootstrap_mean(values) == bootstrap_mean(values)
    assert bootstrap_mean(values) != bootstrap_mean(values, seed=2)


def test_bootstrap_of_f1_is_a_bootstrap():
    random = np.random.default_rng(0)
    gold = random.random(300) < 0.3
    predicted = gold ^ (random.random(300) < 0.2)
    low, high = slow_bootstrap(lambda p, g: oracle.f1_score(g, p), [predicted, gold], 1000)
    assert bootstrap_f1(predicted, gold, resamples=20000) == pytest.approx(
        (low, high), abs=0.1 * (high - low)
    )


def test_bootstrap_of_little():
    assert bootstrap_mean([0.25]) == (0.25, 0.25)
    assert bootstrap_mean([1, 1, 1]) == (1, 1)
    assert bootstrap_f1([0, 0], [0, 0]) == (0, 0)


def test_classes_refuse():
    with pytest.raises(ValueError, match="predicted and gold must be equally long, got 2 and 1"):
        accuracy([1, 0], [1])
    with pytest.raises(ValueError, match="predicted is empty; expected at least one example"):
        f1([], [])
    with pytest.raises(ValueError, match="predicted and gold must be of one kind, got <U1 and int64"):
        accuracy(["1"], [1])
    with pytest.raises(ValueError, match=r"gold must be finite, but gold\[0\] is nan"):
        mean_squared_error([1], [np.nan])
    with pytest.raises(ValueError, match="gold must have one dimension, got 2"):
        accuracy([1], [[1]])
    with pytest.raises(ValueError, match="resamples must be at least 1, got 0"):
        bootstrap_mean([1, 2], resamples=0)
    with pytest.raises(ValueError, match="confidence must be less than 1, got 95"):
        bootstrap_f1([1, 0], [1, 0], confidence=95)
