"""Linear maps by ridge regression."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

__all__ = ["chosen_map", "linear_map"]

Doubles = npt.NDArray[np.float64]
Map = tuple[Doubles, Doubles]
_RIDGES = (1e-4, 1e-3, 1e-2, 0.1, 1.0, 10.0)  # in multiples of the mean squared length of the columns
_PART = 5  # every fifth row is held out
_FEW = 10  # rows; fewer cannot choose


def linear_map(x: Doubles, y: Doubles, ridge: float) -> Map:
    """Return A [E, F] and b [F] that minimise |x A + b - y|^2 + ridge |A|^2, with minimal A, for x [n, E]."""
    if ridge > 0:
        return _maps(x, y, [ridge])[0]
    mean_x, mean_y = x.mean(0), y.mean(0)
    a = np.linalg.lstsq(x - mean_x, y - mean_y, rcond=None)[0]
    return a, mean_y - mean_x @ a


def chosen_map(x: Doubles, y: Doubles) -> Map:
    """Return `linear_map` with the ridge that maps held-out rows best, or the largest for less than ten."""
    unit = float(np.square(x - x.mean(0)).sum(0).mean()) or 1.0
    ridges = [unit * ridge for ridge in _RIDGES]
    best = len(ridges) - 1
    if len(x) >= _FEW:
        held_out = np.arange(len(x)) % _PART == _PART - 1
        maps = _maps(x[~held_out], y[~held_out], ridges)
        best = int(np.argmin([np.square(x[held_out] @ a + b - y[held_out]).sum() for a, b in maps]))
    return linear_map(x, y, ridges[best])


def _maps(x: Doubles, y: Doubles, ridges: Sequence[float]) -> list[Map]:
    """`linear_map` for several ridges above 0."""
    mean_x, mean_y = x.mean(0), y.mean(0)
    x, y = x - mean_x, y - mean_y
    gram, cross = x.T @ x, x.T @ y  # [E, E], [E, F]
    solutions = [np.linalg.solve(gram + ridge * np.eye(len(gram)), cross) for ridge in ridges]
    return [(a, mean_y - mean_x @ a) for a in solutions]
