"""A report's pictures by matplotlib, from the same figures as its HTML.

Every function returns a `matplotlib.figure.Figure`: `figure.savefig("bars.pdf")`.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any

from ..._extras import require
from . import charts, drawing
from .charts import HeatMap, Point
from .drawing import Axis, Values
from .measures import CORRELATION, Cell, Extra, measures, renamed, unique
from .report import Report

__all__ = ["bars", "curves", "heat_map", "scatter"]


def bars(reports: Report | Sequence[Report], tasks: Sequence[str] | None = None) -> Any:
    """A group of bars for each task, one bar an encoder, with their intervals.

    Args:
        reports: One, or one of each encoder.
        tasks: Which tasks, in this order. None: all that have a figure.

    Returns:
        The figure.

    Raises:
        ValueError: No report has a figure of a task, or two are of one name.
        ImportError: matplotlib is not installed.
    """
    given = _given(reports)
    found = {measure.task: measure for measure in measures(given) if measure.headline}
    wanted = list(found) if tasks is None else list(tasks)
    for task in wanted:
        if task not in found:
            raise ValueError(f"no report has a figure of {task!r}; there are {', '.join(found) or 'none'}")
    if not wanted:
        raise ValueError("no report has a figure to draw")
    figure, axes = _figure(7, 0.9 + len(wanted) * (0.16 + 0.18 * len(given)))
    canvas = _Axes(axes, given)
    drawing.bars(canvas, [found[task] for task in wanted], list(canvas.colours))
    units = dict.fromkeys("Pearson x 100" if found[t].unit == CORRELATION else "accuracy, %" for t in wanted)
    axes.set_xlabel(f"{'; '.join(units)} (line: {given[0].level} interval)")
    axes.grid(axis="x", alpha=0.3)
    if len(given) > 1:
        # Handles are given: of those that it finds by itself, names with a leading underscore are left out.
        figure.legend(*canvas.legend(), loc="outside upper center", ncols=min(len(given), 3))
    else:
        axes.set_title(_literal(given[0].encoder))
    return figure


def curves(reports: Report | Sequence[Report]) -> Any:
    """Learning curves, or other curves that the reports hold: one picture each, one line an encoder.

    Args:
        reports: One, or one of each encoder.

    Returns:
        The figure.

    Raises:
        ValueError: No report has a curve, or two are of one name.
        ImportError: matplotlib is not installed.
    """
    given = _given(reports)
    shown = charts.charts(given)
    if not shown:
        raise ValueError(
            "no report has a curve: report.curves['TREC'] = learning_curve(encoder, 'TREC', data)"
        )
    figure, parts = _figure(5 * len(shown), 4, len(shown))
    for axes, chart in zip(parts, shown, strict=True):
        canvas = _Axes(axes, given)
        drawing.lines(canvas, chart)
        axes.set_title(_literal(chart.name))
        axes.grid(alpha=0.3)
        axes.legend(*canvas.legend(), loc="best")
    return figure


def heat_map(reports: Sequence[Report], extra: Extra | None = None) -> Any:
    """The correlations between measures over encoders, as figure 2 of Cifka and Bojar (2018) shows them.

    Args:
        reports: One of each encoder, eight at least.
        extra: By encoder, what else is known of it, as `{"attn": {"BLEU": 31.2, "heads": 4}}`.

    Returns:
        The figure.

    Raises:
        ValueError: There are fewer than eight encoders, two are of one name, or `extra` names another one.
        ImportError: matplotlib is not installed.
    """
    given = _given(reports)
    heat = charts.heat_map(given, renamed(extra, reports, given))
    side = 1.6 + 0.42 * len(heat.names)
    figure, axes = _figure(side + 0.8, side)
    drawing.heat_map(_Axes(axes, given), heat)
    axes.set_title(f"Pearson's correlation over {heat.models} encoders")
    figure.colorbar(axes.images[0], ax=axes, shrink=0.8)
    return figure


def scatter(reports: Sequence[Report]) -> Any:
    """Quality against sentences per second, with the Pareto front; kinds of tasks apart.

    Args:
        reports: One of each encoder; speeds must have been measured in one run, of several tasks, so that
            their spread is known.

    Returns:
        The figure.

    Raises:
        ValueError: No encoder has a figure and a speed, or two are of one name.
        ImportError: matplotlib is not installed.
    """
    given = _given(reports)
    trades = charts.trade_offs(given)
    if not trades:
        raise ValueError(
            "no encoder has a figure and a speed: rows that were kept from before have none; evaluate with "
            "cache=False"
        )
    figure, parts = _figure(6 * len(trades), 4.4, len(trades))
    for axes, trade in zip(parts, trades, strict=True):
        drawing.scatter(_Axes(axes, given), trade)
        axes.set_xlabel("sentences per second (line: slowest to quickest task)")
        axes.set_ylabel(f"quality (line: {given[0].level} interval)")
        axes.set_title("\n".join(textwrap.wrap(_literal(trade.label), 60)), fontsize="medium")
        axes.grid(alpha=0.3)
        axes.legend(loc="best")
    return figure


class _Axes:
    """A canvas of matplotlib's axes."""

    def __init__(self, axes: Any, reports: Sequence[Report]) -> None:
        self._axes = axes
        self._drawn: dict[str, Any] = {}
        self.colours = {report.encoder: f"C{i % 10}" for i, report in enumerate(reports)}

    def legend(self) -> tuple[list[Any], list[str]]:
        """What was drawn of each encoder, and their names."""
        return list(self._drawn.values()), [_literal(name) for name in self._drawn]

    def axes(self, x: Axis, y: Axis) -> None:
        for name, axis in (("x", x), ("y", y)):
            if axis.base:
                self._axes.set(**{f"{name}scale": "log"})
                getattr(self._axes, f"{name}axis").minorticks_off()
            getattr(self._axes, f"set_{name}label")(_literal(axis.label))
            getattr(self._axes, f"set_{name}lim")(axis.ends)
            if axis.ticks is not None:
                getattr(self._axes, f"set_{name}ticks")(list(axis.ticks), map(_literal, axis.ticks.values()))
        self._axes.set_axisbelow(True)

    def bars(self, encoder: str, places: Values, cells: Sequence[Cell], height: float) -> None:
        values, colour = [cell.value for cell in cells], self.colours[encoder]
        self._drawn[encoder] = self._axes.barh(places, values, height, color=colour)
        for place, cell in zip(places, cells, strict=True):
            if cell.interval is not None:
                self._axes.plot(cell.interval, (place, place), color="black", linewidth=1.2)

    def band(self, encoder: str, x: Values, low: Values, high: Values) -> None:
        self._axes.fill_between(x, low, high, color=self.colours[encoder], alpha=0.16)

    def line(self, encoder: str, x: Values, y: Values) -> None:
        look = {"color": self.colours[encoder], "markersize": 4, "clip_on": False}
        (self._drawn[encoder],) = self._axes.plot(x, y, "o-", **look)

    def front(self, x: Values, y: Values) -> None:
        self._axes.plot(x, y, "--", color="gray", linewidth=1.2, label="Pareto front", zorder=1)

    def points(self, points: Sequence[Point]) -> None:
        for point in points:
            place, colour = (point.speed, point.cell.value), self.colours[point.encoder]
            if point.cell.interval is not None:
                self._axes.plot((point.speed, point.speed), point.cell.interval, color="black", linewidth=1)
            self._axes.plot(point.speeds, (point.cell.value,) * 2, color="black", linewidth=1)
            face = colour if point.front else "none"
            self._axes.plot(*place, "o", color=colour, markerfacecolor=face, markersize=7)
            self._axes.annotate(_literal(point.encoder), place, xytext=(7, 3), textcoords="offset points")

    def squares(self, heat: HeatMap) -> None:
        self._axes.imshow(heat.matrix, cmap="BrBG", vmin=-1, vmax=1)
        names = [_literal(name) for name in heat.names]
        self._axes.set_yticks(range(len(names)), names)
        self._axes.set_xticks(range(len(names)), names, rotation=45, ha="right")

    def number(self, row: int, column: int, shown: str, r: float) -> None:
        look = {"ha": "center", "va": "center", "fontsize": 8}
        self._axes.text(column, row, shown, color="white" if abs(r) > 0.55 else "black", **look)


def _given(reports: Report | Sequence[Report]) -> list[Report]:
    return unique([reports] if isinstance(reports, Report) else reports)


def _figure(width: float, height: float, parts: int | None = None) -> tuple[Any, Any]:
    """A figure of its own, not one of pyplot's: no window, and nothing that has to be closed."""
    figure = require("matplotlib.figure", "plot").Figure(figsize=(width, height), layout="constrained")
    if parts is None:
        return figure, figure.add_subplot()
    return figure, [figure.add_subplot(1, parts, i + 1) for i in range(parts)]


def _literal(name: str) -> str:
    """A name as it is: dollars would be mathematics."""
    return name.replace("$", r"\$")


def __dir__() -> list[str]:
    return sorted(__all__)
