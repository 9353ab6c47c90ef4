"""Averages over tasks that share examples: weights, resampled scores, coverage of intervals."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

sys.path.insert(0, str(Path(__file__).parents[1]))
import reports as made

import sentencode as se
from sentencode.evaluation import Kind, Report, Split, Task, TaskResult, bootstrap_mean, load_task
from sentencode.evaluation.metrics.intervals import percentile_interval
from sentencode.evaluation.metrics.results import SplitPredictions
from sentencode.evaluation.report.averages import averages_of
from sentencode.evaluation.statistics.comparison import by_holm
from sentencode.evaluation.statistics.joint_bootstrap import (
    distinct_examples,
    keys_of,
    resampled_mean,
    weights_of,
)


def accuracy_result(task, right, keys=None):
    """A task's result with these right examples and keys."""
    right = np.asarray(right)
    predictions = SplitPredictions(
        "test", np.arange(right.shape[-1]), right.astype(int), np.ones(right.shape[-1], int), keys=keys
    )
    return TaskResult(task, {"acc": 100 * float(right.mean())}, predictions={"test": predictions})


def scores_result(task, scores, gold, keys):
    figures = {"pearson": stats.pearsonr(scores, gold)[0], "spearman": stats.spearmanr(scores, gold)[0]}
    return TaskResult(
        task,
        figures,
        predictions={"test": SplitPredictions("test", np.arange(len(gold)), scores, gold, keys=keys)},
    )


def test_weights_have_the_distribution_of_a_bootstrap():
    keys = np.random.default_rng(0).integers(0, 2**52, size=2000)
    weights = weights_of(keys, 0, 1000, seed=3)
    assert weights.shape == (2000, 1000)
    shares = np.bincount(weights.ravel(), minlength=6) / weights.size
    np.testing.assert_allclose(shares, stats.poisson(1).pmf(range(6)), atol=0.005)
    # 2 M independent draws: their mean is known to 0.0007, that of each example to 0.03.
    assert weights.mean() == pytest.approx(1, abs=0.004)
    assert weights.var() == pytest.approx(1, abs=0.01)
    assert np.abs(weights.mean(1) - 1).max() < 0.16
    assert np.abs(weights.mean(0) - 1).max() < 0.12
    together = np.corrcoef(weights[:200])
    assert np.abs(together[~np.eye(200, dtype=bool)]).max() < 0.17  # of 19,900 pairs, each to 0.03


def test_weights_depend_only_on_the_example():
    keys = np.array([5, 9, 2**52 - 1])
    weights = weights_of(keys, 0, 600, seed=1)
    assert (weights_of(keys[::-1], 0, 600, seed=1)[::-1] == weights).all()
    assert (weights_of(keys, 256, 512, seed=1) == weights[:, 256:512]).all()
    assert (weights_of(keys, 0, 600, seed=2) != weights).mean() > 0.5
    # Consecutive numbers, as in reports without keys, are independent too.
    assert np.abs(np.corrcoef(weights_of(np.arange(50), 0, 2000, seed=0)) - np.eye(50)).max() < 0.12


def test_weighted_figures_equal_repeated_examples():
    random = np.random.default_rng(4)
    gold = random.integers(0, 6, size=60).astype(float)
    scores = np.round(gold + random.normal(size=60), 1)  # with ties
    keys = np.arange(60)
    resamples = 30
    means = resampled_mean([scores_result("mine", scores, gold, keys)], [1.0], resamples, seed=7)
    for score, count in zip(means[1:], weights_of(keys, 0, resamples, seed=7).T, strict=True):
        x, y = np.repeat(scores, count), np.repeat(gold, count)
        assert score == pytest.approx(50 * (stats.pearsonr(x, y)[0] + stats.spearmanr(x, y)[0]))
    assert means[0] == pytest.approx(
        50 * (stats.pearsonr(scores, gold)[0] + stats.spearmanr(scores, gold)[0])
    )
    right = random.random(60) < 0.7
    means = resampled_mean([accuracy_result("mine", right, keys)], [1.0], resamples, seed=7)
    counts = weights_of(keys, 0, resamples, seed=7).astype(int)
    np.testing.assert_allclose(means[1:], 100 * (right @ counts) / counts.sum(0))


def test_one_task_has_the_usual_bootstrap():
    right = np.random.default_rng(1).random(500) < 0.8
    means = resampled_mean([accuracy_result("MR", right, np.arange(500))], [1.0], 4000, seed=1)
    usual = [100 * end for end in bootstrap_mean(right, resamples=4000)]
    assert percentile_interval(means[1:], 0.95) == pytest.approx(usual, abs=0.45)


def independent(results, shares):
    """The interval of an average over independent tasks."""
    values = [result.figures["acc"] for result in results]
    errors = [
        np.sqrt(v * (100 - v) / len(r.predictions["test"].gold)) for v, r in zip(values, results, strict=True)
    ]
    middle, error = np.dot(shares, values), np.sqrt(np.dot(np.square(shares), np.square(errors)))
    return middle - 1.96 * error, middle + 1.96 * error


def test_intervals_cover_where_tasks_share_examples():
    """Of two tasks, as SST2 and SST5 are: nearly all examples of the one are the other's as well.

    What is asked of an example differs, and who is right in one is more often right in the other.
    """
    random = np.random.default_rng(6)
    tasks, shared, runs = 250, 235, 500
    covered = np.zeros(2)
    for _ in range(runs):
        keys = random.integers(0, 2**52, size=2 * tasks - shared)
        ease = random.random(len(keys)) + 0.15 * random.normal(
            size=(2, len(keys))
        )  # hard ones are hard in both
        truth = 100 * stats_of_ease()
        results = [
            accuracy_result("one", ease[0, :tasks] < 0.75, keys[:tasks]),
            accuracy_result("two", ease[1, -tasks:] < 0.5, keys[-tasks:]),
        ]
        (average,) = averages_of({r.task: r for r in results}, resamples=400)
        for i, (low, high) in enumerate((average.interval, independent(results, (0.5, 0.5)))):
            covered[i] += low <= truth <= high
    joint, apart = covered / runs
    assert joint > 0.92  # of 500 runs at 0.95: 0.01 is a standard error
    assert apart < 0.90


def stats_of_ease():
    """The true mean accuracy of the simulation."""
    grid = (np.arange(20_000) + 0.5) / 20_000
    return np.mean([stats.norm.cdf((bound - grid) / 0.15).mean() for bound in (0.75, 0.5)])


def test_disjoint_tasks_are_resampled_independently():
    random = np.random.default_rng(2)
    results = [
        accuracy_result(n, random.random(400) < 0.7, 1000 * i + np.arange(400)) for i, n in enumerate("ab")
    ]
    (average,) = averages_of({r.task: r for r in results}, resamples=4000)
    assert average.interval == pytest.approx(independent(results, (0.5, 0.5)), abs=0.3)
    # The same examples in both, with the same predictions: no narrower than one of them.
    twice = [
        accuracy_result(name, results[0].predictions["test"].predicted == 1, np.arange(400)) for name in "ab"
    ]
    (average,) = averages_of({r.task: r for r in twice}, resamples=4000)
    assert average.interval == pytest.approx(independent(results[:1], (1,)), abs=0.4)
    assert distinct_examples(results) == 800
    assert distinct_examples(twice) == 400


def test_keys_know_sentences_by_letters():
    tokens = Split((["It 's `` fun '' .", "naïve"], ["An END", "..."]), [1.0, 2.0])
    swapped = Split((["an end", "!"], ['it\'s "fun"', "NAÏVE"]), [0.0, 3.0])
    one, other = keys_of(tokens), keys_of(swapped)
    assert one[0] == other[0]
    assert one[1] != other[1]  # a sentence without letters is itself
    assert (one >= 0).all()
    assert (one < 2**53).all()


def test_reports_store_the_keys_of_examples(tmp_path):
    report = made.report("one", 0.7, [made.classes("first"), made.classes("second")])
    report.facts["resamples"] = 4000
    assert (report["first"].predictions["test"].keys == report["second"].predictions["test"].keys).all()
    report.to_json(tmp_path / "report.json")
    (average,) = Report.load(tmp_path / "report.json").averages
    assert average == report.averages[0]
    before = json.loads((tmp_path / "report.json").read_text())
    for result in before["results"].values():
        for predictions in result["judged"].values():
            del predictions["keys"]
    (tmp_path / "before.json").write_text(json.dumps(before))
    (old,) = Report.load(tmp_path / "before.json").averages
    assert old.value == average.value
    width, narrow = average.interval[1] - average.interval[0], old.interval[1] - old.interval[0]
    assert narrow < 0.85 * width  # the examples, which are the same, are taken for different ones
    note = "without the examples that tasks share"
    assert note in Report.load(tmp_path / "before.json").to_markdown()
    assert note not in report.to_markdown()


def test_averages_are_compared():
    tasks = [made.classes("a"), made.classes("b"), made.scores("s"), made.scores("t", seed=5)]
    near, far = made.report("near", 0.1, tasks), made.report("far away", 1.5, tasks)
    comparisons = se.compare(near, far, resamples=400)
    rows = [row for row in comparisons if row.part == "average"]
    assert [row.task for row in rows] == ["mean of a, b", "cosine mean of s, t"]
    assert [row.figure for row in rows] == ["acc", "pearson and spearman"]
    for row, one, other in zip(rows, near.averages, far.averages, strict=True):
        assert (row.a, row.b) == (one.value, other.value)
        assert row.interval.low < row.difference < row.interval.high
    assert rows[0].n == len(set(near["a"].predictions["test"].keys.tolist()))
    assert rows[0].p_two_tailed < 0.05
    assert "| mean of a, b | acc |" in comparisons.to_markdown()
    same = [row for row in se.compare(near, near, resamples=50) if row.part == "average"]
    assert [(row.difference, row.p_two_tailed) for row in same] == [(0, 1), (0, 1)]


def test_averages_of_equal_encoders_seldom_differ():
    """Two tasks of the same examples: one tenth of p-values are below 0.1."""
    random = np.random.default_rng(9)
    small = 0
    for _ in range(300):
        keys = random.integers(0, 2**52, size=120)
        reports = []
        for name in ("x", "y"):
            right = random.random(120) < 0.7
            also = np.where(random.random(120) < 0.9, right, random.random(120) < 0.7)
            results = {task: accuracy_result(task, row, keys) for task, row in (("a", right), ("b", also))}
            reports.append(Report(name, results))
        *_, row = se.compare(*reports, resamples=200)
        assert row.part == "average"
        small += row.p_two_tailed < 0.1
    assert 0.05 < small / 300 < 0.16


def test_holms_method():
    tests = ["McNemar", "McNemar, exact binomial", "McNemar by groups", "Williams"]
    row = se.compare(*[made.report(name, noise, [made.classes()]) for name, noise in (("x", 0.1), ("y", 1))])[
        0
    ]
    rows = [
        row._replace(test=test, p_two_tailed=p)
        for test, p in zip(tests, (0.04, 0.01, 0.03, 0.04), strict=True)
    ]
    assert [row.p_holm for row in by_holm(rows)] == pytest.approx([0.06, 0.03, 0.06, 0.04])


def test_a_single_subset_is_compared_once():
    pairs = made.scores("own", ("one", "two"))["one"]
    task = Task("own", {"mine": pairs}, Kind("similarity", pairs=True, subsets=True))
    a, b = made.report("near", 0.1, [task]), made.report("far away", 1.5, [task])
    comparisons = se.compare(a, b, resamples=50)
    tests = [(row.part, row.figure, row.test) for row in comparisons]
    assert tests == [
        ("mine", figure, test)
        for figure in ("pearson", "spearman")
        for test in ("Williams", "paired bootstrap")
    ]
    assert [row[1] for row in a.rows(several=True)] == ["mine.pearson", "mine.spearman"]


DATA = os.environ.get("SENTENCODE_DATA")


@pytest.mark.skipif(DATA is None, reason="SENTENCODE_DATA is not set")
def test_shared_examples_of_the_real_tasks():
    keys = {}
    for name in ("SST2", "SST5", "MR", "STSBenchmarkCosine", "STS12", "STS13", "STS14", "STS15"):
        task = load_task(name, Path(DATA, "senteval"))
        tested = [task["test"]] if "test" in task.splits else list(task.splits.values())
        keys[name] = np.concatenate([keys_of(split) for split in tested])
    assert np.isin(keys["SST2"], keys["SST5"]).sum() == 1747
    assert np.isin(keys["SST2"], keys["MR"]).sum() == 1482
    years = np.concatenate([keys[f"STS{year}"] for year in (12, 13, 14, 15)])
    assert np.isin(keys["STSBenchmarkCosine"], years).mean() > 0.5
