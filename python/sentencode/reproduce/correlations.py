"""Correlations over encoders between BLEU, heads and the metrics of embeddings, and their pictures."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .._figures import heat_map, new_figure, scatter
from .report import Report, Table
from .results_folder import Result
from .tables import MISSING, TableText, filled_columns

__all__ = ["Correlations", "permutation_test"]

_SEED = 1111  # as in `evaluate`
_RESAMPLES = 2000
_PERMUTATIONS = 10_000
_LEVEL = 0.05  # of a verdict, divided by the number of groups
_FEWEST = 4  # encoders of a correlation
_FEWEST_RESAMPLED = (
    8  # encoders of an interval: of fewer, too many resamples hold two or three different ones
)
Floats = npt.NDArray[np.float64]

# From the paper's text.
_HEADS_AND_BLEU = {"de": "0.31", "cs": "0.87"}


class _Encoders(NamedTuple):
    """The variables of the encoders of one language."""

    names: list[str]
    metrics: list[str]  # that all encoders have, and that vary
    constant: list[str]  # that do not vary
    bleu: Floats  # [encoders]
    heads: Floats  # [encoders], NaN without inner attention
    values: Floats  # [encoders, metrics]


class _Compared(NamedTuple):
    """A variable of encoders, and metrics that it is correlated with."""

    metrics: list[str]
    one: Floats  # [encoders]
    values: Floats  # [encoders, metrics]

    def signs(self) -> str:
        """How many correlations are negative."""
        correlations = _with(self.one, self.values)
        return f"{int((correlations < 0).sum())} of {len(correlations)}"


@dataclass(frozen=True)
class Correlations(Table):
    """The paper's question: whether BLEU and the quality of embeddings are in opposition.

    Each group of metrics is tested, because groups may have correlations of opposite sign. So have single
    metrics of paraphrases, each of which is a group.

    Attributes:
        title: Title of the table.
        bleu: Target language -> column of its BLEU.
        rows: Target language -> rows that translate and have embeddings.
        heads: Row with inner attention -> number of heads.
        groups: Group -> columns of its metrics; those that all rows have are used.
        average: Column of figure 3.
        published: Target language -> the paper's tables of its rows.
        epochs: Target language -> epochs of the paper's trainings.
    """

    title: str
    bleu: Mapping[str, str]
    rows: Mapping[str, Sequence[str]]
    heads: Mapping[str, int]
    groups: Mapping[str, Sequence[str]]
    average: str
    published: Mapping[str, Sequence[str]]
    epochs: Mapping[str, int]

    def content(self, report: Report) -> Iterator[TableText]:
        """The tables of mean correlations, of BLEU with each metric, and of the paper's figures."""
        means, each = [], []
        paper = self._papers(report)
        for language, encoders in self._languages(report):
            for question, compared in self._questions(encoders):
                values, printed = _with(*compared[1:]), paper.get(f"{language}, {question}")
                text = _HEADS_AND_BLEU[language] if question == "heads and BLEU" else MISSING
                interval = _interval(*compared[1:])
                means.append(
                    [
                        f"{language}, {question}",
                        str(len(compared.one)),
                        compared.signs(),
                        f"{values.mean():.2f}" + (f" ± {values.std():.2f}" if len(values) > 1 else ""),
                        MISSING if interval is None else "{:.2f} to {:.2f}".format(*interval),
                        _level(permutation_test(*compared[1:])[1]).removeprefix("= "),
                        text if printed is None else f"{printed.mean():.2f}",
                    ]
                )
            values = _with(encoders.bleu, encoders.values)
            each += [[f"{language}, {m}", f"{v:.2f}"] for m, v in zip(encoders.metrics, values, strict=True)]
        heading = ["correlation", "encoders", "negative", "mean ± deviation over metrics"]
        yield self.title, [*heading, "95 % interval of the mean", "p", "paper"], means
        yield "BLEU and each metric", ["metric", "correlation"], each
        for language, _ in self._languages(report):
            yield self._published_table(report, language)

    def _published_table(self, report: Report, language: str) -> TableText:
        """The paper's figures that its correlations are over, of all its encoders, trained here or not."""
        columns = [self.bleu[language], *(column for group in self.groups.values() for column in group)]
        cells = [
            [f"{report.rows[row].printed or row}, paper", *report.marked(columns, figures)]
            for row, figures in self._printed(report, language).items()
        ]
        tables = " and ".join(self.published[language])
        title = f"The paper's figures, which its correlations are over: {language}, tables {tables}"
        return title, *filled_columns(report.heading(columns), cells)

    def findings(self, report: Report) -> Iterator[Result]:
        """Whether better translation makes worse embeddings, for each language and group."""
        paper = self._papers(report)
        for language, encoders in self._languages(report):
            groups = {name: one for name, one in self._questions(encoders) if name.startswith("BLEU")}
            for question, compared in groups.items():
                mean, p = permutation_test(*compared[1:])
                interval, printed = _interval(*compared[1:]), paper.get(f"{language}, {question}")
                if interval is None:
                    continue
                reasons, count = [f"p {_level(p)}"], len(compared.metrics)
                reasons += [f"{compared.signs()} metrics negative"] * (count > 1)
                reasons += _fewer_epochs(report.settings, language, self.epochs[language])
                low, high = interval
                sign = "holds" if high < 0 else "differs" if low > 0 else "undecided"
                yield {
                    "claim": "better translation makes worse embeddings",
                    "compared": f"{question}, {language}",
                    "unit": "correlation over encoders",
                    "tasks": compared.metrics,
                    "of": count,
                    "seeds": min(len(report.of(name)) for name in encoders.names),
                    "value": round(mean, 4),
                    "low": low,
                    "high": high,
                    "verdict": sign if p < _LEVEL / len(groups) else "undecided",
                    "reasons": reasons,
                    "paper": None if printed is None else round(float(printed.mean()), 4),
                }

    def notes(self, report: Report) -> Iterator[str]:
        """How the correlations were computed."""
        yield (
            "Correlations are Pearson's, over encoders with an embedding; those with heads are over encoders "
            "with inner attention. Intervals resample encoders with replacement (percentiles; with ten "
            "encoders they cover the true value in about 90 % of cases, not 95 %); with fewer than "
            f"{_FEWEST_RESAMPLED} encoders there is none. They do not cover the variance between seeds. p is "
            "that of the mean, by a two-sided permutation test over encoders. The paper's means are those of "
            "its tables 4 to 6, over the metrics that they print; its text has heads and BLEU."
        )
        for _, encoders in self._languages(report):
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
        columns = [column for group in self.groups.values() for column in group]
        for language, column in self.bleu.items():
            scores = {name: report.scores(name) for name in self.rows[language]}
            scores = {name: values for name, values in scores.items() if column in values}
            if len(scores) < _FEWEST:
                continue
            common = [name for name in columns if all(name in values for values in scores.values())]
            constant = [name for name in common if len({values[name] for values in scores.values()}) == 1]
            if metrics := [name for name in common if name not in constant]:
                bleu = np.array([values[column] for values in scores.values()])
                heads = np.array([self.heads.get(name, math.nan) for name in scores])
                table = np.array([[values[name] for name in metrics] for values in scores.values()])
                yield language, _Encoders(list(scores), metrics, constant, bleu, heads, table)

    def _questions(self, encoders: _Encoders) -> Iterator[tuple[str, _Compared]]:
        """Heads with BLEU, and both with each group of metrics; where enough encoders have them."""
        yield from _compared("heads and BLEU", encoders.heads, encoders.bleu[:, None], ["BLEU"])
        for name, variable in (("BLEU", encoders.bleu), ("heads", encoders.heads)):
            for group, columns in self.groups.items():
                metrics = [metric for metric in encoders.metrics if metric in columns]
                values = encoders.values[:, [encoders.metrics.index(metric) for metric in metrics]]
                yield from _compared(f"{name} and {group}", variable, values, metrics)

    def papers_report(self, report: Report) -> Report:
        """The report with the paper's figures in place of ours."""
        results: list[Result] = []
        for language in self.published:
            for row, figures in self._printed(report, language).items():
                scores = {column: {"value": float(x)} for column, x in figures.items()}
                results.append({"row": row, "seed": 0, "scores": scores})
        return replace(report, results=results)

    def _printed(self, report: Report, language: str) -> dict[str, dict[str, str]]:
        """The paper's figures of a language: row -> column -> figure, without rows that have none."""
        tables = [report.printed(table) for table in self.published[language]]
        printed = {}
        for row in self.rows[language]:
            name = report.rows[row].printed or row
            if figures := {column: x for of in tables for column, x in of.get(name, {}).items()}:
                printed[row] = figures
        return printed

    def _papers(self, report: Report) -> dict[str, Floats]:
        """The correlations of the paper's figures, for each language and question."""
        return {
            f"{language}, {question}": _with(compared.one, compared.values)
            for language, encoders in self._languages(self.papers_report(report))
            for question, compared in self._questions(encoders)
            if question != "heads and BLEU"  # which its text has
        }

    @staticmethod
    def _short(report: Report, column: str) -> str:
        return report.names.get(column, column.partition(" ")[0]).partition(",")[0]


def _level(p: float) -> str:
    return f"= {p:.3f}" if p >= 0.0005 else "< 0.001"


def _fewer_epochs(settings: Mapping[str, Any], language: str, paper: int) -> list[str]:
    """That the trainings had fewer epochs than the paper's, if the settings say so."""
    size = settings.get("size", {})
    options = {**size.get("training", {}), **size.get("corpus_training", {}).get(language, {})}
    epochs = settings.get("epochs", options.get("max_epochs"))
    return [] if epochs is None or epochs >= paper else [f"only {epochs} of the paper's {paper} epochs"]


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
    """The correlation of a variable with each column; NaN for a constant."""
    a, b = one - one.mean(), values - values.mean(0)
    constant = (np.ptp(values, axis=0) == 0) | (np.ptp(one) == 0)
    norms = np.where(constant, np.nan, np.linalg.norm(a) * np.linalg.norm(b, axis=0))
    correlations: Floats = a @ b / norms
    return correlations


def _compared(
    question: str, one: Floats, values: Floats, metrics: list[str]
) -> Iterator[tuple[str, _Compared]]:
    """The encoders that have the variable, and the metrics that vary over them.

    Nothing if the encoders are too few, the variable is constant, or no metric varies.
    """
    there = np.isfinite(one)
    if there.sum() < _FEWEST or np.ptp(one[there]) == 0:
        return
    varying = np.ptp(values[there], axis=0) > 0
    if varying.any():
        names = [metric for metric, varies in zip(metrics, varying, strict=True) if varies]
        yield question, _Compared(names, one[there], values[there][:, varying])


def _interval(one: Floats, values: Floats) -> tuple[float, float] | None:
    """The 95 % interval of the mean over resampled encoders; None where they are too few."""
    if len(one) < _FEWEST_RESAMPLED:
        return None
    rng = np.random.default_rng(_SEED)
    means: list[float] = []
    while len(means) < _RESAMPLES:
        sample = rng.integers(len(one), size=len(one))
        if len(set(sample.tolist())) < _FEWEST:
            continue
        correlations = _with(one[sample], values[sample])
        if np.isfinite(correlations).any():
            means.append(float(np.nanmean(correlations)))
    low, high = np.percentile(means, [2.5, 97.5])
    return round(float(low), 4), round(float(high), 4)
