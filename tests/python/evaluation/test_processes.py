"""Tasks judged by several processes: the same figures, a fair share of threads, a clean end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("joblib")
sys.path.insert(0, str(Path(__file__).parent))
import reports as made

import sentencode as se
from sentencode.evaluation import PROTOCOLS, Protocol, Report
from sentencode.evaluation.processes import longest_first

pytestmark = pytest.mark.timeout(180)

TASKS = [made.scores(), made.classes(), made.classes("second", 90), made.scores("third", ("test",))]
ALIKE = [TASKS[0], TASKS[3]]  # nothing is trained: processes need not load torch


def with_dev(task):
    """A task without folds: processes need not load scikit-learn."""
    splits = {**task.splits, "dev": task["test"]}
    return replace(task, splits=splits, kind=replace(task.kind, validation="dev"))


SHORT, LONG = with_dev(made.classes("short", 60)), with_dev(made.classes("long", 90))


def run(tasks, jobs, **options):
    options = {"protocol": "fast", "resamples": 50, "cache": False, **options}
    return se.evaluate(lambda s: made.Noisy(0.6).encode(s), tasks, jobs=jobs, name="noisy", **options)


def without_seconds(report):
    results = {name: result.to_dict() for name, result in report.items()}
    for result in results.values():
        result["details"] = {k: v for k, v in result["details"].items() if not k.startswith("seconds")}
    return results


def classifier(what):
    """One that does `what(examples)` and then calls everything class 0; made here, to travel whole."""
    from dataclasses import dataclass
    from typing import Any

    @dataclass(frozen=True)
    class Odd:
        what: Any

        def penalties(self, validation):
            return (1.0,)

        def predict(self, examples, fits, on_progress):
            import numpy as np

            from sentencode.evaluation.classifiers import Predictions

            gradient = self.what(examples) or 0.0
            n = len(fits)
            return Predictions(np.zeros((n, len(examples.labels)), np.int64), np.full(n, float(gradient)))

    return Protocol("odd", Odd(what), folds=3)


@pytest.fixture
def one_thread():
    before = se.num_threads(), torch.get_num_threads()
    se.set_num_threads(1)
    torch.set_num_threads(1)
    yield
    se.set_num_threads(before[0])
    torch.set_num_threads(before[1])


def test_figures_are_those_of_one_process(one_thread, capsys):
    """To the last digit: both have one thread a task."""
    many = run(TASKS, 2, show_progress_bar=True)
    shown = capsys.readouterr().err
    one = run(TASKS, 1)
    assert list(many) == [task.name for task in TASKS]  # not as they were done
    assert without_seconds(many) == without_seconds(one)
    assert many["kind"].wrong() == one["kind"].wrong()  # with their sentences
    assert many.facts["dim"] == 4
    assert many.facts["sentences_per_second"] > 0
    assert "4/4" in shown
    assert "5/4" not in shown
    assert "kind (encoding)" in shown


def test_resumed_with_rows_that_are_kept(tmp_path, one_thread):
    tasks = [*ALIKE, made.scores("fourth", ("test",), seed=3)]
    out, rows = tmp_path / "report.json", tmp_path / "rows"
    options = {"out": out, "key": "a", "cache": rows}
    run(tasks[:1], 1, **options)
    many = run(tasks, 3, **options)
    assert list(many) == list(Report.load(out)) == [task.name for task in tasks]
    assert without_seconds(many) == without_seconds(run(tasks, 1))
    assert len(list(rows.glob("*.npy"))) == len(tasks)
    seconds = [result.details["seconds_judge"] for result in many.values()]
    again = run(tasks, 2, **options)  # nothing is left to do
    assert [result.details["seconds_judge"] for result in again.values()] == seconds


def test_threads_are_shared_and_rows_are_mapped(monkeypatch):
    def what(examples):
        import os

        import torch

        import sentencode as se

        assert os.getpid() != parent
        rows = examples.embeddings
        while rows.base is not None and not hasattr(rows, "filename"):
            rows = rows.base
        mapped = "mmap" in type(rows).__name__ or hasattr(rows, "filename")
        threads = 100 * se.num_threads() + 10 * torch.get_num_threads() + int(os.environ["OMP_NUM_THREADS"])
        return 1000 * mapped + threads

    parent, before = os.getpid(), se.num_threads()
    monkeypatch.setenv("OMP_NUM_THREADS", "5")  # what this process may do is not what each of them may
    try:
        se.set_num_threads(6)
        report = run([SHORT, LONG], 1000, protocol=classifier(what))  # never more processes than tasks
    finally:
        se.set_num_threads(before)
    for result in report.values():
        mapped, ours, torchs, omp = map(int, str(int(result.details["gradient"])))
        assert (mapped, ours, omp) == (1, 3, 3)
        assert torchs <= 3  # torch takes no more than there are processors


@pytest.mark.parametrize(
    ("killed", "message"),
    [
        (False, "ArithmeticError: too many"),
        (True, "killed, perhaps because memory ran out; take fewer jobs than 2"),
    ],
)
def test_an_error_leaves_what_was_done(tmp_path, killed, message):
    def fails_on_more(examples):
        import os
        import signal
        import time

        if len(examples.labels) > 200:
            while not os.path.exists(out):  # the other one is done by then
                time.sleep(0.02)
            if killed:
                os.kill(os.getpid(), signal.SIGKILL)
            raise ArithmeticError("too many")

    out = str(tmp_path / "report.json")
    report = run([SHORT, LONG], 2, protocol=classifier(fails_on_more), out=out)
    assert message in report["long"].error
    assert report["short"].error is None
    assert Report.load(out)["short"].to_dict() == report["short"].to_dict()


def test_encoders_that_cannot_be_judged():
    def sometimes(sentences):
        rows = made.Noisy(0.6).encode(sentences)
        rows[[sentence.endswith("x") for sentence in sentences]] = np.nan
        return rows

    sides = tuple([f"{sentence} x" for sentence in side] for side in ALIKE[1]["test"].sentences)
    tasks = [ALIKE[0], replace(ALIKE[1], splits={"test": replace(ALIKE[1]["test"], sentences=sides)})]
    reports = [se.evaluate(sometimes, tasks, cache=False, resamples=50, jobs=jobs) for jobs in (1, 2)]
    one, two = ({name: result.error for name, result in report.items()} for report in reports)
    assert two == one
    assert one["similar"] is None
    assert "gave NaN or infinity for" in one["third"]


def test_tasks_that_cannot_be_judged():
    """One lacks a class to train on: it has an error, the others their figures."""
    one_class = with_dev(made.classes("alone"))
    train = replace(one_class["train"], labels=0 * one_class["train"].labels)
    one_class = replace(one_class, splits={**one_class.splits, "train": train})
    for jobs in (1, 2):
        report = run([SHORT, one_class, ALIKE[1]], jobs)
        assert list(report) == ["short", "alone", "third"]
        assert report["alone"].error == "fold 0 trains on one class alone: there is nothing to tell apart"
        assert report["alone"].details["data"]
        assert report["short"]["acc"] > 50
        assert report["third"].error is None


def test_jobs_are_numbers():
    with pytest.raises(ValueError, match="jobs must be at least 1, got 0"):
        run(TASKS, 0)


def test_long_tasks_are_first():
    ordered = sorted(TASKS, key=lambda task: longest_first(task, PROTOCOLS["fast"]))
    assert [task.name for task in ordered] == ["second", "kind", "similar", "third"]


def test_ctrl_c(tmp_path):
    """The whole group gets it, as from a terminal: one KeyboardInterrupt, no process left, results kept."""
    script = tmp_path / "script.py"  # without a guard of `__main__`
    script.write_text(
        textwrap.dedent(
            f"""
            import os, sys
            sys.path[:0] = {[str(Path(__file__).parent)]!r}
            import reports as made
            import test_processes as t

            def slow(examples):
                import os, time
                if len(examples.labels) > 200:
                    open({str(tmp_path / "pid")!r}, "w").write(str(os.getpid()))
                    time.sleep(600)

            t.run([t.SHORT, t.LONG], 2, protocol=t.classifier(slow), out={str(tmp_path / "out.json")!r})
            """
        )
    )
    child = subprocess.Popen(
        [sys.executable, script], stderr=subprocess.PIPE, start_new_session=True, text=True
    )
    end = time.monotonic() + 120
    while not (tmp_path / "pid").exists() or not (tmp_path / "out.json").exists():
        assert child.poll() is None, child.stderr.read()
        assert time.monotonic() < end
        time.sleep(0.1)
    os.killpg(child.pid, signal.SIGINT)
    _, error = child.communicate(timeout=30)
    assert child.returncode == -signal.SIGINT
    assert error.count("Traceback") == 1
    assert error.rstrip().endswith("KeyboardInterrupt")
    assert list(Report.load(tmp_path / "out.json")) == ["short"]
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


@pytest.mark.skipif("SENTENCODE_DATA" not in os.environ, reason="SENTENCODE_DATA is not set")
def test_real_tasks(tmp_path):
    """With other numbers of threads sums have other orders: a test example may change sides, no more."""
    data = Path(os.environ["SENTENCODE_DATA"]) / "senteval"
    encoder = se.Average(se.WordVectors.default())
    tasks = ["STS14", "CR", "STSBenchmark"]
    options = {"protocol": "fast", "options": {"folds": 3}, "resamples": 50, "cache": tmp_path}
    one, many = (se.evaluate(encoder, tasks, data, jobs=jobs, **options) for jobs in (1, 2))
    assert list(one) == list(many) == tasks
    assert many["CR"]["acc"] == pytest.approx(one["CR"]["acc"], abs=100 / 3775 + 0.01)
    assert many["STSBenchmark"]["pearson"] == pytest.approx(one["STSBenchmark"]["pearson"], abs=1e-4)
    assert many["STS14"].figures == one["STS14"].figures
