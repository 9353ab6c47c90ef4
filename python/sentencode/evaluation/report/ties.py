"""Which encoders the test examples cannot separate from the best."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ..metrics.intervals import SEED, Interval
from ..metrics.results import TaskResult
from ..statistics.comparison import Compared, by_holm, row_of, rows_of_task
from .averages import averages_compared
from .base import BaseReport
from .measures import Measure

__all__ = ["Ranked", "against_best", "by_score", "ranked_averages", "tied_with_best"]


class Ranked(NamedTuple):
    """An encoder on one task.

    Attributes:
        encoder: Name of the encoder.
        score: Percent, or correlation times 100.
        behind: Score of the best encoder minus this one.
        interval: Confidence interval of `behind`. None: this is the best.
        p_holm: Two-tailed p-value of `behind`, corrected by Holm's method for the encoders of the task.
        tied: Whether the difference is not significant at the confidence level, or this is the best.
    """

    encoder: str
    score: float
    behind: float
    interval: Interval | None
    p_holm: float
    tied: bool


def tied_with_best(reports: Sequence[BaseReport], columns: Sequence[Measure]) -> list[set[str]]:
    """The encoders of each column of a table that are tied with its best one, which is among them.

    Encoders are compared as in `rank`, with the confidence and resamples of the reports. A column whose best
    encoder cannot be compared with others, for lack of predictions of the same examples, has the best alone.

    Args:
        reports: Reports of encoders with different names.
        columns: Headline scores of tasks, and averages.
    """
    settings = [{"confidence": 0.95, "resamples": 2000, **report.facts} for report in reports]
    options = {key: max(one[key] for one in settings) for key in ("confidence", "resamples")} | {"seed": SEED}
    by_name = {report.encoder: report.results for report in reports}
    comparable: dict[str, set[str]] = {}  # encoders by task
    tied = []
    for column in columns:
        values = {name: cell.value for name, cell in column.cells.items() if math.isfinite(cell.value)}
        best = {name for name, value in values.items() if value == max(values.values())}
        if column.tasks:
            names = [name for name in values if all(name in comparable.get(t, ()) for t in column.tasks)]
            sides = [{task: by_name[name][task] for task in column.tasks} for name in names]
            averages = ranked_averages(names, sides, options) if len(names) > 1 else {}
            figure, ranked = averages.get(column.task, ("", ()))
        else:
            names = [name for name in values if by_name[name][column.task].predictions]
            figure, ranked = _ranked_of_task(names, [by_name[name][column.task] for name in names], options)
            if ranked:
                comparable[column.task] = set(names)
        # Accuracies of reports are means over folds, which may be of different sizes.
        if figure != column.figure and any(
            not math.isclose(values[row.encoder], row.score, abs_tol=0.01) for row in ranked
        ):
            ranked = ()  # of another score than the column's
        not_worse = {row.encoder for row in ranked if row.tied}
        tied.append(best | not_worse if best & not_worse else best)
    return tied


def _ranked_of_task(
    names: Sequence[str], results: Sequence[TaskResult], options: dict[str, Any]
) -> tuple[str, tuple[Ranked, ...]]:
    """What is compared, and the encoders of a task, best first; none if they cannot be compared."""
    try:
        tests = against_best(results, options) if len(results) > 1 else None
    except ValueError:  # the reports are of different examples
        tests = None
    return ("", ()) if tests is None else (tests[0].figure, by_score(names, tests, options["confidence"]))


def ranked_averages(
    names: Sequence[str], sides: Sequence[Mapping[str, TaskResult]], options: dict[str, Any]
) -> dict[str, tuple[str, tuple[Ranked, ...]]]:
    """What is averaged, and the encoders, best first, by average."""
    averages = {}
    for average, values, comparisons in averages_compared(sides, None, options):
        best = max(values)
        tests = [
            row_of(average.label, "average", average.figure, (best, value), comparison)
            for value, comparison in zip(values, comparisons, strict=True)
        ]
        averages[average.label] = average.figure, by_score(names, tests, options["confidence"])
    return averages


def against_best(results: Sequence[TaskResult], options: dict[str, Any]) -> list[Compared] | None:
    """The bootstrap of the task's score, of the best encoder (a) against each one (b)."""
    best = max(results, key=lambda result: _known(result.figure(result.headline)))
    rows = _against(best, results, options)
    top = max(range(len(rows)), key=lambda i: _known(rows[i].b), default=0)
    if rows and results[top] is not best:  # scores of reports are rounded
        rows = _against(results[top], results, options)
    return rows or None


def _against(a: TaskResult, results: Sequence[TaskResult], options: dict[str, Any]) -> list[Compared]:
    rows = [_of_score(a, result, options) for result in results]
    known = [row for row in rows if row is not None]
    return known if len(known) == len(rows) else []


def _of_score(a: TaskResult, b: TaskResult, options: dict[str, Any]) -> Compared | None:
    """The bootstrap of the headline score: of a split, or of years of STS the mean over subsets."""
    split, _, kind = a.headline.rpartition(".pearson")
    part = "weighted mean" if kind == ".wmean" else split
    rows = (row for row in rows_of_task(a, b, options) if row.test.startswith("paired bootstrap"))
    return next((row for row in rows if part in ("", row.part)), None)


def by_score(names: Sequence[str], tests: Sequence[Compared], confidence: float) -> tuple[Ranked, ...]:
    """The encoders of a task, best first, from the comparisons of `against_best`."""
    first = max(range(len(tests)), key=lambda i: _known(tests[i].b))
    others = [i for i in range(len(tests)) if i != first]
    corrected = by_holm([tests[i] for i in others])
    rows = [Ranked(names[first], tests[first].b, 0.0, None, math.nan, True)]
    for i, test in zip(others, corrected, strict=True):
        tied = test.p_holm > 1 - confidence
        rows.append(Ranked(names[i], test.b, test.difference, test.interval, test.p_holm, tied))
    return tuple(sorted(rows, key=lambda row: -_known(row.score)))


def _known(score: float) -> float:
    """The score; an undefined correlation comes last."""
    return -math.inf if math.isnan(score) else score
