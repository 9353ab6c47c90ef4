"""Training until held-out examples gain no more, as SentEval trains all that it trains itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..._extras import require

__all__ = ["Stopped", "train_epoch", "train_until_no_better"]


class Stopped(NamedTuple):
    """The best state, its score, and after how many epochs the training ended."""

    best: Any
    score: float
    epochs: int


def train_until_no_better(
    train: Callable[[], None],
    score: Callable[[], float],
    state: Callable[[], Any],
    *,
    epochs: int,
    tenacity: int,
    most: int,
) -> Stopped:
    """Trains so many epochs at a time, until the score has failed to rise once more than `tenacity` times."""
    best, highest, failures, done = state(), -1.0, 0, 0
    while done <= most:
        train()
        done += epochs
        found = score()
        if found > highest:
            best, highest = state(), found
        elif failures >= tenacity:
            break
        else:
            failures += 1
    return Stopped(best, highest, done)


def train_epoch(
    model: Any, optimiser: Any, loss_of: Any, x: Any, y: Any, size: int, random: np.random.RandomState
) -> None:
    """One epoch of batches of this size, in a new order."""
    torch = require("torch", "eval")
    for batch in torch.from_numpy(random.permutation(len(x))).split(size):
        optimiser.zero_grad()
        loss_of(model(x[batch]), y[batch]).backward()
        optimiser.step()
