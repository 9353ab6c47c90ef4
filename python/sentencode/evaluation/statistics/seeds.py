"""Scores over several runs: seeds of a classifier, or random subsets of training examples."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..metrics.intervals import (
    SEED,
    f1_of_resamples,
    mean_of_runs,
    percentile_interval,
    resampled_correlations,
    resampled_means,
)
from ..metrics.results import SplitPredictions, TaskResult
from ..metrics.retrieval import resampled_recalls

__all__ = ["over_runs"]

Floats = NDArray[np.float64]

_PERCENT = {"devacc", "acc", "f1"}
_RESAMPLED = {"acc", "f1", "pearson", "spearman", "mse"}


def over_runs(
    results: Sequence[TaskResult], *, confidence: float = 0.95, resamples: int = 2000
) -> TaskResult:
    """Mean of several runs of a task.

    The intervals cover both sources of variance: test examples and runs are resampled. Predictions are those
    of the first run, and of all runs where they tested the same examples.

    Args:
        results: Result of each run.
        confidence: Confidence level of the intervals.
        resamples: Number of bootstrap resamples.

    Returns:
        The first run's result with the mean scores of all. Its details have `"deviations"` (sample standard
        deviations over runs) and `"by_run"`, by keys with dots for nested scores.
    """
    first = results[0]
    by_run = {key: [result.figure(key) for result in results] for key in _score_keys(first.figures)}
    figures = _mean([result.figures for result in results])
    figures |= {key: round(figures[key], 2) for key in _PERCENT & set(by_run)}
    intervals = dict(first.intervals)
    for key, resampled in _resampled(results, set(by_run), resamples).items():  # [resamples, runs]
        intervals[key] = percentile_interval(mean_of_runs(resampled, SEED), confidence)
    deviations = {
        key: float(np.std(scores, ddof=1)) if len(scores) > 1 else 0.0 for key, scores in by_run.items()
    }
    details = first.details | {"deviations": deviations, "by_run": by_run}
    predictions = {
        name: _merged([result.predictions[name] for result in results]) for name in first.predictions
    }
    return replace(first, figures=figures, intervals=intervals, details=details, predictions=predictions)


def _merged(predictions: Sequence[SplitPredictions]) -> SplitPredictions:
    """The first run's predictions, with those of all runs if they tested the same examples."""
    if _same_examples(predictions):
        return replace(predictions[0], by_seed=np.stack([run.predicted for run in predictions]))
    return predictions[0]


def _same_examples(predictions: Sequence[SplitPredictions]) -> bool:
    return all(np.array_equal(run.indices, predictions[0].indices) for run in predictions)


def _score_keys(figures: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    """Keys of the scores, with dots for nested ones; counts are no scores."""
    for key, value in figures.items():
        if isinstance(value, dict):
            yield from _score_keys(value, f"{prefix}{key}.")
        elif isinstance(value, float):
            yield f"{prefix}{key}"


def _mean(values: Sequence[Any]) -> Any:
    """Means of nested scores; anything else is the first run's."""
    first = values[0]
    if isinstance(first, dict):
        return {key: _mean([value[key] for value in values]) for key in first}
    if isinstance(first, (list, tuple)):
        return type(first)(_mean(column) for column in zip(*values, strict=True))
    return float(np.mean(values)) if isinstance(first, float) else first


def _resampled(results: Sequence[TaskResult], keys: set[str], resamples: int) -> dict[str, Floats]:
    """Resampled scores `(resamples, runs)`, by key."""
    if "ranks" in results[0].details:
        return resampled_recalls([result.details["ranks"] for result in results], resamples)
    predictions = [next(iter(result.predictions.values())) for result in results]
    if _same_examples(predictions):  # and the same resamples
        predicted = [run.predicted for run in predictions]
        return {
            key: _scores(key, predicted, predictions[0].gold, resamples, SEED) for key in keys & _RESAMPLED
        }
    return {
        key: np.concatenate(
            [
                _scores(key, [run.predicted], run.gold, resamples, SEED + i)
                for i, run in enumerate(predictions)
            ],
            axis=1,
        )
        for key in keys & _RESAMPLED
    }


def _scores(
    key: str, predicted: Sequence[NDArray[Any]], gold: NDArray[Any], resamples: int, seed: int
) -> Floats:
    """One score of each run's predictions on resamples, `(resamples, runs)`."""
    if key == "acc":
        return 100 * resampled_means([run == gold for run in predicted], resamples, seed)
    if key == "f1":
        return 100 * f1_of_resamples(predicted, gold, resamples, seed)
    if key == "mse":
        return resampled_means([(run - gold) ** 2 for run in predicted], resamples, seed)
    correlation: Any = key
    return np.stack([resampled_correlations(run, gold, correlation, resamples, seed) for run in predicted], 1)
