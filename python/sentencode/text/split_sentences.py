"""Sentences of prose."""

from __future__ import annotations

from sentencode import _core

from ..checks import checked_str

__all__ = ["split_sentences"]


def split_sentences(text: str) -> list[str]:
    """Cuts English prose into sentences.

    Cuts at `.`, `!`, `?`, `…` and empty lines, but not after abbreviations and initials, inside numbers
    and brackets, or where the text goes on in lower case. Quotes and brackets that close stay with
    their sentence.

    Args:
        text: Prose, lines broken anywhere.

    Returns:
        The sentences in order, without the white space around them.

    Raises:
        TypeError: If `text` is no `str`.

    Example:
        >>> split_sentences('Mr. Smith left. "Why?" she asked. (Nobody knew.)')
        ['Mr. Smith left.', '"Why?" she asked.', '(Nobody knew.)']
    """
    return _core.split_sentences(checked_str("text", text))
