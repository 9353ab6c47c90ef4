"""What tables of scores do not show of heads: accuracy after each epoch, and where their weights lie."""

from __future__ import annotations

import os
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .._figures import legend, lines, new_figure
from ..files import as_path
from ..saved import load
from .report import Made, Report
from .tables import MISSING, number, write_picture

if TYPE_CHECKING:
    from .labelled import Labels

__all__ = ["SENTENCE", "Epochs", "Heads", "head_distance", "heat_maps"]

SENTENCE = (
    'Martin Luther King "I was not afraid of the words of the violent, but of the silence of the honest"'
)
_SOME = 200  # examples whose heads are compared


def head_distance(encoder: Any, labels: Labels) -> float:
    """The mean distance of two heads' weights, over some of the first sentences that test an encoder."""
    examples = next(iter(labels.tests.values())).sentences
    some = examples[:: max(1, len(examples) // _SOME)][:_SOME]
    texts = [one if isinstance(one, str) else one[-1] for one in some]
    found = []
    for text in texts:
        try:
            found.append(encoder.head_distance(text))
        except ValueError:  # none of its words is known
            continue
    return round(statistics.fmean(found), 6) if found else 0.0


@dataclass(frozen=True)
class Epochs:
    """Accuracy on what is validated on, after each epoch: the paper's Figure 1.

    Attributes:
        title: Of the table.
        lines: By kinds of weights, which have a panel each, rows by numbers of heads.
    """

    title: str
    lines: Mapping[str, Mapping[int, str]]

    @property
    def rows(self) -> tuple[str, ...]:
        """All of them."""
        return tuple(row for of in self.lines.values() for row in of.values())

    def curves(self, report: Report) -> Iterator[tuple[str, int, list[float]]]:
        """Of rows that are there: the kind of weights, heads, and percents, the mean of seeds."""
        for kind, of in self.lines.items():
            for heads, row in of.items():
                runs = [[100 * one[2] for one in result["validations"]] for result in report.of(row)]
                if runs:
                    yield kind, heads, [statistics.fmean(at) for at in zip(*runs, strict=False)]

    def made(self, report: Report) -> Iterator[Made]:
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
        """What there is in the paper's text."""
        yield "The paper's best on SNLI's development set: vectors, 9 heads, 86.8; scalars, 7 heads, 86.4."

    def draw(self, report: Report, folder: str | os.PathLike[str]) -> None:
        """Draws the curves as `fig1.png` and `fig1.svg`, if there are any."""
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
        write_picture(figure, folder, "fig1")


@dataclass(frozen=True)
class Heads:
    """How far apart heads are, and whether the penalty was at work.

    Attributes:
        title: Of the table.
        rows: That it shows.
    """

    title: str
    rows: Sequence[str]

    def made(self, report: Report) -> Iterator[Made]:
        """The table."""
        rows = []
        for row, name, result in report.each():
            if row in self.rows and "config" in result:
                told = result.get("figures", {})
                cells = [number(told.get(when, {}).get("active"), 3) for when in ("first", "last")]
                mu = result.get("taken", f"mu {result['config']['mu']}") if told else MISSING
                distance = result["scores"].get("head distance", {}).get("value")
                rows.append([name, mu.removeprefix("mu "), *cells, number(distance, 4)])
        yield self.title, ["row", "mu", "active, first step", "active, last step", "head distance"], rows

    def notes(self, report: Report) -> Iterator[str]:
        """What the figures are."""
        yield (
            "Head distance: sqrt(mean over numbers of sum over words of (A_i - A_j)^2), the mean of pairs of "
            f"heads and {_SOME} test sentences. Active: the share of pairs of heads that are nearer than the "
            "margin, so that the penalty is not 0."
        )


def heat_maps(
    report: Report, folder: str | os.PathLike[str], name: str, rows: Sequence[str], sentence: str = ""
) -> None:
    """Draws the weights of rows' heads beside each other, as the paper's Figure 2, if all are there.

    Args:
        report: Of the rows.
        folder: Of results, with their encoders.
        name: Of the pictures.
        rows: With as many heads; the first seed's are drawn.
        sentence: Whose words are weighed. "": the paper's.
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
