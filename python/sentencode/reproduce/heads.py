"""Accuracy after each epoch by the number of heads, and the attention weights of heads."""

from __future__ import annotations

import os
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .._figures import legend, lines, new_figure
from ..files import as_path
from ..generators import isolated_generators
from ..saved import load
from .report import Report, Table
from .tables import MISSING, TableText, number, write_picture

if TYPE_CHECKING:
    from .labelled import Labels

__all__ = [
    "SENTENCE",
    "Epochs",
    "Heads",
    "first_distance",
    "head_distance",
    "heat_maps",
    "parameter_distance",
]

SENTENCE = (
    'Martin Luther King "I was not afraid of the words of the violent, but of the silence of the honest"'
)
_EXAMPLES = 200  # whose heads are compared


def head_distance(encoder: Any, labels: Labels) -> float:
    """The mean distance between the weights of two heads, over sentences of the first test set."""
    examples = next(iter(labels.tests.values())).sentences
    distances = []
    for example in examples[:: max(1, len(examples) // _EXAMPLES)][:_EXAMPLES]:
        try:
            distances.append(encoder.head_distance(example if isinstance(example, str) else example[-1]))
        except ValueError:  # the vocabulary has none of its words
            continue
    return round(statistics.fmean(distances), 6) if distances else 0.0


def parameter_distance(encoder: Any) -> dict[str, float]:
    """The mean squared distance between the matrices W1 of two heads, at initialisation and after training.

    That at initialisation is of other random numbers; it varies by about 1 %.
    """
    weight = dict(encoder.network.named_parameters())["pooling.hidden.weight"]  # [I H, D]
    heads = encoder.settings()["heads"]
    start = first_distance(weight.shape[1], len(weight) // heads, heads)
    return {"start": start, "end": _squared_distance(weight, heads)}


def first_distance(features: int, hidden: int, heads: int) -> float:
    """The mean squared distance between the matrices W1 of two heads at their initialisation.

    Args:
        features: Dimensions of the word vectors that are pooled.
        hidden: Hidden units of each head.
        heads: Number of heads.
    """
    from ..nn import AttentionPooling

    with isolated_generators(seed=0):
        weights = dict(AttentionPooling(features, hidden=hidden, heads=heads).named_parameters())
    return _squared_distance(weights["hidden.weight"], heads)


def _squared_distance(weight: Any, heads: int) -> float:
    import torch

    distances = torch.pdist(weight.detach().reshape(heads, -1))
    return round(float(distances.square().mean()), 3) if heads > 1 else 0.0


@dataclass(frozen=True)
class Epochs(Table):
    """Accuracy on the development set after each epoch: the paper's Figure 1.

    Attributes:
        title: Title of the table.
        lines: Kind of weights, each with a panel -> number of heads -> row.
    """

    title: str
    lines: Mapping[str, Mapping[int, str]]

    @property
    def rows(self) -> tuple[str, ...]:
        """All rows."""
        return tuple(row for rows in self.lines.values() for row in rows.values())

    def curves(self, report: Report) -> Iterator[tuple[str, int, list[float]]]:
        """The kind of weights, the number of heads and the curve (mean of the seeds, percent) of each row."""
        for kind, rows in self.lines.items():
            for heads, row in rows.items():
                runs = [
                    [100 * accuracy for *_, accuracy in result["validations"]] for result in report.of(row)
                ]
                if runs:
                    yield kind, heads, [statistics.fmean(at) for at in zip(*runs, strict=False)]

    def content(self, report: Report) -> Iterator[TableText]:
        """The table."""
        curves = list(self.curves(report))
        epochs = max((len(curve) for *_, curve in curves), default=0)
        rows = [
            [f"{kind}, {heads} head{'s' * (heads > 1)}"]
            + [number(value) for value in curve]
            + [MISSING] * (epochs - len(curve))
            + [number(max(curve))]
            for kind, heads, curve in curves
        ]
        yield self.title, ["weights", *map(str, range(1, epochs + 1)), "best"], rows

    def notes(self, report: Report) -> Iterator[str]:
        """The paper's figures."""
        yield "The paper's best on SNLI's development set: vectors, 9 heads, 86.8; scalars, 7 heads, 86.4."

    def pictures(self, report: Report) -> Iterator[tuple[str, Any]]:
        """The curves, if there are any."""
        curves = list(self.curves(report))
        if not curves:
            return
        figure, panels = new_figure(8, 3.6, len(self.lines), share_y=True)
        for axes, kind in zip(panels, self.lines, strict=True):
            handles = lines(
                axes, {str(heads): (range(1, len(y) + 1), y) for line, heads, y in curves if line == kind}
            )
            axes.set_title(f"{kind} as weights", fontsize=10)
            axes.set_xlabel("epoch")
            if handles:
                legend(axes, handles, title="heads", fontsize=8)
        panels[0].set_ylabel("accuracy on the development set, percent")
        yield "fig1", figure


@dataclass(frozen=True)
class Heads(Table):
    """The distance between heads, and whether the penalty was active.

    Attributes:
        title: Title of the table.
        rows: Rows to show.
    """

    title: str
    rows: Sequence[str]

    def content(self, report: Report) -> Iterator[TableText]:
        """The table."""
        rows = []
        for row, name, result in report.each():
            if row in self.rows and "config" in result:
                figures = result.get("figures", {})
                cells = [number(figures.get(step, {}).get("active"), 3) for step in ("first", "last")]
                mu = result.get("taken", f"mu {result['config']['mu']}") if figures else MISSING
                distance = result["scores"].get("head distance", {}).get("value")
                squared = result.get("parameter_distance", {})
                cells += [number(squared.get(step)) for step in ("start", "end")]
                rows.append([name, mu.removeprefix("mu "), *cells, number(distance, 4)])
        header = ["row", "mu", "active, first step", "active, last step"]
        yield self.title, [*header, "W1, start", "W1, end", "head distance"], rows

    def notes(self, report: Report) -> Iterator[str]:
        """Definitions."""
        yield (
            "Head distance: sqrt(mean over dimensions of sum over words of (A_i - A_j)^2), mean over pairs "
            f"of heads and {_EXAMPLES} test sentences. Active: the fraction of pairs of heads within the "
            "margin. W1: the mean squared distance between the parameter matrices of two heads, which the "
            "penalty on them compares with the margin."
        )


def heat_maps(
    report: Report, folder: str | os.PathLike[str], name: str, rows: Sequence[str], sentence: str = ""
) -> None:
    """Draws the attention weights of several rows side by side, as in the paper's Figure 2.

    Nothing is drawn if a row is missing.

    Args:
        report: Report with the rows.
        folder: Folder of results, with the encoders.
        name: Name of the pictures.
        rows: Rows with the same number of heads; the encoders of the first seed are drawn.
        sentence: Sentence to draw. "": the paper's.
    """
    from matplotlib.figure import Figure

    results = [report.of(row)[:1] for row in rows]
    if not all(results):
        return
    encoders = [load(as_path(folder) / "encoders" / result["encoder"]) for (result,) in results]
    sentence = sentence or SENTENCE
    words, weights = encoders[0].attention(sentence)
    size = (6.5 * len(rows), (0.6 + 0.2 * len(words)) * len(weights))
    figure = Figure(figsize=size, layout="constrained")
    panels = figure.subplots(len(weights), len(rows), squeeze=False)
    for encoder, row, axes in zip(encoders, rows, panels.T, strict=True):
        encoder.plot_attention(sentence, axes=axes)
        distance = encoder.head_distance(sentence)
        axes[0].set_title(
            f"{row}\nmean distance of heads {distance:.4f}\nhead 1 of {len(weights)}", fontsize=9
        )
    write_picture(figure, folder, name)
