"""The results of one encoder, and the rows and notes of its tables."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..metrics.intervals import Interval
from ..metrics.results import Curve, TaskResult
from .averages import Average, averages_of
from .tables import percent

__all__ = ["BaseReport"]


@dataclass(eq=False)
class BaseReport(Mapping[str, TaskResult]):
    """The results of one encoder, without text and file formats, which `Report` adds.

    Attributes:
        encoder: Name of the encoder.
        results: Results by task.
        skipped: Requested tasks that were not run, and why.
        facts: Dimensions and fingerprint of the encoder, the protocol, sentences per second, versions.
        curves: Curves by a name that reports of several encoders share, such as the task's.
    """

    encoder: str
    results: dict[str, TaskResult] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)
    facts: dict[str, Any] = field(default_factory=dict)
    curves: dict[str, Curve] = field(default_factory=dict)

    def __getitem__(self, task: str) -> TaskResult:
        if task not in self.results:
            why = self.skipped.get(task, f"the tasks are {', '.join(self.results) or 'none'}")
            raise KeyError(f"{task} was not run: {why}")
        return self.results[task]

    def __iter__(self) -> Iterator[str]:
        return iter(self.results)

    def __len__(self) -> int:
        return len(self.results)

    @property
    def averages(self) -> list[Average]:
        """The papers' averages whose tasks are complete, and plain means."""
        options = {key: self.facts[key] for key in ("confidence", "resamples") if key in self.facts}
        return averages_of(self.results, **options)

    @property
    def in_order(self) -> list[TaskResult]:
        """Results in the order of tables: learnt similarity last."""
        return sorted(self.results.values(), key=lambda result: result.scored == "learnt")

    def rows(self, *, several: bool = False) -> list[tuple[str, str, float, Interval | None]]:
        """Task, key, score and interval of each row; accuracies in percent, correlations times 100.

        Args:
            several: Include all scores that tables show, not only the headline.
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
        """Rows of tables as text: task, key, score with deviation, and interval."""
        for task, key, value, interval in self.rows(several=True):
            digits = 4 if key == "idb" else 2  # an index that is often below 1
            deviation = self[task].deviation(key)
            spread = "" if deviation is None else f" {sign} {_scale(key) * deviation:.{digits}f}"
            yield self[task].label, key, f"{value:.{digits}f}{spread}", _ends(interval, digits)
        for average in self.averages:
            yield average.label, average.figure, f"{average.value:.2f}", _ends(average.interval)

    @property
    def level(self) -> str:
        """Confidence level of the intervals, as `"95 %"`."""
        return percent(float(self.facts.get("confidence", 0.95)))

    @property
    def protocol(self) -> str:
        """Protocol and folds, in words."""
        return f"Protocol {self.facts['protocol']}, {self.facts['folds']} folds"

    def warnings(self) -> list[str]:
        """Tasks without a score, with files of another size, undefined correlations or no convergence."""
        warnings, short = [], []
        for name, result in self.results.items():
            details = result.details
            if result.error is not None:
                warnings.append(f"{name}: no figure, {result.error}.")
            if details.get("partial"):
                warnings.append(f"{name}: the number of examples is not the published one.")
            if undefined := details.get("undefined"):
                warnings.append(
                    f"{name}: all cosines or all scores of {', '.join(undefined)} are equal. The undefined "
                    "correlation counts as 0 in the means."
                )
            # In a report that was read from a file, NaN is a string.
            gradient, tolerance = (float(details.get(key, math.nan)) for key in ("gradient", "tolerance"))
            size = f"gradient up to {gradient:.1e}, tolerance {tolerance:g}"
            if details.get("short"):
                short.append(
                    f"{name} {details['short']} of {details['fits']} ({size}, gap up to "
                    f"{details['gap']:.1e}, up to {details['iterations']} iterations)"
                )
            elif "short" not in details and gradient > tolerance:  # reports of older versions
                short.append(f"{name} ({size})")
        if short:
            warnings.append(f"Classifiers that did not converge: {', '.join(short)}.")
        return warnings

    def notes(self) -> list[str]:
        """Notes on the protocol, the kinds of scores, and tasks without a score."""
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
                "Cosine: pairs are scored by the cosine of their embeddings, without training, as papers do "
                "for static encoders. Learnt: by a regression trained on the task's training pairs, as in "
                "SentEval. The two are not comparable."
            )
        if seeds:
            notes.append(
                f"Means of {max(seeds.values())} seeds ± their standard deviation: {', '.join(seeds)}. Their "
                "intervals cover other seeds and other test examples."
            )
        notes += self.warnings()
        averaged = {task for average in self.averages if average.interval for task in average.tasks}
        if any(
            predictions.keys is None for task in averaged for predictions in self[task].predictions.values()
        ):
            notes.append(
                "The report was saved by an older version, without the examples that tasks share: intervals "
                "of averages assume independent tasks, and are too narrow where tasks share examples."
            )
        unknown = {name: r.details.get("unknown_tokens") for name, r in self.results.items()}
        listed = [f"{name} {100 * part:.1f} %" for name, part in unknown.items() if part is not None]
        if listed:
            notes.append(f"Tokens without a word vector: {', '.join(listed)}.")
        if self.skipped:
            notes.append(
                "Not run: " + "; ".join(f"{task} ({why})" for task, why in self.skipped.items()) + "."
            )
        return notes


def _scale(key: str) -> int:
    """Correlations are shown times 100; accuracies and recalls are in percent."""
    return 100 if {"pearson", "spearman"} & set(key.split(".")) else 1


def _ends(interval: Interval | None, digits: int = 2) -> str:
    return "" if interval is None else f"{interval.low:.{digits}f} to {interval.high:.{digits}f}"
