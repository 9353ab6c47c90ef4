"""Attention weights of the heads of compound attention: an alignment, and weights by relative position."""

from __future__ import annotations

import os
from typing import Any

from .._figures import new_figure
from ..files import as_path
from ..saved import load
from .parallel import Parallel
from .report import Report
from .tables import write_picture

__all__ = ["draw_alignment", "draw_positions"]


def draw_alignment(
    report: Report,
    folder: str | os.PathLike[str],
    name: str,
    row: str,
    corpus: Parallel,
    sentence: str = "",
    **search: Any,
) -> None:
    """Draws the attention of each translated word, by head, as in the paper's Figure 4.

    Nothing is drawn if the row is missing.

    Args:
        report: Report with the row.
        folder: Folder of results, with the encoders.
        name: Name of the pictures.
        row: Row with inner attention; the encoder of the first seed is drawn.
        corpus: Training corpus of the row.
        sentence: Sentence to translate. "": the first test sentence.
        **search: Options of `translate`.
    """
    encoder = _encoder(report, folder, row)
    if encoder is None:
        return
    raw = sentence or corpus.references["test"].sentences[0]
    source = corpus.source.prepare(raw)
    figure, (axes,) = new_figure(8, 6)
    encoder.plot_alignment(source, encoder.translate(source, **search), ax=axes)
    axes.set_title(f"{row}: a colour for each head", fontsize=10)
    write_picture(figure, folder, name)


def draw_positions(
    report: Report, folder: str | os.PathLike[str], name: str, row: str, corpus: Parallel
) -> None:
    """Draws the mean weights of heads by relative position in validation sentences: the paper's Figure 5.

    Args:
        report: Report with the row.
        folder: Folder of results, with the encoders.
        name: Name of the pictures.
        row: Row with inner attention.
        corpus: Training corpus of the row.
    """
    encoder = _encoder(report, folder, row)
    if encoder is None:
        return
    heads = encoder.settings()["heads"]
    figure, axes = new_figure(2.2 * heads, 2.2, heads, share_y=True)
    encoder.plot_positions(corpus.valid.sentences, axes=axes)
    figure.suptitle(row, fontsize=10)
    write_picture(figure, folder, name)


def _encoder(report: Report, folder: str | os.PathLike[str], row: str) -> Any:
    """The encoder of the first seed; None if the row is missing."""
    results = report.of(row)
    return load(as_path(folder) / "encoders" / results[0]["encoder"]) if results else None
