"""The benchmark against scikit-learn, which extrapolates long runs."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("sklearn")

BENCHMARKS = Path(__file__).parents[4] / "benchmarks"


@pytest.mark.parametrize(
    ("splits", "validation", "how", "fits"),
    [
        ({"all": range(60)}, "nested", "one of 3 outer folds, extrapolated", 3 * 6 + 1),
        ({"train": range(40), "test": range(40, 60)}, "folds", "one of 3 folds, extrapolated", 7),
    ],
)
def test_one_fold_is_extrapolated(splits, validation, how, fits, monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    monkeypatch.delitem(sys.modules, "evaluate", raising=False)
    benchmark = importlib.import_module("evaluate")
    random = np.random.default_rng(0)
    labels = np.arange(60) % 2
    rows = (random.normal(size=(60, 4)) + labels[:, None]).astype(np.float32)
    examples = benchmark.Examples(rows, (np.arange(60),), ("u",), labels, 2)
    splits_of_rows = {name: np.array(numbers) for name, numbers in splits.items()}
    monkeypatch.setattr(
        benchmark, "case_of", lambda name, dim: benchmark.Case(examples, splits_of_rows, validation)
    )
    monkeypatch.setattr(benchmark, "BUDGET", 0.0)
    monkeypatch.setattr(benchmark, "FOLDS", 3)
    monkeypatch.setattr(benchmark, "PROCESSES", 1)
    facts = benchmark.scikit_learn("mine", 4)
    sys.modules.pop("evaluate")
    assert (facts["how"], facts["fits"], facts["acc"]) == (how, fits, None)
    assert facts["seconds"] > facts["timed"] > 0
