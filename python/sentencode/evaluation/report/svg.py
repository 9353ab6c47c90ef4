"""The pictures of a report as SVG, in colours that the page around them defines."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from .charts import Chart, HeatMap, Point, TradeOff
from .markup import Markup, element
from .measures import PERCENT, Measure

__all__ = ["bars", "heat_map", "lines", "scatter"]

_LETTER = 7.2  # the width of a letter, about, in the 12 px of pictures
_NAME = 24  # letters of a name that are shown; the rest is in its title


def bars(measure: Measure, colours: dict[str, int]) -> Markup:
    """A bar with its interval for each encoder.

    Args:
        measure: What is shown.
        colours: The number of each encoder's colour.

    Returns:
        The picture.
    """
    cells = measure.cells
    ends = [end for cell in cells.values() for end in (cell.value, *(cell.interval or ())) if _finite(end)]
    low = min(0, 10 * math.floor(min(ends, default=0) / 10))
    high = 100 if measure.unit == PERCENT or max(ends, default=0) <= 100 else max(ends)
    left, width, row = 12 + _LETTER * max(len(_short(name)) for name in cells), 300, 24

    def x(value: float) -> float:
        return left + width * (min(max(value, low), high) - low) / (high - low)

    bottom = row * len(cells) + 4
    parts = _ticks_below(low, high, x, bottom)
    for i, (name, cell) in enumerate(cells.items()):
        y = row * i + 4
        parts.append(_text(_short(name), left - 6, y + 13, "end", title=name))
        if not _finite(cell.value):
            parts.append(_text("not a number", left + 6, y + 13))
            continue
        begin, end = sorted((x(0), x(cell.value)))
        parts.append(
            element(
                "rect", x=begin, y=y + 2, width=end - begin, height=row - 9, class_=f"bar c{colours[name]}"
            )
        )
        right = end
        if cell.interval is not None and all(map(_finite, cell.interval)):
            a, b = map(x, cell.interval)
            middle = y + 2 + (row - 9) / 2
            parts.append(
                element(
                    "path", d=f"M{a:.1f} {middle - 4}v8M{a:.1f} {middle}H{b:.1f}m0 -4v8", class_="whisker"
                )
            )
            right = max(end, b)
        parts.append(_text(f"{cell.value:.1f}", right + 6, y + 13))
    said = "; ".join(f"{name} {_with_interval(cell.value, cell.interval)}" for name, cell in cells.items())
    return _picture(left + width + 46, bottom + 20, f"Bars of {measure.label}, {measure.unit}: {said}", parts)


def heat_map(heat: HeatMap) -> Markup:
    """A square of cells, in which the sign is a hue and the size its strength.

    Args:
        heat: The correlations.

    Returns:
        The picture.
    """
    names, side = heat.names, 38
    left = 12 + _LETTER * max(len(_short(name)) for name in names)
    top = left * 0.72 + 8
    parts = []
    for i, name in enumerate(names):
        y = top + side * i
        parts.append(_text(_short(name), left - 6, y + side / 2 + 4, "end", title=name))
        x = left + side * (i + 0.5)
        turned = f"translate({x + 4:.1f} {top - 6:.1f}) rotate(-45)"
        parts.append(
            element("text", _short(name), element("title", name), transform=turned, text_anchor="start")
        )
        for j, other in enumerate(names):
            r = heat.matrix[i, j]
            known = _finite(r)
            shown = f"{r:.2f}".replace("0.", ".") if known and i != j else "" if known else "n/a"
            box = element(
                "rect",
                element("title", f"{name} and {other}: {f'{r:.3f}' if known else 'not known'}"),
                x=left + side * j + 1,
                y=y + 1,
                width=side - 2,
                height=side - 2,
                class_="unknown" if not known else "less" if r < 0 else "more",
                fill_opacity=round(abs(float(r)), 3) if known else None,
            )
            parts += [box, _text(shown, left + side * (j + 0.5), y + side / 2 + 4, "middle", class_="cell")]
    pairs = "; ".join(
        f"{names[i]} and {names[j]} {heat.matrix[i, j]:.2f}"
        for i in range(len(names))
        for j in range(i)
        if _finite(heat.matrix[i, j])
    )
    size = side * len(names)
    return _picture(
        left + size + top * 0.8, top + size + 4, f"Heat map of Pearson's correlations: {pairs}", parts
    )


def scatter(trade: TradeOff, colours: dict[str, int]) -> Markup:
    """Quality against speed on a logarithmic axis, the Pareto front as a line.

    Args:
        trade: What is shown.
        colours: The number of each encoder's colour.

    Returns:
        The picture.
    """
    width, height, left, top = 620, 320, 52, 14
    speeds = [math.log10(end) for point in trade.points for end in point.speeds]
    first, last = math.floor(min(speeds)), math.ceil(max(speeds))
    last = max(last, first + 1)
    cells = [point.cell for point in trade.points]
    ends: list[float] = [end for cell in cells for end in (cell.value, *(cell.interval or ()))]
    space = max((max(ends) - min(ends)) * 0.12, 0.5)
    low, high = min(ends) - space, max(ends) + space

    def x(speed: float) -> float:
        return left + width * (math.log10(speed) - first) / (last - first)

    def y(value: float) -> float:
        return top + height * (high - value) / (high - low)

    parts = []
    for power in range(first, last + 1):
        at = x(10.0**power)
        parts.append(element("path", d=f"M{at:.1f} {top}v{height}", class_="grid"))
        parts.append(
            _text(
                f"{10.0**power:,.0f}" if power >= 0 else f"{10.0**power:g}", at, top + height + 17, "middle"
            )
        )
    for value in _steps(low, high):
        parts.append(element("path", d=f"M{left} {y(value):.1f}h{width}", class_="grid"))
        parts.append(_text(f"{value:g}", left - 7, y(value) + 4, "end"))
    parts.append(_text("sentences per second", left + width / 2, top + height + 36, "middle"))
    front = [(x(point.speed), y(point.cell.value)) for point in trade.points if point.front]
    line = "".join(f"{'L' if i else 'M'}{a:.1f} {b:.1f}" for i, (a, b) in enumerate(front))
    parts.append(element("path", d=line, class_="front"))
    taken: list[tuple[float, float, float, float]] = []
    marks, labels = [], []
    for point in trade.points:
        at, up = x(point.speed), y(point.cell.value)
        taken.append((at - 7, up - 7, at + 7, up + 7))
    for point in trade.points:
        at, up = x(point.speed), y(point.cell.value)
        if point.cell.interval is not None:
            a, b = map(y, point.cell.interval)
            marks.append(element("path", d=f"M{at:.1f} {a:.1f}V{b:.1f}", class_="whisker"))
        slow, quick = map(x, point.speeds)
        marks.append(element("path", d=f"M{slow:.1f} {up:.1f}H{quick:.1f}", class_="whisker"))
        hollow = "" if point.front else " hollow"
        title = f"{point.encoder}: {point.cell.value:.2f} at {_speed(point)}"
        marks.append(
            element(
                "circle",
                element("title", title),
                cx=at,
                cy=up,
                r=5.5,
                class_=f"point c{colours[point.encoder]}{hollow}",
            )
        )
        labels.append(_label(_short(point.encoder), at, up, taken, left, left + width))
    said = "; ".join(
        f"{p.encoder} {p.cell.value:.2f} at {_speed(p)}{' (on the front)' if p.front else ''}"
        for p in trade.points
    )
    return _picture(
        left + width + 24,
        top + height + 46,
        f"Scatter of {trade.label} against speed: {said}",
        [*parts, *marks, *labels],
    )


def lines(chart: Chart, colours: dict[str, int]) -> Markup:
    """A line for each encoder, in the band of its intervals, with its name in a legend above.

    Args:
        chart: What is shown.
        colours: The number of each encoder's colour.

    Returns:
        The picture.
    """
    width, height, left, row = 460, 260, 60, 18
    top = 14 + row * len(chart.curves)
    scaled: Callable[[float], float] = math.log2 if chart.logarithmic else float
    places = sorted({value for curve in chart.curves.values() for value in curve.x})
    first, last = scaled(places[0]), scaled(places[-1])
    if first == last:
        first, last = first - 1, last + 1
    low, high = chart.ends
    space = max((high - low) * 0.08, 1e-9 * max(1, abs(high)) if high > low else 0.5)
    low, high = low - space, high + space

    def x(value: float) -> float:
        return left + width * (scaled(value) - first) / (last - first)

    def y(value: float) -> float:
        return top + height * (high - value) / (high - low)

    parts, taken = [], -math.inf
    ticks = places if chart.logarithmic else _steps(first, last)
    for value in ticks:
        at = x(value)
        parts.append(element("path", d=f"M{at:.1f} {top}v{height}", class_="grid"))
        shown = f"{value:,.10g}"
        if at - _LETTER * len(shown) / 2 > taken:  # where the one before leaves room
            parts.append(_text(shown, at, top + height + 17, "middle"))
            taken = at + _LETTER * (len(shown) / 2 + 1)
    for value in _steps(low, high):
        parts.append(element("path", d=f"M{left} {y(value):.1f}h{width}", class_="grid"))
        parts.append(_text(f"{value:g}", left - 7, y(value) + 4, "end"))
    parts.append(_text(chart.x_label, left + width / 2, top + height + 36, "middle"))
    marks = []
    for i, (encoder, curve) in enumerate(chart.curves.items()):
        colour = f"c{colours[encoder]}"
        if curve.low:
            there = [
                *zip(curve.x, curve.high, strict=True),
                *zip(curve.x[::-1], curve.low[::-1], strict=True),
            ]
            outline = " ".join(f"{x(a):.1f},{y(b):.1f}" for a, b in there)
            parts.append(element("polygon", points=outline, class_=f"band {colour}"))
        points = list(zip(curve.x, curve.y, strict=True))
        line = "".join(f"{'L' if j else 'M'}{x(a):.1f} {y(b):.1f}" for j, (a, b) in enumerate(points))
        marks.append(element("path", d=line, class_=f"line {colour}"))
        for a, b in points:
            title = f"{encoder}: {b:.2f} at {a:,.10g} {chart.x_label}"
            marks.append(
                element("circle", element("title", title), cx=x(a), cy=y(b), r=3.2, class_=f"point {colour}")
            )
        up = 12 + row * i
        marks.append(element("path", d=f"M{left} {up}h18", class_=f"line {colour}"))
        marks.append(_text(_short(encoder), left + 25, up + 4, title=encoder))
    said = "; ".join(
        f"{encoder} {', '.join(f'{b:.2f} at {a:,.10g}' for a, b in zip(curve.x, curve.y, strict=True))}"
        for encoder, curve in chart.curves.items()
    )
    about = f"Curves of {chart.name}, {chart.y_label}, along {chart.x_label}: {said}"
    return _picture(left + width + 28, top + height + 46, about, [*parts, *marks])


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


def _ticks_below(low: float, high: float, x: Callable[[float], float], bottom: float) -> list[Markup]:
    parts = []
    for value in _steps(low, high, 4):
        at = x(value)
        parts.append(element("path", d=f"M{at:.1f} 2V{bottom}", class_="grid"))
        parts.append(_text(f"{value:g}", at, bottom + 15, "middle"))
    return parts


def _steps(low: float, high: float, about: int = 5) -> list[float]:
    """Round numbers from one to the other."""
    rough = (high - low) / about
    power: float = 10.0 ** math.floor(math.log10(rough))
    step = min((power * k for k in (1, 2, 2.5, 5, 10)), key=lambda s: abs(s - rough))
    return [round(step * i, 10) for i in range(math.ceil(low / step), math.floor(high / step) + 1)]


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


def _finite(value: float) -> bool:
    return math.isfinite(value)
