"""The averages that papers report, by the tasks that they are over."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..metrics.intervals import SEED, Interval, percentile_interval
from ..metrics.results import TaskResult
from ..statistics.joint_bootstrap import drawn_mean

__all__ = ["PAPER_TASKS", "Average", "averaged", "averages_of", "drawn_average", "macro_and_micro"]

# How many examples each task's accuracy is over, as published: the weights of micro averages.
_TESTED = {
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
PAPER_TASKS = (_EIGHT, _SEVEN, _SIX)  # of Zhang et al. (2018), in their order
_ACCURACY = ("MR", "CR", "SUBJ", "MPQA", "SST2", "SST5", "TREC", "MRPC", "SICKEntailment", "SNLI")
_SIMILARITY = {
    **dict.fromkeys(("SICKRelatedness", "STSBenchmark"), "learnt"),
    **dict.fromkeys(("STS12", "STS13", "STS14", "STS15", "STS16"), "cosine"),
}


class Average(NamedTuple):
    """A mean over tasks.

    Attributes:
        name: The paper's, if it is the paper's average; else its tasks.
        value: Percent, or correlation times 100.
        unit: What is averaged: `"acc"`, or `"correlation"`, the mean of Pearson's and Spearman's.
        tasks: Over which tasks.
        interval: By a bootstrap in which an example that several tasks share has one weight in all of them.
            None: a task does not tell what was said of each example.
        scored: Of correlations, how pairs are scored: see `TaskResult.scored`.
    """

    name: str
    value: float
    unit: str
    tasks: tuple[str, ...]
    interval: Interval | None = None
    scored: str | None = None

    @property
    def label(self) -> str:
        """The name as tables have it; that of AvgSim says that it is over both kinds of scores."""
        return f"{self.name}, {self.scored}" if self.name == "AvgSim" else self.name

    @property
    def shares(self) -> list[float]:
        """How much each task counts."""
        sizes = [_TESTED[task] if self.name.startswith("micro of ") else 1 for task in self.tasks]
        return [size / sum(sizes) for size in sizes]

    @property
    def figure(self) -> str:
        """What is averaged, as tables have it."""
        return self.unit if self.unit == "acc" else "pearson and spearman"


def macro_and_micro(accuracies: Mapping[str, float], tasks: Sequence[str]) -> tuple[float, float] | None:
    """The mean of tasks' accuracies, and the mean weighted by their tested examples.

    Args:
        accuracies: By task.
        tasks: Over which; of those that Zhang et al. (2018) average.

    Returns:
        Both, or None where a task is missing.

    Example:
        >>> from sentencode.evaluation.report import macro_and_micro
        >>> macro, micro = macro_and_micro({"CR": 80.0, "TREC": 90.0}, ["CR", "TREC"])
        >>> round(macro, 2), round(micro, 2)
        (85.0, 81.17)
    """
    if not set(tasks) <= set(accuracies):
        return None
    values, weights = [accuracies[task] for task in tasks], [_TESTED[task] for task in tasks]
    return float(np.mean(values)), float(np.average(values, weights=weights))


def averages_of(
    results: Mapping[str, TaskResult], *, confidence: float = 0.95, resamples: int = 2000
) -> list[Average]:
    """All averages that can be had.

    Macro and micro averages over 6, 7 and 8 tasks are those of Zhang et al. (2018), micro weighted by the
    tasks' tested examples; AvgAcc and AvgSim those of Cifka and Bojar (2018). AvgSim is the mean of Pearson's
    and Spearman's correlations; of STS years, of those weighted by the subsets' sizes. An average of which a
    task is missing, or whose files were of another size than published, is not given: the plain means of
    what is there have their own tasks for a name. These are means of accuracies, of correlations that were
    learnt, or of correlations of cosines, and never of two of them; AvgSim, as its paper has it, is of both.

    Args:
        results: By task.
        confidence: Of the intervals.
        resamples: Of the bootstrap.

    Returns:
        The averages.
    """
    there = {name: result for name, result in results.items() if result.figures}
    accuracies = [name for name, result in there.items() if result.headline == "acc"]
    whole = {name for name, result in there.items() if not result.details.get("partial")}
    found: list[Average] = []

    def add(name: str, unit: str, tasks: Sequence[str], scored: str | None = None) -> None:
        average = Average(name, 0.0, unit, tuple(tasks), scored=scored)
        found.append(averaged(there, average, confidence=confidence, resamples=resamples))

    for tasks in (_SIX, _SEVEN, _EIGHT):
        if set(tasks) <= set(accuracies) & whole:
            add(f"macro of {len(tasks)}", "acc", tasks)
            add(f"micro of {len(tasks)}", "acc", tasks)
    if set(_ACCURACY) <= set(accuracies) & whole:
        add("AvgAcc", "acc", _ACCURACY)
    if set(_SIMILARITY) <= whole and all(there[task].scored == kind for task, kind in _SIMILARITY.items()):
        add("AvgSim", "correlation", tuple(_SIMILARITY), "learnt and cosine")

    named = {frozenset(average.tasks) for average in found}
    if len(accuracies) > 1 and frozenset(accuracies) not in named:
        add(f"mean of {', '.join(accuracies)}", "acc", accuracies)
    for kind in dict.fromkeys(result.scored for result in there.values() if result.scored):
        similar = [name for name, result in there.items() if result.scored == kind]
        if len(similar) > 1:
            add(f"{kind} mean of {', '.join(similar)}", "correlation", similar, kind)
    return found


def averaged(
    results: Mapping[str, TaskResult], average: Average, *, confidence: float = 0.95, resamples: int = 2000
) -> Average:
    """An average with its value and its interval.

    Args:
        results: By task.
        average: Its name, its unit, and its tasks, all of which have figures.
        confidence: Of the interval.
        resamples: Of the bootstrap.
    """
    of = _accuracy if average.unit == "acc" else _similarity
    value = float(np.dot(average.shares, [of(results[task]) for task in average.tasks]))
    drawn = drawn_average(results, average, resamples, SEED)
    interval = None
    if drawn is not None:  # as the figures move, which were rounded, about what they are
        interval = percentile_interval(value + drawn[1:] - drawn[0], confidence)
    return average._replace(value=value, interval=interval)


def drawn_average(
    results: Mapping[str, TaskResult], average: Average, resamples: int, seed: int
) -> NDArray[np.float64] | None:
    """An average on the examples as they are and on resamples of them: see `drawn_mean`."""
    return drawn_mean([results[task] for task in average.tasks], average.shares, resamples, seed)


def _accuracy(result: TaskResult) -> float:
    return result.figure("acc")


def _similarity(result: TaskResult) -> float:
    """The mean of Pearson's and Spearman's correlation, times 100."""
    of, pearson, kind = result.headline.rpartition("pearson")
    return 50 * sum(result.figure(f"{of}{figure}{kind}") for figure in (pearson, "spearman"))
