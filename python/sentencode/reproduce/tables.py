"""Tables as text and as Markdown, and the formats of their cells."""

from __future__ import annotations

import math
import os
import re
import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .._figures import rendered
from ..files import as_path, whole_file

__all__ = [
    "MARK",
    "MISSING",
    "TableText",
    "best_marked",
    "differing",
    "digits",
    "filled_columns",
    "markdown_table",
    "mean_score",
    "number",
    "rounded",
    "score",
    "text_table",
    "write_picture",
]

MISSING = "-"
MARK = "‡"  # of a figure whose protocol differs from ours
TableText = tuple[str, list[str], list[list[str]]]  # a title, a header, and rows


def text_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in columns of equal width, the first aligned left and the others right."""
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
    """A Markdown table, the first column aligned left and the others right."""
    lines = [header, ["---"] + ["---:"] * (len(header) - 1), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def filled_columns(header: Sequence[str], rows: Sequence[Sequence[str]]) -> tuple[list[str], list[list[str]]]:
    """The header and rows without the columns in which every cell is missing."""
    filled = [i for i in range(len(header)) if i == 0 or any(row[i] != MISSING for row in rows)]
    return [header[i] for i in filled], [[row[i] for i in filled] for row in rows]


def best_marked(
    header: Sequence[str], rows: Sequence[Sequence[str]], mark: str = "**{}**"
) -> list[list[str]]:
    """The rows, with a mark at the best score of each column and at those that cannot be separated from it.

    In tables with a line for each task, these are the best of each line.

    Two scores, taken as independent, are separated if their difference exceeds its 95 % interval. Rows with
    different numbers of examples are not compared.

    Args:
        header: The header.
        rows: Rows; scores with an interval are compared.
        mark: Format of a marked cell.
    """
    column_of_examples = header.index("examples") if "examples" in header else None
    by_line = header[0] == "task"
    compared = defaultdict(list)
    for i, row in enumerate(rows):
        examples = "" if column_of_examples is None else row[column_of_examples]
        for j, cell in enumerate(row):
            if (match := _SCORE.fullmatch(cell)) and "deviation" not in header[j]:
                compared[i if by_line else j, examples].append((float(match[1]), float(match[2]), i, j))
    marked = [list(row) for row in rows]
    for scores in compared.values():
        best, half, *_ = max(scores)
        for value, other_half, i, j in scores:
            if len(scores) > 1 and best - value <= math.hypot(half, other_half):
                marked[i][j] = mark.format(marked[i][j])
    return marked


# Cells.

_SCORE = re.compile(r"(-?\d[\d.]*) ± ([\d.]+)")


def number(value: float | None, decimals: int = 1) -> str:
    """A number with a fixed count of decimal places."""
    return MISSING if value is None else f"{value:.{decimals}f}"


def rounded(value: float) -> str:
    """A count to about three digits: `1.15 M`, `36 k`, `195`."""
    if value >= 1e6:
        return f"{value / 1e6:.2f} M"
    return f"{value / 1e3:.0f} k" if value >= 1e4 else f"{value:,.0f}"


def score(score: Mapping[str, float] | None, decimals: int = 1) -> str:
    """A score, and half the width of its interval where it has one: `73.5 ± 0.8`."""
    if score is None or score.get("value") is None:
        return MISSING
    value = number(score["value"], decimals)
    if score.get("low") is None:
        return value
    return f"{value} ± {number((score['high'] - score['low']) / 2, decimals)}"


def mean_score(scores: Mapping[str, Any], names: Sequence[str]) -> dict[str, float] | None:
    """The mean of scores, and its interval if theirs are independent; None if one is missing."""
    if not names or any(name not in scores for name in names):
        return None
    parts = [scores[name] for name in names]
    value = statistics.fmean(part["value"] for part in parts)
    low, high = (math.hypot(*(part[end] - part["value"] for part in parts)) for end in ("low", "high"))
    return {"value": value, "low": value - low / len(parts), "high": value + high / len(parts)}


def differing(score: Mapping[str, float] | None, decimals: int = 1) -> str:
    """A difference with its interval: `+1.2 (+0.4 to +2.0)`."""
    if score is None:
        return MISSING
    value, low, high = (f"{score[key]:+.{decimals}f}" for key in ("value", "low", "high"))
    return f"{value} ({low} to {high})"


def digits(column: str) -> int:
    """Decimal places of a column, as papers print it: one for percents, three for correlations."""
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
