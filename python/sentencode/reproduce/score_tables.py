"""Kinds of tables: scores beside the published ones, their averages, differences, and costs of training."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ..evaluation import published as published_figures
from ..evaluation.report.averages import PAPER_TASKS, macro_and_micro
from ..evaluation.report.published import ANOTHER_PROTOCOL
from .report import MARK, Made, Report
from .tables import MISSING, between, differing, digits, number

__all__ = ["Averages", "Cost", "Differences", "Scores"]

_PROTOCOLS = (
    f"{MARK} {ANOTHER_PROTOCOL}",
    "Learnt: a regression was trained on the task's training pairs; cosine: nothing was trained. "
    "The two do not compare.",
)


@dataclass(frozen=True)
class Scores:
    """A table of the paper, and our rows.

    Attributes:
        title: Of the table.
        table: Of the paper; "" where there is none.
        rows: Ours that it shows. None: all.
        beside: Whether each of ours stands below the published one of its name, which alone are shown then.
            If not, ours follow all that is published.
        columns: As in `"MRPC f1"`. None: the family's.
        intervals: Whether a table of our intervals follows.
        remark: What is to be said of it.
        lines: What ours are called there, where a line shows the figures of several rows, such as one for
            each corpus -> these rows. None: each row has a line.
    """

    title: str
    table: str = ""
    rows: Sequence[str] | None = None
    beside: bool = False
    columns: Sequence[str] | None = None
    intervals: bool = False
    remark: str = ""
    lines: Mapping[str, Sequence[str]] | None = None

    def made(self, report: Report) -> Iterator[Made]:
        """The table, and that of intervals."""
        columns = report.shown_columns(self.columns)
        printed = report.printed(self.table) if self.table else {}
        wanted: Sequence[str] = tuple(report.rows) if self.rows is None else self.rows
        rows = [
            [name, *report.marked(columns, of)]
            for name, of in printed.items()
            if not self.beside and not of.keys().isdisjoint(columns)
        ]
        lines = self.lines or {row: (row,) for row in wanted}
        for line, of in lines.items():
            name = report.rows[of[0]].printed or line
            if self.beside and name in printed:
                rows.append([f"{name}, paper", *report.marked(columns, printed[name])])
            if there := [row for row in of if report.of(row)]:
                scores = {column: value for row in there for column, value in report.scores(row).items()}
                cells = (number(scores.get(column), digits(column)) for column in columns)
                rows.append([report.ours(line, there), *cells])
        yield self.title, report.heading(columns), rows
        if self.intervals:
            known = report.there()
            columns = [column for column in columns if column in known]
            rows = [
                [name, *(between(result["scores"].get(column), digits(column)) for column in columns)]
                for row, name, result in report.each()
                if row in wanted
            ]
            yield "95 % intervals of our figures", report.heading(columns), rows

    def notes(self, report: Report) -> Iterator[str]:
        """What the marks mean."""
        yield from _PROTOCOLS[not report.of_other_protocols() :]
        if self.remark:
            yield self.remark


@dataclass(frozen=True)
class Averages:
    """Macro and micro averages of accuracies: the paper's, then those of the tasks that are there.

    Attributes:
        title: Of the table.
        table: Of the paper, with averages.
        of: Of the paper, with the accuracies that they are over.
    """

    title: str
    table: str
    of: str

    def made(self, report: Report) -> Iterator[Made]:
        """The table."""
        common, own = self._common(report), self._own(report)
        columns = [f"{kind} {len(tasks)}" for tasks in PAPER_TASKS for kind in ("macro", "micro")]
        columns += [f"{kind} of {' '.join(common)}" for kind in ("macro", "micro")] * own
        rows = []
        averages = report.printed(self.table)
        for system, figures in report.printed(self.of).items():
            accuracies = _accuracies(figures)
            if system in averages or macro_and_micro(accuracies, common):
                names = [
                    f"average-{len(tasks)} {kind}" for tasks in PAPER_TASKS for kind in ("macro", "micro")
                ]
                cells = [averages.get(system, {}).get(name, MISSING) for name in names]
                cells += _averages(accuracies, common) * own
                rows.append([system, *(cell if cell == MISSING else f"{cell} {MARK}" for cell in cells)])
        for row in report.rows:
            if report.of(row):
                accuracies = _accuracies(report.scores(row))
                cells = [cell for tasks in PAPER_TASKS for cell in _averages(accuracies, tasks)]
                rows.append([report.ours(row), *cells, *_averages(accuracies, common) * own])
        yield self.title, ["encoder", *columns], rows

    def notes(self, report: Report) -> Iterator[str]:
        """What the marks mean, and which averages are ours."""
        yield from _PROTOCOLS
        if tuple(self._common(report)) not in PAPER_TASKS:
            yield (
                f"The last two averages of table {self.table}, over the tasks that are there, are ours in "
                "every line."
            )

    def _own(self, report: Report) -> bool:
        common = self._common(report)
        return len(common) > 1 and tuple(common) not in PAPER_TASKS

    def _common(self, report: Report) -> list[str]:
        """The tasks of the paper's averages that are there."""
        there = {column.partition(" ")[0] for column in report.there()}
        return [task for task in PAPER_TASKS[0] if task in there]


@dataclass(frozen=True)
class Differences:
    """What rows have more than the family's baseline, from the same examples drawn for both.

    Attributes:
        title: Of the table.
    """

    title: str

    def made(self, report: Report) -> Iterator[Made]:
        """The table."""
        compared = [(name, result["less"]) for _, name, result in report.each() if "less" in result]
        there = {column: None for _, less in compared for column in less}
        columns = [column for column in report.columns if column in there]
        means = [column for column in there if column.endswith(" average")]
        rows = [[name, *(differing(less.get(c)) for c in (*columns, *means))] for name, less in compared]
        heading = [*report.heading(columns), *(mean.removesuffix(" average") for mean in means)]
        yield self.title, heading, rows

    def notes(self, report: Report) -> Iterator[str]:
        """What the figures are."""
        yield "Differences are in percent or correlation times 100, on the same resampled examples."


@dataclass(frozen=True)
class Cost:
    """Parameters, and the time of training.

    Attributes:
        title: Of the table.
        table: Of the paper, with minutes a thousand batches; "" where there is none.
        remark: What is to be said of the paper's.
    """

    title: str
    table: str = ""
    remark: str = ""

    def made(self, report: Report) -> Iterator[Made]:
        """The table."""
        header = [
            *("encoder", "dim", "parameters", "with softmax", "steps", "sentences", "sentences/s", "minutes"),
            *("minutes / 1000 batches", "dev loss", "dev accuracy"),
        ]
        figures = published_figures(report.paper, self.table) if self.table else ()
        rows = [
            [f"{figure.system}, paper", *[MISSING] * 7, figure.printed, MISSING, MISSING]
            for figure in figures
        ]
        for _, name, result in report.each():
            if "parameters" not in result:
                continue
            counts, dev = result["parameters"], result.get("dev")
            line = [name, str(result["dim"])]
            line += [f"{counts[key] / 1e6:.2f} M" for key in ("without_softmax", "with_softmax")]
            if dev is None:
                line += [MISSING] * 7
            else:
                line += [f"{result[key]:,}" for key in ("steps", "sentences")]
                line += [f"{result['sentences_per_second']:.0f}", f"{result['minutes']:.1f}"]
                line += [f"{result['minutes_per_1000_batches']:.2f}"]
                accuracy = dev["accuracy"]
                line += [f"{dev['loss']:.3f}", number(None if accuracy is None else 100 * accuracy)]
            rows.append(line)
        yield self.title, header, rows

    def notes(self, report: Report) -> Iterator[str]:
        """What is counted."""
        yield f"Parameters are those that are trained{self.remark}."
        yield "Times are of training steps, without validations."


def _accuracies(figures: Mapping[str, str] | Mapping[str, float]) -> dict[str, float]:
    columns = {column: column.removesuffix(" accuracy") for column in figures if column.endswith(" accuracy")}
    return {task: float(figures[column]) for column, task in columns.items()}


def _averages(accuracies: Mapping[str, float], tasks: Sequence[str]) -> list[str]:
    """Macro and micro average, as cells."""
    both = macro_and_micro(accuracies, tasks) if tasks else None
    return [MISSING] * 2 if both is None else [number(value) for value in both]
