"""Scores during a training, against the number of sentences seen: their computation, and a chart."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .._figures import legend, lines, new_figure
from ..training import Callback, History
from .report import Report, Table
from .results_folder import Results, as_json

__all__ = ["CurveLog", "Curves", "curve_of"]


class CurveLog(Callback):
    """Writes the scores at each validation to a file of the folder of results.

    A resumed training continues its file; a repeated validation replaces its scores.

    Args:
        results: Folder of results.
        file: Name of the file in it.
        score: Network -> column, as in `"STS14 pearson"` -> score.
    """

    def __init__(self, results: Results, file: str, score: Callable[[Any], Mapping[str, float]]) -> None:
        self.results, self.file, self.score = results, file, score

    def on_validation(self, trainer: Any, validation: Any) -> None:
        """Adds the scores of the current weights."""
        self.add(validation.step, trainer.model)

    def add(self, step: int, network: Any) -> None:
        """Adds the scores of a network after this many steps."""
        scores = {**(self.results.read(self.file) or {}), str(step): self.score(network)}
        self.results.write(self.file, as_json(scores))


def curve_of(history: History, scores: Mapping[str, Any]) -> list[list[Any]]:
    """Return points [sentences seen, scores]: before the first step, and at each validation.

    Args:
        history: Steps and validations of the training.
        scores: Number of steps -> scores, as `CurveLog` writes them.
    """
    seen = {0: 0}
    for step in history.steps:
        seen[step.step] = seen[max(seen)] + step.examples
    steps = sorted({0, *(validation.step for validation in history.validations)})
    return [[seen[step], scores[str(step)]] for step in steps if str(step) in scores]


@dataclass(frozen=True)
class Curves(Table):
    """A chart of scores against sentences seen, with a panel for each column and a curve for each training.

    Attributes:
        columns: Columns, as in `"STS14 pearson"`; those that were not computed are left out.
    """

    columns: Sequence[str]

    def pictures(self, report: Report) -> Iterator[tuple[str, Any]]:
        """The chart, if a row has a curve."""
        curves = {name: result["curve"] for _, name, result in report.each() if result.get("curve")}
        scored = [scores for curve in curves.values() for _, scores in curve]
        columns = [column for column in self.columns if scored and all(column in one for one in scored)]
        if not columns:
            return
        figure, panels = new_figure(4.5 * len(columns), 4.5, len(columns))
        for axes, column in zip(panels, columns, strict=True):
            points = {
                name: ([seen for seen, _ in curve], [scores[column] for _, scores in curve])
                for name, curve in curves.items()
            }
            handles = lines(axes, points)
            axes.set(xlabel="sentences seen", ylabel=f"{report.heading([column])[1]}, Pearson's r")
        legend(figure, handles, loc="outside lower center", ncols=2, fontsize=8)
        yield "curve", figure
