"""The averages that papers report, by the tasks that they are over."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .metrics import Interval

if TYPE_CHECKING:
    from .report import TaskResult

__all__ = ["PAPER_TASKS", "Average", "averages_of", "macro_and_micro"]

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
_SIMILARITY = ("SICKRelatedness", "STSBenchmark", "STS12", "STS13", "STS14", "STS15", "STS16")


class Average(NamedTuple):
    """A mean over tasks.

    Attributes:
        name: The paper's, if it is the paper's average; else its tasks.
        value: Percent, or correlation times 100.
        unit: What is averaged.
        tasks: Over which tasks.
        interval: Of the tasks' intervals, which are independent: how far each end lies from the figure adds
            up as deviations do (Zou and Donner, Statistics in Medicine 27, 2008). None: a task has none.
    """

    name: str
    value: float
    unit: str
    tasks: tuple[str, ...]
    interval: Interval | None = None


def macro_and_micro(accuracies: Mapping[str, float], tasks: Sequence[str]) -> tuple[float, float] | None:
    """The mean of tasks' accuracies, and the mean weighted by their tested examples.

    Args:
        accuracies: By task.
        tasks: Over which; of those that Zhang et al. (2018) average.

    Returns:
        Both, or None where a task is missing.

    Example:
        >>> from sentencode.evaluation.averages import macro_and_micro
        >>> macro, micro = macro_and_micro({"CR": 80.0, "TREC": 90.0}, ["CR", "TREC"])
        >>> round(macro, 2), round(micro, 2)
        (85.0, 81.17)
    """
    if not set(tasks) <= set(accuracies):
        return None
    values, weights = [accuracies[task] for task in tasks], [_TESTED[task] for task in tasks]
    return float(np.mean(values)), float(np.average(values, weights=weights))


def averages_of(results: Mapping[str, TaskResult]) -> list[Average]:
    """All averages that can be had.

    Macro and micro averages over 6, 7 and 8 tasks are those of Zhang et al. (2018), micro weighted by the
    tasks' tested examples; AvgAcc and AvgSim those of Cifka and Bojar (2018). AvgSim is the mean of Pearson's
    and Spearman's correlations; of STS years, of those weighted by the subsets' sizes. An average of which a
    task is missing, or whose files were of another size than published, is not given: the plain means of
    what is there have their own tasks for a name.

    Args:
        results: By task.

    Returns:
        The averages.
    """
    there = {name: result for name, result in results.items() if result.error is None}
    accuracies = {name: _accuracy(result) for name, result in there.items() if result.headline == "acc"}
    similar = [name for name in _SIMILARITY if name in there]
    similarities = {name: _similarity(there[name]) for name in similar} if len(similar) > 1 else {}
    partial = {name for name, result in there.items() if result.details.get("partial")}
    found = []
    for tasks in (_SIX, _SEVEN, _EIGHT):
        if set(tasks) <= set(accuracies) - partial:
            for kind, weights in (("macro", None), ("micro", [_TESTED[task] for task in tasks])):
                found.append(_average(f"{kind} of {len(tasks)}", "acc", accuracies, tasks, weights))
    if set(_ACCURACY) <= set(accuracies) - partial:
        found.append(_average("AvgAcc", "acc", accuracies, _ACCURACY))
    if set(_SIMILARITY) <= set(similarities) - partial:
        found.append(_average("AvgSim", "correlation", similarities, _SIMILARITY))

    named = {frozenset(average.tasks) for average in found}
    for unit, figures in (("acc", accuracies), ("correlation", similarities)):
        if len(figures) > 1 and frozenset(figures) not in named:
            found.append(_average(f"mean of {', '.join(figures)}", unit, figures, tuple(figures)))
    return found


class _Figure(NamedTuple):
    value: float
    interval: Interval | None


def _average(
    name: str,
    unit: str,
    figures: Mapping[str, _Figure],
    tasks: tuple[str, ...],
    weights: Sequence[float] | None = None,
) -> Average:
    share = np.ones(len(tasks)) if weights is None else np.asarray(weights, dtype=np.float64)
    share = share / share.sum()
    value = float(share @ [figures[task].value for task in tasks])
    ends = [figures[task].interval for task in tasks]
    known = [end for end in ends if end is not None]
    if len(known) < len(ends):
        return Average(name, value, unit, tasks)
    apart = [
        [figures[task].value - end.low, end.high - figures[task].value]
        for task, end in zip(tasks, known, strict=True)
    ]
    below, above = np.sqrt(share**2 @ np.square(apart))
    return Average(name, value, unit, tasks, Interval(float(value - below), float(value + above)))


def _accuracy(result: TaskResult) -> _Figure:
    return _Figure(result.figure("acc"), result.intervals.get("acc"))


def _similarity(result: TaskResult) -> _Figure:
    """The mean of Pearson's and Spearman's correlation, times 100; over other pairs both move together."""
    keys = ("all.pearson.wmean", "all.spearman.wmean") if "all" in result.figures else ("pearson", "spearman")
    ends = [result.intervals.get(key) for key in keys]
    low, high = (
        None if None in ends else 50 * sum(end[i] for end in ends if end is not None) for i in (0, 1)
    )
    return _Figure(
        50 * sum(result.figure(key) for key in keys),
        None if low is None or high is None else Interval(low, high),
    )
