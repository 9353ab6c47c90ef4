"""Plots of attention weights: by word, by position in the sentence, and between two sentences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from .._extras import require

__all__ = ["draw_alignment", "draw_dimensions", "draw_poolings", "draw_positions", "position_shares"]

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
    """Draw the weights [heads, bins] of `position_shares`, a plot for each head, and return the axes."""
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
    axes = _axes_of_heads(axes, heads)
    for i, (ax, row, colour) in enumerate(zip(axes, weights, _colours(pyplot, heads), strict=True)):
        ax.stairs(row, np.linspace(0, 1, bins + 1), fill=True, color=colour)
        ax.axhline(1 / bins, color="0.5", linewidth=0.8, linestyle=":")  # uniform attention
        ax.set_xlim(0, 1)
        ax.set_xticks([0, 0.5, 1])
        ax.set_title(f"head {i + 1}", fontsize="medium")
    return axes


def draw_dimensions(words: Sequence[str], weights: Floats, axes: Any = None) -> Any:
    """Draw the weights [heads, words, dimensions], a plot for each head, and return the axes."""
    pyplot = require("matplotlib.pyplot", "plot")
    heads = len(weights)
    if axes is None:
        size = (7, (0.6 + 0.22 * len(words)) * heads)
        _, axes = pyplot.subplots(heads, 1, figsize=size, layout="constrained", squeeze=False)
    axes = _axes_of_heads(axes, heads)
    for i, (ax, head) in enumerate(zip(axes, weights, strict=True)):
        image = ax.imshow(head, cmap="Blues", vmin=0, aspect="auto", interpolation="nearest")
        ax.set_yticks(range(len(words)), words)
        ax.set_title(f"head {i + 1} of {heads}", fontsize="medium")
        ax.figure.colorbar(image, ax=ax)
    axes[-1].set_xlabel("dimensions of the embedding")
    return axes


def draw_poolings(
    words: Sequence[str], poolings: Sequence[str], weights: Floats, *, heads: Any, ax: Any = None
) -> Any:
    """Draw the weights [heads, words, poolings]: the "mean" or "max" over the heads, or those of one."""
    pyplot = require("matplotlib.pyplot", "plot")
    if heads in ("mean", "max"):
        shown, title = getattr(weights, heads)(axis=0), f"{heads} of {len(weights)} heads"
    elif isinstance(heads, int | np.integer) and type(heads) is not bool and 0 <= heads < len(weights):
        shown, title = weights[heads], f"head {heads}"
    else:
        raise ValueError(f"heads must be 'mean', 'max' or from 0 to {len(weights) - 1}, got {heads!r}")
    if ax is None:
        _, ax = pyplot.subplots(figsize=(max(4.0, 0.6 * len(words)), 1.8), layout="constrained")
    image = ax.imshow(shown.T, cmap="Blues", vmin=0, vmax=1, aspect="auto")
    ax.set_xticks(range(len(words)), words, rotation=45, ha="right")
    ax.set_yticks(range(len(poolings)), poolings)
    ax.set_title(f"attention to the poolings, {title}", fontsize="medium")
    ax.figure.colorbar(image, ax=ax)
    return ax


def draw_alignment(
    source: Sequence[str], target: Sequence[str], parts: Floats, *, least: float, ax: Any = None
) -> Any:
    """Draw lines between the words of a sentence (left) and of its translation, a colour for each head.

    Args:
        source: The words of the sentence.
        target: The words of the translation.
        parts: Weights [heads, target, source], the widths of the lines.
        least: Weights up to this are left out.
        ax: Axes to draw on; None: new ones.

    Returns:
        The axes, with a collection of lines for each head.
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
    for axis in (ax, other):
        axis.tick_params(length=0)
        for spine in axis.spines.values():
            spine.set_visible(False)
    return ax


def _axes_of_heads(axes: Any, heads: int) -> Any:
    axes = np.atleast_1d(np.asarray(axes, object)).ravel()
    if len(axes) != heads:
        raise ValueError(f"axes must be {heads}, one for each head, got {len(axes)}")
    return axes


def _colours(pyplot: Any, count: int) -> list[Any]:
    if count <= 10:
        return [pyplot.get_cmap("tab10")(i)[:3] for i in range(count)]
    return [tuple(colour[:3]) for colour in pyplot.get_cmap("hsv")(np.linspace(0, 1, count, endpoint=False))]
