"""Heads: losses on sentence embeddings, for classes, scores, rankings or embeddings of another encoder."""

from __future__ import annotations

import inspect
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
from torch import Tensor

from .. import _nn
from ..checks import checked_bool, checked_float
from ..core_encoder import plain
from ..generators import isolated_generators
from ..nn.module import CppModule
from ..text.inputs import one_column
from .cpp_network import Option, documented, options_of

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


class Head:
    """A loss on sentence embeddings. Its subclasses are the parameter `head` of every neural encoder.

    Subclasses are frozen dataclasses. Their fields are the options of the head in C++, except those that
    training sets, and the fields that the class declares.

    Raises:
        TypeError: If there is no such option, or one has the wrong type.
        ValueError: If an option is out of range.
    """

    options: ClassVar[Mapping[str, Option]] = {}
    """The options in C++ that are fields."""
    sentences: ClassVar[tuple[int, ...]] = (1,)
    """The numbers of sentences that an example may have."""
    labels: ClassVar[Literal["int64", "float32"] | None] = None
    """The type of labels; None: `y` is not used."""
    estimator_type: ClassVar[Literal["classifier", "regressor"] | None] = None
    """The type of an encoder with this head in scikit-learn."""

    if TYPE_CHECKING:

        def __init__(self, *args: Any, **options: Any) -> None: ...
        def __getattr__(self, name: str) -> Any: ...

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        declared, table = inspect.get_annotations(cls), options_of(cls.__name__)
        options = [o for o in table.values() if o.default is not inspect.Parameter.empty]
        cls.options = {o.name: o for o in options if o.name not in declared}
        for name, option in cls.options.items():
            setattr(cls, name, option.default)
        cls.__annotations__ = {**{o.name: o.annotation for o in options}, **declared}  # in the table's order
        cls.__doc__ = documented(cls.__doc__, options)
        dataclass(frozen=True)(cls)

    def __post_init__(self) -> None:
        _nn.check_options(type(self).__name__, **self._core_options())

    def _core_options(self) -> dict[str, Any]:
        return {name: plain(getattr(self, name)) for name in self.options}

    def to_config(self) -> dict[str, Any]:
        """Return kind and options, for `as_head`."""
        return {"kind": type(self).__name__, **{name: plain(value) for name, value in vars(self).items()}}

    def core_options(self, dim: int, sides: int, learnt: Any) -> dict[str, Any]:
        """Return the options in C++.

        Args:
            dim: Dimensions of an embedding.
            sides: Number of sentences of an example.
            learnt: The result of `learn`.
        """
        return self._core_options()

    def learn(self, y: Any) -> Any:
        """Return what is known from the training labels: the classes, or the dimensions of the targets."""

    def numbers(self, y: Any, learnt: Any, what: str) -> npt.NDArray[Any] | None:
        """Return labels for C++; None if there are none."""
        if y is not None:
            raise ValueError(f"{type(self).__name__} is trained without labels: {what} must be None")
        return None


class Classifier(Head):
    """A classifier of sentences or pairs: a multi-layer perceptron over `[a; b; |a - b|; a * b]`.

    Labels are strings, integers or booleans. `predict`, `predict_proba`, `score` and `classes_` of the
    encoder are as in scikit-learn.

    Attributes:
        {options}
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

    class_weight: Literal["balanced"] | Mapping[Any, float] | None = field(default=None, hash=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.class_weight, Mapping) and self.class_weight not in (None, "balanced"):
            raise ValueError(
                f"class_weight must be None, 'balanced' or a dict, got {self.class_weight!r:.40}"
            )

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
        return {**self._core_options(), "features": dim, "sentences": sides, "classes": len(learnt)}

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


class CosineRegression(Head):
    """Least-squares regression of a pair's score on the cosine of its embeddings.

    Attributes:
        {options}

    Example:
        >>> import sentencode as se
        >>> se.CosineRegression(high=5.0)
        CosineRegression(low=0.0, high=5.0)
    """

    sentences = (2,)
    labels = "float32"
    estimator_type = "regressor"

    def numbers(self, y: Any, learnt: Any, what: str) -> npt.NDArray[np.float32]:
        """Return scores."""
        return _scores(y, what, 1).astype(np.float32)


class MultipleNegatives(Head):
    """Ranks the partner of a sentence above others in the batch. Examples are pairs without labels.

    The third sentences of triples are further negatives for the whole batch. Equal sentences in a batch are
    negatives, too: leave out pairs whose second sentence is frequent. Each process ranks its part of the
    batch.

    Attributes:
        {options}

    Example:
        >>> import sentencode as se
        >>> se.MultipleNegatives().scale
        20.0
    """

    sentences = (2, 3)


class Triplet(Head):
    """Makes a sentence closer to the second than to the third. Examples are triples without labels.

    Attributes:
        {options}

    Example:
        >>> import sentencode as se
        >>> se.Triplet(distance="cosine", margin=0.5)
        Triplet(margin=0.5, distance='cosine')
    """

    sentences = (3,)


class RowRegression(Head):
    """Regression of the embeddings of another encoder: `fit(sentences, teacher.encode(sentences))`.

    Attributes:
        projection: Whether embeddings are mapped linearly to the teacher's; `predict` returns the result.
            None: if dimensions differ.
        {options}

    Example:
        >>> import sentencode as se
        >>> se.RowRegression(distance="cosine")
        RowRegression(projection=None, distance='cosine')
    """

    labels = "int64"

    projection: bool | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.projection is not None:
            checked_bool("projection", self.projection)

    def core_options(self, dim: int, sides: int, learnt: int) -> dict[str, Any]:
        """As in `Head`."""
        projection = dim != learnt if self.projection is None else self.projection
        return {**self._core_options(), "features": dim, "targets": learnt, "projection": projection}

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
    if unknown := options.keys() - inspect.signature(_KINDS[name]).parameters.keys():
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
