"""Heads of `TrainedAverage`: their options and labels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..checks import checked_float
from ..labels import (
    check_class_weight,
    check_count,
    check_range,
    class_ids,
    class_weights,
    distinct_classes,
    scores,
)

__all__ = ["SIDES", "UNLABELLED", "checked_head", "confusion", "head_config", "table_labels"]

Floats = npt.NDArray[np.float32]
Ids = npt.NDArray[np.int64]

_HEADS: dict[str, dict[str, Any]] = {  # options and their defaults
    "Classifier": {"class_weight": None},
    "CosineRegression": {"low": 0.0, "high": 1.0},
    "MultipleNegatives": {"scale": 20.0},
    "RowRegression": {},
    "Triplet": {"margin": 0.2, "distance": "cosine"},
}
SIDES = {
    "Classifier": (1, 2),
    "CosineRegression": (2,),
    "MultipleNegatives": (2, 3),
    "RowRegression": (1,),
    "Triplet": (3,),
}
UNLABELLED = ("MultipleNegatives", "Triplet")


def head_config(head: Any) -> Any:
    """Return a name, or a head of the neural encoders, as a dict of its kind and changed options."""
    if isinstance(head, str):
        return {"kind": head}
    if not is_dataclass(head) or isinstance(head, type):
        return head
    options = {field.name: (getattr(head, field.name), field.default) for field in fields(head)}
    changed = {name: value for name, (value, default) in options.items() if value != default}
    return {"kind": type(head).__name__, **changed}


def checked_head(head: Any) -> tuple[str, dict[str, Any]]:
    """Return the kind and the options of a head, as `TrainedAverage` takes it; errors if they are invalid."""
    config = head_config(head)
    if not isinstance(config, Mapping):
        raise TypeError(
            "TrainedAverage: head must be a name, a head of the neural encoders, or a dict such as "
            '{"kind": "Classifier", "class_weight": "balanced"}, got '
            f"{head!r:.60} ({type(head).__name__})"
        )
    kind, given = config.get("kind"), {k: v for k, v in config.items() if k != "kind"}
    if kind not in _HEADS:
        raise ValueError(f"TrainedAverage: head must be one of {', '.join(_HEADS)}, got {kind!r:.40}")
    if unknown := given.keys() - _HEADS[kind].keys():
        raise ValueError(
            f"TrainedAverage: {kind} has no option {min(unknown)!r}; it has "
            f"{', '.join(_HEADS[kind]) or 'none'}"
        )
    options = {**_HEADS[kind], **given}
    if isinstance(options.get("class_weight"), list):  # of a file
        options["class_weight"] = dict(options["class_weight"])
    check_class_weight(options.get("class_weight"))
    for name in options.keys() & {"low", "high"}:
        checked_float(f"head: {name}", options[name], -np.inf)
    if "low" in options and options["low"] >= options["high"]:
        raise ValueError(f"head: high must be more than low={options['low']!r}, got {options['high']!r}")
    if "scale" in options:
        checked_float("head: scale", options["scale"], 0, above=True)
    if "margin" in options:
        checked_float("head: margin", options["margin"], 0)
        if options["distance"] not in ("euclidean", "cosine"):
            raise ValueError(
                f"head: distance must be 'euclidean' or 'cosine', got {options['distance']!r:.40}"
            )
    return kind, options


def table_labels(
    kind: str, head: dict[str, Any], y: Any, count: int, what: str, learnt: Any
) -> tuple[Floats, Any]:
    """Return labels of the core [n, Y], and their classes or number of columns.

    Args:
        kind: Kind of the head.
        head: Its options.
        y: Labels.
        count: Number of examples.
        what: Name of the labels in errors.
        learnt: Classes or number of columns of the training labels; None for these.
    """
    if kind in UNLABELLED:
        if y is not None:
            raise ValueError(f"{kind} is trained without labels: {what} must be None")
        return np.zeros((count, 0), np.float32), None
    if y is None:
        raise ValueError(f"TrainedAverage: {kind} needs labels: {what} is None")
    if kind == "Classifier":
        learnt = distinct_classes(y) if learnt is None else learnt
        ids = class_ids(y, learnt, what)
        factors = class_weights(head["class_weight"], ids, learnt)
        labels = np.zeros((len(ids), len(learnt)), np.float32)
        labels[np.arange(len(ids)), ids] = factors[ids]
    else:
        values = scores(y, what, 2 if kind == "RowRegression" else 1)
        if kind == "CosineRegression":
            check_range(values, what, head["low"], head["high"])
            values = ((values - head["low"]) / (head["high"] - head["low"]))[:, None]
        labels = np.ascontiguousarray(values, np.float32)
        if learnt not in (None, labels.shape[1]):
            raise ValueError(f"{what} must have {learnt} columns as y, got {labels.shape[1]}")
        learnt = labels.shape[1]
    check_count(labels, count, what)
    return labels, learnt


def confusion(truth: Ids, predicted: Ids, count: int) -> Ids:
    """Return the number of examples of each true class (rows) and predicted class (columns).

    Args:
        truth: Index of the class of each example.
        predicted: Index of its predicted class.
        count: Number of classes.

    Example:
        >>> confusion(np.array([0, 1, 1]), np.array([0, 1, 0]), 2).tolist()
        [[1, 0], [1, 1]]
    """
    cells = np.bincount(truth * count + predicted, minlength=count**2)
    return cells.reshape(count, count).astype(np.int64)
