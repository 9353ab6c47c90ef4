"""What is learnt from the rows of sentences: classes, scores, ranks, the rows of another encoder."""

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
    """A head of the core. joblib cannot hash the core's own function, which modules remember."""
    return _nn.make_head(json.dumps(config))


class HeadModule(CppModule):
    """A head's weights: a C++ module that takes sentences' rows.

    Args:
        config: Its kind and options, as the core has them.
    """

    def __init__(self, config: Mapping[str, Any]) -> None:
        super().__init__(_core_head, **config)

    def _build(self) -> None:
        self._cpp = _core_head(**self._config)
        self._bind(self._cpp.node())

    def predict(self, rows: Sequence[Tensor]) -> Tensor:
        """What it says of examples, given the rows [B, dim] of their sentences; never with dropout."""
        found: Tensor = self._cpp.predict(list(rows))
        return found

    def loss(
        self, rows: Sequence[Tensor], labels: Tensor | None = None
    ) -> tuple[Tensor, float, Tensor | None]:
        """The sum of examples' losses, how many they are, and how many are right, if that means something."""
        found: tuple[Tensor, float, Tensor | None] = self._cpp.loss(list(rows), labels)
        return found


@dataclass(frozen=True)
class Head:
    """What an encoder learns to do with its rows: its subclasses are `head=` of any neural encoder."""

    sentences: ClassVar[tuple[int, ...]] = (1,)
    """How many sentences an example may have."""
    labels: ClassVar[Literal["int64", "float32"] | None] = None
    """What becomes of `y`; None: it is not looked at."""
    estimator_type: ClassVar[Literal["classifier", "regressor"] | None] = None
    """What scikit-learn takes an encoder with this head for."""

    def to_config(self) -> dict[str, Any]:
        """Its kind and options, of which `as_head` makes it again."""
        return {"kind": type(self).__name__, **asdict(self)}

    def core_options(self, dim: int, sides: int, learnt: Any) -> dict[str, Any]:
        """The core's options.

        Args:
            dim: Of rows.
            sides: Sentences of an example.
            learnt: What `learn` returned.
        """
        return asdict(self)

    def learn(self, y: Any) -> Any:
        """What labels to train on say of all labels: the classes, the width of rows."""

    def numbers(self, y: Any, learnt: Any, what: str) -> npt.NDArray[Any] | None:
        """Labels as the core has them; None for none."""
        if y is not None:
            raise ValueError(f"{type(self).__name__} learns without labels: {what} must be None")
        return None


@dataclass(frozen=True)
class Classifier(Head):
    """Tells the class of a sentence, or of a pair: a perceptron over `[a; b; |a - b|; a * b]`.

    Labels are strings, whole numbers or truths. `predict`, `predict_proba`, `score` and `classes_` of the
    encoder are then as in scikit-learn.

    Attributes:
        hidden: Units of each hidden layer.
        layers: Hidden layers; 0: logistic regression.
        shortcuts: Whether hidden layers above the first see the input, too.
        activation: "relu", "tanh", "gelu" or "none".
        dropout: On hidden layers.
        class_weight: None; "balanced", where each class counts as much as any other; or weights by class.

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
        """As `Head.to_config`; weights by class as pairs."""
        weight = self.class_weight
        pairs = (
            [[_plain(name), float(w)] for name, w in weight.items()]
            if isinstance(weight, Mapping)
            else weight
        )
        return {**super().to_config(), "class_weight": pairs}

    def core_options(self, dim: int, sides: int, learnt: list[Any]) -> dict[str, Any]:
        """As `Head.core_options`."""
        own = {name: value for name, value in asdict(self).items() if name != "class_weight"}
        return {**own, "features": dim, "sentences": sides, "classes": len(learnt)}

    def learn(self, y: Any) -> list[Any]:
        """The classes, sorted."""
        classes = sorted(set(_classes(y, "y")), key=lambda name: (str(type(name)), name))
        if len(classes) < 2:
            count = f"{len(classes)} class{'' if len(classes) == 1 else 'es'}"
            raise ValueError(f"y must have two classes or more, got {count}: {classes!r:.60}")
        return classes

    def numbers(self, y: Any, learnt: list[Any], what: str) -> npt.NDArray[np.int64]:
        """The places of labels among the classes."""
        places = {name: i for i, name in enumerate(learnt)}
        found = _classes(y, what)
        for i, name in enumerate(found):
            if name not in places:
                some = ", ".join(map(repr, learnt[:10])) + (", ..." if len(learnt) > 10 else "")
                raise ValueError(f"{what}[{i}] is {name!r}, none of the classes {some}")
        return np.array([places[name] for name in found], np.int64)

    def weights(self, labels: npt.NDArray[np.int64], classes: list[Any]) -> npt.NDArray[np.float32]:
        """What each class's losses are multiplied by [classes]."""
        if self.class_weight is None:
            return np.ones(len(classes), np.float32)
        if self.class_weight == "balanced":
            counts = np.bincount(labels, minlength=len(classes))
            return (len(labels) / (len(classes) * np.maximum(counts, 1))).astype(np.float32)
        assert isinstance(self.class_weight, Mapping)
        if unknown := [name for name in self.class_weight if name not in classes]:
            raise ValueError(f"class_weight: {unknown[0]!r} is none of the classes {classes!r:.60}")
        given = [self.class_weight.get(name, 1.0) for name in classes]
        return np.array([checked_float("class_weight", w, 0) for w in given], np.float32)


@dataclass(frozen=True)
class CosineRegression(Head):
    """The cosine of a pair's rows is its score: least squares.

    Attributes:
        low: The score that a cosine of 0 stands for.
        high: That of 1; STSBenchmark's is 5.

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
        """Scores."""
        return _scores(y, what, 1).astype(np.float32)


@dataclass(frozen=True)
class MultipleNegatives(Head):
    """A sentence belongs to its own partner, and not to those of others in the batch: pairs without labels.

    Triples bring a wrong partner each, which is wrong for all of the batch. What repeats in a batch counts as
    wrong, too: leave out pairs whose second sentence many share. Of several processes each ranks its part.

    Attributes:
        scale: What cosines are multiplied by before the softmax.

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
    """A sentence lies nearer to the second than to the third, by a margin: triples without labels.

    Attributes:
        margin: By how much.
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
    """A sentence's row is that of another encoder: `fit(sentences, teacher.encode(sentences))`.

    Attributes:
        projection: Whether a linear map leads from rows to the teacher's; `predict` gives what it makes.
            None: where widths differ.
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
        """As `Head.core_options`."""
        projection = dim != learnt if self.projection is None else self.projection
        return {"features": dim, "targets": learnt, "projection": projection, "distance": self.distance}

    def learn(self, y: Any) -> int:
        """How wide the teacher's rows are."""
        return int(_scores(y, "y", 2).shape[1])

    def numbers(self, y: Any, learnt: int, what: str) -> npt.NDArray[np.float32]:
        """The teacher's rows [n, Y]; the core is given their places."""
        rows = _scores(y, what, 2)
        if rows.shape[1] != learnt:
            raise ValueError(f"{what} must be rows of {learnt} numbers as y's are, got {rows.shape[1]}")
        return np.ascontiguousarray(rows, np.float32)


_EXACT = 2**53  # floats hold every whole number up to it

_KINDS: dict[Any, type[Head]] = {
    kind.__name__: kind for kind in (Classifier, CosineRegression, MultipleNegatives, RowRegression, Triplet)
}


def as_head(given: Any) -> Head | None:
    """A head of what was given as one.

    Args:
        given: A head; its name; or a dict of its `kind` and options, as files of `sentencode train` hold it.

    Raises:
        TypeError: If it is none of these.
        ValueError: If there is no such head, or an option is wrong.
    """
    if given is None or isinstance(given, Head):
        return given
    config = {"kind": given} if isinstance(given, str) else given
    if not isinstance(config, Mapping):
        raise TypeError(
            f"head must be a head such as se.Classifier(), got {given!r:.40} ({type(given).__name__})"
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
    """A head with weights of its own."""
    with isolated_generators(seed):
        return HeadModule({"head": type(head).__name__, **head.core_options(dim, sides, learnt)})


def _plain(name: Any) -> Any:
    return name.item() if isinstance(name, np.generic) else name


def _classes(y: Any, what: str) -> list[Any]:
    if y is None:
        raise ValueError(f"a Classifier learns from labels: {what} is None")
    y = one_column(y, what)
    found = [_plain(name) for name in (y.tolist() if isinstance(y, np.ndarray) else y)]
    for i, name in enumerate(found):
        if isinstance(name, float) and name.is_integer():
            if abs(name) > _EXACT:
                raise ValueError(f"{what}[{i}] is the float {name!r}, too large to be exact: give an int")
            found[i] = int(name)
        elif not isinstance(name, str | int):
            raise TypeError(
                f"{what}[{i}] must be a class's name, a str or a whole number, got {name!r:.40} "
                f"({type(name).__name__})"
            )
        if type(found[i]) is not type(found[0]):
            raise TypeError(
                f"{what}[{i}] is {found[i]!r:.40} ({type(found[i]).__name__}), but {what}[0] is "
                f"{found[0]!r:.40} ({type(found[0]).__name__}): classes must be of one type"
            )
    return found


def class_array(classes: list[Any]) -> npt.NDArray[Any]:
    """Classes as an array that holds each unchanged: as Python's objects where no dtype of numpy does.

    Args:
        classes: Names or whole numbers; those of an old file may be of several types.
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
