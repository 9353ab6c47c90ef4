"""Figures over several runs of what is random: seeds of a classifier, choices of training examples."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .metrics import (
    Interval,
    f1_of_resamples,
    percentile_interval,
    resampled_correlations,
    resampled_means,
)
from .report import TaskResult

__all__ = ["over_runs"]

_SEED = 1111  # of what is resampled, as of all other intervals

Runs = Sequence[NDArray[Any]]
Drawn = NDArray[np.float64]


def over_runs(
    results: Sequence[TaskResult], *, confidence: float = 0.95, resamples: int = 2000
) -> TaskResult:
    """The mean of several runs of a task.

    Its intervals cover both what is random: other tested examples, and other runs, which are drawn anew with
    replacement. What was said of each example is that of the first run.

    Args:
        results: One a run.
        confidence: Of the intervals.
        resamples: Of the bootstrap.

    Returns:
        The first run's result with the means of all for figures. Its details have `"deviations"`, of a sample
        of runs, and `"by_run"`.

    Example:
        >>> import numpy as np
        >>> from sentencode.evaluation import TaskResult
        >>> from sentencode.evaluation.report import Judged
        >>> places, gold = np.arange(4), np.array([0, 1, 0, 1])
        >>> runs = [
        ...     TaskResult("mine", {"acc": 50.0}, {}, {"test": Judged("test", places, gold * 0, gold)}),
        ...     TaskResult("mine", {"acc": 100.0}, {}, {"test": Judged("test", places, gold, gold)}),
        ... ]
        >>> found = over_runs(runs)
        >>> found["acc"], found.details["by_run"]["acc"], found.intervals["acc"].high
        (75.0, [50.0, 100.0], 100.0)
    """
    first = results[0]
    values = {key: [result.figures[key] for result in results] for key in first.figures}
    measured = {key: each for key, each in values.items() if isinstance(each[0], float)}
    means = {key: float(np.mean(each)) for key, each in measured.items()}
    means |= {key: round(means[key], 2) for key in _PERCENT if key in means}
    intervals = dict(first.intervals)
    for key in set(_RESAMPLED) & set(measured):
        drawn = _resampled(key, results, resamples)  # [resamples, runs]
        chosen = np.random.default_rng(_SEED).integers(0, len(results), size=drawn.shape)
        mean_of_drawn = np.take_along_axis(drawn, chosen, axis=1).mean(axis=1)
        intervals[key] = Interval(*percentile_interval(mean_of_drawn, confidence))
    deviations = {
        key: float(np.std(each, ddof=1)) if len(each) > 1 else 0.0 for key, each in measured.items()
    }
    details = first.details | {"deviations": deviations, "by_run": measured}
    return replace(first, figures=first.figures | means, intervals=intervals, details=details)


def _resampled(key: str, results: Sequence[TaskResult], resamples: int) -> Drawn:
    judged = [next(iter(result.judged.values())) for result in results]
    of = _RESAMPLED[key]
    if all(np.array_equal(one.places, judged[0].places) for one in judged):  # the same draws for all
        return of([one.predicted for one in judged], judged[0].gold, resamples, _SEED)
    apart = [of([one.predicted], one.gold, resamples, _SEED + i) for i, one in enumerate(judged)]
    return np.concatenate(apart, axis=1)


def _accuracies(predicted: Runs, gold: NDArray[Any], resamples: int, seed: int) -> Drawn:
    return 100 * resampled_means([one == gold for one in predicted], resamples, seed)


def _squares(predicted: Runs, gold: NDArray[Any], resamples: int, seed: int) -> Drawn:
    return resampled_means([(one - gold) ** 2 for one in predicted], resamples, seed)


def _f1s(predicted: Runs, gold: NDArray[Any], resamples: int, seed: int) -> Drawn:
    return 100 * f1_of_resamples(predicted, gold, resamples, seed)


def _pearsons(predicted: Runs, gold: NDArray[Any], resamples: int, seed: int) -> Drawn:
    return np.stack(
        [resampled_correlations(one, gold, "pearson", resamples, seed) for one in predicted], axis=1
    )


def _spearmans(predicted: Runs, gold: NDArray[Any], resamples: int, seed: int) -> Drawn:
    return np.stack(
        [resampled_correlations(one, gold, "spearman", resamples, seed) for one in predicted], axis=1
    )


_PERCENT = ("devacc", "acc", "f1")
_RESAMPLED: dict[str, Callable[[Runs, NDArray[Any], int, int], Drawn]] = {
    "acc": _accuracies,
    "f1": _f1s,
    "pearson": _pearsons,
    "spearman": _spearmans,
    "mse": _squares,
}
