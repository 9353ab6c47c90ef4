"""Whether encoders that are better in one thing are better in another: correlations, and pictures."""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .._figures import heat_map, new_figure, scatter
from .report import Made, Report
from .tables import MISSING, write_picture

__all__ = ["Correlations", "permutation_test"]

_SEED = 1111  # as `evaluate` has it
_RESAMPLES = 2000
_PERMUTATIONS = 10_000
_FEWEST = 4  # encoders of which a correlation tells anything
_FEWEST_DRAWN = 8  # encoders that are resampled: of fewer, too many resamples hold two or three of them
Floats = npt.NDArray[np.float64]

# What the paper's text tells: one correlation, or mean and deviation over metrics.
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


class _Figures(NamedTuple):
    """What is correlated, of encoders of one language."""

    names: list[str]
    metrics: list[str]  # that all have, and that are not the same for all
    constant: list[str]  # that are
    bleu: Floats  # [rows]
    heads: Floats  # [rows], NaN without inner attention
    values: Floats  # [rows, metrics]


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
        for language, of in self._languages(report):
            every = np.ones(len(of.names), np.bool_)
            with_heads = np.isfinite(of.heads)
            asked: dict[str, tuple[Callable[[Floats, Floats, Floats], Floats], npt.NDArray[np.bool_]]] = {
                "heads": (lambda b, h, v: _with(h, b[:, None]), with_heads),
                "pairwise": (lambda b, h, v: _pairwise(v), every),
                "bleu": (lambda b, h, v: _with(b, v), every),
                "heads and metrics": (lambda b, h, v: _with(h, v), with_heads),
            }
            for key, (correlated, kept) in asked.items():
                if kept.sum() < _FEWEST:
                    continue
                given = of.bleu[kept], of.heads[kept], of.values[kept]
                found = correlated(*given)
                spread = f" ± {np.nanstd(found):.2f}" if len(found) > 1 else ""
                ends = _interval(correlated, *given)
                means.append(
                    [
                        f"{language}, {_ASKED[key]}",
                        str(int(kept.sum())),
                        f"{np.nanmean(found):.2f}{spread}",
                        MISSING if ends is None else f"{ends[0]:.2f} to {ends[1]:.2f}",
                        _PAPER.get((language, key), MISSING),
                    ]
                )
            for metric, value in zip(of.metrics, _with(of.bleu, of.values), strict=True):
                each.append([f"{language}, {metric}", f"{value:.2f}"])
        heading = ["correlation", "encoders", "mean ± deviation over metrics"]
        yield self.title, [*heading, "95 % interval of the mean", "paper"], means
        yield "BLEU and each metric", ["metric", "correlation"], each

    def notes(self, report: Report) -> Iterator[str]:
        """What the figures are, and the answer to the paper's question."""
        yield (
            "Correlations are Pearson's over encoders that have a vector; those with heads are over encoders "
            "with inner attention. Intervals resample encoders with replacement (percentiles; about 90 % "
            f"rather than 95 % of them hold the truth with ten encoders). Below {_FEWEST_DRAWN} encoders "
            "there is none. They do not know what another seed would change."
        )
        for language, of in self._languages(report):
            mean, p = permutation_test(of.bleu, of.values)
            answer = (
                "undecided"
                if p >= 0.05
                else "yes: the better the translation, the worse the vectors"
                if mean < 0
                else "no: the better the translation, the better the vectors"
            )
            yield (
                f"Are BLEU and vectors in opposition, {language}? {answer[0].upper()}{answer[1:]}. The mean "
                f"correlation over {len(of.metrics)} metrics and {len(of.names)} encoders is {mean:.2f}; "
                f"p = {p:.3f} by a two-sided permutation test of BLEU over encoders."
            )
            if of.constant:
                yield f"The same for all encoders, and in no correlation: {', '.join(of.constant)}."

    def draw(self, report: Report, folder: str | os.PathLike[str]) -> None:
        """Draws figure 2, a heat map for each language, and figure 3, BLEU against the average."""
        for language, of in self._languages(report):
            heads = int(np.isfinite(of.heads).sum())
            labels = ["BLEU", f"heads ({heads} encoders)"]
            labels += [self._short(report, metric) for metric in of.metrics]
            columns = np.column_stack([of.bleu, of.heads, of.values])  # [rows, 2 + metrics]
            matrix = np.array([[_correlation(a, b) for a in columns.T] for b in columns.T])
            side = 2.2 + 0.36 * len(labels)
            figure, (axes,) = new_figure(side, side)
            heat_map(figure, axes, labels, matrix)
            axes.set_title(f"Pearson's correlation over {len(of.names)} encoders, en-{language}", fontsize=10)
            write_picture(figure, folder, f"fig2-{language}")
            self._scatter(report, language, folder)

    def _scatter(self, report: Report, language: str, folder: str | os.PathLike[str]) -> None:
        scores = {name.partition("-")[2]: report.scores(name) for name in self.rows[language]}
        bleu = self.bleu[language]
        points = {
            name: (of[bleu], of[self.average])
            for name, of in scores.items()
            if bleu in of and self.average in of
        }
        if not points:
            return
        figure, (axes,) = new_figure(7, 4.6)
        scatter(axes, points)
        axes.set_xlabel(f"BLEU, en-{language}, test")
        axes.set_ylabel(f"{self.average.partition(' ')[0]}: mean accuracy, percent")
        write_picture(figure, folder, f"fig3-{language}")

    def _languages(self, report: Report) -> Iterator[tuple[str, _Figures]]:
        """Those with enough encoders, and a metric."""
        for language in self.rows:
            scores = {name: report.scores(name) for name in self.rows[language]}
            scores = {name: of for name, of in scores.items() if self.bleu[language] in of}
            if len(scores) < _FEWEST:
                continue
            there = [one for one in self.metrics if all(one in of for of in scores.values())]
            constant = [one for one in there if len({of[one] for of in scores.values()}) == 1]
            metrics = [one for one in there if one not in constant]
            if not metrics:
                continue
            bleu = np.array([of[self.bleu[language]] for of in scores.values()])
            heads = np.array([self.heads.get(name, math.nan) for name in scores])
            values = np.array([[of[one] for one in metrics] for of in scores.values()])
            yield language, _Figures(list(scores), metrics, constant, bleu, heads, values)

    @staticmethod
    def _short(report: Report, column: str) -> str:
        return report.names.get(column, column.partition(" ")[0]).partition(",")[0]


def permutation_test(bleu: Floats, values: Floats) -> tuple[float, float]:
    """The mean correlation of a figure with others, and how probable one as far from 0 is by chance.

    Args:
        bleu: Of each encoder [rows]: what is dealt out anew.
        values: Of each encoder, which stay together [rows, metrics].

    Returns:
        The mean over metrics, and p: the share of permutations, with the one that is there, whose mean is at
        least as far from 0.
    """
    draw = np.random.default_rng(_SEED)
    mean = float(np.nanmean(_with(bleu, values)))
    apart = values - values.mean(0)
    norms = np.linalg.norm(apart, axis=0)
    units = (apart[:, norms > 0] / norms[norms > 0]).mean(1)  # of all metrics together [rows]
    centred = (bleu - bleu.mean()) / np.linalg.norm(bleu - bleu.mean())
    others = np.array([draw.permutation(centred) @ units for _ in range(_PERMUTATIONS)])
    far = int((np.abs(others) >= abs(mean) - 1e-12).sum())
    return mean, (far + 1) / (_PERMUTATIONS + 1)


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


def _interval(correlated: Any, bleu: Floats, heads: Floats, values: Floats) -> tuple[float, float] | None:
    """Of the mean, over resampled rows of which some differ; None where there are too few rows."""
    if len(bleu) < _FEWEST_DRAWN:
        return None
    draw = np.random.default_rng(_SEED)
    means: list[float] = []
    while len(means) < _RESAMPLES:
        rows = draw.integers(len(bleu), size=len(bleu))
        if len(set(rows.tolist())) < _FEWEST:
            continue
        found = correlated(bleu[rows], heads[rows], values[rows])
        if np.isfinite(found).any():
            means.append(float(np.nanmean(found)))
    low, high = np.percentile(means, [2.5, 97.5])
    return float(low), float(high)
