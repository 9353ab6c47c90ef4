"""Whether encoders that are better in one thing are better in another: correlations, and pictures."""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .report import Made, Report
from .tables import MISSING, write_picture

__all__ = ["Correlations"]

_SEED = 1111  # of the bootstrap, as `evaluate` has it
_RESAMPLES = 2000
_FEWEST = 4  # encoders of which a correlation tells anything
Floats = npt.NDArray[np.float64]

# What the paper's text tells: mean and deviation over metrics, or one correlation.
_PAPER = {
    ("de", "heads"): "0.31",
    ("cs", "heads"): "0.87",
    ("cs", "pairwise"): "0.78 ± 0.32",
    ("cs", "bleu"): "-0.57 ± 0.31",
    ("cs", "heads and metrics"): "-0.81 ± 0.12",
    ("de", "heads and metrics"): "-0.18 ± 0.19",
}
_ASKED = {
    "heads": "heads and BLEU",
    "pairwise": "metrics of vectors with each other",
    "bleu": "BLEU and metrics of vectors",
    "heads and metrics": "heads and metrics of vectors",
}


@dataclass(frozen=True)
class Correlations:
    """The paper's question: whether BLEU and what judges vectors go together.

    Attributes:
        title: Of the table.
        bleu: By target languages, the column of BLEU.
        rows: By target languages, rows that translate and have vectors.
        heads: Of rows with inner attention, how many.
        metrics: Columns that judge vectors, of which those count that all rows have.
        average: The column that figure 3 shows.
    """

    title: str
    bleu: Mapping[str, str]
    rows: Mapping[str, Sequence[str]]
    heads: Mapping[str, int]
    metrics: Sequence[str]
    average: str

    def made(self, report: Report) -> Iterator[Made]:
        """The table of means, and that of each metric."""
        means, each = [], []
        for language in self.rows:
            names, metrics, bleu, values = self._figures(report, language)
            if len(names) < _FEWEST or not metrics:
                continue
            heads = np.array([self.heads.get(name, math.nan) for name in names])
            of_heads = np.isfinite(heads)
            asked: list[tuple[str, Callable[[Floats, Floats, Floats], Floats], npt.NDArray[np.bool_]]] = [
                ("heads", lambda b, h, v: _with(h, b[:, None]), of_heads),
                ("pairwise", lambda b, h, v: _pairwise(v), np.ones(len(names), np.bool_)),
                ("bleu", lambda b, h, v: _with(b, v), np.ones(len(names), np.bool_)),
                ("heads and metrics", lambda b, h, v: _with(h, v), of_heads),
            ]
            for key, of, kept in asked:
                if kept.sum() < _FEWEST:
                    continue
                found = of(bleu[kept], heads[kept], values[kept])
                low, high = _interval(of, bleu[kept], heads[kept], values[kept])
                spread = f" ± {found.std():.2f}" if len(found) > 1 else ""
                means.append(
                    [
                        f"{language}, {_ASKED[key]}",
                        str(int(kept.sum())),
                        f"{found.mean():.2f}{spread}",
                        f"{low:.2f} to {high:.2f}",
                        _PAPER.get((language, key), MISSING),
                    ]
                )
            for metric, value in zip(metrics, _with(bleu, values), strict=True):
                each.append([f"{language}, {metric}", f"{value:.2f}"])
        yield (
            self.title,
            ["correlation", "encoders", "mean ± deviation over metrics", "95 % of the mean", "paper"],
            means,
        )
        yield "BLEU and each metric", ["metric", "correlation"], each

    def notes(self, report: Report) -> Iterator[str]:
        """How they are come by, and the answer."""
        yield (
            "Correlations are Pearson's over encoders with a vector; those with heads over encoders with "
            "inner attention. Intervals resample encoders with replacement. They do not know what another "
            "seed would change."
        )
        for language in self.rows:
            names, metrics, bleu, values = self._figures(report, language)
            if len(names) < _FEWEST or not metrics:
                continue
            mean = float(_with(bleu, values).mean())
            low, high = _interval(lambda b, _, v: _with(b, v), bleu, np.zeros_like(bleu), values)
            answer = (
                "yes: the better the translation, the worse the vectors"
                if high < 0
                else "no: the better the translation, the better the vectors"
                if low > 0
                else "undecided: the interval holds 0"
            )
            yield (
                f"Are BLEU and vectors in opposition, {language}? {answer[0].upper()}{answer[1:]} "
                f"(mean correlation {mean:.2f}, {low:.2f} to {high:.2f}, over {len(names)} encoders and "
                f"{len(metrics)} metrics)."
            )

    def draw(self, report: Report, folder: str | os.PathLike[str]) -> None:
        """Draws figure 2, a heat map for each language, and figure 3, BLEU against the average."""
        from matplotlib.figure import Figure  # not pyplot, which would choose a window system

        for language in self.rows:
            names, metrics, bleu, values = self._figures(report, language)
            if len(names) < _FEWEST or not metrics:
                continue
            heads = np.array([self.heads.get(name, math.nan) for name in names])
            labels = ["BLEU", "heads", *(self._short(report, metric) for metric in metrics)]
            columns = np.column_stack([bleu, heads, values])  # [rows, 2 + metrics]
            figure = Figure(figsize=(2.2 + 0.36 * len(labels),) * 2, layout="constrained")
            axes = figure.subplots()
            matrix = np.array([[_correlation(a, b) for a in columns.T] for b in columns.T])
            image = axes.imshow(matrix, cmap="PiYG", vmin=-1, vmax=1)  # positive ones are green
            for i, j in np.ndindex(*matrix.shape):
                if math.isfinite(matrix[i, j]):
                    axes.text(j, i, f"{matrix[i, j]:.1f}", ha="center", va="center", fontsize=6)
            axes.set_xticks(range(len(labels)), labels, rotation=60, ha="right", fontsize=8)
            axes.set_yticks(range(len(labels)), labels, fontsize=8)
            axes.set_title(f"Pearson's correlation over {len(names)} encoders, en-{language}", fontsize=10)
            figure.colorbar(image, ax=axes, shrink=0.8)
            write_picture(figure, folder, f"fig2-{language}")
            self._scatter(report, language, folder)

    def _scatter(self, report: Report, language: str, folder: str | os.PathLike[str]) -> None:
        from matplotlib.figure import Figure

        rows = [name for name in self.rows[language] if self.average in report.scores(name)]
        rows = [name for name in rows if self.bleu[language] in report.scores(name)]
        if not rows:
            return
        figure = Figure(figsize=(7, 4.6), layout="constrained")
        axes = figure.subplots()
        points = [
            (report.scores(name)[self.bleu[language]], report.scores(name)[self.average]) for name in rows
        ]
        x, y = zip(*points, strict=True)
        axes.scatter(x, y, s=24, color="C0")
        for place, name in zip(points, rows, strict=True):
            axes.annotate(
                name.partition("-")[2], place, xytext=(4, 3), textcoords="offset points", fontsize=7
            )
        axes.set_xlabel(f"BLEU, en-{language}, test")
        axes.set_ylabel(f"{self.average.partition(' ')[0]}: mean accuracy, percent")
        axes.margins(x=0.12)
        write_picture(figure, folder, f"fig3-{language}")

    def _figures(self, report: Report, language: str) -> tuple[list[str], list[str], Floats, Floats]:
        """Rows, metrics that all of them have, BLEU [rows], and the metrics [rows, metrics]."""
        scores = {name: report.scores(name) for name in self.rows[language]}
        scores = {name: of for name, of in scores.items() if self.bleu[language] in of}
        metrics = [one for one in self.metrics if scores and all(one in of for of in scores.values())]
        bleu = np.array([of[self.bleu[language]] for of in scores.values()])
        values = np.array([[of[one] for one in metrics] for of in scores.values()])
        return list(scores), metrics, bleu, values

    @staticmethod
    def _short(report: Report, column: str) -> str:
        return report.names.get(column, column.partition(" ")[0]).partition(",")[0]


def _correlation(a: Floats, b: Floats) -> float:
    """Pearson's, of rows that have both; NaN where there are too few, or all are the same."""
    both = np.isfinite(a) & np.isfinite(b)
    a, b = a[both], b[both]
    if len(a) < _FEWEST or np.ptp(a) == 0 or np.ptp(b) == 0:
        return math.nan
    return float(np.corrcoef(a, b)[0, 1])


def _with(one: Floats, values: Floats) -> Floats:
    """The correlation of a figure with each column of others."""
    return np.array([_correlation(one, column) for column in values.T])


def _pairwise(values: Floats) -> Floats:
    """The correlations of all pairs of columns."""
    return np.array([_correlation(a, b) for a, b in itertools.combinations(values.T, 2)])


def _interval(of: Any, bleu: Floats, heads: Floats, values: Floats) -> tuple[float, float]:
    """Of the mean, over resampled rows; draws of which nothing is to be had are left out."""
    draw = np.random.default_rng(_SEED)
    means = []
    for _ in range(_RESAMPLES):
        rows = draw.integers(len(bleu), size=len(bleu))
        found = of(bleu[rows], heads[rows], values[rows])
        if np.isfinite(found).all():
            means.append(found.mean())
    low, high = np.percentile(means, [2.5, 97.5]) if means else (math.nan, math.nan)
    return float(low), float(high)
