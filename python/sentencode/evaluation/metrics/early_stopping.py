"""Early stopping as in SentEval."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..._extras import require

__all__ = ["EarlyStopped", "train_epoch", "train_with_early_stopping"]


class EarlyStopped(NamedTuple):
    """The best state, its score, and the number of epochs."""

    best: Any
    score: float
    epochs: int


def train_with_early_stopping(
    train: Callable[[], None],
    score: Callable[[], float],
    state: Callable[[], Any],
    *,
    epochs: int,
    tenacity: int,
    max_epochs: int,
) -> EarlyStopped:
    """Train `epochs` at a time until the score has failed to rise more than `tenacity` times."""
    best, highest, failures, done = state(), -1.0, 0, 0
    while done <= max_epochs:
        train()
        done += epochs
        current = score()
        if current > highest:
            best, highest = state(), current
        elif failures >= tenacity:
            break
        else:
            failures += 1
    return EarlyStopped(best, highest, done)


def train_epoch(
    model: Any, optimiser: Any, loss_function: Any, x: Any, y: Any, size: int, random: np.random.RandomState
) -> None:
    """Train one epoch in batches of this size, in a random order."""
    torch = require("torch", "eval")
    for batch in torch.from_numpy(random.permutation(len(x))).split(size):
        optimiser.zero_grad()
        loss_function(model(x[batch]), y[batch]).backward()
        optimiser.step()
