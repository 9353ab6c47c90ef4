"""Splits prose into sentences."""

from __future__ import annotations

from sentencode import _core

from ..checks import checked_str

__all__ = ["split_sentences"]


def split_sentences(text: str) -> list[str]:
    """Split English prose into sentences.

    Splits at `.`, `!`, `?`, `…` and empty lines, but not after abbreviations and initials, inside numbers and
    brackets, or before lower-case letters. Closing quotes and brackets stay with their sentence.

    Args:
        text: Prose with any line breaks.

    Returns:
        The sentences without surrounding white space.

    Raises:
        TypeError: `text` is not a `str`.

    Example:
        >>> split_sentences('Mr. Smith left. "Why?" she asked. (Nobody knew.)')
        ['Mr. Smith left.', '"Why?" she asked.', '(Nobody knew.)']
    """
    return _core.split_sentences(checked_str("text", text))
