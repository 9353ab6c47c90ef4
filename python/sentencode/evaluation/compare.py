"""Whether one encoder is better than another, task by task, on the examples that both were judged by."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, overload

import numpy as np

from .metrics.results import TaskResult, examples_of, is_class, plain
from .metrics.scores import ranks_apart
from .report.averages import averages_of, drawn_average
from .report.report import Report
from .report.tables import markdown, markdown_row, percent
from .statistics.comparison import Compared, aligned, by_holm, notes_of, row_of, rows_of_task
from .statistics.joint_bootstrap import distinct_examples
from .statistics.significance import bootstrapped

__all__ = ["Compared", "Comparisons", "Differing", "compare"]


class Differing(NamedTuple):
    """An example of which two encoders say different things."""

    sentences: tuple[str, ...]
    gold: Any
    a: Any
    b: Any


@dataclass(frozen=True, eq=False)
class Comparisons(Sequence[Compared]):
    """What `sentencode.compare` found: a row for each task and test.

    Attributes:
        a: What the one encoder is called.
        b: What the other is called.
        rows: In the order of the first report's tasks, then averages.
        skipped: Tasks that could not be compared, and why.
        confidence: Of the intervals.
        protocols: What the one and the other was judged by.
        notes: What the tests of some tasks suppose, by task.
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
        """The rows of one task."""
        self._both(task)
        return tuple(row for row in self.rows if row.task == task)

    def differing(self, task: str, limit: int | None = None) -> list[Differing]:
        """The examples that the encoders put into different classes, or to the most distant ranks.

        Args:
            task: The task.
            limit: How many at most.

        Returns:
            The examples: of classes, those first that one of the encoders has right; of scores, those first
            whose ranks are farthest apart. Of several seeds the first one's.

        Raises:
            KeyError: The task was not compared.
            ValueError: Both reports were read from files, which have no sentences.
        """
        found: list[tuple[float, Differing]] = []
        both = self._both(task)
        splits = examples_of(*both)
        for name, one, other in aligned(*both):
            gold, said = one.gold, (one.predicted, other.predicted)
            if is_class(gold):
                apart = (said[0] != said[1]) * (1.0 + ((said[0] == gold) | (said[1] == gold)))
            else:
                apart = ranks_apart(*said) / len(gold)
            for i in np.argsort(-apart, kind="stable")[:limit]:
                if apart[i] > 0:
                    sentences = tuple(side[one.places[i]] for side in splits[name].sentences)
                    values = (row[i].item() for row in (gold, *said))
                    found.append((-apart[i], Differing(sentences, *values)))
        return [example for _, example in sorted(found, key=lambda pair: pair[0])[:limit]]

    def to_dict(self) -> dict[str, Any]:
        """Everything as JSON has it; what is not a finite number is a string."""
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
        """A table of all rows, and below it what they are."""
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
            f"Differences are {a} less {b}, in percent or correlation times 100; one-tailed: {a} is better. "
            "p is of each test alone; p, Holm, is corrected for all rows of the same kind of test: where the "
            "two do not differ, any of these is below 0.05 at most once in twenty tables."
        ]
        one, other = self.protocols
        if one != other:
            notes.append(
                markdown(
                    f"They were judged by different protocols ({one}; {other}): their figures do not compare."
                )
            )
        notes += [markdown(f"{task}: {note}.") for task, note in self.notes.items()]
        notes += [markdown(f"{task}: not compared, {why}.") for task, why in self.skipped.items()]
        return "\n".join([*lines, "", *notes]) + "\n"

    def _repr_markdown_(self) -> str:
        return self.to_markdown()

    def __repr__(self) -> str:
        return f"Comparisons({self.a!r}, {self.b!r}: {len(self.rows)} tests on {', '.join(self._results)})"

    def _label(self, row: Compared) -> str:
        """What a row is of, as other tables call it."""
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
    """Compares two encoders on every task that both reports have, example by example.

    Accuracies are compared by McNemar's test, Student's paired t-test and the paired bootstrap; F1 by the
    last alone; correlations by Williams' test and the paired bootstrap. Of STS years each subset is
    compared, and all pairs pooled; the mean over the subsets, weighted by their sizes, by a bootstrap within
    subsets. Averages over tasks that both reports have are compared by a bootstrap in which an example that
    several tasks share is drawn for all of them at once.

    Where many differences are tested, some look large by chance: `p_holm` is what to go by then. Its family
    are all rows of one kind of test, for McNemar's and Student's test and the bootstrap of one accuracy ask
    the same question thrice.

    Sentences of one group, and captions of one image, hang together: the tests are of groups then, and the
    bootstrap draws whole groups. Of several seeds the figures are means over all. McNemar's test and the
    t-test take what all seeds say of an example as one group, so that they tell of other examples and the
    same seeds; the bootstrap draws seeds anew, too. `Comparisons.notes` says where it is so.

    Args:
        a: One encoder's report.
        b: The other's, on the same examples.
        confidence: Of the intervals.
        resamples: Of the bootstrap.
        seed: Of the bootstrap.

    Returns:
        A row for each task and test.

    Raises:
        TypeError: One of the two is no report.
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
        >>> found = se.compare(se.evaluate(near, task, name="near"), se.evaluate(far, task, name="far"))
        >>> found[0].test, round(found[0].difference), round(found[0].p_one_tailed, 3)
        ('Williams', 93, 0.026)
        >>> found.differing("mine", limit=1)
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
        wrong = [(name, report[task].error) for name, report in (("a", a), ("b", b)) if report[task].error]
        if wrong:
            skipped[task] = "; ".join(f"{name} has no figure ({why})" for name, why in wrong)
            continue
        compared[task] = (a[task], b[task])
        rows += rows_of_task(*compared[task], options)
        if said := notes_of(*compared[task]):
            notes[task] = said
    rows += _averages(compared, options)
    protocols = (a.facts.get("protocol"), b.facts.get("protocol"))
    return Comparisons(a.encoder, b.encoder, by_holm(rows), skipped, confidence, protocols, notes, compared)


def _listed(report: Report) -> str:
    return ", ".join(report) or "none"


def _averages(
    compared: dict[str, tuple[TaskResult, TaskResult]], options: dict[str, Any]
) -> Iterator[Compared]:
    """The averages over the tasks that were compared, on resamples that are the same for both encoders."""
    sides = [_comparable(compared, side) for side in (0, 1)]
    a, b = ({average.name: average for average in averages_of(side, resamples=1)} for side in sides)
    for name in [name for name in a if name in b]:
        drawn = [
            drawn_average(side, of[name], options["resamples"], options["seed"])
            for side, of in zip(sides, (a, b), strict=True)
        ]
        if drawn[0] is None or drawn[1] is None:
            continue
        values = [a[name].value, b[name].value]
        difference, moved = (values[0] - values[1]) / 100, (drawn[0] - drawn[1]) / 100
        outcome = bootstrapped(
            "paired bootstrap of shared examples",
            difference,
            difference + moved[1:] - moved[0],
            distinct_examples([sides[0][task] for task in a[name].tasks]),
            confidence=options["confidence"],
        )
        yield row_of(a[name].label, "average", a[name].figure, values, outcome)


def _comparable(compared: dict[str, tuple[TaskResult, TaskResult]], side: int) -> dict[str, TaskResult]:
    """One encoder's results; where the other's do not tell shared examples from others, its own do not."""
    found = {}
    for task, both in compared.items():
        known = all(judged.keys is not None for result in both for judged in result.judged.values())
        judged = both[side].judged
        if not known:
            judged = {name: replace(one, keys=None) for name, one in judged.items()}
        found[task] = replace(both[side], judged=judged)
    return found


def _p(value: float) -> str:
    return "< 0.0001" if value < 1e-4 and not math.isnan(value) else f"{value:.4f}"
