"""Pictures of reports, drawn once for any canvas: SVG in pages (`svg`) and matplotlib's axes (`plots`).

What is drawn, where and between which ends is said here, in the units of the figures. A canvas knows how a
bar, a line or a point looks on it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import permutations
from typing import NamedTuple, Protocol

from .charts import Chart, HeatMap, Point, TradeOff
from .measures import Cell, Measure

__all__ = ["Axis", "bars", "heat_map", "lines", "scatter"]

Values = Sequence[float]


class Axis(NamedTuple):
    """Where an axis begins and ends, what it counts, and the base of its logarithm, if it has one."""

    ends: tuple[float, float]
    label: str = ""
    base: int | None = None
    ticks: Mapping[float, str] | None = None  # None: round numbers


class _Canvas(Protocol):
    def axes(self, x: Axis, y: Axis) -> None: ...
    def bars(self, encoder: str, places: Values, cells: Sequence[Cell], height: float) -> None: ...
    def band(self, encoder: str, x: Values, low: Values, high: Values) -> None: ...
    def line(self, encoder: str, x: Values, y: Values) -> None: ...
    def front(self, x: Values, y: Values) -> None: ...
    def points(self, points: Sequence[Point]) -> None: ...
    def squares(self, heat: HeatMap) -> None: ...
    def number(self, row: int, column: int, shown: str, r: float) -> None: ...


def bars(canvas: _Canvas, found: Sequence[Measure], encoders: Sequence[str], *, apart: bool = False) -> None:
    """Bars with intervals, in a group for each measure; `apart`, those of one have encoders' names."""
    height = 0.8 / len(encoders)
    cells = [cell for measure in found for cell in measure.cells.values()]
    ends = [end for cell in cells for end in (cell.value, *(cell.interval or ())) if math.isfinite(end)]
    low = min(0, 10 * math.floor(min(ends, default=0) / 10))
    edge, names = 0.5, {float(row): measure.title for row, measure in enumerate(found)}
    if apart:
        edge, names = 0.42, {height * (i + 0.5) - 0.4: name for i, name in enumerate(encoders)}
    canvas.axes(Axis((low, max(100, *ends, 0))), Axis((len(found) - 1 + edge, -edge), ticks=names))
    for i, name in enumerate(encoders):
        rows = [row for row, measure in enumerate(found) if name in measure.cells]
        places = [row - 0.4 + height * (i + 0.5) for row in rows]
        canvas.bars(name, places, [found[row].cells[name] for row in rows], 0.9 * height)


def lines(canvas: _Canvas, chart: Chart) -> None:
    """A line for each encoder, in the band of its intervals."""
    places = sorted({place for curve in chart.curves.values() for place in curve.x})
    first, last = places[0], places[-1]
    if first == last:
        first, last = (first / 2, last * 2) if chart.logarithmic else (first - 1, last + 1)
    low, high = chart.ends
    space = max((high - low) * 0.08, 1e-9 * max(1, abs(high)) if high > low else 0.5)
    ticks = {place: f"{place:,.10g}" for place in places} if chart.logarithmic else None
    x = Axis((first, last), chart.x_label, 2 if chart.logarithmic else None, ticks)
    canvas.axes(x, Axis((low - space, high + space), chart.y_label))
    for encoder, curve in chart.curves.items():
        if curve.low:
            canvas.band(encoder, curve.x, curve.low, curve.high)
    for encoder, curve in chart.curves.items():
        canvas.line(encoder, curve.x, curve.y)


def scatter(canvas: _Canvas, trade: TradeOff) -> None:
    """Quality against speed on a logarithmic axis, the Pareto front as a line."""
    speeds = [math.log10(end) for point in trade.points for end in point.speeds]
    first, last = math.floor(min(speeds)), math.ceil(max(speeds))
    powers = [10.0**power for power in range(first, max(last, first + 1) + 1)]
    ticks = {power: f"{power:,.0f}" if power >= 1 else f"{power:g}" for power in powers}
    cells = [point.cell for point in trade.points]
    ends = [end for cell in cells for end in (cell.value, *(cell.interval or ()))]
    space = max((max(ends) - min(ends)) * 0.12, 0.5)
    x = Axis((powers[0], powers[-1]), "sentences per second", 10, ticks)
    canvas.axes(x, Axis((min(ends) - space, max(ends) + space), "quality"))
    front = [point for point in trade.points if point.front]
    canvas.front([point.speed for point in front], [point.cell.value for point in front])
    canvas.points(trade.points)


def heat_map(canvas: _Canvas, heat: HeatMap) -> None:
    """A square of cells, with their numbers but for the diagonal, where all are 1."""
    canvas.squares(heat)
    for i, j in permutations(range(len(heat.names)), 2):
        r = float(heat.matrix[i, j])
        canvas.number(i, j, f"{r:.2f}".replace("0.", ".") if math.isfinite(r) else "n/a", r)
