"""Where the heads of compound attention look: an alignment, and weights by relative position."""

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
    """Draws what each word of a translation looks at, by heads, if the row is there: the paper's Figure 4.

    Args:
        report: Of rows.
        folder: Of results, with their encoders.
        name: Of the pictures.
        row: With inner attention; the first seed's is drawn.
        corpus: Which it learnt from.
        sentence: That is translated. "": the first one that is tested.
        **search: Of `translate`.
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
    """Draws the weights of heads by relative position, the mean of what is validated on: Figure 5.

    Args:
        report: As for `draw_alignment`.
        folder: As there.
        name: As there.
        row: As there.
        corpus: As there.
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
    """That of the first seed; None if the row is not there."""
    found = report.of(row)[:1]
    return load(as_path(folder) / "encoders" / found[0]["encoder"]) if found else None
