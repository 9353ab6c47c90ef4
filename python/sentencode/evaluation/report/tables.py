"""Tables of Markdown and LaTeX: what would be markup in a name is shown as it is."""

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
    r"""A name as Markdown shows it, in a table too.

    Example:
        >>> markdown("a|b <i> all_words")
        'a\\|b \\<i> all_words'
    """
    # Within words, underscores are none of Markdown's.
    return re.sub(r"([\\|<*`~$\[]|(?<!\w)_|_(?!\w))", r"\\\1", " ".join(text.split()))


def markdown_row(cells: Iterable[str]) -> str:
    """A row of cells that are Markdown.

    Example:
        >>> markdown_row(["MR", "acc"])
        '| MR | acc |'
    """
    return f"| {' | '.join(cells)} |"


def latex(text: str) -> str:
    r"""A name as LaTeX shows it.

    Example:
        >>> latex("my_task & 50%")
        'my\\_task \\& 50\\%'
    """
    return "".join(_LATEX.get(sign, sign) for sign in text)


def percent(confidence: float) -> str:
    """The level of an interval.

    Example:
        >>> percent(0.95)
        '95 %'
    """
    return f"{100 * confidence:g} %"
