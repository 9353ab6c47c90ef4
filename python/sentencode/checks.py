"""Checks of arguments, made before the core sees them: it would tell of its own signatures, not of theirs."""

from __future__ import annotations

import math
import numbers
import operator
from collections.abc import Iterable
from typing import Any

import numpy as np

__all__ = [
    *("checked_bool", "checked_float", "checked_int", "checked_smoothing", "checked_str", "checked_words"),
    "is_positive",
]


def checked_bool(name: str, value: Any) -> bool:
    """A `bool`. Nothing else is taken for one: "no" would be true.

    Args:
        name: What the argument is called.
        value: A `bool`, or NumPy's.

    Returns:
        The same as `bool`.

    Raises:
        TypeError: If it is something else.

    Example:
        >>> checked_bool("shuffle", "no")
        Traceback (most recent call last):
        TypeError: shuffle must be True or False, got 'no' (str)
    """
    if not isinstance(value, bool | np.bool_):
        raise TypeError(f"{name} must be True or False, got {value!r:.40} ({type(value).__name__})")
    return bool(value)


def checked_float(
    name: str, value: Any, low: float, high: float = math.inf, *, above: bool = False, below: bool = False
) -> float:
    """A finite number within bounds.

    Args:
        name: What the argument is called.
        value: A number.
        low: The least that it may be.
        high: The most.
        above: Whether it must be more than `low`.
        below: Whether it must be less than `high`.

    Returns:
        The number as `float`.

    Raises:
        TypeError: If it is no number.
        ValueError: If it is out of bounds, or not finite.

    Example:
        >>> checked_float("dropout", 1, 0, 1)
        1.0
        >>> checked_float("learning_rate", 0, 0, above=True)
        Traceback (most recent call last):
        ValueError: learning_rate must be more than 0, got 0
    """
    try:
        if isinstance(value, (str, bytes, bool)):
            raise TypeError
        number = float(value)
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be a number, got {value!r:.40} ({type(value).__name__})") from None
    if not math.isfinite(number):
        raise ValueError(f"{name} must be finite, got {value!r}")
    if number < low or (above and number == low):
        raise ValueError(f"{name} must be {'more than' if above else 'at least'} {low:g}, got {value!r}")
    if number > high or (below and number == high):
        raise ValueError(f"{name} must be {'less than' if below else 'at most'} {high:g}, got {value!r}")
    return number


def checked_int(name: str, value: Any, low: int, high: int = 2**63 - 1) -> int:
    """A whole number within bounds.

    Args:
        name: What the argument is called.
        value: An `int`, or what stands for one, as NumPy's integers do; a `bool` does not.
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
        if isinstance(value, bool):
            raise TypeError
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


def checked_smoothing(name: str, a: Any) -> float | None:
    """The a of SIF's weights a / (a + p(w)), greater than 0; None for no weights. `name` is whose it is."""
    if a is None:
        return None
    if not is_positive(a):
        raise ValueError(f"{name}: a must be a number greater than 0, or None for no weights, got {a!r}")
    return float(a)


def is_positive(value: Any) -> bool:
    """Whether this is a finite number greater than 0, of Python's or of NumPy's."""
    return isinstance(value, numbers.Real) and math.isfinite(value) and float(value) > 0


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
