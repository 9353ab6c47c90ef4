"""Markdown, HTML and LaTeX tables, with names escaped."""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import escape

__all__ = ["html_of", "latex", "markdown", "markdown_row", "percent"]

_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    **{sign: rf"\{sign}" for sign in "&%$#_{}"},
}


def markdown(text: str) -> str:
    r"""A name escaped for Markdown, also in tables."""
    # Underscores within words are literal in Markdown.
    return re.sub(r"([\\|<*`~$\[]|(?<!\w)_|_(?!\w))", r"\\\1", " ".join(text.split()))


def markdown_row(cells: Iterable[str]) -> str:
    """A table row of Markdown cells."""
    return f"| {' | '.join(cells)} |"


def html_of(text: str) -> str:
    r"""HTML of a Markdown table and the notes below it, as `markdown` and `markdown_row` write them.

    Example:
        >>> html_of("| a |\n| --- |\n| **1** \\| <2> |\n\nA note.\n")
        '<table><tr><th>a</th></tr><tr><td><b>1</b> | &lt;2&gt;</td></tr></table><p>A note.</p>'
    """
    lines = text.splitlines()
    rows = [re.split(r"(?<!\\)\|", line)[1:-1] for line in lines if line.startswith("|")]
    parts = ["<table>"]
    for row, tag in zip([rows[0], *rows[2:]], ["th", *["td"] * len(rows)], strict=False):
        parts.append(f"<tr>{''.join(f'<{tag}>{_html(cell)}</{tag}>' for cell in row)}</tr>")
    notes = [f"<p>{_html(line)}</p>" for line in lines if line and not line.startswith("|")]
    return "".join([*parts, "</table>", *notes])


def _html(text: str) -> str:
    """HTML of a cell or a note."""
    bold = re.sub(r"(?<!\\)\*\*(.+?)(?<!\\)\*\*", r"<b>\1</b>", escape(text.strip(), quote=False))
    return re.sub(r"\\([\\|*`~$\[_]|&lt;)", r"\1", bold)


def latex(text: str) -> str:
    r"""A name escaped for LaTeX."""
    return "".join(_LATEX.get(sign, sign) for sign in text)


def percent(confidence: float) -> str:
    """The level of an interval in percent."""
    return f"{100 * confidence:g} %"
