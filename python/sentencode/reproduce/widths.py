"""Scores by the width of embeddings, as a table and a chart."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .._figures import legend, lines, new_figure, scatter
from .report import Report, Table
from .tables import TableText, mean_score, score

__all__ = ["Widths"]


@dataclass(frozen=True)
class Widths(Table):
    """The mean of accuracies of rows that differ in their width.

    Attributes:
        title: Title of the table.
        series: Name of a series -> its rows, from narrow to wide.
        others: Further rows.
        tasks: Tasks of the mean; those without files are left out.
    """

    title: str
    series: Mapping[str, Sequence[str]]
    others: Sequence[str]
    tasks: Sequence[str]

    @property
    def rows(self) -> tuple[str, ...]:
        """All rows."""
        return (*itertools.chain.from_iterable(self.series.values()), *self.others)

    def content(self, report: Report) -> Iterator[TableText]:
        """The table."""
        points = self._points(report)
        cells = [[report.ours(row), f"{width:,}", score(mean)] for row, (width, mean) in points.items()]
        yield self.title, ["encoder", "dimensions", f"mean of {' '.join(self._evaluated(report))}"], cells

    def pictures(self, report: Report) -> Iterator[tuple[str, Any]]:
        """The mean against the width, if there is a series."""
        points = {row: (width, mean["value"]) for row, (width, mean) in self._points(report).items()}
        curves: dict[str, Any] = {
            name: tuple(zip(*(points[row] for row in rows), strict=True))
            for name, rows in self.series.items()
            if points.keys() >= set(rows)
        }
        if not curves:
            return
        figure, (axes,) = new_figure(8, 4.5)
        handles = lines(axes, curves)
        scatter(
            axes,
            {row: points[row] for row in self.others if row in points},
            colours=dict.fromkeys(points, "0.3"),
        )
        widths = sorted({width for width, _ in points.values()})
        axes.set_xscale("log", base=2)
        axes.set_xticks(widths, [f"{width:,}" for width in widths])
        axes.set(xlabel="dimensions", ylabel="mean accuracy, percent")
        legend(axes, handles, fontsize=8)
        yield "widths", figure

    def _evaluated(self, report: Report) -> list[str]:
        """The tasks that were evaluated."""
        columns = {column for row in self.rows for column in report.scores(row)}
        return [task for task in self.tasks if f"{task} accuracy" in columns]

    def _points(self, report: Report) -> dict[str, tuple[int, dict[str, float]]]:
        """Row -> its width, and the mean of its accuracies."""
        columns = [f"{task} accuracy" for task in self._evaluated(report)]
        means = {row: mean_score(report.intervals(row), columns) for row in self.rows}
        return {row: (report.of(row)[0]["dim"], mean) for row, mean in means.items() if mean is not None}
