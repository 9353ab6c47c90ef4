"""The pictures of a report as SVG, in colours that the page around them defines."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence

from . import drawing
from .charts import Chart, HeatMap, Point, TradeOff
from .drawing import Axis, Values
from .markup import Markup, element
from .measures import Cell, Measure

__all__ = ["bars", "heat_map", "lines", "scatter"]

Colours = Mapping[str, int]  # the number of each encoder's colour

_LETTER = 7.2  # the width of a letter, about, in the 12 px of pictures
_SIDE = 38  # of a heat map's cells
_NAME = 24  # letters of a name that are shown; the rest is in its title


class _Svg:
    """A canvas of so many pixels between its axes, in numbered colours, below a legend of these names."""

    def __init__(self, width: float, height: float, colours: Colours, legend: Iterable[str] = ()) -> None:
        self._width, self._height, self._colours = width, height, colours
        self._legend = {name: 12 + 18 * i for i, name in enumerate(legend)}
        self._left, self._right, self._below, self._unit = 60.0, 46.0, 20.0, ""
        self._top = 4 + 18.0 * len(self._legend)
        self._parts: list[Markup] = []

    def picture(self, said: str) -> Markup:
        """What was drawn, and what is said of it to those who do not see it."""
        width, height = self._left + self._width + self._right, self._top + self._height + self._below
        return _picture(width, height, said, self._parts)

    def axes(self, x: Axis, y: Axis) -> None:
        if y.ticks is not None:
            self._left = 12 + _LETTER * max(len(_short(name)) for name in y.ticks.values())
        if x.label and y.ticks is None:
            self._below, self._unit, self._top = 46, x.label, self._top + 10
        self._x = _scale(x, self._left, self._width)
        self._y = _scale(y, self._top + self._height, -self._height)
        bottom, taken = self._top + self._height, -math.inf
        for value, shown in (x.ticks or _round(*x.ends)).items():
            at = self._x(value)
            self._path(f"M{at:.1f} {self._top}v{self._height}", "grid")
            if at - _LETTER * len(shown) / 2 > taken:  # where the one before leaves room
                self._parts.append(_text(shown, at, bottom + 17, "middle"))
                taken = at + _LETTER * (len(shown) / 2 + 1)
        for value, shown in (y.ticks or _round(*y.ends)).items():
            if y.ticks is None:
                self._path(f"M{self._left} {self._y(value):.1f}h{self._width}", "grid")
            self._parts.append(_text(_short(shown), self._left - 7, self._y(value) + 4, "end", title=shown))
        if self._unit:
            self._parts.append(_text(x.label, self._left + self._width / 2, bottom + 36, "middle"))

    def bars(self, encoder: str, places: Values, cells: Sequence[Cell], height: float) -> None:
        for place, cell in zip(places, cells, strict=True):
            y, ends = self._y(place), [cell.value]
            if not math.isfinite(cell.value):
                self._parts.append(_text("not a number", self._left + 6, y + 4))
                continue
            begin, end = sorted(map(self._x, (0, cell.value)))
            tall = 0.7 * abs(self._y(place + height) - y)
            look = f"bar c{self._colours[encoder]}"
            bar = element("rect", x=begin, y=y - tall / 2, width=end - begin, height=tall, class_=look)
            self._parts.append(bar)
            if cell.interval is not None and all(map(math.isfinite, cell.interval)):
                a, b = map(self._x, cell.interval)
                self._path(f"M{a:.1f} {y - 4:.1f}v8M{a:.1f} {y:.1f}H{b:.1f}m0 -4v8", "whisker")
                ends.append(cell.interval.high)
            self._parts.append(_text(f"{cell.value:.1f}", self._x(max(0, *ends)) + 6, y + 4))

    def band(self, encoder: str, x: Values, low: Values, high: Values) -> None:
        there = [*zip(x, high, strict=True), *zip(x[::-1], low[::-1], strict=True)]
        outline = " ".join(f"{self._x(a):.1f},{self._y(b):.1f}" for a, b in there)
        look = f"band c{self._colours[encoder]}"
        self._parts.append(element("polygon", points=outline, class_=look))

    def line(self, encoder: str, x: Values, y: Values) -> None:
        colour, up = f"c{self._colours[encoder]}", self._legend[encoder]
        self._path(self._through(x, y), f"line {colour}")
        for a, b in zip(x, y, strict=True):
            title = element("title", f"{encoder}: {b:.2f} at {a:,.10g} {self._unit}")
            at = {"cx": self._x(a), "cy": self._y(b)}
            self._parts.append(element("circle", title, **at, r=3.2, class_=f"point {colour}"))
        self._path(f"M{self._left} {up}h18", f"line {colour}")
        self._parts.append(_text(_short(encoder), self._left + 25, up + 4, title=encoder))

    def front(self, x: Values, y: Values) -> None:
        self._path(self._through(x, y), "front")

    def points(self, points: Sequence[Point]) -> None:
        places = [(self._x(point.speed), self._y(point.cell.value)) for point in points]
        taken = [(at - 7, up - 7, at + 7, up + 7) for at, up in places]
        labels = []
        for point, (at, up) in zip(points, places, strict=True):
            if point.cell.interval is not None:
                a, b = map(self._y, point.cell.interval)
                self._path(f"M{at:.1f} {a:.1f}V{b:.1f}", "whisker")
            slow, quick = map(self._x, point.speeds)
            self._path(f"M{slow:.1f} {up:.1f}H{quick:.1f}", "whisker")
            title = element("title", f"{point.encoder}: {point.cell.value:.2f} at {_speed(point)}")
            look = f"point c{self._colours[point.encoder]}{'' if point.front else ' hollow'}"
            self._parts.append(element("circle", title, cx=at, cy=up, r=5.5, class_=look))
            right = self._left + self._width
            labels.append(_label(_short(point.encoder), at, up, taken, self._left, right))
        self._parts += labels

    def squares(self, heat: HeatMap) -> None:
        self._left = 12 + _LETTER * max(len(_short(name)) for name in heat.names)
        self._top = self._left * 0.72 + 8  # names are turned there, and lean over the last cell
        self._right = self._top * 0.8
        for i, name in enumerate(heat.names):
            at, up = self._left + _SIDE * i, self._top + _SIDE * i
            self._parts.append(_text(_short(name), self._left - 6, up + _SIDE / 2 + 4, "end", title=name))
            turned = f"translate({at + _SIDE / 2 + 4:.1f} {self._top - 6:.1f}) rotate(-45)"
            self._parts.append(element("text", _short(name), element("title", name), transform=turned))
            for j, other in enumerate(heat.names):
                r = float(heat.matrix[i, j])
                known = math.isfinite(r)
                title = element("title", f"{name} and {other}: {f'{r:.3f}' if known else 'not known'}")
                look = "unknown" if not known else "less" if r < 0 else "more"
                place = {"x": self._left + _SIDE * j + 1, "y": up + 1}
                strength = round(abs(r), 3) if known else None
                size = {"width": _SIDE - 2, "height": _SIDE - 2}
                self._parts.append(
                    element("rect", title, **place, **size, class_=look, fill_opacity=strength)
                )

    def number(self, row: int, column: int, shown: str, r: float) -> None:
        at, up = self._left + _SIDE * (column + 0.5), self._top + _SIDE * (row + 0.5) + 4
        self._parts.append(_text(shown, at, up, "middle", class_="cell"))

    def _path(self, d: str, look: str) -> None:
        self._parts.append(element("path", d=d, class_=look))

    def _through(self, x: Values, y: Values) -> str:
        points = zip(map(self._x, x), map(self._y, y), strict=True)
        return "".join(f"{'L' if i else 'M'}{a:.1f} {b:.1f}" for i, (a, b) in enumerate(points))


def bars(measure: Measure, colours: Colours) -> Markup:
    """A bar with its interval for each encoder."""
    canvas = _Svg(300, 24 * len(measure.cells), colours)
    drawing.bars(canvas, [measure], list(measure.cells), apart=True)
    said = "; ".join(
        f"{name} {_with_interval(cell.value, cell.interval)}" for name, cell in measure.cells.items()
    )
    return canvas.picture(f"Bars of {measure.label}, {measure.unit}: {said}")


def lines(chart: Chart, colours: Colours) -> Markup:
    """A line for each encoder, in the band of its intervals, with its name in a legend above."""
    canvas = _Svg(460, 260, colours, chart.curves)
    drawing.lines(canvas, chart)
    said = "; ".join(
        f"{encoder} {', '.join(f'{b:.2f} at {a:,.10g}' for a, b in zip(curve.x, curve.y, strict=True))}"
        for encoder, curve in chart.curves.items()
    )
    return canvas.picture(f"Curves of {chart.name}, {chart.y_label}, along {chart.x_label}: {said}")


def scatter(trade: TradeOff, colours: Colours) -> Markup:
    """Quality against speed on a logarithmic axis, the Pareto front as a line."""
    canvas = _Svg(620, 320, colours)
    drawing.scatter(canvas, trade)
    said = "; ".join(
        f"{p.encoder} {p.cell.value:.2f} at {_speed(p)}{' (on the front)' if p.front else ''}"
        for p in trade.points
    )
    return canvas.picture(f"Scatter of {trade.label} against speed: {said}")


def heat_map(heat: HeatMap) -> Markup:
    """A square of cells, in which the sign is a hue and the size its strength."""
    canvas = _Svg(_SIDE * len(heat.names), _SIDE * len(heat.names), {})
    drawing.heat_map(canvas, heat)
    pairs = "; ".join(
        f"{name} and {other} {heat.matrix[i, j]:.2f}"
        for i, name in enumerate(heat.names)
        for j, other in enumerate(heat.names[:i])
        if math.isfinite(heat.matrix[i, j])
    )
    return canvas.picture(f"Heat map of Pearson's correlations: {pairs}")


def _speed(point: Point) -> str:
    low, high = point.speeds
    return f"{point.speed:,.0f} sentences per second ({low:,.0f} to {high:,.0f} by task)"


def _label(
    text: str, x: float, y: float, taken: list[tuple[float, float, float, float]], left: float, right: float
) -> Markup:
    """A name beside its point, where it covers no other."""
    width = _LETTER * len(text)
    places = [(9, 4), (-9 - width, 4), (-width / 2, -11), (-width / 2, 19), (9, -9), (9, 17)]
    boxes = [(x + dx, y + dy - 11, x + dx + width, y + dy + 3) for dx, dy in places]
    free = [
        box
        for box in boxes
        if left < box[0]
        and box[2] < right + 20
        and not any(
            box[0] < other[2] and other[0] < box[2] and box[1] < other[3] and other[1] < box[3]
            for other in taken
        )
    ]
    box = (free or boxes)[0]
    taken.append(box)
    return _text(text, box[0], box[3] - 3)


def _scale(axis: Axis, start: float, length: float) -> Callable[[float], float]:
    """Where each value of an axis lies in the picture."""
    of: Callable[[float], float] = math.log if axis.base else float
    first, last = map(of, axis.ends)
    low, high = sorted(axis.ends)
    return lambda value: start + length * (of(min(max(value, low), high)) - first) / (last - first)


def _round(low: float, high: float) -> dict[float, str]:
    """Round numbers from one to the other, about five."""
    rough = (high - low) / 5
    power: float = 10.0 ** math.floor(math.log10(rough))
    step = min((power * k for k in (1, 2, 2.5, 5, 10)), key=lambda s: abs(s - rough))
    steps = (round(step * i, 10) for i in range(math.ceil(low / step), math.floor(high / step) + 1))
    return {value: f"{value:,.10g}" for value in steps}


def _picture(width: float, height: float, said: str, parts: Sequence[Markup]) -> Markup:
    return element(
        "svg",
        parts,
        viewBox=f"0 0 {width:.0f} {height:.0f}",
        width=round(width),
        height=round(height),
        role="img",
        aria_label=said,
    )


def _text(
    text: str,
    x: float,
    y: float,
    anchor: str | None = None,
    *,
    title: str | None = None,
    class_: str | None = None,
) -> Markup:
    full = element("title", title) if title is not None and title != text else None
    return element("text", text, full, x=round(x, 1), y=round(y, 1), text_anchor=anchor, class_=class_)


def _short(name: str) -> str:
    return name if len(name) <= _NAME else f"{name[: _NAME - 1]}…"


def _with_interval(value: float, interval: tuple[float, float] | None) -> str:
    between = "" if interval is None else f" ({interval[0]:.1f} to {interval[1]:.1f})"
    return f"{value:.1f}{between}"
