"""Cross-validation and grid search as in SentEval, with its splits, folds and rounding."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..._extras import require
from .classifiers import Classifier, Examples, Fit, Indices, Labels, Predictions, Progress
from .solver import convergence

__all__ = ["Validated", "check_splits", "cross_validate", "stratified_folds"]

_SPLITS = {"nested": ("all",), "folds": ("train", "test"), "dev": ("train", "dev", "test")}


@dataclass(frozen=True, eq=False)
class Validated:
    """Accuracies and predictions of cross-validated classifiers.

    Attributes:
        dev_accuracy: SentEval's `devacc`, percent.
        accuracy: SentEval's `acc`, percent.
        tested: Indices of the test examples.
        predictions: Predicted classes of the test examples.
        penalties: Chosen penalty of each test fold.
        gradient: Largest element of all final gradients; NaN if unknown.
        majority: Accuracy of always predicting the most frequent training class, percent.
        details: `convergence` of the solver, and the accuracies of the outer folds.
    """

    dev_accuracy: float
    accuracy: float
    tested: Indices
    predictions: Labels
    penalties: tuple[float, ...]
    gradient: float
    majority: float
    details: dict[str, Any] = field(default_factory=dict)


def cross_validate(
    classifier: Classifier,
    examples: Examples,
    splits: dict[str, Indices],
    validation: str,
    folds: int,
    *,
    penalised: bool = True,
    on_progress: Progress | None = None,
) -> Validated:
    """Choose penalties by grid search and test the classifiers, as SentEval does.

    Args:
        classifier: The classifier.
        examples: All examples of the task.
        splits: Indices of the examples of each split: `"all"`, or `"train"`, `"dev"` and `"test"`.
        validation: `"nested"`, `"folds"` or `"dev"`: see `Kind`.
        folds: Number of folds.
        penalised: Whether the penalty is searched; it is not for SNLI.
        on_progress: Called with the number of trained classifiers, and the number of all.
    """
    check_splits(splits, validation)
    grid = classifier.penalties(validation if penalised else "none")
    outer = [(splits["train"], splits["test"])] if validation != "nested" else []
    if validation == "nested":
        every = splits["all"]
        outer = [(every[a], every[b]) for a, b in stratified_folds(examples.labels[every], folds)]
    inner = [
        [(train, splits["dev"])]
        if validation == "dev"
        else [(train[a], train[b]) for a, b in stratified_folds(examples.labels[train], folds)]
        for train, _ in outer
    ]
    fits = [Fit(train, c, valid) for pairs in inner for train, valid in pairs for c in grid]
    total = len(fits) + (0 if validation == "dev" else len(outer))
    searched = classifier.predict(examples, fits, _offset(on_progress, 0, total))
    right = searched.classes == examples.labels
    accuracies = np.array([right[i, fit.valid].mean() for i, fit in enumerate(fits)])
    # As in SentEval, means are rounded before the best is chosen: in near ties the first penalty wins.
    means = [np.round(100 * s.reshape(-1, len(grid)).mean(0), 2) for s in np.split(accuracies, len(outer))]
    best = [int(np.argmax(mean)) for mean in means]

    if validation == "dev":  # the chosen classifier was trained by the grid search
        final, trained = Predictions(searched.classes[best], searched.gradients[best]), [searched]
    else:
        refits = [Fit(train, grid[c]) for (train, _), c in zip(outer, best, strict=True)]
        final = classifier.predict(examples, refits, _offset(on_progress, len(fits), total))
        trained = [searched, final]
    tests = [test for _, test in outer]
    predicted = [final.classes[i, test] for i, test in enumerate(tests)]
    test_accuracies = [
        round(100 * float(np.mean(classes == examples.labels[test])), 2)
        for classes, test in zip(predicted, tests, strict=True)
    ]
    most_frequent = [np.bincount(examples.labels[train]).argmax() for train, _ in outer]
    majority = [examples.labels[test] == label for test, label in zip(tests, most_frequent, strict=True)]
    return Validated(
        dev_accuracy=round(float(np.mean([mean.max() for mean in means])), 2),
        accuracy=round(float(np.mean(test_accuracies)), 2),
        tested=np.concatenate(tests),
        predictions=np.concatenate(predicted).astype(np.int64),
        penalties=tuple(grid[c] for c in best),
        gradient=float(max(one.gradients.max() for one in trained)),
        majority=round(100 * float(np.mean(np.concatenate(majority))), 2),
        details=convergence(*trained) | ({"accuracies": test_accuracies} if validation == "nested" else {}),
    )


def check_splits(splits: Iterable[str], validation: str) -> None:
    """Check that a task has the splits that its validation needs."""
    needed, names = _SPLITS[validation], list(splits)
    if not set(needed) <= set(names):
        raise ValueError(f"needs the splits {', '.join(needed)}; there are {', '.join(names) or 'none'}")


def stratified_folds(labels: Labels, folds: int) -> list[tuple[Indices, Indices]]:
    """Training and held-out indices of SentEval's stratified k-fold."""
    most = int(np.bincount(labels).max())
    if most < folds:
        raise ValueError(f"{folds} folds need a class of as many examples; the largest of these has {most}")
    selection = require("sklearn.model_selection", "eval")
    splitter = selection.StratifiedKFold(n_splits=folds, shuffle=True, random_state=1111)
    return list(splitter.split(np.zeros((len(labels), 1)), labels))


def _offset(on_progress: Progress | None, before: int, total: int) -> Progress | None:
    return None if on_progress is None else lambda done, _: on_progress(before + done, total)
