"""Learning curves: training examples, agreement with `evaluate`, charts."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")
sys.path.insert(0, str(Path(__file__).parent))
import reports as made

import sentencode as se
from sentencode.evaluation import (
    Curve,
    Kind,
    Protocol,
    Report,
    Split,
    Task,
    TaskResult,
    learning_curve,
    plots,
)
from sentencode.evaluation.learning_curve import _shuffles
from sentencode.evaluation.metrics.classifiers import Optimum
from sentencode.evaluation.report.charts import charts

OPTIONS = {"protocol": "fast", "resamples": 200, "cache": False}


def nested(n=200):
    rng = np.random.default_rng(6)
    words = rng.choice(made.WORDS, size=n).tolist()
    labels = np.array([int(word[1:]) % 3 == 0 for word in words], dtype=np.int64)
    split = Split(([f"{word} x" for word in words],), labels)
    return Task("nested", {"all": split}, Kind("classification", "nested", features=("u",)), ("no", "yes"))


def seen_by(task, **options):
    """The training examples of the last fit of each evaluation."""
    seen = []

    class Spy(Optimum):
        def predict(self, examples, fits, on_progress):
            seen.append((examples, fits))
            return super().predict(examples, fits, on_progress)

    learning_curve(made.Noisy(0.6), task, **{**OPTIONS, "protocol": Protocol("spy", Spy(), 5), **options})
    return [(examples, fits[-1].train) for examples, fits in seen[1::2]]


def test_the_end_is_evaluates_figure():
    task = made.classes(n=160)
    whole = se.evaluate(made.Noisy(0.6), task, **OPTIONS)["kind"]
    curve = learning_curve(made.Noisy(0.6), task, sizes=[40, 0.5, 1.0], **OPTIONS)
    assert curve.x == (40, 80, 160)
    assert curve.y[-1] == whole["acc"]
    assert (curve.low[-1], curve.high[-1]) == pytest.approx(whole.intervals["acc"], abs=2)
    assert all(a < b < c for a, b, c in zip(curve.low, curve.y, curve.high, strict=True))
    assert curve == learning_curve(made.Noisy(0.6), task, sizes=[160, 80, 40, 40], **OPTIONS)
    assert curve != learning_curve(made.Noisy(0.6), task, sizes=[40, 80, 160], seed=5, **OPTIONS)


def test_progress(capsys):
    learning_curve(made.Noisy(0.6), made.classes(n=160), sizes=[40, 1.0], show_progress_bar=True, **OPTIONS)
    shown = capsys.readouterr().err
    assert "learning curve of kind" in shown
    assert "6/6" in shown  # five orders of 40, and all of them once
    assert "40 examples" in shown


def test_subsets_are_nested_and_stratified():
    task = made.classes(n=160)
    for train, test in _shuffles(task, 5, 3, 1):
        assert test is None
        assert sorted(train) == list(range(160))
        labels = task["train"].labels
        for size in (10, 33, 80):
            assert np.mean(labels[train[:size]]) == pytest.approx(np.mean(labels), abs=1.5 / size)
    (first, _), (second, _) = _shuffles(task, 5, 2, 1)
    assert set(first[:40]) != set(second[:40])
    subsets = seen_by(task, sizes=[20, 60], repeats=2)
    assert [len(train) for _, train in subsets] == [20, 20, 60, 60]
    assert [len(examples.labels) for examples, _ in subsets] == [180, 180, 220, 220]  # with those of test


def test_classes_that_are_floats_are_stratified():
    task = made.classes(n=160)
    floats = replace(task["train"], labels=task["train"].labels.astype(np.float64))
    with_floats = replace(task, splits={**task.splits, "train": floats})
    for (train, _), (expected, _) in zip(
        _shuffles(with_floats, 5, 3, 1), _shuffles(task, 5, 3, 1), strict=True
    ):
        np.testing.assert_array_equal(train, expected)


def test_tasks_without_a_test_split():
    task = nested()
    shuffles = _shuffles(task, 5, 5, 1)
    assert sorted(np.concatenate([test for _, test in shuffles])) == list(range(200))
    for train, test in shuffles:
        assert not set(train) & set(test)
        assert len(train) + len(test) == 200
    curve = learning_curve(made.Noisy(0.3), task, sizes=[20, 160], **OPTIONS)
    assert curve.x == (20, 160)
    assert all(0 < low < y < high <= 100 for low, y, high in zip(curve.low, curve.y, curve.high, strict=True))
    with pytest.raises(ValueError, match="nested has 5 folds to test on, got repeats=6"):
        learning_curve(made.Noisy(0.3), task, repeats=6, **OPTIONS)


def test_without_a_test_split_the_end_is_evaluates_figure_too():
    """The same folds and penalties; embeddings are so short that penalties matter."""

    def short(sentences):
        return 0.05 * made.Noisy(0.6).encode(sentences)

    task = nested(400)
    whole = se.evaluate(short, task, **OPTIONS)["nested"]
    curve = learning_curve(short, task, sizes=[1.0], **OPTIONS)
    assert curve.x == (320,)
    assert curve.y[0] == pytest.approx(whole["acc"], abs=0.011)
    low, high = whole.intervals["acc"]
    assert curve.low[0] < curve.y[0] < curve.high[0]
    assert curve.high[0] - curve.low[0] > 0.8 * (high - low)
    assert curve.low[0] == pytest.approx(low, abs=4)


def test_seeds():
    options = {**OPTIONS, "protocol": "senteval-torch"}
    quick = {"max_epoch": 4, "epoch_size": 2, "folds": 3, "nhid": 3}
    task = made.classes()
    curve = learning_curve(made.Noisy(0.8), task, sizes=[1.0], options={**quick, "seeds": 2}, **options)
    whole = se.evaluate(made.Noisy(0.8), task, options={**quick, "seeds": 2}, **options)["kind"]
    assert curve.y == (whole["acc"],)
    assert (curve.low[0], curve.high[0]) == pytest.approx(whole.intervals["acc"])


def test_relatedness():
    rng = np.random.default_rng(2)
    splits = {}
    for name in ("train", "dev", "test"):
        a, b = rng.integers(0, 60, size=(2, 80))
        splits[name] = Split(([made.WORDS[i] for i in a], [made.WORDS[i] for i in b]), 5 - np.abs(a - b) / 15)
    task = Task("related", splits, Kind("relatedness", "dev", pairs=True, features=("|u-v|", "u*v")))
    curve = learning_curve(made.Noisy(0.2), task, sizes=[10, 80], **OPTIONS)
    whole = se.evaluate(made.Noisy(0.2), task, **OPTIONS)["related"]
    assert curve.y[-1] == pytest.approx(100 * whole["pearson"])
    assert curve.y_label == "Pearson's correlation of learnt scores x 100"
    assert curve.y[0] < curve.y[1]


@pytest.mark.parametrize(
    ("task", "options", "message"),
    [
        (made.scores(), {}, "similar trains nothing"),
        (made.classes(), {"sizes": [0]}, "sizes must be at least 1, got 0"),
        (made.classes(), {"sizes": [61]}, "sizes must be from 1 to the 60 training examples"),
        (made.classes(), {"sizes": [1.5]}, "sizes must be from 1 to the 60 .*, got 1.5"),
        (made.classes(), {"sizes": [4]}, "kind: 5 folds need a class of as many examples"),
        (made.classes(), {"sizes": []}, "sizes is empty"),
        (made.classes(), {"repeats": 0}, "repeats must be at least 1"),
        ("TREC", {}, "data is missing: the folder that the files of TREC are in"),
    ],
)
def test_refuses(task, options, message):
    with pytest.raises(ValueError, match=message):
        learning_curve(made.Noisy(0.3), task, **{**OPTIONS, **options})


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"x": (), "y": ()}, "at least one point"),
        ({"x": (1, 2), "y": (1,)}, "x and y must be equally long, got 2 and 1"),
        ({"x": (1, 2), "y": (1, 2), "low": (0, 1)}, "x and high must be equally long, got 2 and 0"),
        ({"x": (2, 1), "y": (1, 2)}, "x must rise"),
        ({"x": (1, 2), "y": (1, float("nan"))}, "y must be finite"),
        ({"x": (0, 1), "y": (1, 2), "logarithmic": True}, "x must be positive"),
    ],
)
def test_wrong_arguments(values, message):
    with pytest.raises(ValueError, match=message):
        Curve(**values)


@pytest.fixture
def two():
    """Learning curves of two encoders, and a training curve of one, with a name to escape."""
    reports = [Report(name, {"MR": TaskResult("MR", {"acc": 70.0})}) for name in ("good", "bad <b>$x$</b>")]
    for i, report in enumerate(reports):
        y = np.array([60.0, 66, 71]) - 7 * i
        report.curves["TREC"] = Curve((100, 200, 400), y, y - 2, y + 2, logarithmic=True)
    steps = np.arange(0, 5000, 500)
    loss = 90 - 30 * np.exp(-steps / 1500)
    reports[0].curves["dev"] = Curve(steps, loss, x_label="step", y_label="loss")
    return reports


def test_curves_are_in_reports(two, tmp_path):
    two[0].to_json(tmp_path / "report.json")
    assert Report.load(tmp_path / "report.json").curves == two[0].curves
    old = json.loads(two[0].to_json())
    del old["curves"]  # from before there were any
    (tmp_path / "old.json").write_text(json.dumps(old))
    assert Report.load(tmp_path / "old.json").curves == {}
    first, second = charts(two)
    assert (first.name, list(first.curves)) == ("TREC", ["good", "bad <b>$x$</b>"])
    assert (second.x_label, second.logarithmic) == ("step", False)
    two[1].curves["TREC"] = Curve((1, 2), (3, 4), x_label="step")  # another axis: another chart
    assert len(charts(two)) == 3


def test_html(two, tmp_path):
    two[0].to_html(tmp_path / "report.html", two[1:])
    text = (tmp_path / "report.html").read_text()
    assert 'id="curves"' in text
    curve = "accuracy, percent of TREC by training examples: 60.00 at 100, 66.00 at 200, 71.00 at 400"
    assert f"good, {curve}; bad &lt;b&gt;" in text
    assert "<b>$x$" not in text
    Report("none", dict(two[0].results)).to_html(tmp_path / "none.html")
    assert 'id="curves"' not in (tmp_path / "none.html").read_text()


@pytest.mark.parametrize("y", [(5.0,), (0.0,), (1e9,)])
def test_curves_of_one_point(y, tmp_path):
    report = Report("one", {"MR": TaskResult("MR", {"acc": 70.0})}, curves={"a": Curve((3,), y)})
    report.to_html(tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text()
    assert "nan" not in text[text.index('id="curves"') :].partition("</section>")[0]


def test_plots(two):
    pytest.importorskip("matplotlib")
    figure = plots.curves(two)
    first, second = figure.axes
    curves = [line.get_ydata().tolist() for line in first.lines]
    assert curves == [list(report.curves["TREC"].y) for report in two]
    assert first.get_xscale() == "log"
    assert [label.get_text() for label in first.get_xticklabels()] == ["100", "200", "400"]
    assert (second.get_xlabel(), second.get_ylabel(), len(first.collections)) == ("step", "loss", 2)
    with pytest.raises(ValueError, match="no report has a curve"):
        plots.curves(Report("none"))


def test_resumed_reports_keep_curves(tmp_path):
    out = tmp_path / "report.json"
    report = made.report("mine", 0.3, out=out, key="a")
    report.curves["a"] = Curve((1, 2), (3, 4))
    report.to_json(out)
    again = made.report("mine", 0.3, [made.classes("more")], out=out, key="a")
    assert again.curves == report.curves
    assert Report.load(out).curves == report.curves


@pytest.mark.skipif("SENTENCODE_DATA" not in os.environ, reason="SENTENCODE_DATA is not set")
def test_real_trec(tmp_path):
    data = Path(os.environ["SENTENCODE_DATA"]) / "senteval"
    encoder = se.Average(se.WordVectors.default())
    options = {"protocol": "fast", "resamples": 500, "cache": tmp_path}
    curve = learning_curve(encoder, "TREC", data, sizes=[200, 1000, 1.0], repeats=3, **options)
    assert curve.x == (200, 1000, 5452)
    assert curve.high[0] < curve.low[2]
    assert curve.y[-1] == se.evaluate(encoder, "TREC", data, **options)["TREC"]["acc"]
