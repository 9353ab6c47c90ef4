"""Charts of reports with matplotlib; the HTML report shows the same ones.

Every function returns a `matplotlib.figure.Figure`: `figure.savefig("bars.pdf")`.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from typing import Any

from ... import _figures
from ..._figures import literal, new_figure
from . import charts
from .base import BaseReport
from .measures import CORRELATION, Cell, Extra, measures, renamed, unique

__all__ = ["bars", "curves", "heat_map", "scatter"]


def bars(reports: BaseReport | Sequence[BaseReport], tasks: Sequence[str] | None = None) -> Any:
    """Draw a group of bars per task, one bar with its interval per encoder.

    Args:
        reports: One report, or one per encoder.
        tasks: Names of the tasks, in this order. None: all that have a score.

    Returns:
        The figure.

    Raises:
        ValueError: No report has a score of a task, or two reports have the same name.
        ImportError: matplotlib is not installed.
    """
    reports = _as_list(reports)
    by_task = {measure.task: measure for measure in measures(reports) if measure.headline}
    names = list(by_task) if tasks is None else list(tasks)
    for task in names:
        if task not in by_task:
            raise ValueError(f"no report has a figure of {task!r}; there are {', '.join(by_task) or 'none'}")
    if not names:
        raise ValueError("no report has a figure to draw")
    shown = [by_task[task] for task in names]
    cells = {r.encoder: [m.cells.get(r.encoder, Cell(math.nan)) for m in shown] for r in reports}
    values = [
        value for row in cells.values() for cell in row for value in (cell.value, *(cell.interval or ()))
    ]
    values = [value for value in values if math.isfinite(value)]
    figure, (axes,) = new_figure(7, 0.9 + len(names) * (0.16 + 0.18 * len(reports)))
    series = {encoder: [(cell.value, cell.interval) for cell in row] for encoder, row in cells.items()}
    handles = _figures.bars(axes, [measure.title for measure in shown], series)
    axes.set_xlim(min(0, 10 * math.floor(min(values, default=0) / 10)), max(100, *values, 0))
    units = dict.fromkeys("Pearson x 100" if m.unit == CORRELATION else "accuracy, %" for m in shown)
    axes.set_xlabel(f"{'; '.join(units)} (line: {reports[0].level} interval)")
    if len(reports) > 1:
        columns = max(1, min(3, 90 // (8 + max(map(len, handles)))))
        _figures.legend(figure, handles, loc="outside upper center", ncols=columns)
    else:
        axes.set_title(literal(reports[0].encoder))
    return figure


def curves(reports: BaseReport | Sequence[BaseReport]) -> Any:
    """Draw the curves that reports have, such as learning curves: a panel per name, a line per encoder.

    Args:
        reports: One report, or one per encoder.

    Returns:
        The figure.

    Raises:
        ValueError: No report has a curve, or two reports have the same name.
        ImportError: matplotlib is not installed.
    """
    reports = _as_list(reports)
    shown = charts.charts(reports)
    if not shown:
        raise ValueError(
            "no report has a curve: report.curves['TREC'] = learning_curve(encoder, 'TREC', data)"
        )
    colours = _colours(reports)
    figure, panels = new_figure(5 * len(shown), 4, len(shown))
    for axes, chart in zip(panels, shown, strict=True):
        lines = {name: (curve.x, curve.y) for name, curve in chart.curves.items()}
        bands = {name: (curve.low, curve.high) for name, curve in chart.curves.items() if curve.low}
        handles = _figures.lines(axes, lines, bands, colours)
        if chart.logarithmic:
            sizes = sorted({x for curve in chart.curves.values() for x in curve.x})
            axes.set_xscale("log", base=2)
            axes.set_xticks(sizes, [f"{size:,.10g}" for size in sizes])
            axes.minorticks_off()
        axes.set_title(literal(chart.name))
        axes.set_xlabel(literal(chart.x_label))
        axes.set_ylabel(literal(chart.y_label))
        _figures.legend(axes, handles, loc="best")
    return figure


def heat_map(reports: Sequence[BaseReport], extra: Extra | None = None) -> Any:
    """Draw the correlations between measures over encoders, as Figure 2 of Cifka and Bojar (2018).

    Args:
        reports: One report per encoder, at least eight.
        extra: Further scores by encoder, as `{"attn": {"BLEU": 31.2, "heads": 4}}`.

    Returns:
        The figure.

    Raises:
        ValueError: There are fewer than eight encoders, two reports have the same name, or `extra` names an
            encoder without a report.
        ImportError: matplotlib is not installed.
    """
    named = _as_list(reports)
    heat = charts.heat_map(named, renamed(extra, reports, named))
    side = 1.6 + 0.42 * len(heat.names)
    figure, (axes,) = new_figure(side + 0.8, side)
    _figures.heat_map(figure, axes, heat.names, heat.matrix)
    axes.set_title(f"Pearson's correlation over {heat.models} encoders", fontsize="medium")
    return figure


def scatter(reports: Sequence[BaseReport]) -> Any:
    """Draw quality against sentences per second with the Pareto front, a panel per kind of task.

    Args:
        reports: One report per encoder; speeds must come from one run of several tasks, which gives their
            spread.

    Returns:
        The figure.

    Raises:
        ValueError: No encoder has a score and a speed, or two reports have the same name.
        ImportError: matplotlib is not installed.
    """
    reports = _as_list(reports)
    trades = charts.trade_offs(reports)
    if not trades:
        raise ValueError(
            "no encoder has a figure and a speed: cached embeddings have no speed; evaluate with cache=False"
        )
    figure, panels = new_figure(6 * len(trades), 4.4, len(trades))
    for axes, trade in zip(panels, trades, strict=True):
        points = {point.encoder: (point.speed, point.cell.value) for point in trade.points}
        front = [points[point.encoder] for point in trade.points if point.front]
        axes.plot(
            *zip(*front, strict=True), "--", color="gray", linewidth=1.2, label="Pareto front", zorder=1
        )
        _figures.scatter(
            axes,
            points,
            x_intervals={point.encoder: point.speeds for point in trade.points},
            y_intervals={p.encoder: p.cell.interval for p in trade.points if p.cell.interval is not None},
            colours=_colours(reports),
            hollow=[point.encoder for point in trade.points if not point.front],
        )
        ends = [math.log10(end) for point in trade.points for end in point.speeds]
        axes.set_xscale("log")
        axes.set_xlim(10.0 ** math.floor(min(ends)), 10.0 ** math.floor(max(ends) + 1))
        axes.xaxis.set_major_formatter("{x:,.10g}")
        axes.minorticks_off()
        axes.set_xlabel("sentences per second (line: slowest to quickest task)")
        axes.set_ylabel(f"quality (line: {reports[0].level} interval)")
        axes.set_title("\n".join(textwrap.wrap(literal(trade.label), 60)), fontsize="medium")
        axes.grid(alpha=0.3)
        axes.legend(loc="best")
    return figure


def _as_list(reports: BaseReport | Sequence[BaseReport]) -> list[BaseReport]:
    return unique([reports] if isinstance(reports, BaseReport) else reports)


def _colours(reports: Sequence[BaseReport]) -> dict[str, str]:
    return {report.encoder: f"C{i % 10}" for i, report in enumerate(reports)}


def __dir__() -> list[str]:
    return sorted(__all__)
