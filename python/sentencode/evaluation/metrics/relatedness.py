"""Scores of pairs, learnt: a softmax over five degrees, whose expectation is the score (Tai et al., 2015)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._extras import require
from ...generators import isolated_generators
from .classifiers import Adam, Examples, Optimum, Places, check_splits
from .early_stopping import train_epoch, train_until_no_better
from .scores import pearson
from .solver import ends, fit_logistic

__all__ = ["Related", "relate"]

_DEGREES = np.arange(1, 6)
_PENALTIES = tuple(2.0**t for t in range(-2, 4))


@dataclass(frozen=True, eq=False)
class Related:
    """Pearson's correlation on dev, scores of test, the chosen penalty, and the solver's `ends`."""

    dev: float
    scores: NDArray[np.float64]
    chosen: float | None
    gradient: float
    details: dict[str, float] = field(default_factory=dict)


def targets_of(scores: NDArray[np.float64]) -> NDArray[np.float32]:
    """Scores as shares of the degrees 1 to 5, of which the two next to a score have some.

    A score below 1, which STSBenchmark has, belongs to degree 1 in part, or (0) to none at all: so it is in
    SentEval, and results would not compare if it were not so here.

    Example:
        >>> targets_of(np.array([3.25, 5.0, 0.5]))
        array([[0.  , 0.  , 0.75, 0.25, 0.  ],
               [0.  , 0.  , 0.  , 0.  , 1.  ],
               [0.5 , 0.  , 0.  , 0.  , 0.  ]], dtype=float32)
    """
    floor = np.floor(scores)[:, None]
    above = np.where(floor + 1 == _DEGREES, scores[:, None] - floor, 0)
    return (above + np.where(floor == _DEGREES, floor - scores[:, None] + 1, 0)).astype(np.float32)


def relate(
    classifier: Any, examples: Examples, scores: NDArray[np.float64], splits: dict[str, Places]
) -> Related:
    """Learns scores from `"train"`, chooses by `"dev"`, and scores `"test"`.

    Args:
        classifier: `Optimum`: the cross-entropy at its optimum, its penalty chosen by dev. Any other: what
            SentEval has for every classifier, the squared error by Adam until dev stops rising.
        examples: All pairs; their classes are not looked at.
        scores: Of all pairs.
        splits: Which pairs are which.

    Returns:
        What was found.

    Raises:
        ValueError: A split is missing, or a score is below 0 or above 5.
    """
    check_splits(splits, "dev")
    if scores.min() < 0 or scores.max() > 5:
        raise ValueError(
            "relatedness is learnt as shares of the degrees 1 to 5: scores must be from 0 to 5, got "
            f"{scores.min():g} to {scores.max():g}; scale them"
        )
    if isinstance(classifier, Optimum):
        return _at_optimum(classifier, examples, scores, splits)
    if not isinstance(classifier, Adam):
        classifier = Adam(memory=getattr(classifier, "memory", None))
    return _by_adam(classifier, examples, scores, splits)


def _at_optimum(
    classifier: Optimum, examples: Examples, scores: NDArray[np.float64], splits: dict[str, Places]
) -> Related:
    train = np.zeros((1, len(scores)), dtype=np.bool_)
    train[0, splits["train"]] = True
    first, second = examples.sides
    found = fit_logistic(
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
        logits = (
            examples.features(splits[split]) @ found.weights.transpose(0, 2, 1) + found.intercepts[:, None]
        )
        shares = np.exp(logits - logits.max(2, keepdims=True), dtype=np.float64)
        return np.asarray((shares / shares.sum(2, keepdims=True)) @ _DEGREES.astype(np.float64))

    dev = [np.nan_to_num(pearson(row, scores[splits["dev"]])) for row in expected("dev")]
    best = int(np.argmax(dev))
    gradient = float(found.gradients.max())
    return Related(float(dev[best]), expected("test")[best], _PENALTIES[best], gradient, ends(found))


def _by_adam(
    classifier: Adam, examples: Examples, scores: NDArray[np.float64], splits: dict[str, Places]
) -> Related:
    from copy import deepcopy

    torch = require("torch", "eval")
    examples.check_memory(classifier.memory)
    random = np.random.RandomState(classifier.seed)
    # Copied: the last digits of products depend on where memory begins, which is the same for torch's own.
    x = {split: torch.tensor(examples.features(places)) for split, places in splits.items()}
    y = torch.from_numpy(targets_of(scores[splits["train"]]))
    with isolated_generators(classifier.seed):  # all that torch samples
        linear = torch.nn.Linear(x["train"].shape[1], len(_DEGREES), dtype=x["train"].dtype)
    model = torch.nn.Sequential(linear, torch.nn.Softmax(dim=-1))
    optimiser = torch.optim.Adam(model.parameters())
    loss_of = torch.nn.MSELoss(reduction=classifier.reduction)

    def expected(split: str) -> NDArray[np.float64]:
        with torch.no_grad():
            return np.asarray(model(x[split]).double().numpy() @ _DEGREES.astype(np.float64))

    def epochs() -> None:
        for _ in range(50):
            train_epoch(model, optimiser, loss_of, x["train"], y, 64, random)

    def score() -> float:
        return float(np.nan_to_num(pearson(expected("dev"), scores[splits["dev"]])))

    bounds = {"epochs": 50, "tenacity": 3, "most": 1000}
    found = train_until_no_better(epochs, score, lambda: deepcopy(model), **bounds)
    model = found.best
    return Related(found.score, expected("test"), None, float("nan"))
