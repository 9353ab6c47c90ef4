"""Reports as text, tables and JSON."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")
stats = pytest.importorskip("scipy.stats")
text = pytest.importorskip("sklearn.feature_extraction.text")
sys.path.insert(0, str(Path(__file__).parents[1]))
from toys import (
    PAIR,
    classification,
    labels_of,
    relatedness,
    rows_of,
    run,
    similarity,
    some_sentences,
    written,
)

from sentencode.errors import FormatError
from sentencode.evaluation import (
    Kind,
    Report,
    Split,
    Task,
    TaskResult,
)
from sentencode.evaluation.metrics.intervals import Interval


def test_report_goes_to_json_and_back(tmp_path):
    pairs = Split((some_sentences(40, 3), some_sentences(40, 4)), np.arange(40.0) % 5)
    related = Task(
        "related",
        {"train": pairs, "dev": pairs, "test": pairs},
        Kind("relatedness", "dev", pairs=True, features=PAIR),
    )
    report = run(rows_of, [classification(), similarity(), related])
    report.results["broken"] = TaskResult("broken", error="why")
    report.skipped["SNLI"] = "files are missing"
    again = Report.load(written(report, tmp_path))
    assert again.to_json() == report.to_json()
    assert json.loads(report.to_json())["results"]["mine"]["figures"]["acc"] == report["mine"]["acc"]
    assert again["mine"].figures == report["mine"].figures
    assert again["alike"]["one"]["pearson"] == report["alike"]["one"]["pearson"]
    assert isinstance(again["alike"]["one"]["pearson"], tuple)
    assert np.array_equal(again["related"]["yhat"], report["related"]["yhat"])
    assert again["mine"].intervals == report["mine"].intervals
    assert isinstance(again["mine"].intervals["acc"], Interval)
    assert np.array_equal(
        again["mine"].predictions["all"].predicted, report["mine"].predictions["all"].predicted
    )
    assert again.averages == report.averages
    assert again.to_markdown() == report.to_markdown()
    with pytest.raises(ValueError, match="the sentences are not part of a saved report"):
        again["mine"].wrong()
    with pytest.raises(KeyError, match="SNLI was not run: files are missing"):
        again["SNLI"]
    with pytest.raises(KeyError, match=f"CR was not run: the tasks are {', '.join(report)}"):
        again["CR"]
    assert "CR" not in again


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{",
        "[]",
        "5",
        '{"format": "other"}',
        '{"format": "sentencode.report"}',
        '{"format": "sentencode.report", "version": 1, "results": 5}',
        '{"format": "sentencode.report", "version": 1, "results": {"MR": {}}}',
        '{"format": "sentencode.report", "version": 2}',
    ],
)
def test_wrong_files_are_refused(content, tmp_path):
    path = tmp_path / "report.json"
    path.write_text(content)
    with pytest.raises(
        FormatError, match=r"report.json(: a damaged report| is (not a report|of version (2|None)))"
    ):
        Report.load(path)
    with pytest.raises(FormatError):
        run(rows_of, similarity(), out=path, key="a")


def test_keys_are_the_originals():
    single, pair = classification("MR"), similarity("STS12")
    assert list(run(rows_of, single)["MR"]) == ["devacc", "acc", "ndev", "ntest"]
    sentences = some_sentences(60, 0)
    halves = {
        "train": Split((sentences[:40], sentences[:40]), labels_of(sentences[:40])),
        "test": Split((sentences[40:], sentences[40:]), labels_of(sentences[40:])),
    }
    kind = Kind("classification", "folds", pairs=True, features=PAIR, f1=True)
    result = run(rows_of, Task("MRPC", halves, kind, ("0", "1")))["MRPC"]
    assert sorted(result) == ["acc", "devacc", "f1", "ndev", "ntest"]
    assert (result["ndev"], result["ntest"]) == (40, 20)
    result = run(rows_of, pair)["STS12"]
    assert list(result) == ["one", "two", "all"]
    assert list(result["one"]) == ["pearson", "spearman", "nsamples"]
    assert len(result["one"]["pearson"]) == len(result["one"]["spearman"]) == 2
    assert {"mean", "wmean"} < set(result["all"]["pearson"])
    assert {"mean", "wmean"} < set(result["all"]["spearman"])


def test_accuracy_and_f1_follow_from_the_predictions():
    task = classification()
    result = run(rows_of, task)["mine"]
    evaluated = result.predictions["all"]
    sentences = task["all"].by_length().sentences[0]
    assert np.array_equal(evaluated.gold, labels_of([sentences[i] for i in evaluated.indices]))
    assert result["acc"] == pytest.approx(100 * np.mean(evaluated.predicted == evaluated.gold), abs=0.5)
    assert result.intervals["acc"].low < result["acc"] < result.intervals["acc"].high
    wrong = result.wrong()
    assert len(wrong) == np.sum(evaluated.predicted != evaluated.gold)
    assert all(labels_of(one.sentences)[0] == one.gold != one.predicted for one in wrong)


def test_the_worst_pairs_are_of_all_subsets():
    task = similarity(subsets=("one", "two", "three"))
    result = run(rows_of, task)["alike"]
    worst = result.wrong()
    assert result.wrong(12) == worst[:12]
    pairs = {subset: {*map(tuple, task[subset].pairs)} for subset in task.splits}
    assert all(pairs[subset] & {one.sentences for one in worst[:30]} for subset in pairs)


@pytest.mark.parametrize("make", [classification, relatedness])
def test_classifiers_that_do_not_converge_are_reported(make, tmp_path):
    task = make()
    solved = run(rows_of, task, protocol="optimum")
    details = solved["mine"].details
    assert details["gradient"] <= details["tolerance"] == 1e-5
    assert details["gap"] <= 1e-7
    assert 1 <= details["iterations"] < 500
    # Each of ten outer folds: six penalties in ten folds, then the best one; or one for each penalty.
    assert (details["fits"], details["short"]) == (10 * (10 * 6 + 1) if make is classification else 6, 0)
    assert "did not converge" not in " ".join(solved.notes())
    short = run(rows_of, task, protocol="optimum", options={"tolerance": 1e-13})
    fits = details["fits"]
    short.to_json(tmp_path / "short.json")
    for report in (short, Report.load(tmp_path / "short.json")):
        assert report["mine"].details["short"] > 0
        for shown in (report.to_markdown(), " ".join(report.notes())):
            assert "Classifiers that did not converge: mine " in shown
            assert f" of {fits} (gradient up to " in shown
            assert "tolerance 1e-13, gap up to" in shown
        report.to_html(tmp_path / "short.html")
        assert "Classifiers that did not converge: mine " in (tmp_path / "short.html").read_text()
    old = json.loads(short.to_json())  # as they were saved before fits were counted
    for key in ("gap", "iterations", "fits", "short"):
        del old["results"]["mine"]["details"][key]
    (tmp_path / "old.json").write_text(json.dumps(old))
    assert "did not converge: mine (gradient" in Report.load(tmp_path / "old.json").to_markdown()
    others = run(rows_of, task, protocol="senteval-sklearn")
    assert "tolerance" not in others["mine"].details
    others.to_json(tmp_path / "others.json")
    for report in (others, Report.load(tmp_path / "others.json")):
        assert "did not converge" not in " ".join(report.notes())


def test_deviations_are_in_the_unit_of_their_figures():
    recalls = {"r1": 31.0, "r5": 60.0, "r10": 70.0, "medr": 3.0}
    figures_of = {
        "ImageCaptionRetrieval": ({"i2t": recalls, "t2i": recalls}, "t2i.r1", "31.00 ± 0.50"),
        "MR": ({"acc": 70.0}, "acc", "70.00 ± 0.50"),
        "groups": ({"nn_cosine": 70.0}, "nn_cosine", "70.00 ± 0.50"),
        "SICKRelatedness": ({"pearson": 0.7, "spearman": 0.6}, "pearson", "70.00 ± 50.00"),
    }
    for task, (figures, key, shown) in figures_of.items():
        report = Report("x", {task: TaskResult(task, figures, details={"deviations": {key: 0.5}})})
        assert f"| {key} | {shown} |" in report.to_markdown()
        assert shown.replace("±", r"$\pm$") in report.to_latex()
        assert report.rows()[0][2] == float(shown.split()[0])


def test_tables_show_more_than_one_figure_of_a_task():
    kinds = {"wmean": 0.5, "mean": 0.4, "pooled": 0.3}
    subset = {"pearson": (0.1, 0.0), "spearman": (0.2, 0.0), "nsamples": 7}
    year = {
        "deft.forum": subset,
        "images": subset,
        "all": {"pearson": kinds, "spearman": {key: r / 10 for key, r in kinds.items()}},
    }
    groups = {"cl_one": 11.0, "cl_half": 12.0, "nn_cosine": 13.0, "nn_l2": 14.0, "idb": 0.12345, "ngroups": 5}
    learnt = {"devpearson": 0.9, "pearson": 0.7, "spearman": 0.6, "mse": 0.3, "yhat": np.zeros(3), "ntest": 3}
    figures_of = {
        "STS14": (
            year,
            {
                **{f"all.pearson.{key}": f"{100 * r:.2f}" for key, r in kinds.items()},
                **{f"all.spearman.{key}": f"{10 * r:.2f}" for key, r in kinds.items()},
            },
        ),
        "mine": (
            groups,
            {"nn_cosine": "13.00", "nn_l2": "14.00", "cl_one": "11.00", "cl_half": "12.00", "idb": "0.1235"},
        ),
        "MRPC": (
            {"devacc": 71.0, "acc": 72.0, "ndev": 3, "ntest": 9, "f1": 81.0},
            {"acc": "72.00", "f1": "81.00"},
        ),
        "STSBenchmarkCosine": (
            {"dev": subset, "test": subset},
            {"test.pearson": "10.00", "test.spearman": "20.00"},
        ),
        "own": (
            {"mine": subset, "all": {"pearson": kinds, "spearman": kinds}},
            {"mine.pearson": "10.00", "mine.spearman": "20.00"},
        ),
        "SICKRelatedness": (learnt, {"pearson": "70.00", "spearman": "60.00"}),
    }
    labels = {"STS14": "STS14, cosine", "own": "own, cosine", "SICKRelatedness": "SICKRelatedness, learnt"}
    # Cosines precede learnt scores in any order of tasks.
    tasks = ["SICKRelatedness", *(task for task in figures_of if task != "SICKRelatedness")]
    report = Report("x", {task: TaskResult(task, figures_of[task][0]) for task in tasks})
    shown = [(task, key, value) for task, (_, rows) in figures_of.items() for key, value in rows.items()]
    table = "\n".join(f"| {labels.get(task, task)} | {key} | {value} |  |" for task, key, value in shown)
    assert table in report.to_markdown()
    lines = (rf"{labels.get(task, task)} & {key} & {value} &  \\" for task, key, value in shown)
    table = "\n".join(lines).replace("_", r"\_")
    assert table in report.to_latex()
    headlines = ["all.pearson.wmean", "nn_cosine", "acc", "test.pearson", "mine.pearson", "pearson"]
    assert [row[1] for row in report.rows()] == headlines
    assert [row[:2] for row in report.rows(several=True)] == [row[:2] for row in shown]
    assert report["STS14"].shown == list(figures_of["STS14"][1])


def test_names_are_no_markup():
    result = TaskResult("my_task & 50%", {"acc": 77.5}, {"acc": Interval(70, 80)})
    odd = TaskResult("pipe|task", error="<lambda> gave {$x^$}~")
    facts = {"protocol": "senteval-torch, optim=sgd_#", "folds": 10, "confidence": 0.5}
    report = Report(r"a\b|#1 <b> _c_", {one.task: one for one in (result, odd)}, facts=facts)
    text = report.to_markdown()
    assert text.splitlines()[0] == r"| a\\b\|#1 \<b> \_c\_ | figure | value | 50 % interval |"
    assert "| my_task & 50% | acc | 77.50 | 70.00 to 80.00 |" in text
    assert r"pipe\|task: no figure, \<lambda> gave {\$x^\$}\~." in text
    assert text == report._repr_markdown_()
    text = report._repr_html_()
    assert r"<tr><th>a\b|#1 &lt;b&gt; _c_</th><th>figure</th>" in text
    assert "<tr><td>my_task &amp; 50%</td><td>acc</td><td>77.50</td><td>70.00 to 80.00</td></tr>" in text
    assert "pipe|task: no figure, &lt;lambda&gt; gave {$x^$}~." in text
    text = report.to_latex()
    name = r"a\textbackslash{}b\textbar{}\#1 \textless{}b\textgreater{} \_c\_"
    assert rf"{name} & figure & value & 50 \% interval \\" in text.splitlines()
    assert r"my\_task \& 50\% & acc & 77.50 & 70.00 to 80.00 \\" in text
    assert r"\multicolumn{4}{l}{Protocol senteval-torch, optim=sgd\_\#, 10 folds} \\" in text


def test_figures_that_there_are_not():
    result = TaskResult("x", {"acc": 77.5, "all": {"pearson": {"mean": 0.5}}})
    for key in ("nope", "acc.mean", "all", "all.pearson", "all.pearson.nope"):
        with pytest.raises(KeyError, match=f"x has no figure '{key}': there are acc, all"):
            result.figure(key)
    with pytest.raises(KeyError, match="x has no figure: it failed"):
        _ = TaskResult("x", error="it failed").headline
