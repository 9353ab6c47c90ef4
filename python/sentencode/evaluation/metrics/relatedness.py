"""Relatedness of pairs, predicted by a softmax over the scores 1 to 5 (Tai et al., 2015)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._extras import require
from ...generators import isolated_generators
from .classifiers import Adam, Examples, Indices, Optimum
from .early_stopping import train_epoch, train_with_early_stopping
from .scores import pearson
from .solver import convergence, fit_logistic
from .validation import check_splits

__all__ = ["Relatedness", "relate"]

_SCORES = np.arange(1, 6)
_PENALTIES = tuple(2.0**t for t in range(-2, 4))


@dataclass(frozen=True, eq=False)
class Relatedness:
    """Pearson's correlation on dev, predicted test scores, the chosen penalty, and `convergence`."""

    dev_pearson: float
    scores: NDArray[np.float64]
    penalty: float | None
    gradient: float
    details: dict[str, float] = field(default_factory=dict)


def targets_of(scores: NDArray[np.float64]) -> NDArray[np.float32]:
    """Target distributions over the scores 1 to 5: a score is split between its two neighbours.

    As in SentEval, the probabilities of a score below 1, which STSBenchmark has, sum to less than 1.
    """
    floor = np.floor(scores)[:, None]
    above = np.where(floor + 1 == _SCORES, scores[:, None] - floor, 0)
    return (above + np.where(floor == _SCORES, floor - scores[:, None] + 1, 0)).astype(np.float32)


def relate(
    classifier: Any, examples: Examples, scores: NDArray[np.float64], splits: dict[str, Indices]
) -> Relatedness:
    """Fit to `"train"`, select the penalty or epoch on `"dev"`, and predict the scores of `"test"`.

    Args:
        classifier: With `Optimum`, the minimum of the cross-entropy; the penalty is selected on dev. With
            any other, the squared error by Adam with early stopping, as SentEval does for all classifiers.
        examples: All pairs; their labels are not used.
        scores: Gold scores of all pairs.
        splits: Indices of the pairs of each split.
    """
    check_splits(splits, "dev")
    if scores.min() < 0 or scores.max() > 5:
        raise ValueError(
            "relatedness is predicted by a distribution over 1 to 5: scores must be from 0 to 5, got "
            f"{scores.min():g} to {scores.max():g}; scale them"
        )
    if isinstance(classifier, Optimum):
        return _by_solver(classifier, examples, scores, splits)
    if not isinstance(classifier, Adam):
        classifier = Adam(memory=getattr(classifier, "memory", None))
    return _by_adam(classifier, examples, scores, splits)


def _by_solver(
    classifier: Optimum, examples: Examples, scores: NDArray[np.float64], splits: dict[str, Indices]
) -> Relatedness:
    train = np.zeros((1, len(scores)), dtype=np.bool_)
    train[0, splits["train"]] = True
    first, second = examples.sides
    solutions = fit_logistic(
        examples.embeddings,
        targets_of(scores),
        train,
        [(0, c) for c in _PENALTIES],
        pairs=(first, second),
        parts=examples.parts,
        tolerance=classifier.tolerance,
        device=classifier.device,
    )

    def expected(split: str) -> NDArray[np.float64]:  # [C, n]
        logits = examples.features(splits[split]) @ solutions.weights.transpose(0, 2, 1)
        logits = logits + solutions.intercepts[:, None]
        odds = np.exp(logits - logits.max(2, keepdims=True), dtype=np.float64)
        return np.asarray((odds / odds.sum(2, keepdims=True)) @ _SCORES.astype(np.float64))

    dev = [np.nan_to_num(pearson(row, scores[splits["dev"]])) for row in expected("dev")]
    best = int(np.argmax(dev))
    gradient, details = float(solutions.gradients.max()), convergence(solutions)
    return Relatedness(float(dev[best]), expected("test")[best], _PENALTIES[best], gradient, details)


def _by_adam(
    classifier: Adam, examples: Examples, scores: NDArray[np.float64], splits: dict[str, Indices]
) -> Relatedness:
    from copy import deepcopy

    torch = require("torch", "eval")
    examples.check_memory(classifier.memory)
    random = np.random.RandomState(classifier.seed)
    # Copies: the last digits of products depend on the alignment, which is the same for torch's memory.
    x = {split: torch.tensor(examples.features(indices)) for split, indices in splits.items()}
    y = torch.from_numpy(targets_of(scores[splits["train"]]))
    with isolated_generators(classifier.seed):
        linear = torch.nn.Linear(x["train"].shape[1], len(_SCORES), dtype=x["train"].dtype)
    model = torch.nn.Sequential(linear, torch.nn.Softmax(dim=-1))
    optimiser = torch.optim.Adam(model.parameters())
    loss_function = torch.nn.MSELoss(reduction=classifier.reduction)

    def expected(split: str) -> NDArray[np.float64]:
        with torch.no_grad():
            return np.asarray(model(x[split]).double().numpy() @ _SCORES.astype(np.float64))

    def epochs() -> None:
        for _ in range(50):
            train_epoch(model, optimiser, loss_function, x["train"], y, 64, random)

    def score() -> float:
        return float(np.nan_to_num(pearson(expected("dev"), scores[splits["dev"]])))

    bounds = {"epochs": 50, "tenacity": 3, "max_epochs": 1000}
    trained = train_with_early_stopping(epochs, score, lambda: deepcopy(model), **bounds)
    model = trained.best
    return Relatedness(trained.score, expected("test"), None, float("nan"))
