"""Averages over tasks, as papers report them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..metrics.intervals import SEED, Interval, percentile_interval
from ..metrics.results import TaskResult
from ..statistics.joint_bootstrap import distinct_examples, resampled_mean
from ..statistics.significance import Comparison, bootstrapped

__all__ = [
    "PAPER_TASKS",
    "Average",
    "averaged",
    "averages_compared",
    "averages_of",
    "macro_and_micro",
    "resampled_average",
]

# Published numbers of test examples: the weights of micro averages.
_TEST_SIZES = {
    "MR": 10662,
    "CR": 3775,
    "SUBJ": 10000,
    "MPQA": 10606,
    "SST2": 1821,
    "TREC": 500,
    "MRPC": 1725,
    "SICKEntailment": 4927,
}
_SIX = ("MR", "CR", "SUBJ", "MPQA", "TREC", "MRPC")
_SEVEN = ("MR", "CR", "SUBJ", "MPQA", "SST2", "TREC", "SICKEntailment")
_EIGHT = ("MR", "CR", "SUBJ", "MPQA", "SST2", "TREC", "MRPC", "SICKEntailment")
PAPER_TASKS = (_EIGHT, _SEVEN, _SIX)  # of Zhang et al. (2018)
_ACCURACY = ("MR", "CR", "SUBJ", "MPQA", "SST2", "SST5", "TREC", "MRPC", "SICKEntailment", "SNLI")
_SIMILARITY = {
    **dict.fromkeys(("SICKRelatedness", "STSBenchmark"), "learnt"),
    **dict.fromkeys(("STS12", "STS13", "STS14", "STS15", "STS16"), "cosine"),
}


class Average(NamedTuple):
    """A mean over tasks.

    Attributes:
        name: The paper's name of its average; otherwise its tasks.
        value: Percent, or correlation times 100.
        unit: `"acc"`, or `"correlation"`, the mean of Pearson's and Spearman's.
        tasks: Names of the tasks.
        interval: Interval by a bootstrap that gives an example of several tasks one weight in all of them.
            None: a task has no predictions.
        scored: How pairs are scored, for correlations: see `TaskResult.scored`.
    """

    name: str
    value: float
    unit: str
    tasks: tuple[str, ...]
    interval: Interval | None = None
    scored: str | None = None

    @property
    def label(self) -> str:
        """Name in tables; that of AvgSim says that it averages learnt and cosine scores."""
        return f"{self.name}, {self.scored}" if self.name == "AvgSim" else self.name

    @property
    def weights(self) -> list[float]:
        """Weight of each task."""
        sizes = [_TEST_SIZES[task] if self.name.startswith("micro of ") else 1 for task in self.tasks]
        return [size / sum(sizes) for size in sizes]

    @property
    def figure(self) -> str:
        """What is averaged, as tables have it."""
        return self.unit if self.unit == "acc" else "pearson and spearman"


def macro_and_micro(accuracies: Mapping[str, float], tasks: Sequence[str]) -> tuple[float, float] | None:
    """Mean of tasks' accuracies, and mean weighted by their numbers of test examples.

    Args:
        accuracies: Accuracies by task.
        tasks: Names of the averaged tasks, of those of Zhang et al. (2018).

    Returns:
        Both means, or None if a task is missing.

    Example:
        >>> from sentencode.evaluation.report import macro_and_micro
        >>> macro, micro = macro_and_micro({"CR": 80.0, "TREC": 90.0}, ["CR", "TREC"])
        >>> round(macro, 2), round(micro, 2)
        (85.0, 81.17)
    """
    if not set(tasks) <= set(accuracies):
        return None
    values, weights = [accuracies[task] for task in tasks], [_TEST_SIZES[task] for task in tasks]
    return float(np.mean(values)), float(np.average(values, weights=weights))


def averages_of(
    results: Mapping[str, TaskResult], *, confidence: float = 0.95, resamples: int = 2000
) -> list[Average]:
    """All averages whose tasks are complete.

    Macro and micro averages over 6, 7 and 8 tasks are those of Zhang et al. (2018), micro weighted by the
    numbers of test examples; AvgAcc and AvgSim those of Cifka and Bojar (2018). AvgSim is the mean of
    Pearson's and Spearman's correlations; for STS years, of those weighted by the sizes of the subsets. The
    papers' averages require all of their tasks, with files of the published size. In addition there are plain
    means, named by their tasks: of accuracies, of learnt correlations, and of cosine correlations.

    Args:
        results: Results by task.
        confidence: Confidence level of the intervals.
        resamples: Number of bootstrap resamples.
    """
    scored = {name: result for name, result in results.items() if result.figures}
    accuracies = [name for name, result in scored.items() if result.headline == "acc"]
    kinds = {name: result.scored for name, result in scored.items() if "pearson" in result.headline}
    complete = {name for name, result in scored.items() if not result.details.get("partial")}
    averages: list[Average] = []

    def add(name: str, unit: str, tasks: Sequence[str], kind: str | None = None) -> None:
        average = Average(name, 0.0, unit, tuple(tasks), scored=kind)
        averages.append(averaged(scored, average, confidence=confidence, resamples=resamples))

    for tasks in (_SIX, _SEVEN, _EIGHT):
        if set(tasks) <= set(accuracies) & complete:
            add(f"macro of {len(tasks)}", "acc", tasks)
            add(f"micro of {len(tasks)}", "acc", tasks)
    if set(_ACCURACY) <= set(accuracies) & complete:
        add("AvgAcc", "acc", _ACCURACY)
    if set(_SIMILARITY) <= complete and all(kinds.get(task) == kind for task, kind in _SIMILARITY.items()):
        add("AvgSim", "correlation", tuple(_SIMILARITY), "learnt and cosine")

    named = {frozenset(average.tasks) for average in averages}
    if len(accuracies) > 1 and frozenset(accuracies) not in named:
        add(f"mean of {', '.join(accuracies)}", "acc", accuracies)
    for kind in dict.fromkeys(kinds.values()):
        similar = [name for name in kinds if kinds[name] == kind]
        if len(similar) > 1:
            add(f"{kind} mean of {', '.join(similar)}", "correlation", similar, kind)
    return averages


def averaged(
    results: Mapping[str, TaskResult], average: Average, *, confidence: float = 0.95, resamples: int = 2000
) -> Average:
    """An average with its value and interval.

    Args:
        results: Results by task.
        average: Name, unit and tasks of the average.
        confidence: Confidence level of the interval.
        resamples: Number of bootstrap resamples.
    """
    score = _accuracy if average.unit == "acc" else _correlation
    value = float(np.dot(average.weights, [score(results[task]) for task in average.tasks]))
    resampled = resampled_average(results, average, resamples, SEED)
    interval = None
    if resampled is not None:  # centred at the value, which is a mean of rounded scores
        interval = percentile_interval(value + resampled[1:] - resampled[0], confidence)
    return average._replace(value=value, interval=interval)


def resampled_average(
    results: Mapping[str, TaskResult], average: Average, resamples: int, seed: int
) -> NDArray[np.float64] | None:
    """An average on the original examples and on resamples: see `resampled_mean`."""
    return resampled_mean([results[task] for task in average.tasks], average.weights, resamples, seed)


def _accuracy(result: TaskResult) -> float:
    return result.figure("acc")


def _correlation(result: TaskResult) -> float:
    """Mean of Pearson's and Spearman's correlation, times 100."""
    prefix, _, kind = result.headline.rpartition("pearson")
    return 50 * sum(result.figure(f"{prefix}{figure}{kind}") for figure in ("pearson", "spearman"))


def averages_compared(
    sides: Sequence[Mapping[str, TaskResult]], best: int | None, options: Mapping[str, Any]
) -> Iterator[tuple[Average, list[float], list[Comparison]]]:
    """Averages over tasks that all encoders have, compared on the same resamples.

    Args:
        sides: Results of each encoder.
        best: Number of the encoder that the others are compared with. None: that with the greatest value.
        options: `confidence`, `resamples` and `seed`.

    Yields:
        An average; its value for each encoder; and that encoder minus each one, as a comparison.
    """
    sides = _without_differing_keys(sides)
    of_sides = [{average.name: average for average in averages_of(side, resamples=1)} for side in sides]
    for name in of_sides[0]:
        if not all(name in averages for averages in of_sides):
            continue
        averages = [averages[name] for averages in of_sides]
        each_resampled = [
            resampled_average(side, average, options["resamples"], options["seed"])
            for side, average in zip(sides, averages, strict=True)
        ]
        resampled = [each for each in each_resampled if each is not None]
        if len(resampled) < len(sides):
            continue
        values = [average.value for average in averages]
        first = int(np.argmax(values)) if best is None else best
        comparisons = []
        for value, each in zip(values, resampled, strict=True):
            difference, spread = (values[first] - value) / 100, (resampled[first] - each) / 100
            comparisons.append(
                bootstrapped(
                    "paired bootstrap of shared examples",
                    difference,
                    difference + spread[1:] - spread[0],
                    distinct_examples([sides[first][task] for task in averages[first].tasks]),
                    confidence=options["confidence"],
                )
            )
        yield averages[first], values, comparisons


def _without_differing_keys(sides: Sequence[Mapping[str, TaskResult]]) -> list[dict[str, TaskResult]]:
    """The results, without keys of the examples of a task if some encoder's have none."""
    without = {
        task
        for side in sides
        for task, result in side.items()
        if any(part.keys is None for part in result.predictions.values())
    }

    def of(result: TaskResult) -> TaskResult:
        if result.task not in without:
            return result
        parts = {name: replace(part, keys=None) for name, part in result.predictions.items()}
        return replace(result, predictions=parts)

    return [{task: of(result) for task, result in side.items()} for side in sides]
