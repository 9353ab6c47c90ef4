"""Kinds of tables: scores next to the published ones, their averages, differences, and training costs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ..evaluation import published as published_figures
from ..evaluation.report.averages import PAPER_TASKS, macro_and_micro
from ..evaluation.report.published import ANOTHER_PROTOCOL
from .report import Report, Table
from .tables import MARK, MISSING, TableText, differing, digits, filled_columns, number, score

__all__ = ["Averages", "Cost", "Differences", "Scores"]

_PROTOCOLS = (
    f"{MARK} {ANOTHER_PROTOCOL}",
    "Learnt: a regression was trained on the task's training pairs; cosine: nothing was trained. "
    "The two are not comparable.",
)


@dataclass(frozen=True)
class Scores(Table):
    """Our rows, each below the published row of the same encoder.

    Attributes:
        title: Title of the table.
        table: Number of the paper's table; "" for none.
        rows: Our rows. None: all.
        columns: Columns, as in `"MRPC f1"`. None: the family's.
        remark: A note.
        lines: Name of a line -> the rows whose figures it shows, for example one row for each corpus.
            None: one line for each row.
        printed: Name of a line -> the paper's name of it, where this table has another one than the row.
    """

    title: str
    table: str = ""
    rows: Sequence[str] | None = None
    columns: Sequence[str] | None = None
    remark: str = ""
    lines: Mapping[str, Sequence[str]] | None = None
    printed: Mapping[str, str] = field(default_factory=dict)

    def content(self, report: Report) -> Iterator[TableText]:
        """The table; columns without figures are left out."""
        columns = self.columns or report.columns
        cells = []
        for line, rows in (self.lines or {row: (row,) for row in self.rows or report.rows}).items():
            if computed := [row for row in rows if report.of(row)]:
                if figures := self.published(report, line):
                    cells.append(
                        [f"{self.paper_name(report, line)}, paper", *report.marked(columns, figures)]
                    )
                scores = {column: one for row in computed for column, one in report.intervals(row).items()}
                ours = (score(scores.get(column), digits(column)) for column in columns)
                cells.append([report.ours(line, computed), *ours])
        yield self.title, *filled_columns(report.heading(columns), cells)

    def published(self, report: Report, line: str) -> dict[str, str]:
        """The paper's figures of a line: column -> figure."""
        return report.printed(self.table).get(self.paper_name(report, line), {}) if self.table else {}

    def paper_name(self, report: Report, line: str) -> str:
        """The paper's name of a line."""
        row = report.rows[(self.lines or {}).get(line, (line,))[0]]
        return self.printed.get(line) or row.printed or line

    def notes(self, report: Report) -> Iterator[str]:
        """What the marks mean."""
        yield from _PROTOCOLS[not report.other_protocol_figures() :]
        if self.remark:
            yield self.remark


@dataclass(frozen=True)
class Averages(Table):
    """Macro and micro averages of accuracies over the paper's tasks, then over those that were evaluated.

    Attributes:
        title: Title of the table.
        table: Number of the paper's table of averages.
        of: Number of the paper's table of accuracies.
        rows: Our rows.
    """

    title: str
    table: str
    of: str
    rows: Sequence[str]

    def content(self, report: Report) -> Iterator[TableText]:
        """The table."""
        common = self._common(report)
        kinds = ("macro", "micro")
        sets: list[tuple[Sequence[str], str]] = [(tasks, str(len(tasks))) for tasks in PAPER_TASKS]
        if len(common) > 1 and tuple(common) not in PAPER_TASKS:
            sets.append((tuple(common), f"of {' '.join(common)}"))
        columns = [f"{kind} {name}" for _, name in sets for kind in kinds]
        averages, accuracies = report.printed(self.table), report.printed(self.of)
        cells = []
        for row in self.rows:
            if not report.of(row):
                continue
            if row in accuracies:
                figures = [
                    averages.get(row, {}).get(f"average-{len(t)} {k}") for t in PAPER_TASKS for k in kinds
                ]
                paper = [figure or MISSING for figure in figures]
                for tasks, _ in sets[len(PAPER_TASKS) :]:
                    paper += _averages(_accuracies(accuracies[row]), tasks)
                cells.append([f"{row}, paper", *(c if c == MISSING else f"{c} {MARK}" for c in paper)])
            ours = _accuracies(report.scores(row))
            cells.append([report.ours(row), *(cell for tasks, _ in sets for cell in _averages(ours, tasks))])
        yield self.title, *filled_columns(["encoder", *columns], cells)

    def notes(self, report: Report) -> Iterator[str]:
        """What the marks mean, and which averages the paper does not have."""
        yield from _PROTOCOLS
        if tuple(self._common(report)) not in PAPER_TASKS:
            yield f"Table {self.table}: the averages over the evaluated tasks are ours in every line."

    def _common(self, report: Report) -> list[str]:
        """The tasks of the paper's averages that were evaluated."""
        columns = {column for row in report.rows for result in report.of(row) for column in result["scores"]}
        return [task for task in PAPER_TASKS[0] if f"{task} accuracy" in columns]


@dataclass(frozen=True)
class Differences(Table):
    """Differences of rows to the family's baseline, over the same resampled examples.

    Attributes:
        title: Title of the table.
    """

    title: str

    def content(self, report: Report) -> Iterator[TableText]:
        """The table."""
        compared = [(name, result["less"]) for _, name, result in report.each() if "less" in result]
        computed = {column: None for _, less in compared for column in less}
        columns = [column for column in report.columns if column in computed]
        means = [column for column in computed if column.endswith(" average")]
        rows = [[name, *(differing(less.get(c)) for c in (*columns, *means))] for name, less in compared]
        heading = [*report.heading(columns), *(mean.removesuffix(" average") for mean in means)]
        yield self.title, heading, rows

    def notes(self, report: Report) -> Iterator[str]:
        """The unit."""
        yield "Differences are in percent or correlation times 100, over the same resampled examples."


@dataclass(frozen=True)
class Cost(Table):
    """Numbers of parameters, and training times.

    Attributes:
        title: Title of the table.
        table: Number of the paper's table of minutes per 1000 batches; "" for none.
        remark: What follows the note on parameters.
    """

    title: str
    table: str = ""
    remark: str = ""

    def content(self, report: Report) -> Iterator[TableText]:
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
            line = [name, MISSING if result["dim"] is None else str(result["dim"])]
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
        yield f"Parameters are the trained ones{self.remark}."
        yield "Times are those of training steps, without validation."


def _accuracies(figures: Mapping[str, str] | Mapping[str, float]) -> dict[str, float]:
    columns = {column: column.removesuffix(" accuracy") for column in figures if column.endswith(" accuracy")}
    return {task: float(figures[column]) for column, task in columns.items()}


def _averages(accuracies: Mapping[str, float], tasks: Sequence[str]) -> list[str]:
    """Macro and micro average, as cells."""
    both = macro_and_micro(accuracies, tasks)
    return [MISSING] * 2 if both is None else [number(value) for value in both]
