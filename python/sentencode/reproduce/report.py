"""What a reproduction says: its tables, with the published figures beside ours."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from ..evaluation import PublishedFigure
from ..evaluation import published as published_figures
from .papers import printed
from .results_folder import Result, as_json
from .rows import Row
from .tables import MISSING, printed_tables

__all__ = ["MARK", "Made", "Report", "Table"]

MARK = "‡"  # of a figure that hangs on another protocol than ours

Made = tuple[str, list[str], list[list[str]]]  # a title, a header, and rows


class Table(Protocol):
    """A kind of table, as in `score_tables`."""

    def made(self, report: Report) -> Iterator[Made]:
        """The tables that it is: itself, and maybe more that belong to it."""

    def notes(self, report: Report) -> Iterator[str]:
        """What is to be said of it."""


@dataclass(frozen=True)
class Report:
    """The results of a reproduction.

    Attributes:
        results: One for each row and seed, as they are kept in the folder of results.
        settings: All that decided what came out.
        tables: Which tables are shown, by their names.
        rows: Of the family.
        paper: Where its figures were published.
        columns: Those of its tables, as in `"MRPC f1"`, in their order.
        names: Columns -> what headers call them, where that is not the task.
        remarks: What is to be said under all tables.
        findings: What became of the paper's claims.
    """

    results: Sequence[Result]
    settings: Mapping[str, Any]
    tables: Mapping[str, Table]
    rows: Mapping[str, Row]
    paper: str
    columns: Sequence[str]
    names: Mapping[str, str]
    remarks: Sequence[str] = ()
    findings: Sequence[Result] = ()

    def text(self) -> str:
        """The tables, for a terminal: in ASCII alone."""
        return self._printed(markdown=False).replace(MARK, "*")

    def markdown(self) -> str:
        """The tables as Markdown."""
        return self._printed(markdown=True)

    def json(self) -> str:
        """Settings and results."""
        findings = {"findings": list(self.findings)} if self.findings else {}
        return as_json({"settings": self.settings, "rows": list(self.results), **findings})

    def of(self, row: str) -> list[Result]:
        """The results of a row, one for each seed."""
        return [result for result in self.results if result["row"] == row and "missing" not in result]

    def scores(self, row: str) -> dict[str, float]:
        """What a row has in each column, as the paper prints it: the mean of its seeds."""
        found = self.of(row)
        columns = found[0]["scores"] if found else {}
        return {
            column: statistics.fmean(result["scores"][column]["value"] for result in found)
            for column in columns
        }

    # What tables are made of.

    def there(self) -> set[str]:
        """The columns of which there is a figure of ours."""
        return {column for row in self.rows for result in self.of(row) for column in result["scores"]}

    def ours(self, name: str, rows: Sequence[str] = ()) -> str:
        """What a line of ours is called, which shows these rows; none: that of its name."""
        counts = {len(self.of(row)) for row in rows or (name,)}
        seeds = " to ".join(map(str, sorted({min(counts), max(counts)})))
        return f"{name}, ours" + (f" ({seeds} seeds)" if counts != {1} else "")

    def each(self) -> Iterator[tuple[str, str, Result]]:
        """Every result: its row, what it is called, and itself."""
        for row in self.rows:
            several = len(self.of(row)) > 1
            for result in self.of(row):
                yield row, f"{row}, seed {result['seed']}" if several else row, result

    def printed(self, table: str) -> dict[str, dict[str, str]]:
        """A table of the paper: row -> column -> figure."""
        return printed(self.paper, table)

    def shown_columns(self, columns: Sequence[str] | None) -> list[str]:
        """Those of the paper, and ours where there are figures."""
        known = self.there() | {f"{figure.task} {figure.metric}" for figure in published_figures(self.paper)}
        return [column for column in columns or self.columns if column in known]

    def heading(self, columns: Sequence[str]) -> list[str]:
        """What headers call columns."""
        return ["encoder", *(self.names.get(column, column.partition(" ")[0]) for column in columns)]

    def marked(self, columns: Sequence[str], figures: Mapping[str, str]) -> list[str]:
        """Figures of the paper, marked where they hang on a protocol that is another one than ours."""
        learnt = {f"{one.task} {one.metric}" for one in self.of_other_protocols()}
        marks = ((column, f" {MARK}" if column in learnt else "") for column in columns)
        return [figures[column] + mark if column in figures else MISSING for column, mark in marks]

    def of_other_protocols(self) -> list[PublishedFigure]:
        """The paper's figures that hang on another protocol than ours: none of encoders' own classifiers."""
        if "labels" in self.settings:
            return []
        return [figure for figure in published_figures(self.paper) if figure.learnt]

    def _printed(self, markdown: bool) -> str:
        made = [one for table in self.tables.values() for one in table.made(self)]
        return printed_tables(made, self._notes(), markdown=markdown)

    def _notes(self) -> list[str]:
        judged = f"Judged on {', '.join(self.settings['tasks'])}; protocol {self.settings['protocol']}."
        notes = [
            judged,
            *self._examples(),
            *self.remarks,
            *(note for t in self.tables.values() for note in t.notes(self)),
        ]
        if how := self.settings.get("normalize"):
            rows = [row for row, made in self.rows.items() if how in made.normalize.values() and self.of(row)]
            if rows:
                notes.append(f"Judged with normalize={how!r}: {', '.join(rows)}.")
        for result in self.results:
            if "missing" in result:
                notes.append(f"Left out: {result['row']} ({result['missing']}).")
        return list(dict.fromkeys(notes))

    def _examples(self) -> Iterator[str]:
        """How many labelled examples there are."""
        for name, facts in self.settings.get("labels", {}).items():
            counts = {what: n for what, n in facts.items() if isinstance(n, int) and what != "seed"}
            left_out = counts.pop("also_tested", 0) + counts.pop("also_validated", 0)
            said = ", ".join(f"{what} {n:,}" for what, n in counts.items())
            also = f"; left out of train, as others have them: {left_out:,}" if "also_tested" in facts else ""
            yield f"{'Translations' if 'text' in facts else 'Labelled examples'}, {name}: {said}{also}."
