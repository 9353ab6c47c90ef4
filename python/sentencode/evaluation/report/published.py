"""Scores of the five papers' tables as printed, for comparison with measured ones.

They are in the package's `data/published.json`, in rows and columns as in the papers. Bold print is recorded
only in notes.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import resources
from typing import Any

# Note for tables with published scores of trained classifiers (`PublishedFigure.learnt`).
ANOTHER_PROTOCOL = (
    "Published under another protocol: classifiers and regressions of SentEval at the time, whose solver, "
    "folds and seed the papers do not report. Such scores are comparable to a point or several, not exactly."
)

__all__ = ["ANOTHER_PROTOCOL", "Paper", "PublishedFigure", "published", "published_for"]


@dataclass(frozen=True)
class Paper:
    """A paper with published scores.

    Attributes:
        id: Number of the paper in this project, `"000"` to `"004"`.
        title: Title of the paper.
        authors: Names of the authors.
        venue: Conference.
        year: Year of publication.
        notes: Notes on all of its scores.
    """

    id: str
    title: str
    authors: str
    venue: str
    year: int
    notes: tuple[str, ...]

    @property
    def citation(self) -> str:
        """Authors, title, venue and year in a line."""
        return f"{self.authors}. {self.title}. {self.venue}, {self.year}."


@dataclass(frozen=True)
class PublishedFigure:
    """One cell of a published table.

    Attributes:
        paper: The paper.
        table: Number of the table as printed, or the section, if the score is in the text.
        caption: Topic of the table.
        system: Name of the system.
        task: SentEval's name of the task, if it has one.
        metric: Name of the metric. `pearson` of SICKRelatedness and STSBenchmark is that of a trained
            regression; `cosine_pearson` that of cosines, without training.
        split: `"train"`, `"dev"` or `"test"`.
        value: The score.
        unit: Unit of the metric, as `"percent"` or `"correlation"`.
        printed: The score with the printed digits.
        own: Whether the system is the paper's own, not one for comparison.
        group: Section of the table.
        size: Dimensions of the embeddings, if reported.
        heads: Number of attention heads, if reported.
        notes: Source of the score, if not this paper, and remarks.
    """

    paper: Paper
    table: str
    caption: str
    system: str
    task: str
    metric: str
    split: str
    value: float
    unit: str
    printed: str
    own: bool
    group: str = ""
    size: int | None = None
    heads: int | None = None
    notes: str = ""

    @property
    def learnt(self) -> bool:
        """Whether the score involves training on the task's examples, and so depends on the paper's protocol.

        This holds for accuracies, relatedness, and averages over such tasks, including AvgSim. The cosines of
        STS years are the same under every protocol.

        Example:
            >>> from sentencode.evaluation import published_for
            >>> published_for("STSBenchmark", "pearson")[0].learnt
            True
            >>> published_for("STS14", "pearson")[0].learnt, published_for("AvgSim", "correlation")[0].learnt
            (False, True)
        """
        if self.metric in ("pearson", "spearman"):
            return not self.task.startswith("STS1")
        return self.metric in ("accuracy", "f1", "macro", "micro", "correlation")


def published(paper: str | None = None, table: str | None = None) -> tuple[PublishedFigure, ...]:
    """Published scores, in the order of papers, tables, rows and columns.

    Args:
        paper: `"000"` to `"004"`. None: all.
        table: One table of the paper, as `"2"` or `"II"`. None: all.

    Raises:
        ValueError: There is no such paper or table.

    Example:
        >>> from sentencode.evaluation import published
        >>> best = max(published("002", "1"), key=lambda figure: figure.value)
        >>> best.system, best.task, best.metric, best.printed, best.unit
        ('1200D BiLSTM generalized pooling', 'SNLI', 'accuracy', '86.6', 'percent')
        >>> best.paper.citation
        'Qian Chen, ... Enhancing Sentence Embedding with Generalized Pooling. COLING, 2018.'
    """
    figures = _figures()
    if paper is not None:
        figures = _only(figures, "paper", paper, lambda figure: figure.paper.id)
    if table is not None:
        figures = _only(figures, "table", table, lambda figure: figure.table)
    return figures


def published_for(task: str, metric: str, *, split: str = "test") -> tuple[PublishedFigure, ...]:
    """Published scores of a task, the highest first.

    Args:
        task: SentEval's name of the task, or that of `PublishedFigure.task`.
        metric: Name of the metric, as `"accuracy"`, `"f1"`, `"pearson"`, `"spearman"` or `"cosine_pearson"`.
        split: `"train"`, `"dev"` or `"test"`.

    Returns:
        The scores; a system in several tables has several.

    Example:
        >>> from sentencode.evaluation import published_for
        >>> for figure in published_for("STSBenchmark", "pearson")[:2]:
        ...     print(figure.system, figure.printed, figure.paper.id)
        InferSent 0.76 003
        cs-FINAL-CTX 0.74 003
    """
    wanted = (task, metric, split)
    figures = [figure for figure in _figures() if (figure.task, figure.metric, figure.split) == wanted]
    return tuple(sorted(figures, key=lambda figure: -figure.value))


def _only(
    figures: tuple[PublishedFigure, ...], what: str, name: str, name_of: Any
) -> tuple[PublishedFigure, ...]:
    """The figures with a name."""
    named = tuple(figure for figure in figures if name_of(figure) == name)
    if not named:
        names = ", ".join(dict.fromkeys(name_of(figure) for figure in figures))
        raise ValueError(f"{what} {name!r} is not among the published ones; there are {names}")
    return named


@functools.cache
def _figures() -> tuple[PublishedFigure, ...]:
    text = resources.files("sentencode").joinpath("data/published.json").read_text(encoding="utf-8")
    # Numbers stay strings, which keep the printed digits: 0.70 is not 0.7.
    data = json.loads(text, parse_float=str, parse_int=str)
    return tuple(figure for paper in data["papers"] for figure in _of_paper(paper, data["units"]))


def _of_paper(data: dict[str, Any], units: dict[str, str]) -> Iterator[PublishedFigure]:
    paper = Paper(
        data["id"], data["title"], data["authors"], data["venue"], int(data["year"]), tuple(data["notes"])
    )
    for table in data["tables"]:
        for row in table["rows"]:
            for column, printed in zip(table["columns"], row["figures"], strict=True):
                if printed is None:
                    continue
                task, metric, *split = column.split()
                yield PublishedFigure(
                    paper=paper,
                    table=table["table"],
                    caption=table["caption"],
                    system=row["system"],
                    task=task,
                    metric=metric,
                    split=split[0] if split else "test",
                    value=float(printed),
                    unit=units[metric],
                    printed=printed,
                    own=row["own"],
                    group=row.get("group", ""),
                    size=int(row["size"]) if "size" in row else None,
                    heads=int(row["heads"]) if "heads" in row else None,
                    notes=row.get("notes", ""),
                )
