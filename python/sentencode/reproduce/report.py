"""The report of a family: its tables, with the published figures next to ours."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .._figures import rendered
from ..evaluation import PublishedFigure
from ..evaluation import published as published_figures
from .papers import printed
from .results_folder import Result, results_json
from .tables import MARK, MISSING, TableText, best_marked, markdown_table, text_table

__all__ = ["Report", "Table"]

_ASCII = {MARK: "*", "±": "+-"}  # for terminals


class Table:
    """A kind of table, with its notes and charts. `rows`, where there is one, has the rows that it shows."""

    def content(self, report: Report) -> Iterator[TableText]:
        """The table, and those that belong to it."""
        return iter(())

    def notes(self, report: Report) -> Iterator[str]:
        """Paragraphs below all tables."""
        return iter(())

    def pictures(self, report: Report) -> Iterator[tuple[str, Any]]:
        """Figures of the rows that were computed, with the names of their files."""
        return iter(())

    def findings(self, report: Report) -> Iterator[Result]:
        """Verdicts on claims that are not differences between rows."""
        return iter(())


@dataclass(frozen=True)
class Report:
    """The results of a reproduction.

    Attributes:
        results: One for each row and seed (or task), as stored in the folder of results.
        settings: Everything that the results depend on.
        tables: Tables to show, by name.
        family: Name of the family.
        rows: Rows of the family.
        paper: Number of the paper; "" for none.
        columns: Columns of the tables in order, as in `"MRPC f1"`.
        names: Column -> its heading, where that is not the task.
        remarks: Notes for all tables.
        findings: Verdicts on the paper's claims.
    """

    results: Sequence[Result]
    settings: Mapping[str, Any]
    tables: Mapping[str, Table]
    family: str
    rows: Mapping[str, Any]
    paper: str = ""
    columns: Sequence[str] = ()
    names: Mapping[str, str] = field(default_factory=dict)
    remarks: Sequence[str] = ()
    findings: Sequence[Result] = ()

    def json(self, page: Mapping[str, Any] | None = None) -> str:
        """Settings and results, with the texts of a page if there are any."""
        lists = {"rows": self.results, **({"findings": self.findings} if self.findings else {})}
        return results_json(self.family, self.settings, page, **lists)

    def text(self) -> str:
        """The tables and notes for a terminal, in ASCII."""
        text = self._joined(
            (
                f"{title}\n{text_table(header, best_marked(header, rows, '{} ='))}"
                for title, header, rows in self.content()
            ),
            "Marked by =",
        )
        for mark, ascii_mark in _ASCII.items():
            text = text.replace(mark, ascii_mark)
        return text

    def markdown(self) -> str:
        """The tables and notes as Markdown."""
        return self._joined(
            f"### {title}\n\n{markdown_table(header, best_marked(header, rows))}"
            for title, header, rows in self.content()
        )

    def _joined(self, tables: Iterable[str], marked: str = "Bold") -> str:
        """Tables with the notes below them; "" if there are none, as for a report with a picture only."""
        parts = list(tables)
        return "\n".join([*parts, *(f"{note}\n" for note in self.notes(marked))]) if parts else ""

    def pictures(self) -> Iterator[tuple[str, Any]]:
        """The figures of the tables, with the names of their files."""
        for table in self.tables.values():
            yield from table.pictures(self)

    def figure(self, kind: str = "png") -> bytes:
        """The first picture, as the content of a file.

        Args:
            kind: `"png"`, `"svg"`, or another format of matplotlib.

        Raises:
            ValueError: The rows of the picture were not computed.
            ImportError: matplotlib is not installed.
        """
        for _, figure in self.pictures():
            return rendered(figure, kind)
        raise ValueError(f"{self.family}: the rows of the figure were not computed")

    def of(self, row: str, **keys: Any) -> list[Result]:
        """The results of a row, one for each seed (or task): those with these values of keys."""
        wanted = {"row": row, **keys}.items()
        return [result for result in self.results if wanted <= result.items() and "missing" not in result]

    def intervals(self, row: str) -> dict[str, dict[str, float]]:
        """The value and the interval of a row in each column that all its seeds have: the means over them."""
        runs = [result["scores"] for result in self.of(row)]
        return {
            column: {
                key: statistics.fmean(run[column][key] for run in runs)
                for key in ("value", "low", "high")
                if all(key in run[column] for run in runs)
            }
            for column in (runs[0] if runs else {})
            if all(column in run for run in runs)
        }

    def scores(self, row: str) -> dict[str, float]:
        """The value of a row in each column: the mean over its seeds."""
        return {column: score["value"] for column, score in self.intervals(row).items()}

    # For the tables.

    def content(self) -> Iterator[TableText]:
        """The tables, in the order in which they are shown."""
        for table in self.tables.values():
            yield from table.content(self)

    def ours(self, name: str, rows: Sequence[str] = ()) -> str:
        """The first cell of a line with our figures.

        Args:
            name: Name of the line.
            rows: Rows that the line shows. None: the row of that name.
        """
        counts = {len(self.of(row)) for row in rows or (name,)}
        seeds = " to ".join(map(str, sorted({min(counts), max(counts)})))
        return f"{name}, ours" + (f" ({seeds} seeds)" if counts != {1} else "")

    def each(self) -> Iterator[tuple[str, str, Result]]:
        """Every result, with its row and its name in tables."""
        for row in self.rows:
            several = len(self.of(row)) > 1
            for result in self.of(row):
                yield row, f"{row}, seed {result['seed']}" if several else row, result

    def printed(self, table: str) -> dict[str, dict[str, str]]:
        """A table of the paper: row -> column -> figure."""
        return printed(self.paper, table)

    def heading(self, columns: Sequence[str]) -> list[str]:
        """The header of a table."""
        return ["encoder", *(self.names.get(column, column.partition(" ")[0]) for column in columns)]

    def marked(self, columns: Sequence[str], figures: Mapping[str, str]) -> list[str]:
        """Figures of the paper, marked where they depend on another protocol than ours."""
        learnt = {f"{figure.task} {figure.metric}" for figure in self.other_protocol_figures()}
        marks = ((column, f" {MARK}" if column in learnt else "") for column in columns)
        return [figures[column] + mark if column in figures else MISSING for column, mark in marks]

    def other_protocol_figures(self) -> list[PublishedFigure]:
        """The paper's figures that depend on another protocol than ours; none of trained classifiers."""
        if "labels" in self.settings:
            return []
        return [figure for figure in published_figures(self.paper) if figure.learnt]

    def notes(self, marked: str = "Bold") -> list[str]:
        """How the figures were computed.

        Args:
            marked: How the best scores are marked.
        """
        tasks = self.settings.get("tasks")
        seeds = {result.get("seed") for result in self.results if "missing" not in result}
        notes = [
            *([f"Tasks: {', '.join(tasks)}; protocol {self.settings['protocol']}."] if tasks else []),
            "±: half the width of the 95 % interval over resampled test examples"
            f"{'; of several seeds the mean' if len(seeds) > 1 else ''}.",
            f"{marked}: the best of a column, or of a task's line, and those whose difference from it is "
            "within the 95 % interval of two independent scores. Paired differences separate more.",
            *self._examples(),
            *self.remarks,
            *(note for table in self.tables.values() for note in table.notes(self)),
        ]
        if how := self.settings.get("normalize"):
            rows = [
                name for name, row in self.rows.items() if how in row.normalize.values() and self.of(name)
            ]
            if rows:
                notes.append(f"Evaluated with normalize={how!r}: {', '.join(rows)}.")
        for result in self.results:
            if "missing" in result:
                notes.append(f"Left out: {result['row']} ({result['missing']}).")
        return list(dict.fromkeys(notes))

    def _examples(self) -> Iterator[str]:
        """Counts of labelled examples."""
        for name, facts in self.settings.get("labels", {}).items():
            counts = {what: n for what, n in facts.items() if isinstance(n, int) and what != "seed"}
            removed = counts.pop("also_tested", 0) + counts.pop("also_validated", 0)
            sizes = ", ".join(f"{what} {n:,}" for what, n in counts.items())
            overlap = f"; removed from train because other splits have them: {removed:,}"
            kind = "Translations" if "text" in facts else "Labelled examples"
            yield f"{kind}, {name}: {sizes}{overlap if 'also_tested' in facts else ''}."
