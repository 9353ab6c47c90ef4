"""Tasks judged by several processes: the same figures, a fair share of threads, a clean end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
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


@pytest.mark.parametrize("cache", [False, True])
def test_figures_are_those_of_one_process(tmp_path, cache):
    """To the last digit: both have one thread a task."""
    before = se.num_threads(), torch.get_num_threads()
    se.set_num_threads(1)
    torch.set_num_threads(1)
    try:
        options = {"cache": tmp_path, "key": "a"} if cache else {}
        many, one = run(TASKS, 3, **options), run(TASKS, 1)
    finally:
        se.set_num_threads(before[0])
        torch.set_num_threads(before[1])
    assert list(many) == [task.name for task in TASKS]  # not as they were done
    assert without_seconds(many) == without_seconds(one)
    assert many["kind"].wrong() == one["kind"].wrong()  # with their sentences
    assert many.facts["dim"] == 4
    assert many.facts["sentences_per_second"] > 0
    assert len(list(tmp_path.glob("*.npy"))) == (len(TASKS) if cache else 0)


def test_threads_are_shared(monkeypatch):
    def threads(examples):
        import os

        import torch

        import sentencode as se

        assert os.getpid() != parent
        return 10000 * se.num_threads() + 100 * torch.get_num_threads() + int(os.environ["OMP_NUM_THREADS"])

    parent, before = os.getpid(), se.num_threads()
    monkeypatch.setenv("OMP_NUM_THREADS", "5")  # what this process may do is not what each of them may
    try:
        for threads_, jobs, share in ((2, 2, 1), (6, 1000, 3)):  # never more processes than tasks
            se.set_num_threads(threads_)
            report = run(TASKS[1:3], jobs, protocol=classifier(threads))
            for result in report.values():
                ours, torchs = divmod(int(result.details["gradient"]), 10000)
                torchs, omp = divmod(torchs, 100)
                assert (ours, omp) == (share, share)
                assert torchs <= share  # torch takes no more than there are processors
    finally:
        se.set_num_threads(before)


def test_rows_are_mapped():
    def is_mapped(examples):
        rows = examples.embeddings
        while rows.base is not None and not hasattr(rows, "filename"):
            rows = rows.base
        return 1 + int("mmap" in type(rows).__name__ or hasattr(rows, "filename"))

    report = run(TASKS[1:3], 2, protocol=classifier(is_mapped))
    assert {result.details["gradient"] for result in report.values()} == {2}


def test_an_error_leaves_what_was_done(tmp_path):
    out = tmp_path / "report.json"

    def fails_on_more(examples):
        import time

        if len(examples.labels) > 120:
            time.sleep(2)  # the other one is done by then
            raise ArithmeticError("too many")

    with pytest.raises(ArithmeticError, match="too many"):
        run(TASKS[1:3], 2, protocol=classifier(fails_on_more), out=out)
    assert list(Report.load(out)) == ["kind"]


def test_a_process_that_is_killed(tmp_path):
    def killed(examples):
        import os
        import signal
        import time

        if len(examples.labels) > 120:
            time.sleep(2)
            os.kill(os.getpid(), signal.SIGKILL)

    out = tmp_path / "report.json"
    with pytest.raises(RuntimeError, match="ended from outside, perhaps for want of memory; take fewer jobs"):
        run(TASKS[1:3], 2, protocol=classifier(killed), out=out)
    assert list(Report.load(out)) == ["kind"]


def test_encoders_that_cannot_be_judged():
    def sometimes(sentences):
        rows = made.Noisy(0.6).encode(sentences)
        return rows * np.nan if len(sentences) < 50 else rows

    report = se.evaluate(sometimes, TASKS, protocol="fast", cache=False, resamples=50, jobs=2)
    expected = se.evaluate(sometimes, TASKS, protocol="fast", cache=False, resamples=50)
    errors = {name: result.error for name, result in expected.items()}
    assert {name: result.error for name, result in report.items()} == errors
    assert 0 < sum(error is not None for error in errors.values()) < len(TASKS)


def test_resumed(tmp_path):
    out = tmp_path / "report.json"
    run(TASKS[:1], 1, out=out, key="a")
    assert list(run(TASKS, 2, out=out, key="a")) == [task.name for task in TASKS]
    assert list(Report.load(out)) == [task.name for task in TASKS]
    assert len(run(TASKS, 2, out=out, key="a")) == 4  # nothing is left to do


def test_bars(capsys):
    run(TASKS, 2, show_progress_bar=True)
    shown = capsys.readouterr().err
    assert "4/4" in shown
    assert "5/4" not in shown
    assert "kind (encoding)" in shown


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
                if len(examples.labels) > 120:
                    open({str(tmp_path / "pid")!r}, "w").write(str(os.getpid()))
                    time.sleep(600)

            t.run(t.TASKS[1:3], 2, protocol=t.classifier(slow), out={str(tmp_path / "out.json")!r})
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
    assert list(Report.load(tmp_path / "out.json")) == ["kind"]
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


@pytest.mark.skipif("SENTENCODE_DATA" not in os.environ, reason="SENTENCODE_DATA is not set")
def test_real_tasks(tmp_path):
    """With other numbers of threads sums have other orders: a test example may change sides, no more."""
    data = Path(os.environ["SENTENCODE_DATA"]) / "senteval"
    encoder = se.Average(se.WordVectors.default())
    tasks = ["STS14", "CR", "TREC", "STSBenchmark"]
    options = {"protocol": "fast", "resamples": 50, "cache": tmp_path}
    one, many = (se.evaluate(encoder, tasks, data, jobs=jobs, **options) for jobs in (1, 2))
    assert list(one) == list(many) == tasks
    for task, size in (("CR", 3775), ("TREC", 500)):
        assert many[task]["acc"] == pytest.approx(one[task]["acc"], abs=100 / size + 0.01)
    assert many["STSBenchmark"]["pearson"] == pytest.approx(one["STSBenchmark"]["pearson"], abs=1e-4)
    assert many["STS14"].figures == one["STS14"].figures
