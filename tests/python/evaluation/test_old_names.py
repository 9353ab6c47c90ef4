"""Old names of modules of evaluation, and old pickles and reports."""

from __future__ import annotations

import importlib
import pickle
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))
import reports as made

import sentencode as se
from sentencode import evaluation
from sentencode.evaluation import Comparisons, Report, TaskResult
from sentencode.evaluation.metrics import SplitPredictions

SAVED = Path(__file__).parent / "saved_before_rooms"


@pytest.mark.parametrize(
    ("module", "names"),
    [
        ("averages", ["averages_of", "macro_and_micro"]),
        ("baselines", ["MajorityClass", "RandomSentences"]),
        ("classifiers", ["Adam", "Optimum", "ScikitLearn"]),
        ("html", ["write_html"]),
        ("metrics", ["Interval", "bootstrap_mean", "pearson"]),
        ("paraphrase", ["cluster_classification"]),
        ("plots", ["bars", "curves", "heat_map", "scatter"]),
        ("protocols", ["PROTOCOLS", "Protocol", "protocol_named"]),
        ("published", ["Paper", "PublishedFigure", "published", "published_for"]),
        ("relatedness", ["relate"]),
        ("report", ["Curve", "Judged", "SplitPredictions", "Report", "TaskResult", "Wrong"]),
        ("retrieval", ["Ranking"]),
        ("significance", ["Comparison", "mcnemar_test"]),
        ("solver", ["LogisticSolutions", "fit_logistic"]),
    ],
)
def test_old_modules_can_be_imported(module, names):
    loaded = importlib.import_module(f"sentencode.evaluation.{module}")
    for name in names:
        assert hasattr(loaded, name)
        if hasattr(evaluation, name) and name != "published":
            assert getattr(loaded, name) is getattr(evaluation, name)


def test_judging_is_now_metrics():
    code = """
import warnings
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    from sentencode.evaluation.judging import Optimum
    from sentencode.evaluation.judging.metrics import pearson
    import sentencode.evaluation.judging.solver as solver
from sentencode.evaluation import metrics
print(Optimum is metrics.Optimum, pearson is metrics.pearson, solver is metrics.solver)
print([str(one.message) for one in caught if one.category is DeprecationWarning])
"""
    shown = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    message = "sentencode.evaluation.judging is now sentencode.evaluation.metrics"
    assert shown.stdout.splitlines() == ["True True True", str([message])]


def test_old_names_of_predictions():
    predictions = SplitPredictions("test", np.arange(2), np.array([0, 1]), np.array([1, 1]))
    result = TaskResult("MR", {"acc": 50.0}, predictions={"test": predictions})
    with pytest.warns(DeprecationWarning, match="TaskResult.judged is now predictions"):
        assert result.judged["test"] is predictions
    with pytest.warns(DeprecationWarning, match="SplitPredictions.places is now indices"):
        assert predictions.places is predictions.indices
    with pytest.warns(DeprecationWarning, match="SplitPredictions.said is now per_seed"):
        assert predictions.said.shape == (1, 2)


def test_pickles_are_read():
    """Of a report, a comparison, a protocol, a task, a published figure, a baseline and a test."""
    with open(SAVED / "things.pickle", "rb") as file:
        things = pickle.load(file)
    report, compared = things["report"], things["compared"]
    assert type(report) is Report
    assert "kind" in report.to_markdown()
    assert report["kind"].wrong() is not None
    assert len(report["kind"].predictions["test"].indices)
    assert type(compared) is Comparisons
    now = se.compare(report, _other(report, compared), resamples=50)
    assert "cannot be below 0.176" in now.notes.pop("paired bootstrap")  # which the pickle lacks
    assert compared.to_markdown() == now.to_markdown()
    assert things["protocol"] == evaluation.PROTOCOLS["senteval-torch"]
    assert things["published"] == evaluation.published("003")[0]
    assert things["baseline"] == evaluation.baseline("bow")
    assert things["t"] == evaluation.paired_t_test([1, 0, 1], [0, 0, 1])
    assert len(things["task"]["one"]) == 2


def _other(report, compared):
    results = {task: compared._results[task][1] for task in report}
    return Report(compared.b, results, facts=report.facts)


def test_a_report_is_resumed(tmp_path):
    """Its digest of the protocol is valid, although classes have moved."""
    before = Report.load(SAVED / "report.json")
    out = shutil.copy(SAVED / "report.json", tmp_path)
    tasks = [made.classes(n=12), made.scores(n=6)]
    report = made.report("mine", 0.3, tasks, key="mine", out=out, cache=False)
    assert list(report) == list(before)
    for task in before:
        assert report[task].to_dict() == before[task].to_dict()  # seconds too
