"""An experiment: rows that are computed one by one, and the tables and pictures that show them."""

from __future__ import annotations

import importlib.util
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .papers import PAPERS
from .report import Report, Table
from .results_folder import Result, Results, slug
from .rows import chosen
from .tables import write_picture

__all__ = ["Experiment"]


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """Rows, tables and columns of a family.

    Attributes:
        name: Name in `sentencode reproduce <name>`; a key of `papers.PAPERS` if it is a paper's.
        rows: Rows by name, in the order of the tables.
        tables: Tables in the order in which they are shown, by name.
        columns: Columns of the tables, as in `"MRPC f1"`.
        names: Column -> its heading, where that is not the task.
        remarks: Notes for all tables.
        report_class: Class of the reports.
        renamed: Old name of a row -> its name.
    """

    name: str
    rows: Mapping[str, Any]
    tables: Mapping[str, Table]
    columns: Sequence[str] = ()
    names: Mapping[str, str] = field(default_factory=dict)
    remarks: Sequence[str] = ()
    report_class: type[Report] = Report
    renamed: Mapping[str, str] = field(default_factory=dict)

    def selected(
        self, tables: Sequence[str] | None, rows: Sequence[str] | None
    ) -> tuple[list[str], list[str]]:
        """The names of the tables to show, and of the rows to compute.

        Args:
            tables: Names of tables. None: all.
            rows: Names of rows. None: those of `tables`.
        """
        shown = chosen(tables, list(self.tables), "table")
        if rows is None and tables is not None:
            named = [table.rows for table in map(self.tables.__getitem__, shown) if hasattr(table, "rows")]
            if named and None not in named:  # else all rows
                rows = [row for table_rows in named for row in table_rows]
        return shown, chosen(None if rows is None else self._renamed(rows), list(self.rows), "row")

    def _renamed(self, rows: Sequence[str]) -> list[str]:
        """The names of rows, some of which may be old ones."""
        new = {slug(old): name for old, name in self.renamed.items()}
        for row in rows:
            if slug(row) in new:
                message = f"the row {row!r} is now {slug(new[slug(row)])!r}"
                warnings.warn(message, DeprecationWarning, stacklevel=4)
        return [new.get(slug(row), row) for row in rows]

    def report(
        self,
        results: Sequence[Result],
        settings: Mapping[str, Any],
        tables: Sequence[str] | None = None,
        findings: Sequence[Result] = (),
    ) -> Report:
        """The report on results.

        Args:
            results: The results of the rows.
            settings: Everything that the results depend on.
            tables: Names of tables. None: all.
            findings: Verdicts on the paper's claims.
        """
        return self.report_class(
            [{**result, "row": self.renamed.get(result["row"], result["row"])} for result in results],
            settings,
            {name: self.tables[name] for name in (self.tables if tables is None else tables)},
            self.name,
            self.rows,
            PAPERS.get(self.name, ""),
            self.columns,
            self.names,
            self.remarks,
            findings,
        )

    def write(
        self,
        folder: Results,
        results: Sequence[Result],
        tables: Sequence[str],
        findings: Sequence[Result] = (),
    ) -> Report:
        """The report on results, after its tables and pictures are written.

        The texts of a page in `results.json` are kept.

        Args:
            folder: Folder of the results. It receives `tables.md`, `results.json` and, if matplotlib is
                installed, the pictures of all tables.
            results: The results of the rows.
            tables: Names of the tables to show.
            findings: Verdicts on the paper's claims.
        """
        report = self.report(results, folder.settings, tables, findings)
        if markdown := report.markdown():  # empty if the only table is a picture
            folder.write("tables.md", markdown)
        written_before = folder.read("results.json") or {}
        folder.write("results.json", report.json(written_before.get("page")))
        if folder.folder is not None and importlib.util.find_spec("matplotlib") is not None:
            for name, figure in self.report(results, folder.settings, None, findings).pictures():
                write_picture(figure, folder.folder, name)
        return report
