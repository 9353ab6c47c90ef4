"""All that is known of one encoder, which whatever shows it takes: tables, pictures, pages."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..metrics.intervals import Interval
from ..metrics.results import Curve, TaskResult
from .averages import Average, averages_of
from .tables import percent

__all__ = ["Findings"]


@dataclass(eq=False)
class Findings(Mapping[str, TaskResult]):
    """The figures of one encoder, of which a `Report` makes text and files.

    Attributes:
        encoder: What it is called.
        results: By task.
        skipped: Tasks that were asked for and not run, and why.
        facts: The encoder's width and fingerprint, the protocol, sentences a second, versions.
        curves: By a name that reports of several encoders share, such as the task's.
    """

    encoder: str
    results: dict[str, TaskResult] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)
    facts: dict[str, Any] = field(default_factory=dict)
    curves: dict[str, Curve] = field(default_factory=dict)

    def __getitem__(self, task: str) -> TaskResult:
        if task not in self.results and task in self.skipped:
            raise KeyError(f"{task} was not run: {self.skipped[task]}")
        return self.results[task]

    def __iter__(self) -> Iterator[str]:
        return iter(self.results)

    def __len__(self) -> int:
        return len(self.results)

    @property
    def averages(self) -> list[Average]:
        """Of the papers' averages, those whose tasks are all there, and plain means of what is there."""
        options = {key: self.facts[key] for key in ("confidence", "resamples") if key in self.facts}
        return averages_of(self.results, **options)

    @property
    def in_order(self) -> list[TaskResult]:
        """The tasks as tables list them: what was learnt comes behind what the vectors give by themselves."""
        return sorted(self.results.values(), key=lambda result: result.scored == "learnt")

    def rows(self, *, several: bool = False) -> list[tuple[str, str, float, Interval | None]]:
        """Task, figure's key, value and interval; accuracies in percent, correlations times 100.

        Args:
            several: All figures of a task that tables show, and not the headline alone.
        """
        rows = []
        for result in self.in_order:
            if result.error is not None:
                continue
            for key in result.shown if several else [result.headline]:
                scale = _scale(key)
                interval = result.intervals.get(key)
                if interval is not None:
                    interval = Interval(scale * interval.low, scale * interval.high)
                rows.append((result.task, key, scale * result.figure(key), interval))
        return rows

    def shown(self, sign: str = "±") -> Iterator[tuple[str, str, str, str]]:
        """The rows of tables as text: what a figure is of, its key, value with deviation, and interval."""
        for task, key, value, interval in self.rows(several=True):
            digits = 4 if key == "idb" else 2  # which is often less than 1
            deviation = self[task].deviation(key)
            spread = "" if deviation is None else f" {sign} {_scale(key) * deviation:.{digits}f}"
            yield self[task].label, key, f"{value:.{digits}f}{spread}", _ends(interval, digits)
        for average in self.averages:
            yield average.label, average.figure, f"{average.value:.2f}", _ends(average.interval)

    @property
    def level(self) -> str:
        """Of the intervals, as `"95 %"`."""
        return percent(float(self.facts.get("confidence", 0.95)))

    @property
    def protocol(self) -> str:
        """How it was judged, in words."""
        return f"Protocol {self.facts['protocol']}, {self.facts['folds']} folds"

    def short(self) -> str | None:
        """The tasks with classifiers that ended short of their optimum, as a sentence, if any."""
        found = []
        for name, result in self.results.items():
            told = result.details
            # Of a report that was read from a file, what is not a number is a word.
            gradient, wanted = (float(told.get(key, math.nan)) for key in ("gradient", "tolerance"))
            if told.get("short"):
                found.append(
                    f"{name} {told['short']} of {told['fits']} (gradient up to {gradient:.1e} where "
                    f"{wanted:g} was asked for, gap up to {told['gap']:.1e}, up to {told['iterations']} "
                    "iterations)"
                )
            elif "short" not in told and gradient > wanted:  # saved before fits were counted
                found.append(f"{name} (gradient up to {gradient:.1e} where {wanted:g} was asked for)")
        return f"Classifiers that ended short of their optimum: {', '.join(found)}." if found else None

    def notes(self) -> list[str]:
        """How it was judged, and what has no figure."""
        notes = []
        if "protocol" in self.facts:
            notes.append(
                f"{self.protocol}; accuracies in percent, correlations times 100; intervals by bootstrap. "
                "STS years: the subsets' correlations weighted by their sizes (wmean), their plain mean, and "
                "all pairs pooled."
            )
        seeds = {name: r.details["seeds"] for name, r in self.results.items() if "seeds" in r.details}
        if {result.scored for result in self.results.values()} >= {"learnt", "cosine"}:
            notes.append(
                "Learnt: pairs are scored by a regression that was trained on the task's training pairs; "
                "cosine: by the cosine of their vectors, nothing was trained. The two do not compare."
            )
        if seeds:
            notes.append(
                f"Means of {max(seeds.values())} seeds ± their standard deviation: {', '.join(seeds)}. Their "
                "intervals cover other seeds and other tested examples."
            )
        for name, result in self.results.items():
            if result.error is not None:
                notes.append(f"{name}: no figure, {result.error}.")
            if result.details.get("partial"):
                notes.append(f"{name}: files of another size than published were accepted.")
            if undefined := result.details.get("undefined"):
                notes.append(
                    f"{name}: all cosines or all scores of {', '.join(undefined)} are equal. The "
                    "correlation, which does not exist, counts as 0 in the means."
                )
        if short := self.short():
            notes.append(short)
        averaged = {task for average in self.averages if average.interval for task in average.tasks}
        if any(judged.keys is None for task in averaged for judged in self[task].judged.values()):
            notes.append(
                "The report was saved by an older version, and which examples tasks share is not known: "
                "intervals of averages take them for independent, and are too narrow where tasks share some."
            )
        unknown = {name: r.details.get("unknown_tokens") for name, r in self.results.items()}
        listed = [f"{name} {100 * share:.1f} %" for name, share in unknown.items() if share is not None]
        if listed:
            notes.append(f"Tokens without a word vector: {', '.join(listed)}.")
        if self.skipped:
            notes.append(
                "Not run: " + "; ".join(f"{task} ({why})" for task, why in self.skipped.items()) + "."
            )
        return notes


def _scale(key: str) -> int:
    """Tables show correlations times 100; accuracies and recalls are in percent."""
    return 100 if {"pearson", "spearman"} & set(key.split(".")) else 1


def _ends(interval: Interval | None, digits: int = 2) -> str:
    return "" if interval is None else f"{interval.low:.{digits}f} to {interval.high:.{digits}f}"
