"""How well scores and classes agree with what is right."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ... import _core

__all__ = [
    "CORRELATIONS",
    "Correlation",
    "accuracy",
    "as_scores",
    "cosine_of_pairs",
    "f1",
    "f1_columns",
    "f1_of_means",
    "mean_squared_error",
    "middle_ranks",
    "pearson",
    "ranks_apart",
    "same_length",
    "spearman",
    "values_of",
]

Correlation = Literal["pearson", "spearman"]


def pearson(x: ArrayLike, y: ArrayLike) -> float:
    """Pearson's correlation.

    Args:
        x: Scores.
        y: As many other scores.

    Returns:
        Between -1 and 1; not a number where it is undefined, as with fewer than two pairs, or all of one
        side equal.

    Raises:
        ValueError: The two are not equally long, or hold a value that is not finite.

    Example:
        >>> from sentencode.evaluation import pearson
        >>> round(pearson([1, 2, 3, 4], [1, 2, 3, 5]), 4)
        0.9827
    """
    return float(_core.pearson(as_scores(x), as_scores(y)))


def spearman(x: ArrayLike, y: ArrayLike) -> float:
    """Spearman's rank correlation; equal values share the mean of their ranks.

    Args:
        x: Scores.
        y: As many other scores.

    Returns:
        Between -1 and 1; not a number where it is undefined, as with fewer than two pairs, or all of one
        side equal.

    Raises:
        ValueError: The two are not equally long, or hold a value that is not finite.

    Example:
        >>> from sentencode.evaluation import spearman
        >>> spearman([1, 2, 3, 4], [1, 20, 30, 500])
        1.0
    """
    return float(_core.spearman(as_scores(x), as_scores(y)))


CORRELATIONS: dict[Correlation, Callable[[ArrayLike, ArrayLike], float]] = {
    "pearson": pearson,
    "spearman": spearman,
}


def cosine_of_pairs(a: ArrayLike, b: ArrayLike) -> NDArray[np.float64]:
    """The cosine of each row of `a` with the same row of `b`, summed in double precision.

    Args:
        a: Vectors `(n, d)`.
        b: As many others.

    Returns:
        `n` cosines; 0 where a row is zero.

    Raises:
        ValueError: The shapes differ.

    Example:
        >>> from sentencode.evaluation import cosine_of_pairs
        >>> cosine_of_pairs([[1, 0], [0, 0]], [[3, 4], [1, 1]])
        array([0.6, 0. ])
    """
    result: NDArray[np.float64] = _core.cosine_of_pairs(_rows(a), _rows(b))
    return result


def accuracy(predicted: ArrayLike, gold: ArrayLike) -> float:
    """The share of examples whose class was found.

    Args:
        predicted: A class for each example: numbers or names.
        gold: The classes that are right.

    Returns:
        Between 0 and 1.

    Raises:
        ValueError: There is no example, lengths differ, or one holds names and the other numbers.

    Example:
        >>> from sentencode.evaluation import accuracy
        >>> accuracy([1, 0, 2, 1], [1, 0, 1, 1])
        0.75
    """
    found, right = _classes(predicted, gold)
    return float(np.mean(found == right))


def f1(predicted: ArrayLike, gold: ArrayLike, positive: Any = 1) -> float:
    """The F1 score of one class: the harmonic mean of precision and recall.

    Args:
        predicted: A class for each example: numbers or names.
        gold: The classes that are right.
        positive: The class that is looked for.

    Returns:
        Between 0 and 1; 0 where the class is neither predicted nor right for any example.

    Raises:
        ValueError: There is no example, lengths differ, or one holds names and the other numbers.

    Example:
        >>> from sentencode.evaluation import f1
        >>> round(f1([1, 1, 0, 1], [1, 0, 1, 1]), 4)
        0.6667
    """
    return float(f1_of_means(np.array([np.mean(column) for column in f1_columns(predicted, gold, positive)])))


def mean_squared_error(predicted: ArrayLike, gold: ArrayLike) -> float:
    """The mean of the squared differences of two rows of scores.

    Args:
        predicted: Scores.
        gold: The scores that are right.

    Returns:
        At least 0.

    Raises:
        ValueError: There is no score, the two are not equally long, or hold a value that is not finite.

    Example:
        >>> from sentencode.evaluation import mean_squared_error
        >>> mean_squared_error([1, 2, 3], [1, 2, 5])
        1.3333333333333333
    """
    scores = {"predicted": values_of("predicted", predicted), "gold": values_of("gold", gold)}
    same_length(scores)
    return float(np.mean((scores["predicted"] - scores["gold"]) ** 2))


def ranks_apart(x: ArrayLike, y: ArrayLike) -> NDArray[np.float64]:
    """How far each example's ranks by two kinds of scores are from each other; ties share a rank.

    Example:
        >>> import numpy as np
        >>> ranks_apart(np.array([1, 2, 2]), np.array([30, 20, 10]))
        array([2. , 0.5, 1.5])
    """
    ranks = []
    for row in (x, y):
        _, place, counts = np.unique(row, return_inverse=True, return_counts=True)
        ranks.append(middle_ranks(counts)[place])
    return np.abs(ranks[0] - ranks[1])


def middle_ranks(counts: NDArray[Any]) -> NDArray[np.float64]:
    """The middle of the ranks that values share, of which so many stand one after the other.

    Example:
        >>> import numpy as np
        >>> middle_ranks(np.array([1, 2, 1]))
        array([0.5, 2. , 3.5])
    """
    middles: NDArray[np.float64] = np.cumsum(counts, axis=0) - counts / 2
    return middles


def f1_columns(predicted: ArrayLike, gold: ArrayLike, positive: Any) -> list[NDArray[np.bool_]]:
    """For each example: is it a true positive, is it a false one or a false negative."""
    found, right = (classes == positive for classes in _classes(predicted, gold))
    return [found & right, found ^ right]


def f1_of_means(means: NDArray[np.float64]) -> NDArray[np.float64]:
    """F1 scores, of the means of both columns."""
    hits, misses = 2 * means[..., 0], means[..., 1]
    share: NDArray[np.float64] = hits / np.where(hits + misses > 0, hits + misses, 1)
    return share


def _classes(predicted: ArrayLike, gold: ArrayLike) -> tuple[NDArray[Any], NDArray[Any]]:
    classes = {"predicted": np.asarray(predicted), "gold": np.asarray(gold)}
    for name, values in classes.items():
        _check_row(name, values)
    same_length(classes)
    found, right = classes.values()
    if (found.dtype.kind in "biuf") != (right.dtype.kind in "biuf"):  # equal for no example
        raise ValueError(f"predicted and gold must be of one kind, got {found.dtype} and {right.dtype}")
    return found, right


def values_of(name: str, values: ArrayLike) -> NDArray[np.float64]:
    """Finite numbers, at least one.

    Raises:
        ValueError: They are not; the message calls them by the name.
    """
    row = np.asarray(values, dtype=np.float64)
    _check_row(name, row)
    if not np.isfinite(row).all():
        place = int(np.argmin(np.isfinite(row)))
        raise ValueError(f"{name} must be finite, but {name}[{place}] is {row[place]}")
    return row


def same_length(rows: dict[str, Any]) -> None:
    """Refuses rows that are not equally long, by their names."""
    lengths = [len(row) for row in rows.values()]
    if len(set(lengths)) > 1:
        raise ValueError(f"{' and '.join(rows)} must be equally long, got {' and '.join(map(str, lengths))}")


def _check_row(name: str, row: NDArray[Any]) -> None:
    if row.ndim != 1:
        raise ValueError(f"{name} must have one dimension, got {row.ndim}")
    if not len(row):
        raise ValueError(f"{name} is empty; expected at least one example")


def as_scores(values: Any) -> NDArray[np.float64]:
    """Scores as the core takes them."""
    return np.ascontiguousarray(values, dtype=np.float64)


def _rows(values: Any) -> NDArray[np.float32]:
    return np.ascontiguousarray(values, dtype=np.float32)
