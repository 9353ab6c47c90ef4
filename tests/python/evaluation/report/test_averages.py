"""Averages over tasks: those of papers, and plain means."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")
stats = pytest.importorskip("scipy.stats")
text = pytest.importorskip("sklearn.feature_extraction.text")
sys.path.insert(0, str(Path(__file__).parents[1]))
from toys import rows_of, run, similarity

from sentencode.evaluation import (
    Report,
    TaskResult,
)
from sentencode.evaluation.metrics.results import SplitPredictions
from sentencode.evaluation.report.averages import averages_of


def with_accuracy(**accuracies):
    return {name: TaskResult(name, {"acc": value}) for name, value in accuracies.items()}


def with_correlation(name, r, rho):
    if name.startswith("STS1"):
        figures = {"all": {"pearson": {"mean": 0.0, "wmean": r}, "spearman": {"mean": 0.0, "wmean": rho}}}
        return TaskResult(name, {sub: {"pearson": (0.1, 0.5)} for sub in ("one", "two")} | figures)
    return TaskResult(name, {"pearson": r, "spearman": rho})


EIGHT = {"MR": 70, "CR": 80, "SUBJ": 90, "MPQA": 85, "SST2": 75, "TREC": 60, "MRPC": 72, "SICKEntailment": 78}
SIZES = {
    "MR": 10662,
    "CR": 3775,
    "SUBJ": 10000,
    "MPQA": 10606,
    "SST2": 1821,
    "TREC": 500,
    "MRPC": 1725,
    "SICKEntailment": 4927,
}


def test_averages_of_the_papers():
    averages = {average.name: average for average in averages_of(with_accuracy(**EIGHT, SST5=40, SNLI=65))}
    six = [name for name in EIGHT if name not in ("SST2", "SICKEntailment")]
    seven = [name for name in EIGHT if name != "MRPC"]
    for tasks in (six, seven, list(EIGHT)):
        macro = sum(EIGHT[name] for name in tasks) / len(tasks)
        micro = sum(SIZES[name] * EIGHT[name] for name in tasks) / sum(SIZES[name] for name in tasks)
        assert averages[f"macro of {len(tasks)}"].value == pytest.approx(macro)
        assert averages[f"micro of {len(tasks)}"].value == pytest.approx(micro)
        assert sorted(averages[f"macro of {len(tasks)}"].tasks) == sorted(tasks)
    assert averages["macro of 6"].value == pytest.approx((70 + 80 + 90 + 85 + 60 + 72) / 6)
    assert averages["AvgAcc"].value == pytest.approx((70 + 80 + 90 + 85 + 75 + 40 + 60 + 72 + 78 + 65) / 10)
    assert set(averages) == {f"{kind} of {n}" for kind in ("macro", "micro") for n in (6, 7, 8)} | {"AvgAcc"}


def test_average_of_similarity():
    names = ["SICKRelatedness", "STSBenchmark", "STS12", "STS13", "STS14", "STS15", "STS16"]
    results = {name: with_correlation(name, 0.1 * i, 0.1 * i + 0.02) for i, name in enumerate(names)}
    averages = {average.name: average for average in averages_of(results)}
    assert list(averages) == [
        "AvgSim",
        "learnt mean of SICKRelatedness, STSBenchmark",
        "cosine mean of STS12, STS13, STS14, STS15, STS16",
    ]
    assert averages["AvgSim"].value == pytest.approx(100 * (0.3 + 0.01))
    assert averages["AvgSim"].label == "AvgSim, learnt and cosine"
    assert [average.value for average in averages.values()][1:] == pytest.approx([6, 41])


def test_no_mean_is_over_learnt_scores_and_cosines():
    names = ["STSBenchmark", "SICKRelatedness", "STS12", "STS14"]
    results = {name: with_correlation(name, 0.5, 0.5) for name in names}
    results["mine"] = TaskResult("mine", {"test": {"pearson": (0.3, 0.0), "spearman": (0.3, 0.0)}})
    averages = averages_of(results)
    assert [average.tasks for average in averages] == [
        ("STSBenchmark", "SICKRelatedness"),
        ("STS12", "STS14", "mine"),
    ]
    assert [average.scored for average in averages] == ["learnt", "cosine"]


def test_own_tasks_may_have_sentevals_names():
    """Tasks with a name of SentEval and other scores."""
    tasks = [similarity(name, ("test",), seed=i) for i, name in enumerate(("STS12", "STSBenchmark"))]
    report = run(rows_of, tasks)
    (average,) = report.averages
    halves = [report[name].figure(f"test.{key}") for name in report for key in ("pearson", "spearman")]
    assert average.value == pytest.approx(100 * np.mean(halves))
    assert average.interval.low < average.value < average.interval.high
    assert "cosine mean of STS12, STSBenchmark | pearson and spearman |" in report.to_markdown()


@pytest.mark.parametrize("missing", ["MR", "SICKEntailment", "MRPC"])
def test_no_average_bears_the_papers_name_with_a_task_missing(missing):
    results = with_accuracy(**{name: value for name, value in EIGHT.items() if name != missing})
    names = [average.name for average in averages_of(results)]
    complete = {"MR": [], "SICKEntailment": ["6"], "MRPC": ["7"]}[missing]
    assert [name for name in names if name.startswith("m") and "of " in name and name[-1].isdigit()] == [
        f"{kind} of {n}" for n in complete for kind in ("macro", "micro")
    ]
    if missing != "MRPC":  # the seven tasks are those of the paper
        assert names[-1] == "mean of " + ", ".join(results)
    assert "AvgAcc" not in names


def test_a_task_with_an_error_counts_as_missing():
    results = with_accuracy(**EIGHT) | {"MR": TaskResult("MR", error="constant")}
    assert [a.name for a in averages_of(results)] == ["mean of " + ", ".join(n for n in EIGHT if n != "MR")]


def test_averages_are_in_the_table():
    report = Report("mine", with_accuracy(MR=70.0, CR=80.0))
    assert "| mean of MR, CR | acc | 75.00 |  |" in report.to_markdown()
    assert r"mean of MR, CR & acc & 75.00 &  \\" in report.to_latex()


def test_averages_have_intervals():
    """Against a bootstrap with independent resamples of the tasks."""
    random = np.random.default_rng(8)
    right = {name: random.random(400) < EIGHT[name] / 100 for name in EIGHT}
    results = {}
    for i, (name, row) in enumerate(right.items()):
        predictions = SplitPredictions(
            "test", np.arange(400), row.astype(int), np.ones(400, int), keys=400 * i + np.arange(400)
        )
        results[name] = TaskResult(name, {"acc": 100 * float(row.mean())}, predictions={"test": predictions})
    samples = {name: 100 * random.choice(row, (5000, 400)).mean(1) for name, row in right.items()}
    for average in averages_of(results, resamples=5000):
        weights = [SIZES[name] if average.name.startswith("micro") else 1 for name in average.tasks]
        means = np.average([samples[name] for name in average.tasks], axis=0, weights=weights)
        assert average.interval == pytest.approx(np.quantile(means, (0.025, 0.975)), abs=0.15)
        assert average.interval.low < average.value < average.interval.high
    shown = f"{average.interval.low:.2f} to {average.interval.high:.2f}"
    report = Report("mine", results, facts={"resamples": 5000})
    assert f"{average.value:.2f} | {shown} |" in report.to_markdown()
    results["MR"].predictions.clear()
    assert {a.interval for a in averages_of(results) if "MR" in a.tasks} == {None}


def test_the_average_of_similarities_has_an_interval():
    report = run(rows_of, [similarity(name, seed=i) for i, name in enumerate(("STS12", "STS13"))])
    (average,) = report.averages
    halves = []
    for name in average.tasks:
        low, high = report[name].intervals["all.pearson.wmean"]
        halves.append(100 * (high - low) / 2)
    assert average.interval.low < average.value < average.interval.high
    width = average.interval.high - average.interval.low
    assert width / 2 == pytest.approx(np.hypot(*halves) / 2, rel=0.35)  # Spearman's are a little wider


def test_no_average_of_partial_files_bears_the_papers_name():
    results = with_accuracy(**EIGHT)
    results["MR"].details["partial"] = True
    (average,) = averages_of(results)
    assert average.name == f"mean of {', '.join(EIGHT)}"
