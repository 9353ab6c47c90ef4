"""Heads: losses on sentence embeddings, for classes, scores, rankings or embeddings of another encoder."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
from torch import Tensor

from .. import _nn
from ..checks import checked_bool, checked_float, checked_int, checked_str
from ..generators import isolated_generators
from ..nn.module import CppModule
from ..text.inputs import one_column

__all__ = [
    "Classifier",
    "CosineRegression",
    "Head",
    "HeadModule",
    "MultipleNegatives",
    "RowRegression",
    "Triplet",
    "as_head",
]


def _core_head(**config: Any) -> Any:
    """A head in C++. Modules hold this function, as joblib cannot hash those of C++."""
    return _nn.make_head(json.dumps(config))


class HeadModule(CppModule):
    """A head with weights, a module of C++ whose inputs are sentence embeddings.

    Args:
        config: Its kind and options in C++.
    """

    def __init__(self, config: Mapping[str, Any]) -> None:
        super().__init__(_core_head, **config)

    def _build(self) -> None:
        self._cpp = _core_head(**self._config)
        self._bind(self._cpp.node())

    def predict(self, rows: Sequence[Tensor]) -> Tensor:
        """Return predictions without dropout, given embeddings [B, dim] of each sentence of examples."""
        predictions: Tensor = self._cpp.predict(list(rows))
        return predictions

    def loss(
        self, rows: Sequence[Tensor], labels: Tensor | None = None
    ) -> tuple[Tensor, float, Tensor | None]:
        """Return the sum of the losses, the number of examples, and that of correct ones if it is defined."""
        loss: tuple[Tensor, float, Tensor | None] = self._cpp.loss(list(rows), labels)
        return loss


@dataclass(frozen=True)
class Head:
    """A loss on sentence embeddings. Its subclasses are the parameter `head` of every neural encoder."""

    sentences: ClassVar[tuple[int, ...]] = (1,)
    """The numbers of sentences that an example may have."""
    labels: ClassVar[Literal["int64", "float32"] | None] = None
    """The type of labels; None: `y` is not used."""
    estimator_type: ClassVar[Literal["classifier", "regressor"] | None] = None
    """The type of an encoder with this head in scikit-learn."""

    def to_config(self) -> dict[str, Any]:
        """Return kind and options, for `as_head`."""
        return {"kind": type(self).__name__, **asdict(self)}

    def core_options(self, dim: int, sides: int, learnt: Any) -> dict[str, Any]:
        """Return the options in C++.

        Args:
            dim: Dimensions of an embedding.
            sides: Number of sentences of an example.
            learnt: The result of `learn`.
        """
        return asdict(self)

    def learn(self, y: Any) -> Any:
        """Return what is known from the training labels: the classes, or the dimensions of the targets."""

    def numbers(self, y: Any, learnt: Any, what: str) -> npt.NDArray[Any] | None:
        """Return labels for C++; None if there are none."""
        if y is not None:
            raise ValueError(f"{type(self).__name__} is trained without labels: {what} must be None")
        return None


@dataclass(frozen=True)
class Classifier(Head):
    """A classifier of sentences or pairs: a multi-layer perceptron over `[a; b; |a - b|; a * b]`.

    Labels are strings, integers or booleans. `predict`, `predict_proba`, `score` and `classes_` of the
    encoder are as in scikit-learn.

    Attributes:
        hidden: Units of each hidden layer.
        layers: Number of hidden layers; 0: logistic regression.
        shortcuts: Whether the input is an input of every hidden layer.
        activation: "relu", "tanh", "gelu" or "none".
        dropout: Dropout probability of the hidden layers.
        class_weight: None; "balanced", which gives all classes the same weight; or weights by class.

    Example:
        >>> import sentencode as se
        >>> head = se.Classifier(hidden=16, class_weight="balanced")
        >>> head.hidden, head.layers
        (16, 2)
    """

    sentences = (1, 2)
    labels = "int64"
    estimator_type = "classifier"

    hidden: int = 600
    layers: int = 2
    shortcuts: bool = True
    activation: Literal["relu", "tanh", "gelu", "none"] = "relu"
    dropout: float = 0.5
    class_weight: Literal["balanced"] | Mapping[Any, float] | None = None

    def __post_init__(self) -> None:
        checked_int("hidden", self.hidden, 1)
        checked_int("layers", self.layers, 0)
        checked_bool("shortcuts", self.shortcuts)
        checked_str("activation", self.activation)
        checked_float("dropout", self.dropout, 0, 1, below=True)
        if not isinstance(self.class_weight, Mapping) and self.class_weight not in (None, "balanced"):
            raise ValueError(
                f"class_weight must be None, 'balanced' or a dict, got {self.class_weight!r:.40}"
            )

    def __hash__(self) -> int:
        return hash((self.hidden, self.layers, self.shortcuts, self.activation, self.dropout))

    def to_config(self) -> dict[str, Any]:
        """As in `Head`; weights by class are pairs."""
        weight = self.class_weight
        pairs = (
            [[_plain(name), float(w)] for name, w in weight.items()]
            if isinstance(weight, Mapping)
            else weight
        )
        return {**super().to_config(), "class_weight": pairs}

    def core_options(self, dim: int, sides: int, learnt: list[Any]) -> dict[str, Any]:
        """As in `Head`."""
        options = {name: value for name, value in asdict(self).items() if name != "class_weight"}
        return {**options, "features": dim, "sentences": sides, "classes": len(learnt)}

    def learn(self, y: Any) -> list[Any]:
        """Return the classes, sorted."""
        classes = sorted(set(_classes(y, "y")), key=lambda name: (str(type(name)), name))
        if len(classes) < 2:
            count = f"{len(classes)} class{'' if len(classes) == 1 else 'es'}"
            raise ValueError(f"y must have two classes or more, got {count}: {classes!r:.60}")
        return classes

    def numbers(self, y: Any, learnt: list[Any], what: str) -> npt.NDArray[np.int64]:
        """Return the index of the class of each label."""
        index = {name: i for i, name in enumerate(learnt)}
        labels = _classes(y, what)
        for i, name in enumerate(labels):
            if name not in index:
                some = ", ".join(map(repr, learnt[:10])) + (", ..." if len(learnt) > 10 else "")
                raise ValueError(f"{what}[{i}] is {name!r}, none of the classes {some}")
        return np.array([index[name] for name in labels], np.int64)

    def weights(self, labels: npt.NDArray[np.int64], classes: list[Any]) -> npt.NDArray[np.float32]:
        """Return the factor of each class's losses [classes]."""
        if self.class_weight is None:
            return np.ones(len(classes), np.float32)
        if self.class_weight == "balanced":
            counts = np.bincount(labels, minlength=len(classes))
            return (len(labels) / (len(classes) * np.maximum(counts, 1))).astype(np.float32)
        assert isinstance(self.class_weight, Mapping)
        if unknown := [name for name in self.class_weight if name not in classes]:
            raise ValueError(f"class_weight: {unknown[0]!r} is none of the classes {classes!r:.60}")
        weights = [self.class_weight.get(name, 1.0) for name in classes]
        return np.array([checked_float("class_weight", w, 0) for w in weights], np.float32)


@dataclass(frozen=True)
class CosineRegression(Head):
    """Least-squares regression of a pair's score on the cosine of its embeddings.

    Attributes:
        low: The score of a cosine of 0.
        high: The score of a cosine of 1; 5 in STSBenchmark.

    Example:
        >>> import sentencode as se
        >>> se.CosineRegression(high=5.0)
        CosineRegression(low=0.0, high=5.0)
    """

    sentences = (2,)
    labels = "float32"
    estimator_type = "regressor"

    low: float = 0.0
    high: float = 1.0

    def __post_init__(self) -> None:
        if not checked_float("high", self.high, -np.inf) > checked_float("low", self.low, -np.inf):
            raise ValueError(f"high must be more than low={self.low}, got {self.high}")

    def numbers(self, y: Any, learnt: Any, what: str) -> npt.NDArray[np.float32]:
        """Return scores."""
        return _scores(y, what, 1).astype(np.float32)


@dataclass(frozen=True)
class MultipleNegatives(Head):
    """Ranks the partner of a sentence above others in the batch. Examples are pairs without labels.

    The third sentences of triples are further negatives for the whole batch. Equal sentences in a batch are
    negatives, too: leave out pairs whose second sentence is frequent. Each process ranks its part of the
    batch.

    Attributes:
        scale: Factor of the cosines in the softmax.

    Example:
        >>> import sentencode as se
        >>> se.MultipleNegatives().scale
        20.0
    """

    sentences = (2, 3)

    scale: float = 20.0

    def __post_init__(self) -> None:
        checked_float("scale", self.scale, 0, above=True)


@dataclass(frozen=True)
class Triplet(Head):
    """Makes a sentence closer to the second than to the third. Examples are triples without labels.

    Attributes:
        margin: Margin between the two distances.
        distance: "euclidean" or "cosine".

    Example:
        >>> import sentencode as se
        >>> se.Triplet(distance="cosine", margin=0.5)
        Triplet(margin=0.5, distance='cosine')
    """

    sentences = (3,)

    margin: float = 1.0
    distance: Literal["euclidean", "cosine"] = "euclidean"

    def __post_init__(self) -> None:
        checked_float("margin", self.margin, 0)
        _check_distance(self.distance)


@dataclass(frozen=True)
class RowRegression(Head):
    """Regression of the embeddings of another encoder: `fit(sentences, teacher.encode(sentences))`.

    Attributes:
        projection: Whether embeddings are mapped linearly to the teacher's; `predict` returns the result.
            None: if dimensions differ.
        distance: "euclidean", the mean of squared differences; or "cosine".

    Example:
        >>> import sentencode as se
        >>> se.RowRegression(distance="cosine")
        RowRegression(projection=None, distance='cosine')
    """

    labels = "int64"

    projection: bool | None = None
    distance: Literal["euclidean", "cosine"] = "euclidean"

    def __post_init__(self) -> None:
        if self.projection is not None:
            checked_bool("projection", self.projection)
        _check_distance(self.distance)

    def core_options(self, dim: int, sides: int, learnt: int) -> dict[str, Any]:
        """As in `Head`."""
        projection = dim != learnt if self.projection is None else self.projection
        return {"features": dim, "targets": learnt, "projection": projection, "distance": self.distance}

    def learn(self, y: Any) -> int:
        """Return the dimensions of the teacher's embeddings."""
        return int(_scores(y, "y", 2).shape[1])

    def numbers(self, y: Any, learnt: int, what: str) -> npt.NDArray[np.float32]:
        """Return the teacher's embeddings [n, Y]; labels in C++ are their indices."""
        targets = _scores(y, what, 2)
        if targets.shape[1] != learnt:
            raise ValueError(
                f"{what} must be {learnt}-dimensional embeddings as y, got {targets.shape[1]} dimensions"
            )
        return np.ascontiguousarray(targets, np.float32)


_EXACT = 2**53  # floats represent all integers up to it

_KINDS: dict[Any, type[Head]] = {
    kind.__name__: kind for kind in (Classifier, CosineRegression, MultipleNegatives, RowRegression, Triplet)
}


def as_head(head: Any) -> Head | None:
    """Return a head.

    Args:
        head: A head; its name; or a dict of its `kind` and options, as in files of `sentencode train`.

    Raises:
        TypeError: If it is none of these.
        ValueError: If there is no such head, or an option is wrong.
    """
    if head is None or isinstance(head, Head):
        return head
    config = {"kind": head} if isinstance(head, str) else head
    if not isinstance(config, Mapping):
        raise TypeError(
            f"head must be a head such as se.Classifier(), got {head!r:.40} ({type(head).__name__})"
        )
    options = dict(config)
    name = options.pop("kind", None)
    if name not in _KINDS:
        raise ValueError(f"head: kind must be one of {', '.join(sorted(_KINDS))}, got {name!r:.40}")
    if unknown := set(options) - {field.name for field in fields(_KINDS[name])}:
        raise ValueError(f"head: {name} has no option {min(unknown)!r}")
    if isinstance(options.get("class_weight"), list):
        options["class_weight"] = dict(options["class_weight"])
    return _KINDS[name](**options)


def made_head(head: Head, dim: int, sides: int, learnt: Any, seed: int) -> HeadModule:
    """Return a module with new weights."""
    with isolated_generators(seed):
        return HeadModule({"head": type(head).__name__, **head.core_options(dim, sides, learnt)})


def _plain(name: Any) -> Any:
    return name.item() if isinstance(name, np.generic) else name


def _classes(y: Any, what: str) -> list[Any]:
    if y is None:
        raise ValueError(f"a Classifier needs labels: {what} is None")
    y = one_column(y, what)
    labels = [_plain(name) for name in (y.tolist() if isinstance(y, np.ndarray) else y)]
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


def class_array(classes: list[Any]) -> npt.NDArray[Any]:
    """Return classes as an array; of Python objects if no dtype represents them all exactly.

    Args:
        classes: Names or integers; those of old files may have several types.
    """
    kinds = {type(name) for name in classes}
    if kinds == {int} and (min(classes) < -(2**63) or max(classes) >= 2**63):
        return np.array(classes, np.uint64 if min(classes) >= 0 and max(classes) < 2**64 else object)
    return np.array(classes, None if len(kinds) == 1 else object)


def _scores(y: Any, what: str, axes: int) -> npt.NDArray[np.float64]:
    kind = "a number for each example" if axes == 1 else "a row of numbers for each sentence"
    if y is None:
        raise ValueError(f"{what} must be {kind}, got None")
    if axes == 1:
        y = one_column(y, what)
    values = np.asarray(y.detach().cpu() if isinstance(y, Tensor) else y)
    if values.ndim != axes or values.dtype.kind not in "iuf":
        raise ValueError(f"{what} must be {kind}, got {values.dtype} {list(values.shape)}")
    if not np.isfinite(values).all():
        raise ValueError(f"{what} must be finite")
    return values


def _check_distance(distance: Any) -> None:
    if distance not in ("euclidean", "cosine"):
        raise ValueError(f"distance must be 'euclidean' or 'cosine', got {distance!r}")
