"""What several encoders have figures of: the columns of tables, computed once for whatever shows them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeVar

import numpy as np

from ..metrics.intervals import Interval
from ..metrics.results import labelled
from .findings import Findings
from .published import PublishedFigure, published_for

__all__ = ["KINDS", "Cell", "Extra", "Measure", "averages", "measures", "renamed", "unique"]

PERCENT, CORRELATION, COUNT, RANK, PLAIN = "percent", "correlation x 100", "count", "rank", ""

Extra = Mapping[str, Mapping[str, float]]
_Found = TypeVar("_Found", bound=Findings)

_PARAPHRASES = ("cl_one", "cl_half", "nn_cosine", "nn_l2")
_RECALLS = ("r1", "r5", "r10")
# Of measures of tasks; similarity by the cosine and learnt similarity are never in one mean.
KINDS = ("classification", "similarity", "learnt similarity", "paraphrases", "retrieval")
_COSINE = {"SICKCosine": "SICKRelatedness", "STSBenchmarkCosine": "STSBenchmark"}
_PUBLISHED_AVERAGES = {
    **{f"{kind} of {n}": (f"average-{n}", kind) for kind in ("macro", "micro") for n in (6, 7, 8)},
    "AvgAcc": ("AvgAcc", "accuracy"),
    "AvgSim": ("AvgSim", "correlation"),
}


class Cell(NamedTuple):
    """A figure of one encoder.

    Attributes:
        value: In the measure's unit.
        interval: Where it lies for other examples of the same kind.
        p: The p-value of a correlation, where the report has one.
        partial: Whether files of another size than published were accepted.
        deviation: Over seeds or repetitions, where there were some.
    """

    value: float
    interval: Interval | None = None
    p: float | None = None
    partial: bool = False
    deviation: float | None = None


@dataclass(frozen=True, eq=False)
class Measure:
    """What several encoders have a figure of: a column of a table, a group of bars, a line of a heat map.

    Attributes:
        task: The task, or the name of an average.
        part: The subset or split, `"all"` where subsets are averaged; empty where a task has no parts.
        figure: As `"acc"`, `"pearson"` or `"pearson.wmean"`.
        unit: What figures are counted in.
        cells: By encoder.
        headline: Whether it is what tables show of the task.
        published: The papers' figures of the same.
        tasks: Of an average, what it is over.
        scored: How pairs are scored: see `TaskResult.scored`.
    """

    task: str
    part: str
    figure: str
    unit: str
    cells: dict[str, Cell]
    headline: bool = False
    published: tuple[PublishedFigure, ...] = ()
    tasks: tuple[str, ...] = ()
    scored: str | None = None

    @property
    def title(self) -> str:
        """What it is of, as tables and pictures call it."""
        return self.task if self.tasks else labelled(self.task, self.scored)

    @property
    def label(self) -> str:
        """Its name in full."""
        return " ".join(filter(None, (self.title, self.part, self.figure)))

    @property
    def kind(self) -> str:
        """Which of `KINDS` it is of."""
        classification, similarity, learnt, paraphrases, retrieval = KINDS
        if self.figure in _PARAPHRASES:
            return paraphrases
        if self.figure in _RECALLS:
            return retrieval
        if self.unit == PERCENT:
            return classification
        return learnt if self.scored == "learnt" else similarity


def unique(reports: Sequence[_Found]) -> list[_Found]:
    """The reports, if their encoders can be told apart.

    Where not all were judged by one protocol, every encoder is called by its own as well.

    Raises:
        ValueError: There is none, or two have one name.
    """
    if not reports:
        raise ValueError("there is no report to show")
    protocols = [f" ({report.facts.get('protocol', 'protocol not known')})" for report in reports]
    if len(set(protocols)) > 1:
        reports = [
            replace(report, encoder=report.encoder.removesuffix(protocol) + protocol)
            for report, protocol in zip(reports, protocols, strict=True)
        ]
    name, count = Counter(report.encoder for report in reports).most_common(1)[0]
    if count > 1:
        raise ValueError(
            f"{count} reports are of an encoder called {name!r}: give evaluate a name for each, or set "
            "report.encoder"
        )
    return list(reports)


def renamed(extra: Extra | None, before: Sequence[Findings], after: Sequence[Findings]) -> Extra:
    """What else is known of encoders, by the names that `unique` gave them."""
    names: dict[str, list[str]] = {}
    for old, new in zip(before, after, strict=True):
        names.setdefault(old.encoder, []).append(new.encoder)
    return {new: known for name, known in (extra or {}).items() for new in names.get(name, [name])}


def measures(reports: Sequence[Findings]) -> list[Measure]:
    """All figures of all reports, in the order in which tasks and figures appear first, what was learnt last.

    Accuracies are in percent, correlations times 100.
    """
    found: dict[tuple[str, str, str], Measure] = {}
    headlines: dict[str, str] = {}
    for report in reports:
        for task, result in report.results.items():
            if result.error is not None:
                continue
            headlines.setdefault(task, result.headline)
            for part, figure, value, p in _leaves(result.figures):
                if part == "all" and not headlines[task].startswith("all."):
                    continue  # the averages of a single subset
                key = f"{part}.{figure}" if part else figure
                unit = _unit(figure)
                scale = 100 if unit == CORRELATION else 1
                interval = result.intervals.get(key)
                if interval is not None:
                    interval = Interval(*(scale * end for end in interval))
                if (task, part, figure) not in found:
                    headline = key == headlines[task]
                    metric = _published_metric(task, part, figure)
                    published = () if metric is None else published_for(*metric)
                    found[task, part, figure] = Measure(
                        task, part, figure, unit, {}, headline, published, scored=result.scored
                    )
                partial = bool(result.details.get("partial"))
                spread = result.deviation(key)
                found[task, part, figure].cells[report.encoder] = Cell(
                    scale * value, interval, p, partial, None if spread is None else scale * spread
                )
    order = {task: i for i, task in enumerate(headlines)}
    return sorted(found.values(), key=lambda measure: (measure.scored == "learnt", order[measure.task]))


def _leaves(figures: Mapping[str, Any]) -> Iterator[tuple[str, str, float, float | None]]:
    """Part, figure, value and p-value of every figure; scores of single examples are none."""
    for key, value in figures.items():
        if not isinstance(value, Mapping):
            if np.ndim(value) == 0:
                yield "", key, float(value), None
            continue
        for figure, inner in value.items():
            if isinstance(inner, Mapping):
                yield from ((key, f"{figure}.{kind}", float(one), None) for kind, one in inner.items())
            elif isinstance(inner, tuple):
                yield key, figure, float(inner[0]), float(inner[1])
            else:
                yield key, figure, float(inner), None


def _unit(figure: str) -> str:
    if figure in ("acc", "devacc", "f1", *_PARAPHRASES, *_RECALLS):
        return PERCENT
    if figure.partition(".")[0] in ("pearson", "spearman", "devpearson"):
        return CORRELATION
    if figure == "medr":
        return RANK
    return COUNT if figure in ("ndev", "ntest", "nsamples", "ngroups") else PLAIN


def _published_metric(task: str, part: str, figure: str) -> tuple[str, str] | None:
    """By what names the papers' figures are found; they are of test sets."""
    if not part:
        names = {"acc": "accuracy", "f1": "f1", "pearson": "pearson", "spearman": "spearman"}
        return (task, names[figure]) if figure in names else None
    if part == "all" and figure.endswith(".wmean"):
        return task, figure.partition(".")[0]
    if part == "test" and figure == "pearson" and task in _COSINE:
        return _COSINE[task], "cosine_pearson"
    return None


def averages(reports: Sequence[Findings]) -> list[Measure]:
    """The averages of all reports; one of which a task is missing bears no paper's name."""
    found: dict[str, Measure] = {}
    for report in reports:
        for average in report.averages:
            if average.name not in found:
                names = _PUBLISHED_AVERAGES.get(average.name)
                found[average.name] = Measure(
                    average.label,
                    "",
                    average.figure,
                    PERCENT if average.unit == "acc" else CORRELATION,
                    {},
                    published=() if names is None else published_for(*names),
                    tasks=average.tasks,
                    scored=average.scored,
                )
            partial = any(report[task].details.get("partial") for task in average.tasks)
            found[average.name].cells[report.encoder] = Cell(average.value, average.interval, partial=partial)
    return list(found.values())
