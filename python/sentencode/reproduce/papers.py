"""The published figures of the papers, by family."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from ..evaluation import PublishedFigure
from ..evaluation import published as published_figures

__all__ = ["PAPERS", "printed", "published"]

# Family, as in `sentencode reproduce <family>` -> number of the paper.
PAPERS = {"aae": "000", "rnn-cnn": "001", "pooling": "002", "nmt": "003", "laes": "004"}


def published(family: str) -> dict[str, Any]:
    """The published figures of a paper with their source, as tables.

    The figures are those of `sentencode.evaluation.published`.

    Args:
        family: `"aae"`, `"rnn-cnn"`, `"pooling"`, `"nmt"` or `"laes"`.

    Returns:
        `citation`, `notes`, and `tables`: table -> row -> task -> figures. Figures are named after the
        metric, and the split if it is not the test set; the cosines of paper 004 after the split alone. Rows
        with the same name are distinguished by size and number of heads.

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
            task_figures = rows.setdefault(row, {}).setdefault(figure.task, {})
            task_figures[_key(figure)] = int(figure.value) if figure.metric == "n_h" else figure.value
    paper = figures[0].paper
    return {"citation": paper.citation, "notes": list(paper.notes), "tables": tables}


def printed(paper: str, table: str) -> dict[str, dict[str, str]]:
    """A published table: row -> column, as in `"MRPC f1"` -> printed figure.

    Args:
        paper: `"000"` to `"004"`.
        table: Number of the table.
    """
    rows: dict[str, dict[str, str]] = {}
    for row, figure in _rows(paper, table):
        split = "" if figure.split == "test" else f" {figure.split}"
        rows.setdefault(row, {})[f"{figure.task} {figure.metric}{split}"] = figure.printed
    return rows


def _rows(paper: str, table: str) -> list[tuple[str, PublishedFigure]]:
    """The figures of a table with their rows: the system, and the size where a system has several."""
    figures = published_figures(paper, table)
    variants = defaultdict(set)
    for figure in figures:
        variants[figure.system].add((figure.size, figure.heads))
    rows = []
    for figure in figures:
        row = figure.system
        if len(variants[row]) > 1:
            row += "" if figure.size is None else f", {figure.size}"
            row += "" if figure.heads is None else f", {figure.heads} heads"
        rows.append((row, figure))
    return rows


def _key(figure: PublishedFigure) -> str:
    if figure.metric == "cosine_pearson":
        return figure.split
    return figure.metric if figure.split == "test" else f"{figure.metric} {figure.split}"
