"""`rank`: the same tests as `compare`, ties, and refused reports."""

from __future__ import annotations

import json
import math
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))
import reports as made

import sentencode as se
from sentencode.evaluation import Kind, Report


@pytest.fixture(scope="module")
def three():
    return [made.report("poor", 3.0), made.report("good", 0.05), made.report("nearly good", 0.06)]


@pytest.fixture(scope="module")
def ranking(three):
    return se.rank(three, resamples=300)


def test_scores_and_order(ranking, three):
    assert list(ranking)[:2] == ["kind", "similar"]
    assert ranking.figures["kind"] == "acc"
    for task in ("kind", "similar"):
        rows = ranking[task]
        assert [row.score for row in rows] == sorted((row.score for row in rows), reverse=True)
        assert rows[-1].encoder == "poor"
        scores = {report.encoder: report[task] for report in three}
        for row in rows:
            figure = scores[row.encoder].figures
            expected = figure["acc"] if task == "kind" else 100 * figure["all"]["pearson"]["wmean"]
            assert row.score == pytest.approx(expected, abs=0.01)


def test_differences_are_those_of_compare(ranking, three):
    by_name = {report.encoder: report for report in three}
    for task, part in (("kind", "test"), ("similar", "weighted mean")):
        first, *others = ranking[task]
        assert first.interval is None
        assert math.isnan(first.p_holm)
        p_values = {}
        for row in others:
            rows = se.compare(by_name[first.encoder], by_name[row.encoder], resamples=300).of(task)
            expected = next(one for one in rows if one.test.startswith("paired boot") and one.part == part)
            assert (row.behind, row.interval) == (expected.difference, expected.interval)
            p_values[row.encoder] = expected.p_two_tailed
        smaller, larger = sorted(p_values, key=p_values.get)
        corrected = {row.encoder: row.p_holm for row in others}
        assert corrected[smaller] == min(1, 2 * p_values[smaller])
        assert corrected[larger] == max(corrected[smaller], p_values[larger])


def test_ties(ranking):
    assert "poor" not in ranking.tied("similar")
    assert set(ranking.tied("similar")) == {"good", "nearly good"}
    assert ranking.tied("similar")[0] == ranking["similar"][0].encoder


def test_averages(three):
    tasks = [made.classes(), made.classes("other", 80)]
    reports = [made.report(name, noise, tasks) for name, noise in (("good", 0.05), ("poor", 3.0))]
    ranking = se.rank(reports, resamples=300)
    (average,) = [task for task in ranking if task.startswith("mean of")]
    rows = ranking[average]
    (expected,) = [row for row in se.compare(*reports, resamples=300) if row.part == "average"]
    assert [row.encoder for row in rows] == ["good", "poor"]
    assert (rows[1].behind, rows[1].interval) == (expected.difference, expected.interval)


def test_table(ranking):
    table = ranking.to_markdown().splitlines()
    assert table[0].startswith("| encoder | kind | similar, cosine |")
    poor = next(line for line in table if line.startswith("| poor |"))
    assert "**" not in poor.split("|")[3]
    assert "(-" in poor
    assert any(f"**{ranking['similar'][0].score:.2f}** |" in line for line in table)
    assert "3 encoders" in repr(ranking)
    assert "protocols" not in "".join(table)
    json.dumps(ranking.to_dict(), allow_nan=False)


def test_other_protocols_are_named(three):
    other = replace(three[0], facts={**three[0].facts, "protocol": "senteval-torch"})
    table = se.rank([other, *three[1:]], resamples=50).to_markdown()
    assert "The protocols differ (senteval-torch; fast)" in table
    assert "the scores are not comparable" in table
    unknown = replace(three[0], facts={**three[0].facts, "protocol": None})
    assert se.rank([unknown, *three[1:]], resamples=50).to_dict()["protocols"] == ["fast"]


def test_reports_from_files(three, ranking, tmp_path):
    paths = [tmp_path / f"{i}.json" for i in range(3)]
    for path, report in zip(paths, three, strict=True):
        report.to_json(path)
    again = se.rank([Report.load(path) for path in paths], resamples=300)
    assert again.to_markdown() == ranking.to_markdown()


def test_tasks_that_not_all_have(three):
    extra = made.report("extra", 0.1, [made.classes()])
    ranking = se.rank([*three, extra], resamples=100)
    assert list(ranking) == ["kind"]
    assert ranking.skipped == {"similar": "not all reports have it"}


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (lambda three: three[:1], ValueError, "two reports or more, got 1"),
        (
            lambda three: [three[0], replace(three[1], encoder="poor")],
            ValueError,
            r"named 'poor'.*evaluate\(\.\.\., name=\)",
        ),
        (lambda three: [three[0], {}], TypeError, "must be Reports, got dict"),
        (
            lambda three: [three[0], made.report("other", 1.0, [made.classes("new")])],
            ValueError,
            "no task is in all reports",
        ),
    ],
)
def test_refused(three, change, error, message):
    with pytest.raises(error, match=message):
        se.rank(change(three))


def test_the_headline_split_is_ranked():
    task = replace(made.scores("mine", ("train", "dev", "test")), kind=Kind("similarity", pairs=True))
    reports = [made.report(name, noise, [task]) for name, noise in (("good", 0.05), ("poor", 3.0))]
    ranking = se.rank(reports, resamples=100)
    for row, report in zip(ranking["mine"], reports, strict=True):
        assert report["mine"].headline == "test.pearson"
        assert row.score == pytest.approx(100 * report["mine"].figure("test.pearson"))


def test_tasks_without_predictions_are_skipped(three):
    results = {**three[2].results, "similar": replace(three[2]["similar"], predictions={})}
    without = replace(three[2], encoder="published", results=results)
    ranking = se.rank([*three[:2], without], resamples=100)
    assert list(ranking) == ["kind"]
    assert ranking.skipped == {"similar": "there are no predictions of published"}
    assert "similar: not compared, there are no predictions of published." in ranking.to_markdown()


def test_tasks_without_a_score_are_skipped():
    class Constant:
        def encode(self, sentences):
            return np.ones((len(sentences), 4), np.float32)

    encoders = {"constant": Constant(), "good": made.Noisy(0.05)}
    reports = [se.evaluate(one, made.scores(), name=name, resamples=100) for name, one in encoders.items()]
    ranking = se.rank(reports, resamples=100)
    assert not ranking
    assert "constant gave the same embedding" in ranking.skipped["similar"]
    assert "similar: not compared" in ranking.to_markdown()
    with pytest.raises(KeyError, match="similar was not compared: constant gave the same embedding"):
        ranking.tied("similar")
