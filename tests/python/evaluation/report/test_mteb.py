"""Reports as results of mteb."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest

stats = pytest.importorskip("scipy.stats")
pytest.importorskip("sklearn")
sys.path.insert(0, str(Path(__file__).parents[1]))
from reports import Noisy, classes, scores

import sentencode as se
from sentencode.errors import FormatError
from sentencode.evaluation import Report


@pytest.fixture
def report():
    tasks = [scores("STS13"), scores("STSBenchmarkCosine", ("train", "test")), classes("MR")]
    return se.evaluate(Noisy(0.3), tasks, name="noisy", resamples=10)


def test_scores_are_those_of_all_pairs(report, tmp_path, caplog):
    files = report.to_mteb(tmp_path, "me/noisy", "1")
    assert [str(path.relative_to(tmp_path)) for path in files] == [
        "me__noisy/1/STSBenchmark.json",
        "me__noisy/1/STS13.json",
    ]
    assert "as we do: MR" in caplog.text
    years = report["STS13"].predictions.values()
    predicted, gold = (
        np.concatenate([getattr(part, side) for part in years]) for side in ("predicted", "gold")
    )
    test = report["STSBenchmarkCosine"].predictions["test"]
    for path, (x, y) in zip(files, [(test.predicted, test.gold), (predicted, gold)], strict=True):
        (found,) = json.loads(path.read_text())["scores"]["test"]
        assert found["cosine_pearson"] == pytest.approx(stats.pearsonr(x, y).statistic)
        assert found["main_score"] == found["spearman"] == pytest.approx(stats.spearmanr(x, y).statistic)


def test_results_are_read(report, tmp_path):
    folder = report.to_mteb(tmp_path, "me/noisy", "1")[0].parent
    other = {"task_name": "ArguAna", "scores": {"test": [{"main_score": 0.5}, {"main_score": 0.25}]}}
    (folder / "ArguAna.json").write_text(json.dumps(other))
    read = Report.from_mteb(folder)
    assert read.encoder == "me/noisy"
    assert read["ArguAna"].figure("main_score") == 37.5
    both = [one["STSBenchmarkCosine"].figure("test.pearson") for one in (read, report)]
    assert both[0] == pytest.approx(both[1])
    assert read["STS13"].headline == "all.pearson.pooled"
    assert read["STS13"].figure("all.pearson.pooled") == pytest.approx(
        report["STS13"].figure("all.pearson.pooled")
    )
    read.to_json(tmp_path / "read.json")
    assert Report.load(tmp_path / "read.json").to_markdown() == read.to_markdown()
    report.to_html(tmp_path / "both.html", [read])
    assert "ArguAna" in (tmp_path / "both.html").read_text()
    with pytest.raises(ValueError, match="results of mteb"):
        se.evaluation.compare(report, read)
    notes = se.compare(read, read, resamples=10).notes
    assert notes["STS13"] == "there are no predictions, as in results of mteb"
    ranking = se.rank([report, read], resamples=10)
    assert not ranking
    assert ranking.skipped["STS13"] == "there are no predictions of me/noisy"


def test_other_forms_of_results(tmp_path):
    folder = tmp_path / "me__model" / "1"
    folder.mkdir(parents=True)
    (folder / "model_meta.json").write_text('{"name": null}')
    for task, figures in {
        "STS12": {"main_score": 0.6},
        "STS13": {"pearson": [0.7, 0.0], "spearman": [0.8, 0.0], "main_score": 0.8},
        "STS14": {"cosine_pearson": 0.5, "cosine_spearman": 0.6, "main_score": 0.6},
    }.items():
        content = {"task_name": task, "scores": {"test": [figures]}}
        (folder / f"{task}.json").write_text(json.dumps(content))
    read = Report.from_mteb(folder)
    assert read.encoder == "me/model"
    assert read["STS13"].figure("all.pearson.pooled") == 0.7
    assert read["STS14"].figure("all.spearman.pooled") == 0.6
    assert "cosine mean of STS13, STS14" in read.to_markdown()
    (folder / "model_meta.json").write_text("[1]")
    with pytest.raises(FormatError, match=r"model_meta\.json must be an object, got \[1\]"):
        Report.from_mteb(folder)


def test_what_is_refused(report, tmp_path):
    with pytest.raises(ValueError, match=r"no result is one of mteb's.*got MR"):
        Report("mine", {"MR": report["MR"]}).to_mteb(tmp_path)
    report["STS13"].details["partial"] = True  # as of evaluate(limit=)
    with pytest.raises(ValueError, match="with all examples"):
        Report("mine", {"STS13": report["STS13"]}).to_mteb(tmp_path)
    with pytest.raises(FileNotFoundError, match="has no results"):
        Report.from_mteb(tmp_path)
    (tmp_path / "STS12.json").write_text('{"scores": {}}')
    with pytest.raises(FormatError, match=r"STS12\.json is not a result of mteb: KeyError: 'task_name'"):
        Report.from_mteb(tmp_path)
