"""Linear maps by ridge regression."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["chosen_map", "linear_map"]

Doubles = npt.NDArray[np.float64]
_RIDGES = (1e-4, 1e-3, 1e-2, 0.1, 1.0, 10.0)  # in multiples of the mean square length of the columns
_PART = 5  # every fifth row is held out


def linear_map(x: Doubles, y: Doubles, ridge: float) -> tuple[Doubles, Doubles]:
    """Return A [E, F] and b [F] that minimise |x A + b - y|^2 + ridge |A|^2, with minimal A, for x [n, E]."""
    mean_x, mean_y = x.mean(0), y.mean(0)
    x, y = x - mean_x, y - mean_y
    if ridge > 0:
        a = np.linalg.solve(x.T @ x + ridge * np.eye(x.shape[1]), x.T @ y)
    else:
        a = np.linalg.lstsq(x, y, rcond=None)[0]
    return a, mean_y - mean_x @ a


def chosen_map(x: Doubles, y: Doubles) -> tuple[Doubles, Doubles]:
    """Return `linear_map` with the ridge that maps held-out rows best; the largest for a few rows."""
    unit = float(np.square(x - x.mean(0)).sum(0).mean()) or 1.0
    held_out = np.arange(len(x)) % _PART == _PART - 1

    def error(ridge: float) -> float:
        a, b = linear_map(x[~held_out], y[~held_out], ridge * unit)
        return float(np.square(x[held_out] @ a + b - y[held_out]).sum())

    ridges = _RIDGES if held_out.sum() > 1 else _RIDGES[-1:]
    return linear_map(x, y, unit * min(ridges, key=error))
