"""Charts with matplotlib: bars, forest plots, lines, scatter plots, heat maps.

Functions draw on matplotlib axes. Figures are not pyplot's: no window opens, and none has to be closed.
"""

from __future__ import annotations

import io
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._extras import require

__all__ = ["bars", "forest", "heat_map", "legend", "lines", "literal", "new_figure", "rendered", "scatter"]

Interval = tuple[float, float]


def new_figure(
    width: float, height: float, panels: int = 1, *, share_y: bool = False
) -> tuple[Any, list[Any]]:
    """Return a figure of this size in inches, and its axes, which are next to each other.

    Args:
        width: Width of the figure.
        height: Height of the figure.
        panels: Number of axes.
        share_y: Whether the axes have one scale of y.

    Raises:
        ImportError: matplotlib is not installed.
    """
    figure = require("matplotlib.figure", "plot").Figure(figsize=(width, height), layout="constrained")
    return figure, list(figure.subplots(1, panels, sharey=share_y, squeeze=False)[0])


def rendered(figure: Any, kind: str) -> bytes:
    """Return a figure as the content of a file; equal figures give equal bytes.

    Args:
        figure: A `matplotlib.figure.Figure`.
        kind: `"png"`, `"svg"`, or another format of matplotlib.
    """
    file = io.BytesIO()
    with require("matplotlib", "plot").rc_context({"svg.hashsalt": "sentencode", "svg.fonttype": "none"}):
        figure.savefig(file, format=kind, dpi=110, metadata={"Date": None} if kind == "svg" else None)
    return file.getvalue()


def literal(text: str) -> str:
    """Escape dollar signs, which matplotlib would read as mathematics, and what XML cannot hold."""
    text = "".join(sign if sign.isprintable() or sign == "\n" else repr(sign)[1:-1] for sign in text)
    return text.replace("$", r"\$")


def legend(parent: Any, handles: Mapping[str, Any], **options: Any) -> None:
    """Add a legend to a figure or axes; unlike matplotlib's default, it shows names that start with "_"."""
    parent.legend(list(handles.values()), list(map(literal, handles)), **options)


def bars(
    axes: Any, groups: Sequence[str], series: Mapping[str, Sequence[tuple[float, Interval | None]]]
) -> dict[str, Any]:
    """Draw horizontal bars with intervals, one group below the other.

    Args:
        axes: Axes of matplotlib.
        groups: Names of the groups.
        series: By name, the value and interval of each group; NaN leaves a bar out.

    Returns:
        The bars of each series, for a legend.
    """
    handles, height = {}, 0.8 / len(series)
    for i, (name, points) in enumerate(series.items()):
        y = np.arange(len(groups)) - 0.4 + height * (i + 0.5)
        values = [value if math.isfinite(value) else math.nan for value, _ in points]
        handles[name] = axes.barh(y, values, 0.9 * height, color=f"C{i % 10}")
        for at, (_, interval) in zip(y, points, strict=True):
            if interval is not None:
                axes.plot(interval, (at, at), color="black", linewidth=1.2)
    axes.set_yticks(range(len(groups)), map(literal, groups))
    axes.set_ylim(len(groups) - 0.5, -0.5)
    axes.set_axisbelow(True)
    axes.grid(axis="x", alpha=0.3)
    return handles


def forest(
    axes: Any,
    labels: Sequence[str],
    points: Sequence[tuple[float, Interval]],
    groups: Sequence[str],
    colours: Mapping[str, str],
    *,
    marks: Sequence[float | None],
    margins: Sequence[float | None],
    bands: Sequence[float | None],
) -> dict[str, Any]:
    """Draw a forest plot: an estimate with its interval per row, and a line at zero.

    Args:
        axes: Axes of matplotlib.
        labels: Name of each row.
        points: Estimate and interval of each row.
        groups: Group of each row, which chooses its colour.
        colours: Colour of each group, in the order of the legend.
        marks: A second value of each row, a diamond; None for none.
        margins: The largest loss, which is marked; None for none.
        bands: Half the width of a grey band around 0, truncated at the axes; its value is on the right.

    Returns:
        The groups, "mark", "margin" and "band" that are there, for a legend.
    """
    handles: dict[str, Any] = {}
    axes.axvline(0, color="0.6", lw=0.8)
    for group, colour in colours.items():
        rows = [row for row, name in enumerate(groups) if name == group]
        if rows:
            values = np.array([points[row][0] for row in rows])
            ends = np.array([points[row][1] for row in rows]).T  # [2, rows]
            handles[group] = axes.errorbar(
                values, rows, xerr=abs(ends - values), fmt="|", color=colour, capsize=3
            )
    for row, (mark, margin) in enumerate(zip(marks, margins, strict=True)):
        if mark is not None:
            (handles["mark"],) = axes.plot(mark, row, "D", color="C0", markersize=5, ls="none")
        if margin is not None:
            (handles["margin"],) = axes.plot(-margin, row, "|", color="black", markersize=11)
    axes.set_xlim(axes.get_xlim())  # bands may be wider
    for row, band in enumerate(bands):
        if band is not None:
            handles["band"] = axes.barh(row, 2 * max(band, 0), 0.8, -max(band, 0), color="0.88", zorder=0)
            at = axes.get_yaxis_transform()
            axes.text(1.01, row, f"{band:+.1f}", transform=at, va="center", fontsize=7, color="0.4")
    axes.set_yticks(range(len(labels)), map(literal, labels), fontsize=7)
    axes.set_ylim(len(labels) - 0.4, -0.6)
    return handles


def lines(
    axes: Any,
    curves: Mapping[str, tuple[Sequence[float], Sequence[float]]],
    bands: Mapping[str, tuple[Sequence[float], Sequence[float]]] | None = None,
    colours: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Draw curves, each in a band of its intervals.

    Args:
        axes: Axes of matplotlib.
        curves: x and y of each curve, by name.
        bands: Lower and upper ends of the intervals, by name.
        colours: By name. None: those of matplotlib, in turn.

    Returns:
        The line of each curve, for a legend.
    """
    handles = {}
    for i, (name, (x, y)) in enumerate(curves.items()):
        colour = f"C{i % 10}" if colours is None else colours[name]
        (handles[name],) = axes.plot(x, y, "o-", color=colour, markersize=4)
        if bands and name in bands:
            axes.fill_between(x, *bands[name], color=colour, alpha=0.16)
    axes.grid(alpha=0.3)
    return handles


def scatter(
    axes: Any,
    points: Mapping[str, tuple[float, float]],
    *,
    x_intervals: Mapping[str, Interval] | None = None,
    y_intervals: Mapping[str, Interval] | None = None,
    colours: Mapping[str, str] | None = None,
    hollow: Sequence[str] = (),
) -> None:
    """Draw named points with the intervals of their coordinates.

    Args:
        axes: Axes of matplotlib.
        points: x and y, by name.
        x_intervals: Of x, by name.
        y_intervals: Of y, by name.
        colours: By name. None: one colour for all.
        hollow: Names of the points that are drawn as circles.
    """
    for name, (x, y) in points.items():
        if x_intervals and name in x_intervals:
            axes.plot(x_intervals[name], (y, y), color="black", linewidth=1)
        if y_intervals and name in y_intervals:
            axes.plot((x, x), y_intervals[name], color="black", linewidth=1)
        colour = colours[name] if colours else "C0"
        axes.plot(x, y, "o", color=colour, markerfacecolor="none" if name in hollow else colour)
        axes.annotate(literal(name), (x, y), xytext=(7, 3), textcoords="offset points", fontsize=8)
    axes.margins(x=0.12)


def heat_map(figure: Any, axes: Any, names: Sequence[str], matrix: NDArray[np.float64]) -> None:
    """Draw a matrix of correlations: hue for the sign, strength for the size, and the number in each cell.

    Args:
        figure: The figure of the axes, which gets a colour bar.
        axes: Axes of matplotlib.
        names: Of the rows and columns.
        matrix: Correlations [names, names]; NaN where there is none.
    """
    image = axes.imshow(matrix, cmap="BrBG", vmin=-1, vmax=1)
    for (i, j), r in np.ndenumerate(matrix):
        if i != j:
            text = f"{r:.2f}".replace("0.", ".") if math.isfinite(r) else "n/a"
            colour = "white" if abs(r) > 0.55 else "black"
            axes.text(j, i, text, color=colour, ha="center", va="center", fontsize=8)
    labels = list(map(literal, names))
    axes.set_yticks(range(len(labels)), labels)
    axes.set_xticks(range(len(labels)), labels, rotation=45, ha="right")
    figure.colorbar(image, ax=axes, shrink=0.8)
