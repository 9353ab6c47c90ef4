"""Checks of arguments, made before the core sees them: it would tell of its own signatures, not of theirs."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any

__all__ = ["checked_int", "checked_str", "checked_words"]


def checked_int(name: str, value: Any, low: int, high: int = 2**63 - 1) -> int:
    """A whole number within bounds.

    Args:
        name: What the argument is called.
        value: An `int`, or what stands for one, as NumPy's integers do.
        low: The least that it may be.
        high: The most.

    Returns:
        The number as `int`.

    Raises:
        TypeError: If it is no whole number.
        ValueError: If it is out of bounds.

    Example:
        >>> import numpy as np
        >>> checked_int("limit", np.int32(5), 1)
        5
        >>> checked_int("limit", 1.5, 1)
        Traceback (most recent call last):
        TypeError: limit must be a whole number, got 1.5 (float)
    """
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(
            f"{name} must be a whole number, got {value!r:.40} ({type(value).__name__})"
        ) from None
    if number < low:
        raise ValueError(f"{name} must be at least {low}, got {number}")
    if number > high:
        raise ValueError(f"{name} must be at most {high}, got {number}")
    return number


def checked_str(name: str, value: Any) -> str:
    """A `str`; which ones there are, the core knows and tells.

    Args:
        name: What the argument is called.
        value: What must be one.

    Returns:
        The same.

    Raises:
        TypeError: If it is something else.

    Example:
        >>> checked_str("storage", None)
        Traceback (most recent call last):
        TypeError: storage must be a str, got None (NoneType)
    """
    if not isinstance(value, str):
        raise TypeError(f"{name} must be a str, got {value!r:.40} ({type(value).__name__})")
    return value


def checked_words(name: str, words: Iterable[str]) -> list[str]:
    """Several words as a list.

    Args:
        name: What the argument is called.
        words: The words; one `str` is refused, for it would be taken letter by letter.

    Returns:
        The words.

    Raises:
        TypeError: If it is one word, or something among them is none.

    Example:
        >>> checked_words("words", "at")
        Traceback (most recent call last):
        TypeError: words is one str; expected several, as in ['at']
    """
    if isinstance(words, (str, bytes)):
        raise TypeError(f"{name} is one {type(words).__name__}; expected several, as in [{words!r:.40}]")
    listed = list(words)
    for i, word in enumerate(listed):
        if not isinstance(word, str):
            raise TypeError(f"{name}[{i}] is {type(word).__name__} ({word!r:.40}); expected str")
    return listed
