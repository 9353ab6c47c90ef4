"""Correlations over encoders between BLEU, heads and the metrics of embeddings, and their pictures."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .._figures import heat_map, new_figure, scatter
from .report import Report, Table
from .tables import MISSING, TableText

__all__ = ["Correlations", "permutation_test"]

_SEED = 1111  # as in `evaluate`
_RESAMPLES = 2000
_PERMUTATIONS = 10_000
_FEWEST = 4  # encoders of a correlation
_FEWEST_RESAMPLED = (
    8  # encoders of an interval: of fewer, too many resamples hold two or three different ones
)
Floats = npt.NDArray[np.float64]
Correlated = Callable[[Floats, Floats, Floats], Floats]  # BLEU, heads, metrics -> correlations

# From the paper's text: one correlation, or mean and deviation over metrics.
_PAPER = {
    ("de", "heads and BLEU"): "0.31",
    ("cs", "heads and BLEU"): "0.87",
    ("cs", "metrics of vectors with each other"): "0.78 ± 0.32",
    ("cs", "BLEU and metrics of vectors"): "-0.57 ± 0.31",
    ("cs", "heads and metrics of vectors"): "-0.81 ± 0.12",
    ("de", "heads and metrics of vectors"): "-0.18 ± 0.19",
}


class _Encoders(NamedTuple):
    """The variables of the encoders of one language."""

    names: list[str]
    metrics: list[str]  # that all encoders have, and that vary
    constant: list[str]  # that do not vary
    bleu: Floats  # [encoders]
    heads: Floats  # [encoders], NaN without inner attention
    values: Floats  # [encoders, metrics]


@dataclass(frozen=True)
class Correlations(Table):
    """The paper's question: whether BLEU and the quality of embeddings are in opposition.

    Attributes:
        title: Title of the table.
        bleu: Target language -> column of its BLEU.
        rows: Target language -> rows that translate and have embeddings.
        heads: Row with inner attention -> number of heads.
        metrics: Columns of the metrics of embeddings; those that all rows have are used.
        average: Column of figure 3.
    """

    title: str
    bleu: Mapping[str, str]
    rows: Mapping[str, Sequence[str]]
    heads: Mapping[str, int]
    metrics: Sequence[str]
    average: str

    def content(self, report: Report) -> Iterator[TableText]:
        """The table of mean correlations, and that of BLEU with each metric."""
        means, each = [], []
        for language, encoders in self._languages(report):
            every = np.ones(len(encoders.names), np.bool_)
            with_heads = np.isfinite(encoders.heads)
            questions: dict[str, tuple[Correlated, npt.NDArray[np.bool_]]] = {
                "heads and BLEU": (lambda b, h, v: _with(h, b[:, None]), with_heads),
                "metrics of vectors with each other": (lambda b, h, v: _pairwise(v), every),
                "BLEU and metrics of vectors": (lambda b, h, v: _with(b, v), every),
                "heads and metrics of vectors": (lambda b, h, v: _with(h, v), with_heads),
            }
            for question, (correlated, chosen) in questions.items():
                if chosen.sum() < _FEWEST:
                    continue
                variables = encoders.bleu[chosen], encoders.heads[chosen], encoders.values[chosen]
                values = correlated(*variables)
                spread = f" ± {np.nanstd(values):.2f}" if len(values) > 1 else ""
                interval = _interval(correlated, *variables)
                means.append(
                    [
                        f"{language}, {question}",
                        str(int(chosen.sum())),
                        f"{np.nanmean(values):.2f}{spread}",
                        MISSING if interval is None else "{:.2f} to {:.2f}".format(*interval),
                        _PAPER.get((language, question), MISSING),
                    ]
                )
            values = _with(encoders.bleu, encoders.values)
            each += [[f"{language}, {m}", f"{v:.2f}"] for m, v in zip(encoders.metrics, values, strict=True)]
        heading = ["correlation", "encoders", "mean ± deviation over metrics"]
        yield self.title, [*heading, "95 % interval of the mean", "paper"], means
        yield "BLEU and each metric", ["metric", "correlation"], each

    def notes(self, report: Report) -> Iterator[str]:
        """How the correlations were computed, and the answer to the paper's question."""
        yield (
            "Correlations are Pearson's, over encoders with an embedding; those with heads are over encoders "
            "with inner attention. Intervals resample encoders with replacement (percentiles; with ten "
            "encoders they cover the true value in about 90 % of cases, not 95 %); with fewer than "
            f"{_FEWEST_RESAMPLED} encoders there is none. They do not cover the variance between seeds."
        )
        for language, encoders in self._languages(report):
            mean, p = permutation_test(encoders.bleu, encoders.values)
            answer = (
                "Undecided"
                if p >= 0.05
                else "Yes: the better the translation, the worse the vectors"
                if mean < 0
                else "No: the better the translation, the better the vectors"
            )
            yield (
                f"Are BLEU and vectors in opposition, {language}? {answer}. The mean correlation over "
                f"{len(encoders.metrics)} metrics and {len(encoders.names)} encoders is {mean:.2f}; "
                f"p = {p:.3f} by a two-sided permutation test of BLEU over encoders."
            )
            if encoders.constant:
                yield f"Equal for all encoders and left out: {', '.join(encoders.constant)}."

    def pictures(self, report: Report) -> Iterator[tuple[str, Any]]:
        """Figure 2, a heat map for each language, and figure 3, BLEU against the average."""
        for language, encoders in self._languages(report):
            yield f"fig2-{language}", self._heat_map(report, language, encoders)
            if points := self._points(report, language):
                figure, (axes,) = new_figure(7, 4.6)
                scatter(axes, points)
                axes.set_xlabel(f"BLEU, en-{language}, test")
                axes.set_ylabel(f"{self.average.partition(' ')[0]}: mean accuracy, percent")
                yield f"fig3-{language}", figure

    def _heat_map(self, report: Report, language: str, encoders: _Encoders) -> Any:
        heads = int(np.isfinite(encoders.heads).sum())
        labels = ["BLEU", f"heads ({heads} encoders)"]
        labels += [self._short(report, metric) for metric in encoders.metrics]
        columns = np.column_stack([encoders.bleu, encoders.heads, encoders.values])  # [encoders, 2 + metrics]
        matrix = np.array([[_correlation(a, b) for a in columns.T] for b in columns.T])
        side = 2.2 + 0.36 * len(labels)
        figure, (axes,) = new_figure(side, side)
        heat_map(figure, axes, labels, matrix)
        count = len(encoders.names)
        axes.set_title(f"Pearson's correlation over {count} encoders, en-{language}", fontsize=10)
        return figure

    def _points(self, report: Report, language: str) -> dict[str, tuple[float, float]]:
        """BLEU and the average of the encoders that have both."""
        scores = {name.partition("-")[2]: report.scores(name) for name in self.rows[language]}
        bleu = self.bleu[language]
        return {
            name: (values[bleu], values[self.average])
            for name, values in scores.items()
            if bleu in values and self.average in values
        }

    def _languages(self, report: Report) -> Iterator[tuple[str, _Encoders]]:
        """The languages with enough encoders and a metric."""
        for language, column in self.bleu.items():
            scores = {name: report.scores(name) for name in self.rows[language]}
            scores = {name: values for name, values in scores.items() if column in values}
            if len(scores) < _FEWEST:
                continue
            common = [name for name in self.metrics if all(name in values for values in scores.values())]
            constant = [name for name in common if len({values[name] for values in scores.values()}) == 1]
            if metrics := [name for name in common if name not in constant]:
                bleu = np.array([values[column] for values in scores.values()])
                heads = np.array([self.heads.get(name, math.nan) for name in scores])
                table = np.array([[values[name] for name in metrics] for values in scores.values()])
                yield language, _Encoders(list(scores), metrics, constant, bleu, heads, table)

    @staticmethod
    def _short(report: Report, column: str) -> str:
        return report.names.get(column, column.partition(" ")[0]).partition(",")[0]


def permutation_test(bleu: Floats, values: Floats) -> tuple[float, float]:
    """The mean correlation of BLEU with the metrics, and its two-sided p over permutations of BLEU.

    Args:
        bleu: BLEU of each encoder [encoders].
        values: Metrics of each encoder [encoders, metrics]; they are permuted together.

    Returns:
        The mean over metrics; and p, the fraction of permutations, with the identity, whose mean is at least
        as far from 0.
    """
    rng = np.random.default_rng(_SEED)
    mean = float(np.nanmean(_with(bleu, values)))
    centred = values - values.mean(0)
    norms = np.linalg.norm(centred, axis=0)
    units = (centred[:, norms > 0] / norms[norms > 0]).mean(1)  # mean of the standardised metrics [encoders]
    unit_bleu = (bleu - bleu.mean()) / np.linalg.norm(bleu - bleu.mean())
    permuted = np.array([rng.permutation(unit_bleu) @ units for _ in range(_PERMUTATIONS)])
    far = int((np.abs(permuted) >= abs(mean) - 1e-12).sum())
    return mean, (far + 1) / (_PERMUTATIONS + 1)


def _correlation(a: Floats, b: Floats) -> float:
    """Pearson's correlation of the finite pairs; NaN where they are too few, or constant."""
    both = np.isfinite(a) & np.isfinite(b)
    a, b = a[both], b[both]
    if len(a) < _FEWEST or np.ptp(a) == 0 or np.ptp(b) == 0:
        return math.nan
    return float(np.corrcoef(a, b)[0, 1])


def _with(one: Floats, values: Floats) -> Floats:
    """The correlation of a variable with each column."""
    return np.array([_correlation(one, column) for column in values.T])


def _pairwise(values: Floats) -> Floats:
    """The correlations of all pairs of columns."""
    return np.array([_correlation(a, b) for a, b in itertools.combinations(values.T, 2)])


def _interval(
    correlated: Correlated, bleu: Floats, heads: Floats, values: Floats
) -> tuple[float, float] | None:
    """The 95 % interval of the mean over resampled encoders; None where they are too few."""
    if len(bleu) < _FEWEST_RESAMPLED:
        return None
    rng = np.random.default_rng(_SEED)
    means: list[float] = []
    while len(means) < _RESAMPLES:
        sample = rng.integers(len(bleu), size=len(bleu))
        if len(set(sample.tolist())) < _FEWEST:
            continue
        correlations = correlated(bleu[sample], heads[sample], values[sample])
        if np.isfinite(correlations).any():
            means.append(float(np.nanmean(correlations)))
    low, high = np.percentile(means, [2.5, 97.5])
    return float(low), float(high)
