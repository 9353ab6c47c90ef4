"""Compares two encoders task by task with significance tests on the same examples."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, overload

import numpy as np

from .metrics.results import TaskResult, examples_of, is_class, plain
from .metrics.scores import ranks_apart
from .report.averages import averages_compared
from .report.report import Report
from .report.tables import html_of, markdown, markdown_row, percent
from .statistics.comparison import (
    Compared,
    aligned,
    by_holm,
    notes_of,
    row_of,
    rows_of_task,
    too_few_resamples,
)

__all__ = ["Compared", "Comparisons", "Differing", "compare"]


class Differing(NamedTuple):
    """An example with different predictions of two encoders."""

    sentences: tuple[str, ...]
    gold: Any
    a: Any
    b: Any


@dataclass(frozen=True, eq=False)
class Comparisons(Sequence[Compared]):
    """Result of `sentencode.compare`: a row for each task and test.

    Attributes:
        a: Name of encoder a.
        b: Name of encoder b.
        rows: Results in the order of the first report's tasks, then those of averages.
        skipped: Tasks that could not be compared, and why.
        confidence: Confidence level of the intervals.
        protocols: Protocols of a and b.
        notes: Limits of the tests, by task; of all tasks, by test.
    """

    a: str
    b: str
    rows: tuple[Compared, ...]
    skipped: dict[str, str] = field(default_factory=dict)
    confidence: float = 0.95
    protocols: tuple[str | None, str | None] = (None, None)
    notes: dict[str, str] = field(default_factory=dict)
    _results: dict[str, tuple[TaskResult, TaskResult]] = field(default_factory=dict, repr=False)

    @overload
    def __getitem__(self, index: int) -> Compared: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Compared, ...]: ...
    def __getitem__(self, index: int | slice) -> Compared | tuple[Compared, ...]:
        return self.rows[index]

    def __len__(self) -> int:
        return len(self.rows)

    def of(self, task: str) -> tuple[Compared, ...]:
        """Rows of one task."""
        self._both(task)
        return tuple(row for row in self.rows if row.task == task)

    def differing(self, task: str, limit: int | None = None) -> list[Differing]:
        """Examples with different predicted classes, or different ranks.

        Args:
            task: Name of the task.
            limit: Maximum number of examples.

        Returns:
            The examples, by the first seed's predictions: for classes, those first that one encoder
            predicted correctly; for scores, those first whose ranks differ most.

        Raises:
            KeyError: The task was not compared.
            ValueError: Both reports were read from files, which have no sentences.
        """
        differing: list[tuple[float, Differing]] = []
        both = self._both(task)
        splits = examples_of(*both)
        for name, predictions_a, predictions_b in aligned(*both):
            gold, a, b = predictions_a.gold, predictions_a.predicted, predictions_b.predicted
            if is_class(gold):
                distance = (a != b) * (1.0 + ((a == gold) | (b == gold)))
            else:
                distance = ranks_apart(a, b) / len(gold)
            for i in np.argsort(-distance, kind="stable")[:limit]:
                if distance[i] > 0:
                    sentences = tuple(side[predictions_a.indices[i]] for side in splits[name].sentences)
                    values = (row[i].item() for row in (gold, a, b))
                    differing.append((-distance[i], Differing(sentences, *values)))
        return [example for _, example in sorted(differing, key=lambda pair: pair[0])[:limit]]

    def to_dict(self) -> dict[str, Any]:
        """The result as JSON values; NaN and infinity are strings."""
        rows = [plain(row._asdict()) for row in self.rows]
        return {
            "a": self.a,
            "b": self.b,
            "confidence": self.confidence,
            "protocols": list(self.protocols),
            "rows": rows,
            "notes": self.notes,
            "skipped": self.skipped,
        }

    def to_markdown(self) -> str:
        """A table of all rows with notes."""
        a, b = (self.a, self.b) if self.a != self.b else (f"{self.a} (a)", f"{self.b} (b)")
        if self.protocols[0] != self.protocols[1]:
            a, b = (f"{name} ({protocol})" for name, protocol in zip((a, b), self.protocols, strict=True))
        a, b = markdown(a), markdown(b)
        level = f"{percent(self.confidence)} interval"
        header = ["task", "figure", a, b, "difference", level, "test", "p", "p, Holm", "p one-tailed", "n"]
        lines = [markdown_row(header), markdown_row(["---"] * 2 + ["---:"] * 4 + ["---"] + ["---:"] * 4)]
        for row in self.rows:
            lines.append(
                markdown_row(
                    (
                        markdown(self._label(row)),
                        row.figure,
                        *(f"{value:.2f}" for value in (row.a, row.b)),
                        f"{row.difference:+.2f}",
                        f"{row.interval.low:+.2f} to {row.interval.high:+.2f}",
                        row.test,
                        *(_p(value) for value in (row.p_two_tailed, row.p_holm, row.p_one_tailed)),
                        str(row.n),
                    )
                )
            )
        notes = [
            f"Differences are {a} minus {b}, in percent or correlation times 100; one-tailed: {a} is better. "
            "p is of each test alone; p, Holm, is corrected for all rows of the same kind of test: if the "
            "two do not differ, at most one table in twenty has a p, Holm, of this kind below 0.05."
        ]
        if self.protocols[0] != self.protocols[1]:
            protocols = "; ".join(map(str, self.protocols))
            notes.append(markdown(f"Their protocols differ ({protocols}): the scores are not comparable."))
        notes += [markdown(f"{task}: {note}.") for task, note in self.notes.items()]
        notes += [markdown(f"{task}: not compared, {why}.") for task, why in self.skipped.items()]
        return "\n".join([*lines, "", *notes]) + "\n"

    def _repr_markdown_(self) -> str:
        return self.to_markdown()

    def _repr_html_(self) -> str:
        return html_of(self.to_markdown())

    def __repr__(self) -> str:
        return f"Comparisons({self.a!r}, {self.b!r}: {len(self.rows)} tests on {', '.join(self._results)})"

    def _label(self, row: Compared) -> str:
        """Name of a row's task and part."""
        if row.part == "average":
            return row.task
        label = self._results[row.task][0].label
        return label if row.part in ("test", "all") else f"{label}: {row.part}"

    def _both(self, task: str) -> tuple[TaskResult, TaskResult]:
        if task not in self._results:
            why = self.skipped.get(task, f"the tasks are {', '.join(self._results)}")
            raise KeyError(f"{task} was not compared: {why}")
        return self._results[task]


def compare(
    a: Report, b: Report, *, confidence: float = 0.95, resamples: int = 2000, seed: int = 1111
) -> Comparisons:
    """Compare two encoders on every task that both reports have, example by example.

    Accuracies are compared by McNemar's test, the paired t-test and the paired bootstrap; F1 by the bootstrap
    only; correlations by Williams' test and the paired bootstrap. For STS years, each subset and all pairs
    pooled are compared, and the mean over subsets, weighted by size, by a bootstrap within subsets. Averages
    over tasks that both reports have are compared by a bootstrap that resamples an example of several tasks
    in all of them.

    With many tests, some differences are significant by chance: use `p_holm` then. Its families are the rows
    of one kind of test, because McNemar's test, the t-test and the bootstrap test the same difference.

    Sentences of a group, and captions of an image, are not independent: groups are tested and resampled then.
    With several seeds, scores are means over seeds. McNemar's test and the t-test treat the predictions of
    all seeds for an example as one group, so they hold for other examples and the same seeds; the bootstrap
    resamples seeds, too. `Comparisons.notes` says where this applies.

    Args:
        a: Report of encoder a.
        b: Report of encoder b on the same examples.
        confidence: Confidence level of the intervals.
        resamples: Number of bootstrap resamples.
        seed: Seed of the bootstrap.

    Raises:
        TypeError: `a` or `b` is not a report.
        ValueError: The reports have no task in common, or are of different examples of a task; or an option
            is out of range.

    Example:
        >>> import numpy as np, sentencode as se
        >>> from sentencode.evaluation import Kind, Split, Task
        >>> words = ["one", "two", "three", "four", "five", "six"]
        >>> pairs = Split((words, ["one"] * 6), np.array([5.0, 4.0, 3.0, 2.0, 1.0, 0.0]))
        >>> task = Task("mine", {"test": pairs}, Kind("similarity"))
        >>> def near(sentences):
        ...     return [[6, words.index(s)] for s in sentences]
        >>> def far(sentences):
        ...     return [[3, len(s)] for s in sentences]
        >>> result = se.compare(se.evaluate(near, task, name="near"), se.evaluate(far, task, name="far"))
        >>> result[0].test, round(result[0].difference), round(result[0].p_one_tailed, 3)
        ('Williams', 93, 0.026)
        >>> result.differing("mine", limit=1)
        [Differing(sentences=('six', 'one'), gold=0.0, a=0.76..., b=1.0)]
    """
    for name, report in (("a", a), ("b", b)):
        if not isinstance(report, Report):
            raise TypeError(f"compare: {name} must be a Report, got {type(report).__name__}")
    common = [task for task in a if task in b]
    if not common:
        raise ValueError(
            f"compare: the reports have no task in common: a has {_listed(a)}, b has {_listed(b)}"
        )
    options = {"confidence": confidence, "resamples": resamples, "seed": seed}
    rows: list[Compared] = []
    notes = {}
    skipped = {task: "only one report has it" for task in dict.fromkeys([*a, *b]) if task not in common}
    compared = {}
    for task in common:
        errors = [(name, report[task].error) for name, report in (("a", a), ("b", b)) if report[task].error]
        if errors:
            skipped[task] = "; ".join(f"{name} has no figure ({why})" for name, why in errors)
            continue
        compared[task] = (a[task], b[task])
        rows += rows_of_task(*compared[task], options)
        if note := notes_of(*compared[task]):
            notes[task] = note
    rows += _averages(compared, options)
    if note := too_few_resamples(rows, resamples):
        notes["paired bootstrap"] = note
    protocols = (a.facts.get("protocol"), b.facts.get("protocol"))
    return Comparisons(a.encoder, b.encoder, by_holm(rows), skipped, confidence, protocols, notes, compared)


def _listed(report: Report) -> str:
    return ", ".join(report) or "none"


def _averages(
    compared: dict[str, tuple[TaskResult, TaskResult]], options: dict[str, Any]
) -> Iterator[Compared]:
    """Tests of the averages over the compared tasks."""
    sides = [{task: both[side] for task, both in compared.items()} for side in (0, 1)]
    for average, values, comparisons in averages_compared(sides, 0, options):
        yield row_of(average.label, "average", average.figure, values, comparisons[1])


def _p(value: float) -> str:
    return "< 0.0001" if value < 1e-4 and not math.isnan(value) else f"{value:.4f}"
