"""The averages that papers report, by the tasks that they are over."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

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
    """

    name: str
    value: float
    unit: str
    tasks: tuple[str, ...]


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
    task is missing is not given: the plain means of what is there have their own tasks for a name.

    Args:
        results: By task.

    Returns:
        The averages.
    """
    there = {name: result for name, result in results.items() if result.error is None}
    accuracies = {name: result.figure("acc") for name, result in there.items() if result.headline == "acc"}
    found = []
    for tasks in (_SIX, _SEVEN, _EIGHT):
        if (both := macro_and_micro(accuracies, tasks)) is not None:
            for kind, value in zip(("macro", "micro"), both, strict=True):
                found.append(Average(f"{kind} of {len(tasks)}", value, "acc", tasks))
    if set(_ACCURACY) <= set(accuracies):
        value = float(np.mean([accuracies[task] for task in _ACCURACY]))
        found.append(Average("AvgAcc", value, "acc", _ACCURACY))
    if set(_SIMILARITY) <= set(there):
        value = float(np.mean([_similarity(there[task]) for task in _SIMILARITY]))
        found.append(Average("AvgSim", value, "correlation", _SIMILARITY))

    named = {frozenset(average.tasks) for average in found}
    own = tuple(accuracies)
    if len(own) > 1 and frozenset(own) not in named:
        found.append(
            Average(f"mean of {', '.join(own)}", float(np.mean(list(accuracies.values()))), "acc", own)
        )
    similar = tuple(task for task in _SIMILARITY if task in there)
    if len(similar) > 1 and frozenset(similar) not in named:
        value = float(np.mean([_similarity(there[task]) for task in similar]))
        found.append(Average(f"mean of {', '.join(similar)}", value, "correlation", similar))
    return found


def _similarity(result: TaskResult) -> float:
    """The mean of Pearson's and Spearman's correlation, times 100."""
    keys = ("all.pearson.wmean", "all.spearman.wmean") if "all" in result.figures else ("pearson", "spearman")
    return 50 * sum(result.figure(key) for key in keys)
