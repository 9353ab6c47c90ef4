"""Signs in a training's history that its result could be better."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from .history import History

__all__ = ["raised_loss", "recent_gain"]

_STEPS = 50  # of fewer, nothing is said
_PARTS = 10  # of a run, whose mean losses are compared
_GAIN = 0.05  # of the whole improvement


def raised_loss(history: History, untrained: float) -> tuple[float, float, float] | None:
    """Return the losses of a run whose learning rate was too high: at the start, its peak, and at the end.

    Either the loss ends above the start, or it has been far above it and is not much below it now. Both are
    relative to the start, which must be positive.

    Args:
        history: Of a run from the first step; of a resumed run nothing is known about the start.
        untrained: Validation loss before the training; NaN if it is unknown. With class weights, that of the
            first batch may be much lower.
    """
    losses = np.array([step.loss for step in history.steps])
    if len(losses) < _STEPS or history.steps[0].step != 1:
        return None
    start, later = float(np.fmax(losses[0], untrained)), losses[len(losses) // 2 :]
    if start <= 0:
        return None
    peak = max(float(part.mean()) for part in np.array_split(losses, _PARTS))
    above = [float(value - start) / start for value in (np.quantile(later, 0.25), peak, np.median(later))]
    if above[0] > 0.1 or (above[1] > 0.25 and above[2] > -0.1):
        return start, peak, float(np.median(later))
    return None


def recent_gain(
    history: History, scores: Sequence[float], untrained: float, higher: bool = False
) -> tuple[float, float] | None:
    """Return two scores of a training that was still improving: before its last part, and at the end.

    They are the last validation and the best one before the last tenth of them, or, without validations, the
    mean losses of the last fifth of the steps and of that before it. The gain must be more than 5 % of the
    whole improvement, and that of a mean loss more than two standard errors.

    Args:
        history: Of the run.
        scores: Of all validations.
        untrained: Score before the training; NaN if it is unknown.
        higher: Whether a higher score is better.
    """
    losses = np.array([step.loss for step in history.steps])
    if len(losses) < _STEPS:
        return None
    if scores:
        start = scores[0] if math.isnan(untrained) else untrained
        if len(scores) < 3 or not np.isfinite([start, *scores]).all():
            return None
        sign, earlier = 1 if higher else -1, scores[: -max(1, len(scores) // _PARTS)]
        before = max(earlier, key=lambda score: sign * score)
        gain, total = sign * (scores[-1] - before), sign * (scores[-1] - start)
        return (before, scores[-1]) if gain > _GAIN * total > 0 else None
    parts = np.array_split(losses, 5)
    first, before_last, last = (float(parts[i].mean()) for i in (0, -2, -1))
    error = math.hypot(*(float(part.std()) / math.sqrt(len(part)) for part in parts[-2:]))
    is_falling = before_last - last > max(_GAIN * (first - last), 2 * error)
    return (before_last, last) if is_falling else None
