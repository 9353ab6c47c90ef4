"""Labels: classes by name, and scores."""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import Any

import numpy as np
import numpy.typing as npt

from .checks import array_of, checked_float
from .text.inputs import one_column

__all__ = [
    *("check_class_weight", "check_count", "check_range", "class_array", "class_ids", "class_weights"),
    *("distinct_classes", "plain_name", "scores"),
]

_EXACT = 2**53  # floats represent all integers up to it


def distinct_classes(y: Any) -> list[Any]:
    """Return the classes of labels, sorted; ValueError if there are fewer than two."""
    classes = sorted(set(_names(y, "y")), key=lambda name: (str(type(name)), name))
    if len(classes) < 2:
        count = f"{len(classes)} class{'' if len(classes) == 1 else 'es'}"
        raise ValueError(f"y must have two classes or more, got {count}: {classes!r:.60}")
    return classes


def class_ids(y: Any, classes: list[Any], what: str, others: int | None = None) -> npt.NDArray[np.int64]:
    """Return the index of the class of each label.

    Args:
        y: Labels.
        classes: The classes.
        what: Name of the labels in errors.
        others: Index of labels that are no class. None: an error, as for numbers where classes are names, and
            the reverse.
    """
    index = {name: i for i, name in enumerate(classes)}
    labels = _names(y, what)
    if labels and classes and isinstance(labels[0], str) != isinstance(classes[0], str):
        raise TypeError(
            f"{what}[0] is {labels[0]!r:.40} ({type(labels[0]).__name__}), but the classes are "
            f"{type(classes[0]).__name__}, such as {classes[0]!r:.40}"
        )
    for i, name in enumerate(labels):
        if name not in index and others is None:
            some = ", ".join(map(repr, classes[:10])) + (", ..." if len(classes) > 10 else "")
            raise ValueError(f"{what}[{i}] is {name!r}, none of the classes {some}")
    return np.array([index.get(name, others) for name in labels], np.int64)


def check_class_weight(weight: Any) -> None:
    """Check a parameter `class_weight`."""
    named = weight is None or (isinstance(weight, str) and weight == "balanced")
    if not (named or isinstance(weight, Mapping)):
        raise ValueError(f"class_weight must be None, 'balanced' or a dict, got {weight!r:.40}")


def class_weights(weight: Any, labels: npt.NDArray[np.int64], classes: list[Any]) -> npt.NDArray[np.float32]:
    """Return the factor of each class's losses [classes].

    Args:
        weight: None, "balanced", or weights by class.
        labels: Index of the class of each label.
        classes: The classes.
    """
    if weight is None:
        return np.ones(len(classes), np.float32)
    if weight == "balanced":
        counts = np.bincount(labels, minlength=len(classes))
        return (len(labels) / (len(classes) * np.maximum(counts, 1))).astype(np.float32)
    if unknown := [name for name in weight if name not in classes]:
        raise ValueError(f"class_weight: {unknown[0]!r} is none of the classes {classes!r:.60}")
    factors = [weight.get(name, 1.0) for name in classes]
    return np.array([checked_float("class_weight", w, 0) for w in factors], np.float32)


def _names(y: Any, what: str) -> list[Any]:
    if y is None:
        raise ValueError(f"a Classifier needs labels: {what} is None")
    labels = [plain_name(name) for name in _listed(y, what)]
    for i, name in enumerate(labels):
        if isinstance(name, float) and name.is_integer():
            if abs(name) > _EXACT:
                raise ValueError(f"{what}[{i}] is the float {name!r}, too large to be exact: give an int")
            labels[i] = int(name)
        elif not isinstance(name, str | int):
            raise TypeError(
                f"{what}[{i}] must be a class's name, a str or a whole number, got {name!r:.40} "
                f"({type(name).__name__})"
            )
        if type(labels[i]) is not type(labels[0]):
            raise TypeError(
                f"{what}[{i}] is {labels[i]!r:.40} ({type(labels[i]).__name__}), but {what}[0] is "
                f"{labels[0]!r:.40} ({type(labels[0]).__name__}): classes must be of one type"
            )
    return labels


def _listed(y: Any, what: str) -> Any:
    """Labels as a list, also those of a column, an array, a tensor or an Arrow array."""
    if isinstance(y, str | bytes | Mapping | Set):
        raise TypeError(f"{what} must be a list of labels, got {type(y).__name__}")
    y = one_column(y, what)
    if hasattr(y, "detach"):
        y = array_of(y)
    if hasattr(y, "to_pylist"):
        return y.to_pylist()
    if isinstance(y, np.ndarray) and y.dtype.kind in "mM":
        raise TypeError(f"{what} must be classes, got {y.dtype}")
    return y.tolist() if isinstance(y, np.ndarray) else y


def plain_name(name: Any) -> Any:
    """Return a class's name as an object of Python: of an enumeration, its value."""
    if isinstance(name, np.generic):
        name = name.item()
    if isinstance(name, str) and type(name) is not str:
        return str.__str__(name)
    return int(name) if isinstance(name, int) and type(name) not in (int, bool) else name


def class_array(classes: list[Any]) -> npt.NDArray[Any]:
    """Return classes as an array; of Python objects if no dtype represents them all exactly.

    Args:
        classes: Names or integers; those of old files may have several types.
    """
    kinds = {type(name) for name in classes}
    if kinds == {int} and (min(classes) < -(2**63) or max(classes) >= 2**63):
        return np.array(classes, np.uint64 if min(classes) >= 0 and max(classes) < 2**64 else object)
    return np.array(classes, None if len(kinds) == 1 else object)


def check_count(labels: Any, count: int, what: str) -> None:
    """Raises a ValueError unless there is a label for each example, and an example."""
    if count == 0:
        raise ValueError("there are no examples")
    if len(labels) != count:
        raise ValueError(f"{what} must have a label for each of {count} examples, got {len(labels)}")


def check_range(values: npt.NDArray[Any], what: str, low: float, high: float) -> None:
    """Raises a ValueError if a score of `CosineRegression` is that of no cosine, -1 to 1."""
    # Cosines that are computed exceed 1 by rounding.
    outside = np.flatnonzero(np.abs(values - low) > (1 + 1e-5) * (high - low))
    if len(outside):
        i = outside[0]
        raise ValueError(
            f"{what}[{i}] is {values[i].item()!r}, but CosineRegression has low={low:g}, the score of the "
            f"cosine 0, and high={high:g}, that of 1: set both to the range of the scores"
        )


def scores(y: Any, what: str, axes: int) -> npt.NDArray[np.float64]:
    """Return finite scores with one axis, or embeddings with two."""
    kind = "a number for each example" if axes == 1 else "a row of numbers for each sentence"
    if y is None:
        raise ValueError(f"{what} must be {kind}, got None")
    if axes == 1:
        y = one_column(y, what)
    values = array_of(y) if hasattr(y, "detach") else np.asarray(y)
    if values.ndim != axes or values.dtype.kind not in "iuf":
        raise ValueError(f"{what} must be {kind}, got {values.dtype} {list(values.shape)}")
    if not np.isfinite(values).all():
        raise ValueError(f"{what} must be finite")
    return values if values.dtype.kind == "f" else values.astype(np.float64)
