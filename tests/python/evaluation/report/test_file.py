"""Files of reports: which results are reused."""

from __future__ import annotations

import functools
import sys
from dataclasses import dataclass, replace
from importlib import metadata
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")
stats = pytest.importorskip("scipy.stats")
text = pytest.importorskip("sklearn.feature_extraction.text")
sys.path.insert(0, str(Path(__file__).parents[1]))
from toys import Counting, classification, failing, length, rows_of, run, similarity, write_cr

import sentencode as se
from sentencode.code_digest import code_digest
from sentencode.evaluation import (
    PROTOCOLS,
    Curve,
    Report,
    Task,
)
from sentencode.evaluation.data import digest_of
from sentencode.evaluation.metrics.classifiers import Adam, Optimum


def test_a_run_resumes_from_its_file(tmp_path):
    out = tmp_path / "report.json"
    tasks = [classification(), similarity()]
    first = run(Counting(), tasks[:1], out=out, key="a")
    seen = Counting()
    report = run(seen, tasks, out=out, key="a")
    assert len(seen.calls) == 1  # of the second task
    assert report["mine"].figures == first["mine"].figures
    assert list(Report.load(out)) == ["mine", "alike"]
    again = Counting()
    run(again, tasks, out=out, key="a")
    assert again.calls == []


def test_a_run_with_fewer_tasks_keeps_the_others(tmp_path):
    out = tmp_path / "report.json"
    tasks = [classification(), similarity(), similarity("more", seed=7)]
    run(rows_of, tasks[:2], out=out, key="a")
    before = Report.load(out)
    resumed = run(rows_of, tasks[2:], out=out, key="a")
    assert list(resumed) == ["more"]
    after = Report.load(out)
    assert list(after) == ["mine", "alike", "more"]
    for name in before:
        assert after[name].to_dict() == before[name].to_dict()
    assert list(run(rows_of, tasks[1], out=out, key="a")) == ["alike"]  # nothing is computed
    assert out.read_text() == after.to_json()


def test_skipped_tasks_are_saved(tmp_path):
    write_cr(tmp_path)
    out = tmp_path / "report.json"
    first = run(rows_of, "all", data=tmp_path, partial=True, out=out, key="a")
    assert "MR" in first.skipped
    task = Task("MR", similarity("MR").splits, similarity("MR").kind)
    assert run(rows_of, task, out=out, key="a").skipped == {}
    after = Report.load(out)
    assert list(after) == ["CR", "MR"]
    assert set(after.skipped) == set(first.skipped) - {"MR"}


def test_a_task_that_had_an_error_is_run_again(tmp_path):
    out = tmp_path / "report.json"
    run(failing, classification(), out=out, key="a")
    assert Report.load(out).results["mine"].error
    assert run(rows_of, classification(), out=out, key="a")["mine"]["acc"] > 50


def test_other_examples_are_run_again(tmp_path):
    out = tmp_path / "report.json"
    run(rows_of, classification(n=60), out=out, key="a")
    seen = Counting()
    assert run(seen, classification(n=61), out=out, key="a")["mine"]["ntest"] == 61
    assert len(seen.calls) == 1


@pytest.mark.parametrize(
    "other", [{"protocol": "optimum"}, {"key": "b"}, {"resamples": 20}, {"confidence": 0.9}, {"tokens": True}]
)
def test_a_report_of_something_else_is_not_resumed(other, tmp_path):
    out = tmp_path / "report.json"
    run(rows_of, similarity(), out=out, key="a")
    before = out.read_bytes()
    with pytest.raises(ValueError, match=r"report.json is the report of another encoder or protocol"):
        run(rows_of, similarity(), out=out, **{"key": "a", **other})
    assert out.read_bytes() == before


def test_out_is_written_after_each_task(tmp_path):
    out = tmp_path / "report.json"

    def stopped(sentences):
        if out.exists():
            raise KeyboardInterrupt
        return rows_of(sentences)

    with pytest.raises(KeyboardInterrupt):
        run(stopped, out=out, key="a")
    assert list(Report.load(out)) == ["mine"]


def test_without_a_key_a_report_that_is_there_is_not_touched(tmp_path, caplog):
    out = tmp_path / "report.json"
    run(rows_of, similarity(), out=out)
    assert "report.json cannot be resumed: the encoder has no fingerprint: give key=" in caplog.text
    before = out.read_bytes()
    for task in (similarity(), classification()):
        with pytest.raises(ValueError, match=r"report.json exists, .* give key=.* or remove the file"):
            run(length, task, out=out)
    assert out.read_bytes() == before


def test_resumed_results_keep_their_sentences(tmp_path):
    out = tmp_path / "report.json"
    tasks = [classification(), similarity()]
    first = run(rows_of, tasks, out=out, key="a")
    again = run(failing, tasks, out=out, key="a")
    for task in ("mine", "alike"):
        assert again[task].wrong() == first[task].wrong() != []
    other = run(length, tasks[0], name="other")
    loaded = Report.load(out)
    assert se.compare(again, other).differing("mine") == se.compare(first, other).differing("mine") != []
    assert se.compare(loaded, again).differing("mine") == []


def test_versions_are_saved(tmp_path, caplog):
    out = tmp_path / "report.json"
    report = run(rows_of, similarity(), out=out, key="a")
    assert report.facts["versions"]["torch"] == metadata.version("torch")  # without "+cu130"
    assert report.facts["versions"]["numpy"] == np.__version__
    run(failing, similarity(), out=out, key="a")
    assert caplog.text == ""
    out.write_text(out.read_text().replace(f'"{np.__version__}"', '"1.0"'))
    run(failing, similarity(), out=out, key="a")
    assert "report.json was started with" in caplog.text
    assert "'numpy': '1.0'" in caplog.text


def power(p):
    return lambda u, v: -float((np.abs(u - v) ** p).sum())


def near(u, v):
    return -float(np.abs(u - v).sum())


def edited(p):
    """A function before and after an edit in a notebook, with the same name."""
    names = {"np": np}
    exec(f"def near(u, v): return -float((np.abs(u - v) ** {p}).sum())", names)
    return names["near"]


@dataclass(frozen=True)
class Distance:
    p: float = 1.0

    def __call__(self, u, v):
        return power(self.p)(u, v)


OTHER_PROTOCOLS = {
    "closure": (power(1), power(9)),
    "default": (lambda u, v, p=1: power(p)(u, v), lambda u, v, p=2: power(p)(u, v)),
    "edited": (edited(1), edited(9)),
    "object": (Distance(), Distance(9.0)),
    "partial": (functools.partial(lambda p, u, v: power(p)(u, v), 1), functools.partial(power(9))),
    "not at all": ("cosine", near),
}


@pytest.mark.parametrize(("one", "other"), OTHER_PROTOCOLS.values(), ids=OTHER_PROTOCOLS.keys())
def test_a_protocol_of_the_same_name_is_not_the_same(one, other, tmp_path):
    out = tmp_path / "report.json"
    protocols = [replace(PROTOCOLS["fast"], similarity=similarity) for similarity in (one, other)]
    assert protocols[0].name == protocols[1].name
    run(rows_of, similarity(), out=out, key="a", protocol=protocols[0])
    run(failing, similarity(), out=out, key="a", protocol=replace(protocols[0]))  # nothing is computed
    with pytest.raises(ValueError, match="is the report of another encoder or protocol"):
        run(rows_of, similarity(), out=out, key="a", protocol=protocols[1])


def test_protocols_are_identified_by_all_attributes():
    fast = PROTOCOLS["fast"]
    others = [
        replace(fast, folds=4),
        replace(fast, seeds=2),
        replace(fast, classifier=Optimum(tolerance=1e-4)),
        replace(fast, classifier=Adam()),
        replace(fast, ranking=replace(fast.ranking, margin=0.1)),
        replace(fast, similarity=near),
    ]
    assert len({code_digest(one) for one in (fast, *others)}) == 1 + len(others)
    assert code_digest(replace(fast)) == code_digest(fast)
    within = [lambda x: [y + 1 for y in x], lambda x: [y + 2 for y in x]]
    assert code_digest(within[0]) != code_digest(within[1])


def test_a_protocol_that_cannot_be_compared_is_not_resumed(tmp_path, caplog):
    out = tmp_path / "report.json"
    random = np.random.default_rng(0)
    options = {"similarity": lambda u, v: near(u, v) + random.normal()}
    run(rows_of, similarity(), out=out, key="a", options=options)
    assert "depends on values that cannot be compared" in caplog.text
    with pytest.raises(ValueError, match=r"exists, .* depends on values that cannot be compared"):
        run(rows_of, similarity(), out=out, key="a", options=options)


@pytest.mark.parametrize("begun", [False, True])
def test_two_runs_with_one_file_keep_each_others_tasks(tmp_path, begun):
    out = tmp_path / "report.json"
    if begun:
        run(rows_of, similarity("old", seed=9), out=out, key="a")
    inner = []

    def encode(sentences):
        if not inner:
            inner.append(run(rows_of, similarity("other", seed=4), out=out, key="a"))
            inner[0].curves["TREC"] = Curve((1, 2), (3, 4))
            embedded = Report.load(out)
            embedded.curves |= inner[0].curves
            embedded.to_json(out)
        return rows_of(sentences)

    report = run(encode, [similarity("mine"), similarity("more", seed=8)], out=out, key="a")
    assert list(report) == ["mine", "more"]
    saved = Report.load(out)
    assert set(saved) == {"mine", "more", "other"} | ({"old"} if begun else set())
    assert saved["other"].to_dict() == inner[0]["other"].to_dict()
    assert saved.curves["TREC"].y == (3, 4)
    assert list(tmp_path.iterdir()) == [out]


def test_a_file_replaced_by_another_report_is_not_overwritten(tmp_path):
    out = tmp_path / "report.json"
    inner = []

    def encode(sentences):
        if not inner:
            inner.append(run(rows_of, similarity("other", seed=4), out=out, key="b"))
        return rows_of(sentences)

    with pytest.raises(ValueError, match="is the report of another encoder or protocol"):
        run(encode, similarity(), out=out, key="a")
    assert list(Report.load(out)) == ["other"]


def test_an_error_takes_no_figure_away(tmp_path):
    """Scores that another run has written meanwhile for the same examples."""
    out = tmp_path / "report.json"

    def encode(sentences):
        run(rows_of, similarity(), out=out, key="a")
        raise MemoryError

    assert run(encode, similarity(), out=out, key="a").results["alike"].error
    assert Report.load(out)["alike"]["all"]["pearson"]


def test_a_curve_of_other_examples_is_dropped(tmp_path):
    out = tmp_path / "report.json"
    report = run(rows_of, [classification(), similarity()], out=out, key="a")
    good = Curve((1, 2), (3, 4), data=digest_of(classification()))
    report.curves = {"mine": good, "alike": replace(good, data="other"), "steps": Curve((1,), (2,))}
    report.to_json(out)
    again = run(rows_of, [classification(), similarity()], out=out, key="a")
    assert set(again.curves) == set(Report.load(out).curves) == {"mine", "steps"}


def test_a_report_that_cannot_be_written_is_noticed_first(tmp_path):
    (tmp_path / "file").touch()
    for out in (tmp_path / "nowhere" / "r.json", tmp_path / "file" / "r.json"):
        seen = Counting()
        with pytest.raises(OSError, match=r"the report cannot be written: .*r\.json"):
            run(seen, similarity(), out=out, key="a")
        assert seen.calls == []
