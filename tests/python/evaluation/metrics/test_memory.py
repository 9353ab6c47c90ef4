"""Protocols that store features refuse too large tasks; others stream them."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("sklearn")
sys.path.insert(0, str(Path(__file__).parents[1]))
import reports as made

import sentencode as se
from sentencode.evaluation import PROTOCOLS, Kind, Split, Task, learning_curve
from sentencode.evaluation.metrics import classifiers as room

HOLDING = ["senteval-torch", "senteval-sklearn", "liblinear"]
FEATURES = ("u", "v", "|u-v|", "u*v")
BYTES = 2 * 4 * 300 * 4 * 4  # twice float32 of 300 pairs of 4 numbers


def pairs(question, scores):
    rng = np.random.default_rng(0)
    splits = {}
    for name in ("train", "dev", "test"):
        a, b = rng.integers(0, 60, size=(2, 100))
        labels = 5 - np.abs(a - b) / 15 if scores else (a + b) % 2
        splits[name] = Split(([made.WORDS[i] for i in a], [made.WORDS[i] for i in b]), labels)
    return Task(question, splits, Kind(question, "dev", pairs=True, features=FEATURES))


ENTAILED, RELATED = pairs("classification", False), pairs("relatedness", True)


def run(tasks, protocol, memory=None, **more):
    options = {} if memory is None else {"memory": memory}
    options |= {
        "senteval-torch": {"max_epoch": 1, "epoch_size": 1},
        "senteval-sklearn": {"jobs": 1},
        "liblinear": {"jobs": 1},
    }.get(protocol, {})
    return se.evaluate(
        made.Noisy(0.5), tasks, protocol=protocol, options=options, resamples=20, cache=False, **more
    )


@pytest.mark.parametrize("protocol", HOLDING)
@pytest.mark.parametrize("task", [ENTAILED, RELATED], ids=["classes", "scores"])
def test_problems_larger_than_memory_are_refused(task, protocol):
    report = run([task, made.scores()], protocol, memory=0.999e-9 * BYTES)
    error = report.results[task.name].error
    assert "the features of 300 examples of 16 dimensions and the training copies need 3.84e-05 GB" in error
    assert "but 3.84e-05 GB are available; use the protocol optimum or fast" in error
    assert report["similar"].error is None  # the others go on


@pytest.mark.parametrize("protocol", HOLDING)
def test_problems_that_fit_are_solved(protocol):
    assert run(ENTAILED, protocol, memory=1.001e-9 * BYTES)["classification"].error is None


@pytest.mark.parametrize("protocol", HOLDING)
def test_the_bound_is_the_free_memory(monkeypatch, protocol):
    monkeypatch.setattr(room, "free_memory", lambda: BYTES - 1.0)
    assert "need 3.84e-05 GB" in run(ENTAILED, protocol).results["classification"].error
    assert run(ENTAILED, protocol, memory=1)["classification"].error is None
    monkeypatch.setattr(room, "free_memory", lambda: BYTES + 1.0)
    assert run(ENTAILED, protocol)["classification"].error is None


def test_of_single_sentences():
    task = made.classes()  # 120 of 4 numbers
    bound = 2 * 4 * 120 * 4e-9
    assert run(task, "liblinear", memory=1.001 * bound)["kind"].error is None
    assert "120 examples of 4 dimensions" in run(task, "liblinear", memory=0.99 * bound).results["kind"].error


@pytest.mark.parametrize("protocol", ["optimum", "fast"])
def test_the_optimum_streams(monkeypatch, protocol):
    monkeypatch.setattr(room, "free_memory", lambda: 0.0)
    assert run(ENTAILED, protocol)["classification"].error is None
    with pytest.raises(TypeError, match="memory"):
        run(ENTAILED, protocol, memory=1)


def test_other_tasks_are_evaluated(caplog):
    report = run([ENTAILED, made.scores()], "senteval-sklearn", memory=1e-6)
    assert "need 3.84e-05 GB" in report.results["classification"].error
    assert report["similar"].error is None
    assert report["similar"].splits is not None
    assert "classification: the features of 300 examples" in caplog.text


def test_learning_curves_refuse_them_too():
    small = replace(
        PROTOCOLS["liblinear"], classifier=replace(PROTOCOLS["liblinear"].classifier, memory=1e-9)
    )
    with pytest.raises(MemoryError, match="use the protocol optimum or fast"):
        learning_curve(made.Noisy(0.5), ENTAILED, protocol=small, cache=False, resamples=5)


def test_rows_of_many_pairs_are_never_held():
    """Features of 1.2 million examples of 232 dimensions would take 1 GiB; they are streamed by default."""
    code = """
        import numpy as np
        from sentencode.evaluation.metrics.solver import fit_logistic
        random, n = np.random.default_rng(0), 1_200_000
        def peak():  # in MiB. Not getrusage's: that of a child begins at its parent's size.
            (line,) = [line for line in open("/proc/self/status") if line.startswith("VmHWM")]
            return int(line.split()[1]) >> 10
        x = random.normal(size=(1000, 58)).astype(np.float32)
        first, second, labels = (random.integers(0, size, n) for size in (1000, 1000, 2))
        def fit(count):
            return fit_logistic(
                x, labels[:count], np.ones((1, count), bool), [(0, 1.0)], max_iterations=2,
                pairs=(first[:count], second[:count]), parts=("u", "v", "|u-v|", "u*v"),
            )
        fit(10_000)
        before = peak()
        fit(n)
        print(peak() - before)
    """
    ran = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    assert int(ran.stdout) < 400
