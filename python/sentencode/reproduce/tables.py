"""Tables as text and as Markdown, and figures as their cells."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .._figures import rendered
from ..files import as_path, whole_file

__all__ = [
    "MISSING",
    "between",
    "differing",
    "digits",
    "markdown_table",
    "number",
    "printed_tables",
    "text_table",
    "write_picture",
]

MISSING = "-"  # of a figure that is not there
Rows = Iterable[Sequence[str]]


def text_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Columns under each other, the first to the left and the others to the right."""
    table = [list(header), *map(list, rows)]
    widths = [max(len(row[i]) for row in table) for i in range(len(header))]
    lines = (
        "  ".join(
            cell.rjust(width) if i else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in table
    )
    return "\n".join(line.rstrip() for line in lines) + "\n"


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table as Markdown has it, numbers to the right."""
    lines = [header, ["---"] + ["---:"] * (len(header) - 1), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def printed_tables(
    tables: Iterable[tuple[str, Sequence[str], Rows]], notes: Iterable[str] = (), *, markdown: bool
) -> str:
    """Tables below each other, each with its title, and what there is to say of them.

    Args:
        tables: Titles, headers and rows.
        notes: A paragraph each.
        markdown: Whether as Markdown, and not for a terminal.
    """
    table, title = (markdown_table, "### {}\n\n") if markdown else (text_table, "{}\n")
    parts = [title.format(name) + table(header, rows) for name, header, rows in tables]
    return "\n".join([*parts, *(f"{note}\n" for note in notes)])


# Cells.


def number(value: float | None, places: int = 1) -> str:
    """A figure with so many decimal places."""
    return MISSING if value is None else f"{value:.{places}f}"


def between(score: Mapping[str, float] | None, places: int = 1) -> str:
    """The interval of a score that has `low` and `high`."""
    if score is None or score.get("low") is None:
        return MISSING
    return f"{number(score['low'], places)} to {number(score['high'], places)}"


def differing(score: Mapping[str, float] | None, places: int = 1) -> str:
    """A difference, `value`, with its interval, from `low` to `high`."""
    if score is None:
        return MISSING
    value, low, high = (f"{score[key]:+.{places}f}" for key in ("value", "low", "high"))
    return f"{value} ({low} to {high})"


def digits(column: str) -> int:
    """How many decimal places papers give what a column measures: one of percent, three of correlations."""
    percent = (
        "accuracy",
        "f1",
        "macro",
        "micro",
        "bleu",
        "hours",
        "cluster_accuracy",
        "neighbour_accuracy",
        "oov",
        "seen",
        "lm_perplexity",
        "manual_wins",
    )
    measure = column.removesuffix(" dev").rpartition(" ")[2]
    return 1 if measure in percent else 0 if measure == "speed" else 3


# Pictures.


def write_picture(figure: Any, folder: str | os.PathLike[str], name: str) -> None:
    """Writes a picture into a folder as PNG and as SVG, each whole or not at all."""
    for kind in ("png", "svg"):
        with whole_file(as_path(folder) / f"{name}.{kind}") as file:
            file.write(rendered(figure, kind))
