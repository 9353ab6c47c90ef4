"""Checks of arguments, with their names in the errors."""

from __future__ import annotations

import math
import numbers
import operator
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = [
    *("array_of", "checked_bool", "checked_float", "checked_int", "checked_rows", "checked_smoothing"),
    *("checked_str", "checked_words", "is_column_of_rows", "is_one_row", "is_positive", "tensor_in"),
]


def checked_bool(name: str, value: Any) -> bool:
    """Python's or NumPy's bool as a `bool`; a TypeError for other values, since "no" would be true.

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
    """A finite number in [low, high] as a `float`.

    Args:
        name: Name of the argument in errors.
        value: A number.
        low: Lower bound.
        high: Upper bound.
        above: Whether `low` itself is invalid.
        below: Whether `high` itself is invalid.

    Raises:
        TypeError: `value` is not a number.
        ValueError: It is out of bounds or not finite.

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
    """An integer in [low, high], such as NumPy's, as an `int`.

    Raises:
        TypeError: `value` is not an integer, or a `bool`.
        ValueError: It is out of bounds.

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
    """The a > 0 of SIF's weights a / (a + p(w)), or None for no weights; `name` is the class in errors."""
    if a is None:
        return None
    if not is_positive(a):
        raise ValueError(f"{name}: a must be a number greater than 0, or None for no weights, got {a!r}")
    return float(a)


def is_positive(value: Any) -> bool:
    """Whether a value is a finite number greater than 0."""
    return isinstance(value, numbers.Real) and math.isfinite(value) and float(value) > 0


def checked_str(name: str, value: Any) -> str:
    """A `str` unchanged; a TypeError for other values.

    Example:
        >>> checked_str("storage", None)
        Traceback (most recent call last):
        TypeError: storage must be a str, got None (NoneType)
    """
    if not isinstance(value, str):
        raise TypeError(f"{name} must be a str, got {value!r:.40} ({type(value).__name__})")
    return value


def checked_words(name: str, words: Iterable[str]) -> list[str]:
    """Words as a list.

    Raises:
        TypeError: `words` is one `str`, which would be split into letters, or contains something else.

    Example:
        >>> checked_words("words", "at")
        Traceback (most recent call last):
        TypeError: words is one str; expected several, as in ['at']
    """
    if isinstance(words, (str, bytes)):
        raise TypeError(f"{name} is one {type(words).__name__}; expected several, as in [{words!r:.40}]")
    if not isinstance(words, Iterable):
        raise TypeError(f"{name} must be a str or several, got {words!r:.40} ({type(words).__name__})")
    listed = list(words)
    for i, word in enumerate(listed):
        if not isinstance(word, str):
            raise TypeError(f"{name}[{i}] is {type(word).__name__} ({word!r:.40}); expected str")
    return listed


def checked_rows(name: str, values: Any) -> npt.NDArray[np.float32]:
    """Embeddings as a float32 matrix with contiguous rows, copied only if necessary; one becomes [1, dim].

    Args:
        name: Name of the argument in errors.
        values: Embeddings [n, dim] or [dim]: an array, a tensor, or a list of either; a data frame, or a
            column of one whose items are embeddings.

    Raises:
        TypeError: `values` are not numbers.
        ValueError: They have another shape.

    Example:
        >>> checked_rows("queries", [1, 2])
        array([[1., 2.]], dtype=float32)
    """
    if hasattr(values, "detach"):  # a tensor
        values = array_of(values)
    elif tensor_in(values) is not None:
        values = [array_of(value) for value in values]
    array = np.asarray(_stacked(name, values) if is_column_of_rows(values) else values)
    if array.dtype.kind not in "fiub":
        raise TypeError(f"{name} must hold numbers, got an array of {array.dtype}")
    if array.ndim not in (1, 2):
        raise ValueError(f"{name} must have one or two dimensions, got shape {list(array.shape)}")
    return np.atleast_2d(np.ascontiguousarray(array, dtype=np.float32))


def check_independent(owner: str, encoder: Any) -> None:
    """Check that an embedding depends on its sentence only.

    Args:
        owner: What requires it, for the message.
        encoder: An encoder.

    Raises:
        ValueError: It depends on the other sentences of a call.
    """
    if getattr(encoder, "statistics", None) == "evaluated":
        raise ValueError(
            f"{owner}: {type(encoder).__name__} has statistics='evaluated', so its embeddings depend on the "
            "other sentences of a call; use 'fit'"
        )


def array_of(tensor: Any) -> npt.NDArray[Any]:
    """A PyTorch tensor as an array; bfloat16, which NumPy lacks, as float32."""
    tensor = tensor.detach().cpu()
    array: npt.NDArray[Any] = (tensor.float() if str(tensor.dtype) == "torch.bfloat16" else tensor).numpy()
    return array


def is_one_row(values: Any) -> bool:
    """Whether `checked_rows` makes one row [1, dim] of embeddings [dim]."""
    if is_column_of_rows(values):
        return False
    tensor = tensor_in(values)
    return bool(np.ndim(values) == 1 if tensor is None else tensor.ndim + (tensor is not values) == 1)


def is_column_of_rows(values: Any) -> bool:
    """Whether this is an array or a column of a data frame whose items are embeddings.

    Example:
        >>> import pandas
        >>> is_column_of_rows(pandas.Series([np.ones(2), np.zeros(2)])), is_column_of_rows(np.ones(2))
        (True, False)
    """
    if hasattr(values, "to_pylist"):  # of Arrow
        if not hasattr(values.type, "value_type") or hasattr(values.type, "index_type"):
            return False  # no lists
        return np.dtype(values.type.value_type.to_pandas_dtype()).kind in "fiub"
    if getattr(getattr(values, "dtype", None), "kind", None) != "O" or getattr(values, "ndim", 0) != 1:
        return False
    first = next(iter(values), None)
    if isinstance(first, (list, tuple)) and first:
        return isinstance(first[0], numbers.Real)
    return isinstance(first, np.ndarray) and first.ndim == 1 and first.dtype.kind in "fiub"


def _stacked(name: str, column: Any) -> npt.NDArray[Any]:
    if hasattr(column, "to_pylist"):  # of Arrow
        chunks = getattr(column, "chunks", [column])
        column = [row for chunk in chunks for row in chunk.to_numpy(zero_copy_only=False)]
    try:
        return np.stack(list(column))
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must hold embeddings of one length: {error}") from None


def tensor_in(values: Any) -> Any:
    """The tensor itself, or the first one of a list of tensors; None for anything else."""
    if isinstance(values, (list, tuple)) and values:
        values = values[0]
    return values if hasattr(values, "detach") else None
