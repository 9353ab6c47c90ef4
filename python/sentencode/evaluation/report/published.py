"""The tables of the five papers: their figures as printed, to stand beside what is measured here.

The figures lie in the package, `data/published.json`, as rows and columns like the papers' own. Bold print is
not recorded but where the notes tell of it.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import resources
from typing import Any

# What is to be said where figures of papers stand beside measured ones and `PublishedFigure.learnt`.
ANOTHER_PROTOCOL = (
    "Published under another protocol: classifiers and regressions of SentEval as it was then, whose solver, "
    "folds and seed the papers do not tell. Such figures compare to a point or several, not to the digit."
)

__all__ = ["ANOTHER_PROTOCOL", "Paper", "PublishedFigure", "published", "published_for"]


@dataclass(frozen=True)
class Paper:
    """Where figures were published.

    Attributes:
        id: As the project numbers the papers, `"000"` to `"004"`.
        title: Of the paper.
        authors: Their names.
        venue: The conference.
        year: Of publication.
        notes: What holds for all of its figures.
    """

    id: str
    title: str
    authors: str
    venue: str
    year: int
    notes: tuple[str, ...]

    @property
    def citation(self) -> str:
        """All of it in a line."""
        return f"{self.authors}. {self.title}. {self.venue}, {self.year}."


@dataclass(frozen=True)
class PublishedFigure:
    """One cell of a published table.

    Attributes:
        paper: Where it was published.
        table: The number of the table as the paper prints it, or the section where the text tells it.
        caption: What the table shows.
        system: What was measured.
        task: As SentEval calls it where it is a task of SentEval.
        metric: What was measured of it. `pearson` of SICKRelatedness and STSBenchmark is that of a trained
            regression; `cosine_pearson` that of cosines, without training.
        split: `"train"`, `"dev"` or `"test"`.
        value: The figure.
        unit: What it is counted in, as `"percent"` or `"correlation"`: one for each metric.
        printed: The figure with the digits that the paper prints.
        own: Whether the system is the paper's own, and not one that it is compared with.
        group: The part of the table that it stands in.
        size: The dimensions of its vectors, where the table tells.
        heads: The heads of its attention, where the table tells.
        notes: Where the figure comes from if not from this paper, and what is special about it.
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
        """Whether it hangs on what was trained on the task's own examples, and so on the paper's protocol.

        That is so of accuracies and of relatedness, and of averages with such tasks among them, AvgSim too.
        The cosines of STS years are the same under every protocol.

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
    """The figures that were published, in the order of papers, tables, rows and columns.

    Args:
        paper: `"000"` to `"004"`. None: all.
        table: One table of the paper, as `"2"` or `"II"`. None: all.

    Returns:
        One for each cell that holds a figure.

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
    """What was published of a task, the highest figure first.

    Args:
        task: As SentEval calls it, or as in `PublishedFigure.task`.
        metric: As `"accuracy"`, `"f1"`, `"pearson"`, `"spearman"` or `"cosine_pearson"`.
        split: `"train"`, `"dev"` or `"test"`.

    Returns:
        The figures; none if no paper has any. A system that several papers or tables show is there as often.

    Example:
        >>> from sentencode.evaluation import published_for
        >>> for figure in published_for("STSBenchmark", "pearson")[:2]:
        ...     print(figure.system, figure.printed, figure.paper.id)
        InferSent 0.76 003
        cs-FINAL-CTX 0.74 003
    """
    wanted = (task, metric, split)
    found = [figure for figure in _figures() if (figure.task, figure.metric, figure.split) == wanted]
    return tuple(sorted(found, key=lambda figure: -figure.value))


def _only(
    figures: tuple[PublishedFigure, ...], what: str, wanted: str, of: Any
) -> tuple[PublishedFigure, ...]:
    found = tuple(figure for figure in figures if of(figure) == wanted)
    if not found:
        known = ", ".join(dict.fromkeys(of(figure) for figure in figures))
        raise ValueError(f"{what} {wanted!r} is not among the published ones; there are {known}")
    return found


@functools.cache
def _figures() -> tuple[PublishedFigure, ...]:
    text = resources.files("sentencode").joinpath("data/published.json").read_text(encoding="utf-8")
    # Numbers stay as they are written: 0.70 is not 0.7 in a table of two digits.
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
