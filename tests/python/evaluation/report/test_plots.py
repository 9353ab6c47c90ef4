"""Charts of reports: their data, and the figures of matplotlib."""

from __future__ import annotations

import math
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))
import reports as made

from sentencode.evaluation import Curve, Report, TaskResult, plots, published
from sentencode.evaluation.report.charts import correlations, heat_map, pareto_front, trade_offs
from sentencode.evaluation.report.measures import measures


@pytest.fixture(scope="module")
def three():
    return [made.report(name, noise) for name, noise in (("good", 0.1), ("mid $x$", 0.6), ("worst", 1.5))]


def speedy(name, acc, speed, run="r"):
    facts = {"sentences_per_second": speed, "run": run, "speed_of_tasks": [speed and 0.9 * speed, speed]}
    return Report(name, {"MR": TaskResult("MR", {"acc": acc})}, facts=facts if speed else {})


def test_measures_are_the_reports_figures(three):
    by_label = {measure.label: measure for measure in measures(three)}
    assert by_label["kind acc"].cells["good"].value == three[0]["kind"]["acc"]
    assert by_label["kind acc"].cells["good"].interval == three[0]["kind"].intervals["acc"]
    wmean = by_label["similar, cosine all pearson.wmean"]
    assert wmean.headline
    assert wmean.cells["worst"].value == pytest.approx(100 * three[2]["similar"].figure("all.pearson.wmean"))
    cell = by_label["similar, cosine two.three spearman"].cells["mid $x$"]
    r, p = three[1]["similar"]["two.three"]["spearman"]
    assert (cell.value, cell.p) == pytest.approx((100 * r, p))
    assert cell.interval.low < cell.value < cell.interval.high


def test_correlations_of_paper_003():
    """BLEU and heads of its models, from its tables: the text prints 0.31 for de and 0.87 for cs.

    The latter lies between what BLEU of the test set (0.858) and of the dev set (0.881) give.
    """
    for table, language, printed, near in (("4", "en-de", 0.31, 0.005), ("5", "en-cs", 0.87, 0.015)):
        bleu, heads = {}, {}
        for figure in published("003", table):
            if (figure.task, figure.metric, figure.split) == (language, "bleu", "test") and figure.heads:
                key = (figure.system, figure.size, figure.heads)
                bleu[key], heads[key] = figure.value, figure.heads
        heat = correlations({"BLEU": bleu, "heads": heads}, {"BLEU": "BLEU", "heads": "heads"})
        assert heat.matrix[0, 1] == pytest.approx(printed, abs=near)


def test_heat_map(three):
    eight = made.eight(three)
    extra = {report.encoder: {"BLEU": i * i} for i, report in enumerate(eight)}
    extra["worst"]["hours"] = 3
    heat = heat_map(eight, extra)
    assert heat.names == ("kind", "similar, cosine", "BLEU", "hours")
    assert heat.groups == ("classification", "similarity", "BLEU", "hours")
    columns = [[report.rows()[i][2] for report in eight] for i in (0, 1)] + [[i * i for i in range(8)]]
    np.testing.assert_allclose(heat.matrix[:3, :3], np.corrcoef(columns))
    assert np.isnan(heat.matrix[3, :3]).all()  # one model has it
    blocks = {(block.first, block.second): block for block in heat.blocks}
    with_bleu = blocks["BLEU", "all tasks"]
    assert with_bleu.mean == pytest.approx(heat.matrix[2, :2].mean())
    assert with_bleu.deviation == pytest.approx(heat.matrix[2, :2].std(ddof=1))
    assert with_bleu.pairs == 2
    assert blocks["classification", "similarity"].mean == heat.matrix[0, 1]
    assert math.isnan(blocks["classification", "similarity"].deviation)
    assert not any("hours" in key for key in blocks)
    assert heat.others[0].mean == heat.matrix[0, 1]


def test_learnt_scores_and_cosines_form_separate_groups(three):
    """In blocks of correlations, trade-offs, and the order of tables."""
    reports = [
        replace(
            report,
            results={
                "STSBenchmark": TaskResult("STSBenchmark", {"pearson": 0.5 + i / 50, "spearman": 0.5}),
                "SICKRelatedness": TaskResult(
                    "SICKRelatedness", {"pearson": 0.6 + i * i / 90, "spearman": 0.5}
                ),
                **report.results,
            },
        )
        for i, report in enumerate(made.eight(three))
    ]
    heat = heat_map(reports)
    learnt = ("STSBenchmark, learnt", "SICKRelatedness, learnt")
    assert heat.names == ("kind", "similar, cosine", *learnt)
    assert heat.groups == ("classification", "similarity", *["learnt similarity"] * 2)
    (within,) = (block for block in heat.blocks if block.first == block.second == "learnt similarity")
    assert within.mean == heat.matrix[2, 3]
    assert [trade.label for trade in trade_offs(reports)] == [
        "kind acc, percent",
        "similar, cosine all pearson.wmean, correlation x 100",
        "learnt mean of STSBenchmark, SICKRelatedness, correlation x 100",
    ]
    assert [label.get_text() for label in plots.bars(reports).axes[0].get_yticklabels()] == list(heat.names)


def test_heat_maps_refuse(three):
    with pytest.raises(ValueError, match="need at least 8 encoders, got 3"):
        heat_map(three)
    with pytest.raises(ValueError, match="extra: there is no report of 'goood'; there are good, mid"):
        heat_map(three, {"goood": {"BLEU": 1}})
    with pytest.raises(ValueError, match="extra: BLEU of good must be a number, got 'high'"):
        heat_map(three, {"good": {"BLEU": "high"}})
    with pytest.raises(ValueError, match="extra: 'kind' is the name of a task"):
        heat_map(three, {"good": {"kind": 1}})


def test_pareto_front():
    points = {"a": (1, 9), "b": (2, 9), "c": (5, 5), "d": (5, 5), "e": (4, 6), "f": (3, 5), "g": (9, 1)}
    assert pareto_front(points) == {"b", "c", "d", "e", "g"}


def test_speeds_must_be_of_one_run():
    reports = [
        speedy("a", 70, 100.0),
        speedy("b", 80, 10.0),
        speedy("c", 75, 5.0),
        speedy("other", 90, 1e6, run="s"),
        speedy("kept", 60, None),
    ]
    (trade,) = trade_offs(reports)
    assert [(point.encoder, point.front) for point in trade.points] == [
        ("a", True),
        ("b", True),
        ("c", False),
    ]
    assert trade.label == "MR acc, percent"
    assert trade.points[0].speeds == (90.0, 100.0)
    del reports[0].facts["speed_of_tasks"]
    (trade,) = trade_offs(reports)
    assert "its spread is unknown" in trade.left_out["a"]
    assert "another run" in trade.left_out["other"]
    assert "not measured" in trade.left_out["kept"]


def test_quality_is_over_shared_tasks(three):
    more = made.report("more", 0.2, [made.classes(), made.classes("second")])
    (trade,) = trade_offs([three[0], more])
    assert trade.label == "kind acc, percent"
    both = [
        made.report(name, noise, [made.classes(), made.classes("b")]) for name, noise in (("x", 0), ("y", 1))
    ]
    for report in both:  # whose second task adds no sentence
        assert "speed_of_tasks" not in report.facts
        report.facts["speed_of_tasks"] = [1.0, 2.0]
    (trade,) = trade_offs(both)
    assert trade.label == "mean of kind, b, percent"
    assert {point.encoder: point.cell.value for point in trade.points} == pytest.approx(
        {report.encoder: np.mean([report[task]["acc"] for task in ("kind", "b")]) for report in both}
    )


def test_bars(three):
    pytest.importorskip("matplotlib")
    (axes,) = plots.bars(three).axes
    assert [label.get_text() for label in axes.get_yticklabels()] == ["kind", "similar, cosine"]
    widths = [[bar.get_width() for bar in group] for group in axes.containers]
    assert widths == [[value for _, _, value, _ in report.rows()] for report in three]
    whiskers = {tuple(line.get_xdata()) for line in axes.lines}
    assert whiskers == {tuple(interval) for report in three for *_, interval in report.rows()}
    (axes,) = plots.bars(three[0], ["similar"]).axes
    assert axes.get_title() == "good"
    with pytest.raises(ValueError, match="no report has a figure of 'MR'; there are kind, similar"):
        plots.bars(three, ["MR"])
    with pytest.raises(ValueError, match="2 reports are of an encoder called 'good'"):
        plots.bars([three[0], three[0]])


def test_pictures_can_be_written(three, tmp_path):
    pytest.importorskip("matplotlib")
    eight = made.eight(three)
    heat = plots.heat_map(eight)
    np.testing.assert_allclose(heat.axes[0].images[0].get_array(), heat_map(eight).matrix)
    scatter = plots.scatter(three)
    assert len(scatter.axes) == 2
    labels = {text.get_text() for text in scatter.axes[0].texts}
    assert labels == {"good", r"mid \$x\$", "worst"}
    for name, figure in (("heat", heat), ("scatter", scatter), ("bars", plots.bars(three))):
        figure.savefig(tmp_path / f"{name}.png")
        assert (tmp_path / f"{name}.png").stat().st_size > 5000
    with pytest.raises(ValueError, match="no encoder has a figure and a speed"):
        plots.scatter([speedy("kept", 60, None)])


def test_missing_matplotlib_is_named(three, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ImportError, match=r"sentencode\[plot\]"):
        plots.bars(three)


def test_names_are_shown_literally(tmp_path):
    """Dollar signs and leading underscores are literal."""
    names = ["cost $x^$", "_bow", "plain"]
    curve = Curve((1, 2), (1, 2), x_label="at $x^$")
    reports = [
        Report(name, {"MR $x^$": TaskResult("MR $x^$", {"acc": 70.0})}, curves={"_c $x^$": curve})
        for name in names
    ]
    figures = {"bars": plots.bars(reports), "curves": plots.curves(reports)}
    shown = {
        "bars": figures["bars"].legends[0],
        "curves": figures["curves"].axes[0].get_legend(),
    }
    for name, figure in figures.items():
        figure.savefig(tmp_path / f"{name}.png")
        texts = [text.get_text().replace(r"\$", "$") for text in shown[name].get_texts()]
        assert texts == names
        colours = [
            handle.get_facecolor() if name == "bars" else handle.get_color()
            for handle in shown[name].legend_handles
        ]
        assert len(set(colours)) == 3
