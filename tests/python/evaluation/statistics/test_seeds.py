"""Several seeds: means, deviations, scores by seed, and intervals over seeds."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")
sys.path.insert(0, str(Path(__file__).parents[1]))
import reports as made

import sentencode as se
from sentencode.evaluation import Kind, Report, Split, Task, TaskResult, bootstrap_mean
from sentencode.evaluation.metrics.results import SplitPredictions
from sentencode.evaluation.statistics.seeds import over_runs

QUICK = {"max_epoch": 4, "epoch_size": 2, "folds": 3, "nhid": 3}


def run(tasks, **options):
    return se.evaluate(
        made.Noisy(0.8), tasks, name="noisy", protocol="senteval-torch", resamples=200, cache=False, **options
    )


def related():
    rng = np.random.default_rng(2)
    splits = {}
    for name in ("train", "dev", "test"):
        a, b = rng.integers(0, 60, size=(2, 30))
        sides = [made.WORDS[i] for i in a], [made.WORDS[i] for i in b]
        splits[name] = Split(sides, 5 - np.abs(a - b) / 15)
    return Task("related", splits, Kind("relatedness", "dev", pairs=True, features=("|u-v|", "u*v")))


def test_figures_are_means_of_seeds(tmp_path):
    tasks = [made.classes(f1=True), made.scores()]
    report = run(tasks, options={**QUICK, "seeds": 3})
    alone = [run(tasks, options={**QUICK, "seed": 1111 + i}) for i in range(3)]
    result = report["kind"]
    assert list(result) == list(alone[0]["kind"])  # SentEval's keys
    for key in ("devacc", "acc", "f1"):
        values = [one["kind"][key] for one in alone]
        assert result.details["by_run"][key] == values
        assert result[key] == pytest.approx(np.mean(values), abs=0.0051)
        assert result.deviation(key) == pytest.approx(np.std(values, ddof=1))
    assert result.deviation("acc") > 0
    assert (result["ndev"], result["ntest"], result.details["seeds"]) == (60, 60, 3)
    predictions, first = result.predictions["test"], alone[0]["kind"].predictions["test"]
    assert np.array_equal(predictions.predicted, first.predicted)
    each = [one["kind"].predictions["test"].predicted for one in alone]
    np.testing.assert_array_equal(predictions.per_seed, each)
    compared = se.compare(report, alone[1])[0]  # all seeds' figure, not the first one's
    assert (compared.a, compared.b) == pytest.approx((result["acc"], alone[1]["kind"]["acc"]), abs=0.011)
    assert report["similar"].figures == alone[0]["similar"].figures  # nothing random in it
    assert report["similar"].deviation("all.pearson.wmean") is None
    assert "seeds=3" in report.facts["protocol"]
    text = report.to_markdown()
    assert f"| {result['acc']:.2f} ± {result.deviation('acc'):.2f} |" in text
    assert "cover other seeds and other test examples" in text
    assert rf"$\pm$ {result.deviation('acc'):.2f}" in report.to_latex()
    report.to_html(tmp_path / "report.html")
    assert f"± {result.deviation('acc'):.2f}<" in (tmp_path / "report.html").read_text()
    report.to_json(tmp_path / "report.json")
    again = Report.load(tmp_path / "report.json")
    assert again.to_markdown() == text
    assert again["kind"].details["by_run"] == result.details["by_run"]


def test_relatedness(monkeypatch):
    result = run(related(), options={"seeds": 2})["related"]
    alone = [run(related(), options={"seed": 1111 + i})["related"] for i in range(2)]
    for key in ("pearson", "spearman", "mse", "devpearson"):
        assert result[key] == pytest.approx(np.mean([one[key] for one in alone]), rel=1e-6)
    assert np.array_equal(result["yhat"], alone[0]["yhat"])
    assert result.intervals["pearson"].low < result["pearson"] < result.intervals["pearson"].high


def made_runs(rights, positions=None):
    results = []
    for i, right in enumerate(rights):
        at = np.arange(len(right)) if positions is None else positions[i]
        predictions = {
            "test": SplitPredictions("test", at, np.asarray(right, np.int64), np.ones(len(right), np.int64))
        }
        results.append(TaskResult("t", {"acc": 100 * float(np.mean(right))}, {}, predictions))
    return results


def test_intervals_cover_examples_and_seeds():
    """Against theory: the variances of examples and of runs add."""
    rng = np.random.default_rng(0)
    right = rng.random(400) < 0.7
    same = over_runs(made_runs([right] * 5)).intervals["acc"]
    alone = [100 * end for end in bootstrap_mean(right)]
    assert same == pytest.approx(alone, abs=0.5)  # seeds that agree add nothing, and take nothing away
    apart = [rng.random(400) < share for share in (0.5, 0.6, 0.7, 0.8, 0.9)]
    low, high = over_runs(made_runs(apart), resamples=20000).intervals["acc"]
    accuracies = [100 * one.mean() for one in apart]
    seed_variance = np.var(accuracies) / 5
    example_variance = 1e4 * np.var(np.mean(apart, axis=0)) / 400
    within = 1e4 * np.mean([one.var() for one in apart]) / 400 / 5  # repeated seeds add a little
    sd = np.sqrt(seed_variance + example_variance)
    assert (high - low) / 2 == pytest.approx(1.96 * sd, rel=0.08)
    assert (high - low) / 2 < 1.96 * np.sqrt(seed_variance + example_variance + 2 * within)
    # Runs with different test examples are resampled separately.
    others = over_runs(made_runs([right] * 4, [np.arange(400) + 400 * i for i in range(4)])).intervals["acc"]
    assert others.high - others.low < 0.8 * (same.high - same.low)


def test_seeds_need_something_random():
    with pytest.raises(ValueError, match="seeds: nothing is random in the classifier of optimum, seeds=3"):
        se.evaluate(made.Noisy(0.8), made.classes(), options={"seeds": 3})
    never = pytest.fail  # the error is raised before anything is encoded
    with pytest.raises(ValueError, match="nothing is random in the classifier of fast, seeds=2"):
        se.evaluate(never, [made.scores(), related()], protocol="fast", options={"seeds": 2}, cache=False)
    with pytest.raises(ValueError, match="seeds must be at least 1, got 0"):
        run(made.classes(), options={"seeds": 0})
    with pytest.raises(TypeError, match=r"seeds must be a whole number, got \[1, 2\]"):
        run(made.classes(), options={"seeds": [1, 2]})
