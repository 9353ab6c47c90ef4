"""Scores of several encoders by measure: the columns of tables and the data of charts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeVar

import numpy as np

from ..metrics.intervals import Interval
from ..metrics.results import labelled
from .base import BaseReport
from .published import PublishedFigure, published_for

__all__ = ["KINDS", "Cell", "Extra", "Measure", "averages", "measures", "renamed", "unique"]

PERCENT, CORRELATION, COUNT, RANK, PLAIN = "percent", "correlation x 100", "count", "rank", ""

Extra = Mapping[str, Mapping[str, float]]
_Report = TypeVar("_Report", bound=BaseReport)

_PARAPHRASES = ("cl_one", "cl_half", "nn_cosine", "nn_l2")
_RECALLS = ("r1", "r5", "r10")
# Kinds of measures; cosine and learnt similarity are never averaged together.
KINDS = (
    "classification",
    "similarity",
    "learnt similarity",
    "paraphrases",
    "retrieval",
    "duplicates",
    "clustering",
    "neighbours",
    "few shots",
    "search",
    "mteb",
)
_UNTRAINED = {
    "ap": "duplicates",
    "v_measure": "clustering",
    "nearest": "neighbours",
    "few_shot": "few shots",
    "ndcg10": "search",
    "recall10": "search",
    "mrr10": "search",
    "main_score": "mteb",
}
_COSINE = {"SICKCosine": "SICKRelatedness", "STSBenchmarkCosine": "STSBenchmark"}
_PUBLISHED_AVERAGES = {
    **{f"{kind} of {n}": (f"average-{n}", kind) for kind in ("macro", "micro") for n in (6, 7, 8)},
    "AvgAcc": ("AvgAcc", "accuracy"),
    "AvgSim": ("AvgSim", "correlation"),
}


class Cell(NamedTuple):
    """Score of one encoder.

    Attributes:
        value: Score in the measure's unit.
        interval: Confidence interval.
        p: p-value of a correlation.
        partial: Whether files of another size than published were accepted.
        deviation: Standard deviation over seeds or repetitions.
    """

    value: float
    interval: Interval | None = None
    p: float | None = None
    partial: bool = False
    deviation: float | None = None


@dataclass(frozen=True, eq=False)
class Measure:
    """Scores of several encoders: a column of a table, a group of bars, a row of a heat map.

    Attributes:
        task: Name of the task or average.
        part: Subset or split; `"all"` for averages over subsets; empty for tasks without parts.
        figure: Key of the score, as `"acc"`, `"pearson"` or `"pearson.wmean"`.
        unit: Unit of the scores.
        cells: Scores by encoder.
        headline: Whether it represents the task.
        published: Published scores.
        tasks: Tasks of an average.
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
        """Name in tables and charts."""
        return self.task if self.tasks else labelled(self.task, self.scored)

    @property
    def label(self) -> str:
        """Full name."""
        return " ".join(filter(None, (self.title, self.part, self.figure)))

    @property
    def kind(self) -> str:
        """One of `KINDS`."""
        if self.figure in _UNTRAINED:
            return _UNTRAINED[self.figure]
        if self.figure in _PARAPHRASES:
            return "paraphrases"
        if self.figure in _RECALLS:
            return "retrieval"
        if self.unit == PERCENT:
            return "classification"
        return "learnt similarity" if self.scored == "learnt" else "similarity"


def unique(reports: Sequence[_Report]) -> list[_Report]:
    """The reports with distinct names of encoders, which include the protocol where protocols differ."""
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


def renamed(extra: Extra | None, before: Sequence[BaseReport], after: Sequence[BaseReport]) -> Extra:
    """Further scores of encoders, by the names of `unique`."""
    names: dict[str, list[str]] = {}
    for old, new in zip(before, after, strict=True):
        names.setdefault(old.encoder, []).append(new.encoder)
    return {new: scores for name, scores in (extra or {}).items() for new in names.get(name, [name])}


def measures(reports: Sequence[BaseReport]) -> list[Measure]:
    """All scores of all reports by order of appearance, learnt similarity last.

    Accuracies are in percent, correlations times 100.
    """
    by_key: dict[tuple[str, str, str], Measure] = {}
    headlines: dict[str, str] = {}
    for report in reports:
        for task, result in report.results.items():
            if result.error is not None:
                continue
            headlines.setdefault(task, result.headline)
            for part, figure, value, p in _leaves(result.figures):
                if part == "all" and not headlines[task].startswith("all."):
                    continue  # averages of a single subset
                key = f"{part}.{figure}" if part else figure
                unit = _unit(figure)
                scale = 100 if unit == CORRELATION else 1
                interval = result.intervals.get(key)
                if interval is not None:
                    interval = Interval(*(scale * end for end in interval))
                if (task, part, figure) not in by_key:
                    headline = key == headlines[task]
                    metric = _published_metric(task, part, figure)
                    published = () if metric is None else published_for(*metric)
                    by_key[task, part, figure] = Measure(
                        task, part, figure, unit, {}, headline, published, scored=result.scored
                    )
                partial = bool(result.details.get("partial"))
                spread = result.deviation(key)
                by_key[task, part, figure].cells[report.encoder] = Cell(
                    scale * value, interval, p, partial, None if spread is None else scale * spread
                )
    order = {task: i for i, task in enumerate(headlines)}
    return sorted(by_key.values(), key=lambda measure: (measure.scored == "learnt", order[measure.task]))


def _leaves(figures: Mapping[str, Any]) -> Iterator[tuple[str, str, float, float | None]]:
    """Part, key, value and p-value of every score, without predictions of single examples."""
    for key, value in figures.items():
        if not isinstance(value, Mapping):
            if np.ndim(value) == 0:
                yield "", key, float(value), None
            continue
        for figure, inner in value.items():
            if isinstance(inner, Mapping):
                yield from ((key, f"{figure}.{kind}", float(r), None) for kind, r in inner.items())
            elif isinstance(inner, tuple):
                yield key, figure, float(inner[0]), float(inner[1])
            else:
                yield key, figure, float(inner), None


def _unit(figure: str) -> str:
    if figure in ("acc", "devacc", "f1", *_PARAPHRASES, *_RECALLS, *_UNTRAINED):
        return PERCENT
    if figure.partition(".")[0] in ("pearson", "spearman", "devpearson"):
        return CORRELATION
    if figure == "medr":
        return RANK
    return COUNT if figure in ("ndev", "ntest", "nsamples", "ngroups", "nqueries", "ndocuments") else PLAIN


def _published_metric(task: str, part: str, figure: str) -> tuple[str, str] | None:
    """Task and metric of the published test scores."""
    if not part:
        names = {"acc": "accuracy", "f1": "f1", "pearson": "pearson", "spearman": "spearman"}
        return (task, names[figure]) if figure in names else None
    if part == "all" and figure.endswith(".wmean"):
        return task, figure.partition(".")[0]
    if part == "test" and figure == "pearson" and task in _COSINE:
        return _COSINE[task], "cosine_pearson"
    return None


def averages(reports: Sequence[BaseReport]) -> list[Measure]:
    """Averages of all reports."""
    by_name: dict[str, Measure] = {}
    for report in reports:
        for average in report.averages:
            if average.name not in by_name:
                names = _PUBLISHED_AVERAGES.get(average.name)
                by_name[average.name] = Measure(
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
            by_name[average.name].cells[report.encoder] = Cell(
                average.value, average.interval, partial=partial
            )
    return list(by_name.values())
