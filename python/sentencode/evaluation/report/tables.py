"""Markdown and LaTeX tables, with names escaped."""

from __future__ import annotations

import re
from collections.abc import Iterable

__all__ = ["latex", "markdown", "markdown_row", "percent"]

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


def latex(text: str) -> str:
    r"""A name escaped for LaTeX."""
    return "".join(_LATEX.get(sign, sign) for sign in text)


def percent(confidence: float) -> str:
    """The level of an interval in percent."""
    return f"{100 * confidence:g} %"
