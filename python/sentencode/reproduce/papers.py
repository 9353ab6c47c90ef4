"""What the papers printed, by family: to stand beside what is computed here."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from ..evaluation import PublishedFigure
from ..evaluation import published as published_figures

__all__ = ["PAPERS", "printed", "published"]

# Family, as in `sentencode reproduce <family>` -> where its figures were published.
PAPERS = {"aae": "000", "rnn-cnn": "001", "pooling": "002", "nmt": "003", "laes": "004"}


def published(family: str) -> dict[str, Any]:
    """The figures that a paper printed, with where they come from.

    They are those of `sentencode.evaluation.published`, as tables.

    Args:
        family: `"aae"`, `"rnn-cnn"`, `"pooling"`, `"nmt"` or `"laes"`.

    Returns:
        `citation`, `notes`, and `tables`: table -> row -> task -> figures. Figures have the names of their
        metrics, and of their splits where these are not the test set; the cosines of paper 004 have those of
        splits alone. Rows of one name have their sizes and numbers of heads behind it.

    Raises:
        ValueError: There is no such family.

    Example:
        >>> from sentencode.reproduce import published
        >>> published("laes")["tables"]["I"]["LAES-BRES"]["STSBenchmark"]
        {'n_h': 84, 'train': 76.5, 'dev': 81.4, 'test': 72.3}
        >>> published("aae")["tables"]["3"]["mean-max AAE"]["MRPC"]
        {'accuracy': 75.5, 'f1': 82.6}
    """
    if family not in PAPERS:
        raise ValueError(f"no paper is of the family {family!r}; there are {', '.join(PAPERS)}")
    figures = published_figures(PAPERS[family])
    tables: dict[str, Any] = {}
    for name in dict.fromkeys(figure.table for figure in figures):
        rows = tables.setdefault(name, {})
        for row, figure in _rows(PAPERS[family], name):
            of_task = rows.setdefault(row, {}).setdefault(figure.task, {})
            of_task[_key(figure)] = int(figure.value) if figure.metric == "n_h" else figure.value
    paper = figures[0].paper
    return {"citation": paper.citation, "notes": list(paper.notes), "tables": tables}


def printed(paper: str, table: str) -> dict[str, dict[str, str]]:
    """A published table: row -> column, as in `"MRPC f1"` -> the test set's figure as printed.

    Args:
        paper: `"000"` to `"004"`.
        table: Its number.
    """
    found: dict[str, dict[str, str]] = {}
    for row, figure in _rows(paper, table):
        split = "" if figure.split == "test" else f" {figure.split}"
        found.setdefault(row, {})[f"{figure.task} {figure.metric}{split}"] = figure.printed
    return found


def _rows(paper: str, table: str) -> list[tuple[str, PublishedFigure]]:
    """A table's figures, each with the name of its row: a system's, and its size where several have one."""
    figures = published_figures(paper, table)
    variants = defaultdict(set)
    for figure in figures:
        variants[figure.system].add((figure.size, figure.heads))
    found = []
    for figure in figures:
        row = figure.system
        if len(variants[row]) > 1:
            row += "" if figure.size is None else f", {figure.size}"
            row += "" if figure.heads is None else f", {figure.heads} heads"
        found.append((row, figure))
    return found


def _key(figure: PublishedFigure) -> str:
    if figure.metric == "cosine_pearson":
        return figure.split
    return figure.metric if figure.split == "test" else f"{figure.metric} {figure.split}"
