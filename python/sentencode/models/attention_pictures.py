"""Plots of attention weights: alignments, and weights by position in the sentence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from .._extras import require

__all__ = ["draw_alignment", "draw_positions", "position_shares"]

Floats = npt.NDArray[Any]
_WIDEST = 5.0  # points


def position_shares(weights: Floats, bins: int) -> Floats:
    """Return the weight of each head in each of `bins` equal parts of a sentence.

    The weight of a word is spread evenly over its 1 / T of a sentence of T words.

    Args:
        weights: [heads, words].
        bins: Number of parts.

    Returns:
        [heads, bins]; rows have the sums of those of `weights`.

    Example:
        >>> import numpy as np
        >>> position_shares(np.array([[0.5, 0.25, 0.25]]), 2)
        array([[0.625, 0.375]])
    """
    heads, words = weights.shape
    ends = np.linspace(0, words, bins + 1)
    sums = np.concatenate([np.zeros((heads, 1)), np.cumsum(weights, 1, dtype=np.float64)], 1)
    return np.diff([np.interp(ends, np.arange(words + 1), row) for row in sums])


def draw_positions(weights: Floats, axes: Any = None) -> Any:
    """Draw the weight of each head by position, a plot for each.

    Args:
        weights: [heads, bins], as `position_shares` returns them.
        axes: Axes to draw on, one for each head; None: new ones.

    Returns:
        The axes [heads].

    Raises:
        ImportError: If matplotlib is not installed.
        ValueError: If there are not as many axes as heads.
    """
    pyplot = require("matplotlib.pyplot", "plot")
    heads, bins = weights.shape
    if axes is None:
        columns = min(heads, 4)
        rows = -(-heads // columns)
        size = (1.2 + 1.9 * columns, 0.7 + 1.4 * rows)
        figure, axes = pyplot.subplots(
            rows, columns, figsize=size, sharex=True, sharey=True, layout="constrained", squeeze=False
        )
        for ax in axes.ravel()[heads:]:
            ax.set_visible(False)
        axes = axes.ravel()[:heads]
        figure.supxlabel("relative position in the sentence", fontsize="medium")
        figure.supylabel("weight", fontsize="medium")
    axes = np.atleast_1d(np.asarray(axes, object)).ravel()
    if len(axes) != heads:
        raise ValueError(f"axes must be {heads}, one for each head, got {len(axes)}")
    for i, (ax, row, colour) in enumerate(zip(axes, weights, _colours(pyplot, heads), strict=True)):
        ax.stairs(row, np.linspace(0, 1, bins + 1), fill=True, color=colour)
        ax.axhline(1 / bins, color="0.5", linewidth=0.8, linestyle=":")  # uniform attention
        ax.set_xlim(0, 1)
        ax.set_xticks([0, 0.5, 1])
        ax.set_title(f"head {i + 1}", fontsize="medium")
    return axes


def draw_alignment(
    source: Sequence[str], target: Sequence[str], parts: Floats, *, least: float, ax: Any = None
) -> Any:
    """Draw lines between the words of a sentence and those of its translation, a colour for each head.

    Args:
        source: The words of the sentence, on the left.
        target: The words of the translation, on the right.
        parts: Weights [heads, target, source], the widths of the lines.
        least: Weights up to this are left out.
        ax: Axes to draw on; None: new ones.

    Returns:
        The axes, with a collection of lines for each head.

    Raises:
        ImportError: If matplotlib is not installed.
    """
    pyplot = require("matplotlib.pyplot", "plot")
    line_collection = require("matplotlib.collections", "plot").LineCollection
    high = max(len(source), len(target))
    if ax is None:
        longest = max(map(len, [*source, *target]))
        size = (2.5 + 0.16 * longest, 0.6 + 0.28 * high)
        _, ax = pyplot.subplots(figsize=size, layout="constrained")
    left, right = (np.linspace(0, high - 1, len(words) + 2)[1:-1] for words in (source, target))
    if len(source) == high:
        left = np.arange(high, dtype=float)
    if len(target) == high:
        right = np.arange(high, dtype=float)
    for part, colour in zip(parts, _colours(pyplot, len(parts)), strict=True):
        shown = np.argwhere(part > least)
        lines = [((0.0, left[j]), (1.0, right[i])) for i, j in shown]
        widths = [_WIDEST * part[i, j] for i, j in shown]
        ax.add_collection(line_collection(lines, linewidths=widths, colors=[colour], alpha=0.8))
    ax.set_xlim(0, 1)
    ax.set_ylim(high - 0.5, -0.5)
    ax.set_yticks(left, source)
    other = ax.secondary_yaxis("right")
    other.set_yticks(right, target)
    ax.set_xticks([])
    for of in (ax, other):
        of.tick_params(length=0)
        for spine in of.spines.values():
            spine.set_visible(False)
    return ax


def _colours(pyplot: Any, count: int) -> list[Any]:
    if count <= 10:
        return [pyplot.get_cmap("tab10")(i)[:3] for i in range(count)]
    return [tuple(colour[:3]) for colour in pyplot.get_cmap("hsv")(np.linspace(0, 1, count, endpoint=False))]
