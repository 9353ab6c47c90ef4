"""Correlations, accuracy, F1 and mean squared error of predictions."""

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
    """Pearson correlation coefficient.

    Args:
        x: Scores.
        y: Other scores, as many.

    Returns:
        A value from -1 to 1; NaN with fewer than two pairs, or if all values of one side are equal.

    Raises:
        ValueError: The lengths differ, or a value is not finite.

    Example:
        >>> from sentencode.evaluation import pearson
        >>> round(pearson([1, 2, 3, 4], [1, 2, 3, 5]), 4)
        0.9827
    """
    return float(_core.pearson(as_scores(x), as_scores(y)))


def spearman(x: ArrayLike, y: ArrayLike) -> float:
    """Spearman's rank correlation; ties share their mean rank.

    Args:
        x: Scores.
        y: Other scores, as many.

    Returns:
        A value from -1 to 1; NaN with fewer than two pairs, or if all values of one side are equal.

    Raises:
        ValueError: The lengths differ, or a value is not finite.

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
    """Cosine of each row of `a` with the same row of `b`, in double precision.

    Args:
        a: Vectors `(n, d)`.
        b: Other vectors, as many.

    Returns:
        Cosines `(n,)`; 0 where a vector is zero.

    Raises:
        ValueError: The shapes differ.

    Example:
        >>> from sentencode.evaluation import cosine_of_pairs
        >>> cosine_of_pairs([[1, 0], [0, 0]], [[3, 4], [1, 1]])
        array([0.6, 0. ])
    """
    cosines: NDArray[np.float64] = _core.cosine_of_pairs(_vectors(a), _vectors(b))
    return cosines


def accuracy(predicted: ArrayLike, gold: ArrayLike) -> float:
    """Fraction of examples whose class was predicted correctly.

    Args:
        predicted: Predicted class of each example: numbers or names.
        gold: Gold classes.

    Raises:
        ValueError: There is no example, lengths differ, or one has names and the other numbers.

    Example:
        >>> from sentencode.evaluation import accuracy
        >>> accuracy([1, 0, 2, 1], [1, 0, 1, 1])
        0.75
    """
    predicted, gold = _classes(predicted, gold)
    return float(np.mean(predicted == gold))


def f1(predicted: ArrayLike, gold: ArrayLike, positive: Any = 1) -> float:
    """F1 score of one class: the harmonic mean of precision and recall.

    Args:
        predicted: Predicted class of each example: numbers or names.
        gold: Gold classes.
        positive: The class.

    Returns:
        A value from 0 to 1; 0 if the class is neither predicted nor gold for any example.

    Raises:
        ValueError: There is no example, lengths differ, or one has names and the other numbers.

    Example:
        >>> from sentencode.evaluation import f1
        >>> round(f1([1, 1, 0, 1], [1, 0, 1, 1]), 4)
        0.6667
    """
    return float(f1_of_means(np.array([np.mean(column) for column in f1_columns(predicted, gold, positive)])))


def mean_squared_error(predicted: ArrayLike, gold: ArrayLike) -> float:
    """Mean squared difference of predicted and gold scores.

    Args:
        predicted: Predicted scores.
        gold: Gold scores.

    Raises:
        ValueError: There is no score, the lengths differ, or a value is not finite.

    Example:
        >>> from sentencode.evaluation import mean_squared_error
        >>> mean_squared_error([1, 2, 3], [1, 2, 5])
        1.3333333333333333
    """
    scores = {"predicted": values_of("predicted", predicted), "gold": values_of("gold", gold)}
    same_length(scores)
    return float(np.mean((scores["predicted"] - scores["gold"]) ** 2))


def ranks_apart(x: ArrayLike, y: ArrayLike) -> NDArray[np.float64]:
    """Difference of each example's ranks by two kinds of scores; ties share their mean rank."""
    ranks = []
    for row in (x, y):
        _, value, counts = np.unique(row, return_inverse=True, return_counts=True)
        ranks.append(middle_ranks(counts)[value])
    return np.abs(ranks[0] - ranks[1])


def middle_ranks(counts: NDArray[Any]) -> NDArray[np.float64]:
    """Mean rank of each group of ties, given the sizes of the groups in order."""
    ranks: NDArray[np.float64] = np.cumsum(counts, axis=0) - counts / 2
    return ranks


def f1_columns(predicted: ArrayLike, gold: ArrayLike, positive: Any) -> list[NDArray[np.bool_]]:
    """Whether each example is a true positive, and whether it is a false positive or negative."""
    x, y = (classes == positive for classes in _classes(predicted, gold))
    return [x & y, x ^ y]


def f1_of_means(means: NDArray[np.float64]) -> NDArray[np.float64]:
    """F1 scores from the means of both columns of `f1_columns`."""
    hits, errors = 2 * means[..., 0], means[..., 1]
    scores: NDArray[np.float64] = hits / np.where(hits + errors > 0, hits + errors, 1)
    return scores


def _classes(predicted: ArrayLike, gold: ArrayLike) -> tuple[NDArray[Any], NDArray[Any]]:
    classes = {"predicted": np.asarray(predicted), "gold": np.asarray(gold)}
    for name, values in classes.items():
        _check_row(name, values)
    same_length(classes)
    x, y = classes.values()
    if (x.dtype.kind in "biuf") != (y.dtype.kind in "biuf"):  # names never equal numbers
        raise ValueError(f"predicted and gold must be of one kind, got {x.dtype} and {y.dtype}")
    return x, y


def values_of(name: str, values: ArrayLike) -> NDArray[np.float64]:
    """Values as float64."""
    row = np.asarray(values, dtype=np.float64)
    _check_row(name, row)
    if not np.isfinite(row).all():
        i = int(np.argmin(np.isfinite(row)))
        raise ValueError(f"{name} must be finite, but {name}[{i}] is {row[i]}")
    return row


def same_length(rows: dict[str, Any]) -> None:
    """Check that rows have the same length; the message has their names."""
    lengths = [len(row) for row in rows.values()]
    if len(set(lengths)) > 1:
        raise ValueError(f"{' and '.join(rows)} must be equally long, got {' and '.join(map(str, lengths))}")


def _check_row(name: str, row: NDArray[Any]) -> None:
    if row.ndim != 1:
        raise ValueError(f"{name} must have one dimension, got {row.ndim}")
    if not len(row):
        raise ValueError(f"{name} is empty; expected at least one example")


def as_scores(values: Any) -> NDArray[np.float64]:
    """Scores as a contiguous float64 array."""
    return np.ascontiguousarray(values, dtype=np.float64)


def _vectors(values: Any) -> NDArray[np.float32]:
    return np.ascontiguousarray(values, dtype=np.float32)
