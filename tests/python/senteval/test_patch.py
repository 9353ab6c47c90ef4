"""Runs the adapter in a stub of SentEval's engine, before and after the patch."""

from __future__ import annotations

import importlib
import json
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import sentencode as se

torch = pytest.importorskip("torch")
pytest.importorskip("sklearn")
pytest.importorskip("scipy")

TASKS = ["CR", "ImageCaptionRetrieval", "SICKRelatedness", "SNLI", "STS12"]
NEEDS_CUDA = {"CR", "ImageCaptionRetrieval", "SICKRelatedness", "SNLI"}
RNG = np.random.default_rng(0)
TABLE = {w: RNG.normal(size=4) for w in ["a", "the", "cat", "dog", "sat", "down", "."]}


class Mean:
    dim = 4

    def encode(self, sentences):
        return np.stack(
            [np.mean([TABLE.get(w, np.zeros(4)) for w in s] or [np.zeros(4)], axis=0) for s in sentences]
        )


@pytest.fixture
def harness(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    yield importlib.import_module("stub_senteval")
    for name in [m for m in sys.modules if m.partition(".")[0] == "stub_senteval"]:
        del sys.modules[name]


def engine(harness, batch_size=2, **params):
    prepare, batcher = se.senteval.plugin(Mean())
    return harness.engine.SE({"task_path": ".", "batch_size": batch_size, **params}, batcher, prepare)


@pytest.mark.parametrize("task", TASKS)
def test_without_the_patch_it_fails(harness, task):
    if task in NEEDS_CUDA and torch.cuda.is_available():
        pytest.skip("CUDA is there")
    with pytest.raises((AttributeError, AssertionError, RuntimeError, TypeError, ValueError)):
        engine(harness).eval(task)


@pytest.mark.parametrize("task", TASKS)
def test_with_the_patch_results_are_json(harness, task):
    assert se.senteval.patch(harness) is harness
    result = engine(harness).eval(task)
    assert json.loads(json.dumps(result)) == result


@pytest.mark.parametrize("batch_size", [1, 3, 128])
def test_results_do_not_depend_on_the_batch(harness, batch_size):
    se.senteval.patch(harness)
    expected = engine(harness, batch_size=2).eval(TASKS)
    np.testing.assert_equal(engine(harness, batch_size=batch_size).eval(TASKS), expected)


def test_scores_are_those_of_the_pairs(harness):
    se.senteval.patch(harness)
    result = engine(harness).eval("STS12")
    pairs = [("a cat sat", "the cat sat down"), ("a dog", "the cat sat"), ("the dog sat", "the dog sat")]
    rows = Mean().encode([s.split() for pair in pairs for s in pair])
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    cosines = [*(rows[::2] * rows[1::2]).sum(1), 0.0]  # of unknown words: a zero row
    expected = np.corrcoef(cosines, [4.5, 1, 5, 0.5])[0, 1]
    assert result["pairs"]["pearson"][0] == pytest.approx(expected, abs=1e-6)
    assert result["pairs"]["nsamples"] == 4  # the unscored pair is left out


def test_the_patch_is_undone(harness):
    before = {name: vars(torch.Tensor).get(name) for name in ("cuda", "to")}
    array, available = np.array, torch.cuda.is_available
    se.senteval.patch(harness)
    engine(harness).eval(TASKS)
    assert {name: vars(torch.Tensor).get(name) for name in before} == before
    assert (np.array, torch.cuda.is_available) == (array, available)


def test_the_patch_is_undone_after_a_failure(harness):
    se.senteval.patch(harness)
    broken = engine(harness)
    broken.batcher = lambda params, batch: 1 / 0
    with pytest.raises(ZeroDivisionError):
        broken.eval("CR")
    assert "cuda" not in vars(torch.Tensor)


def test_patching_twice_changes_nothing(harness):
    evaluate = se.senteval.patch(harness).engine.SE.eval
    assert se.senteval.patch(harness).engine.SE.eval is evaluate


@pytest.mark.parametrize(
    ("solver", "name"), [("liblinear", "OneVsRestClassifier"), (None, "LogisticRegression")]
)
def test_scikit_learn_solver(harness, solver, name):
    validation = se.senteval.patch(harness, solver=solver).tools.validation
    assert type(validation.LogisticRegression(C=1.0)).__name__ == name
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = engine(harness, usepytorch=False).eval(["CR", "SNLI"])
    assert result["CR"]["acc"] > 50
    assert result["SNLI"]["acc"] >= 0.5


def test_unknown_solver(harness):
    with pytest.raises(ValueError, match="solver must be 'liblinear' or None, got 'sag'"):
        se.senteval.patch(harness, solver="sag")


def test_a_missing_senteval_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "senteval", None)
    with pytest.raises(ImportError, match=r"github\.com/facebookresearch/SentEval.*sentencode\[nn,eval\]"):
        se.senteval.patch()
