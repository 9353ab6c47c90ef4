"""Ranks encoders on each task, with those that the test examples cannot separate from the best."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .metrics.results import plain
from .report.report import Report
from .report.tables import html_of, markdown, markdown_row, percent
from .report.ties import Ranked, against_best, by_score, ranked_averages

__all__ = ["Ranked", "RankedEncoders", "rank"]


@dataclass(frozen=True, eq=False)
class RankedEncoders(Mapping[str, tuple[Ranked, ...]]):
    """Result of `sentencode.rank`: for each task and average, the encoders from the best to the worst.

    Attributes:
        encoders: Names of the encoders, as given.
        rows: Encoders by task, best first.
        figures: What is compared, by task.
        skipped: Tasks that could not be compared, and why.
        confidence: Confidence level.
        protocols: Protocols of the reports, without repetitions.
    """

    encoders: tuple[str, ...]
    rows: dict[str, tuple[Ranked, ...]]
    figures: dict[str, str]
    skipped: dict[str, str] = field(default_factory=dict)
    confidence: float = 0.95
    protocols: tuple[str, ...] = ()
    _titles: dict[str, str] = field(default_factory=dict, repr=False)

    def __getitem__(self, task: str) -> tuple[Ranked, ...]:
        if task not in self.rows:
            why = self.skipped.get(task, f"the tasks are {', '.join(self.rows)}")
            raise KeyError(f"{task} was not compared: {why}")
        return self.rows[task]

    def __iter__(self) -> Iterator[str]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def tied(self, task: str) -> list[str]:
        """Names of the encoders that are not significantly worse than the best, which is the first."""
        return [row.encoder for row in self[task] if row.tied]

    def to_dict(self) -> dict[str, Any]:
        """The result as JSON values; NaN and infinity are strings."""
        tasks = {
            task: {
                "figure": self.figures[task],
                "encoders": [
                    plain({**row._asdict(), "interval": row.interval and row.interval._asdict()})
                    for row in rows
                ],
            }
            for task, rows in self.rows.items()
        }
        return {
            "confidence": self.confidence,
            "protocols": list(self.protocols),
            "tasks": tasks,
            "skipped": self.skipped,
        }

    def to_markdown(self) -> str:
        """A row for each encoder, a column for each task: those tied with the best are bold."""
        header = ["encoder", *(markdown(self._titles.get(task, task)) for task in self.rows)]
        lines = [markdown_row(header), markdown_row(["---", *["---:"] * len(self.rows)])]
        for encoder in self.encoders:
            cells = []
            for rows in self.rows.values():
                row = next(row for row in rows if row.encoder == encoder)
                behind = "" if row.interval is None else f" (-{row.behind:.2f})"
                cells.append(f"**{row.score:.2f}**{behind}" if row.tied else f"{row.score:.2f}{behind}")
            lines.append(markdown_row([markdown(encoder), *cells]))
        notes = [
            f"Bold: the best, and all that are not significantly worse at {percent(self.confidence)} "
            "(paired bootstrap, corrected by Holm's method for the encoders of a column). In brackets: "
            "difference from the best."
        ]
        if len(self.protocols) > 1:
            protocols = "; ".join(self.protocols)
            notes.append(markdown(f"The protocols differ ({protocols}): the scores are not comparable."))
        notes += [markdown(f"{task}: not compared, {why}.") for task, why in self.skipped.items()]
        return "\n".join([*lines, "", *notes]) + "\n"

    def _repr_markdown_(self) -> str:
        return self.to_markdown()

    def _repr_html_(self) -> str:
        return html_of(self.to_markdown())

    def __repr__(self) -> str:
        return f"RankedEncoders({len(self.encoders)} encoders on {', '.join(self.rows)})"


def rank(
    reports: Sequence[Report], *, confidence: float = 0.95, resamples: int = 2000, seed: int = 1111
) -> RankedEncoders:
    """Rank encoders on every task and average that all reports have.

    Each encoder is compared with the best of the task by the paired bootstrap, as in `compare`. A ranking of
    scores alone suggests an order where there is often none: encoders that are `tied` with the best differ
    from it by no more than other test examples would change. A task without predictions of one encoder, as in
    results of mteb, is not compared.

    Args:
        reports: Two or more reports on the same examples, of encoders with different names.
        confidence: Confidence level of the intervals and of ties.
        resamples: Number of bootstrap resamples.
        seed: Seed of the bootstrap.

    Raises:
        TypeError: `reports` has something that is not a report.
        ValueError: There are fewer than two reports, two of one name, or no task that all have; or an option
            is out of range.

    Example:
        >>> import numpy as np, sentencode as se
        >>> from sentencode.evaluation import Kind, Split, Task
        >>> words = ["one", "two", "three", "four", "five", "six"]
        >>> pairs = Split((words, ["one"] * 6), np.array([5.0, 4.0, 3.0, 2.0, 1.0, 0.0]))
        >>> task = Task("mine", {"test": pairs}, Kind("similarity"))
        >>> encoders = {"near": lambda texts: [[6, words.index(s)] for s in texts],
        ...             "far": lambda texts: [[3, len(s)] for s in texts]}
        >>> ranking = se.rank([se.evaluate(one, task, name=name) for name, one in encoders.items()])
        >>> [row.encoder for row in ranking["mine"]], ranking.tied("mine")[0]
        (['near', 'far'], 'near')
    """
    for report in reports:
        if not isinstance(report, Report):
            raise TypeError(f"rank: reports must be Reports, got {type(report).__name__}")
    names = [report.encoder for report in reports]
    if len(reports) < 2:
        raise ValueError(f"rank: expected two reports or more, got {len(reports)}")
    if repeated := {name for name in names if names.count(name) > 1}:
        raise ValueError(
            f"rank: two reports are of encoders named {min(repeated)!r}; name them by evaluate(..., name=), "
            "at the command line by --name"
        )
    common = [task for task in reports[0] if all(task in report for report in reports)]
    if not common:
        raise ValueError("rank: no task is in all reports")
    skipped = {
        task: "not all reports have it"
        for task in dict.fromkeys(task for report in reports for task in report)
        if task not in common
    }

    options = {"confidence": confidence, "resamples": resamples, "seed": seed}
    rows: dict[str, tuple[Ranked, ...]] = {}
    figures: dict[str, str] = {}
    compared: list[str] = []
    for task in common:
        results = [report[task] for report in reports]
        if why := next((result.error for result in results if result.error), None):
            skipped[task] = why
            continue
        without = [name for name, result in zip(names, results, strict=True) if not result.predictions]
        if 0 < len(without) < len(results):
            skipped[task] = f"there are no predictions of {', '.join(without)}"
            continue
        tests = against_best(results, options)
        if tests is None:
            skipped[task] = "its examples cannot be compared"
            continue
        compared.append(task)
        rows[task], figures[task] = by_score(names, tests, confidence), tests[0].figure
    sides = [{task: report[task] for task in compared} for report in reports]
    for label, (figure, ranked) in ranked_averages(names, sides, options).items():
        rows[label], figures[label] = ranked, figure
    titles = {task: reports[0][task].label for task in compared}
    protocols = tuple(
        dict.fromkeys(str(one.facts["protocol"]) for one in reports if one.facts.get("protocol"))
    )
    return RankedEncoders(tuple(names), rows, figures, skipped, confidence, protocols, titles)
