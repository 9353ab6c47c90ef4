"""Figures over several runs of what is random: seeds of a classifier, choices of training examples."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..metrics.intervals import (
    SEED,
    Interval,
    f1_of_resamples,
    mean_of_runs,
    percentile_interval,
    resampled_correlations,
    resampled_means,
)
from ..metrics.results import Judged, TaskResult
from ..metrics.retrieval import resampled_recalls
from ..metrics.scores import Correlation

__all__ = ["over_runs"]


Runs = Sequence[NDArray[Any]]
Drawn = NDArray[np.float64]


def over_runs(
    results: Sequence[TaskResult], *, confidence: float = 0.95, resamples: int = 2000
) -> TaskResult:
    """The mean of several runs of a task.

    Its intervals cover both what is random: other tested examples, and other runs, which are drawn anew with
    replacement. What was said of each example is that of the first run, and of all runs where they tested the
    same examples.

    Args:
        results: One a run.
        confidence: Of the intervals.
        resamples: Of the bootstrap.

    Returns:
        The first run's result with the means of all for figures. Its details have `"deviations"`, of a sample
        of runs, and `"by_run"`, by keys with dots for what is nested.

    Example:
        >>> import numpy as np
        >>> from sentencode.evaluation import TaskResult
        >>> from sentencode.evaluation.metrics import Judged
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
    measured = {key: [result.figure(key) for result in results] for key in _measured(first.figures)}
    figures = _mean([result.figures for result in results])
    figures |= {key: round(figures[key], 2) for key in set(_PERCENT) & set(measured)}
    intervals = dict(first.intervals)
    for key, drawn in _resampled(results, set(measured), resamples).items():  # [resamples, runs]
        intervals[key] = Interval(*percentile_interval(mean_of_runs(drawn, SEED), confidence))
    deviations = {
        key: float(np.std(each, ddof=1)) if len(each) > 1 else 0.0 for key, each in measured.items()
    }
    details = first.details | {"deviations": deviations, "by_run": measured}
    judged = {name: _of_all([result.judged[name] for result in results]) for name in first.judged}
    return replace(first, figures=figures, intervals=intervals, details=details, judged=judged)


def _of_all(judged: Sequence[Judged]) -> Judged:
    """The first run's, with what all said where they were asked of the same examples."""
    first = judged[0]
    if all(np.array_equal(one.places, first.places) for one in judged):
        return replace(first, by_seed=np.stack([one.predicted for one in judged]))
    return first


def _measured(figures: Mapping[str, Any], of: str = "") -> Iterator[str]:
    """The keys of what was measured, with dots for what is nested; the rest are counts and copies."""
    for key, value in figures.items():
        if isinstance(value, dict):
            yield from _measured(value, f"{of}{key}.")
        elif isinstance(value, float):
            yield f"{of}{key}"


def _mean(values: Sequence[Any]) -> Any:
    """The means of figures of any shape; what is no measurement is the first's."""
    first = values[0]
    if isinstance(first, dict):
        return {key: _mean([value[key] for value in values]) for key in first}
    if isinstance(first, (list, tuple)):
        return type(first)(_mean(each) for each in zip(*values, strict=True))
    return float(np.mean(values)) if isinstance(first, float) else first


def _resampled(results: Sequence[TaskResult], measured: set[str], resamples: int) -> dict[str, Drawn]:
    if "ranks" in results[0].details:
        return resampled_recalls([result.details["ranks"] for result in results], resamples)
    judged = [next(iter(result.judged.values())) for result in results]
    same = all(np.array_equal(one.places, judged[0].places) for one in judged)  # and so are the draws
    found = {}
    for key in measured & set(_RESAMPLED):
        of = _RESAMPLED[key]
        if same:
            found[key] = of([one.predicted for one in judged], judged[0].gold, resamples, SEED)
        else:
            apart = [of([one.predicted], one.gold, resamples, SEED + i) for i, one in enumerate(judged)]
            found[key] = np.concatenate(apart, axis=1)
    return found


def _accuracies(predicted: Runs, gold: NDArray[Any], resamples: int, seed: int) -> Drawn:
    return 100 * resampled_means([one == gold for one in predicted], resamples, seed)


def _squares(predicted: Runs, gold: NDArray[Any], resamples: int, seed: int) -> Drawn:
    return resampled_means([(one - gold) ** 2 for one in predicted], resamples, seed)


def _f1s(predicted: Runs, gold: NDArray[Any], resamples: int, seed: int) -> Drawn:
    return 100 * f1_of_resamples(predicted, gold, resamples, seed)


def _correlations(
    correlation: Correlation, predicted: Runs, gold: NDArray[Any], resamples: int, seed: int
) -> Drawn:
    drawn = [resampled_correlations(one, gold, correlation, resamples, seed) for one in predicted]
    return np.stack(drawn, axis=1)


_PERCENT = ("devacc", "acc", "f1")
_RESAMPLED: dict[str, Callable[[Runs, NDArray[Any], int, int], Drawn]] = {
    "acc": _accuracies,
    "f1": _f1s,
    "pearson": partial(_correlations, "pearson"),
    "spearman": partial(_correlations, "spearman"),
    "mse": _squares,
}
