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
from ..checks import checked_bool
from ..core_encoder import plain
from ..generators import isolated_generators
from ..labels import (
    check_class_weight,
    check_range,
    class_ids,
    class_weights,
    distinct_classes,
    plain_name,
    scores,
)
from ..nn.module import CppModule
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
    compares_examples: ClassVar[bool] = False
    """Whether the loss of an example depends on the others of its batch."""

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
    """A classifier of sentences or pairs: a multi-layer perceptron over `[s a; s b; |a - b|; s a * b]`.

    The scale s is `pair_scale`: 1, as in the paper, unless you set it. The default of `GeneralizedPooling` is
    0.1.

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
        check_class_weight(self.class_weight)

    def to_config(self) -> dict[str, Any]:
        """As in `Head`; weights by class are pairs."""
        weight = self.class_weight
        pairs = (
            [[plain_name(name), float(w)] for name, w in weight.items()]
            if isinstance(weight, Mapping)
            else weight
        )
        config = {**super().to_config(), "class_weight": pairs}
        if self.pair_scale == 1:
            del config["pair_scale"]  # which earlier files and checkpoints lack
        return config

    def core_options(self, dim: int, sides: int, learnt: list[Any]) -> dict[str, Any]:
        """As in `Head`."""
        return {**self._core_options(), "features": dim, "sentences": sides, "classes": len(learnt)}

    def learn(self, y: Any) -> list[Any]:
        """Return the classes, sorted."""
        return distinct_classes(y)

    def numbers(self, y: Any, learnt: list[Any], what: str) -> npt.NDArray[np.int64]:
        """Return the index of the class of each label."""
        return class_ids(y, learnt, what)

    def weights(self, labels: npt.NDArray[np.int64], classes: list[Any]) -> npt.NDArray[np.float32]:
        """Return the factor of each class's losses [classes]."""
        return class_weights(self.class_weight, labels, classes)


class CosineRegression(Head):
    """Least-squares regression of a pair's score on the cosine of its embeddings.

    Take `TrainedAverage(vectors, head=CosineRegression(...))`: with 4,000 pairs of STSBenchmark,
    `GeneralizedPooling` is worse than the untrained average, and `RNNCNN` with 500, too
    (docs/results/defaults.md).

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
        values = scores(y, what, 1)
        check_range(values, what, self.low, self.high)
        return values.astype(np.float32)


class MultipleNegatives(Head):
    """Ranks the partner of a sentence above others in the batch. Examples are pairs without labels.

    With some hundred pairs, take `TrainedAverage(vectors, head="MultipleNegatives")`: neural encoders find
    fewer partners, and lose on STSBenchmark (docs/results/defaults.md).

    The third sentences of triples are further negatives for the whole batch. Equal sentences in a batch are
    negatives, too: leave out pairs whose second sentence is frequent. Each process ranks its part of the
    batch. Batches of equal length, a default of some families, would be small: they are random instead.

    Attributes:
        {options}

    Example:
        >>> import sentencode as se
        >>> se.MultipleNegatives().scale
        20.0
    """

    sentences = (2, 3)
    compares_examples = True


class Triplet(Head):
    """Makes a sentence closer to the second than to the third. Examples are triples without labels.

    With up to some thousand triples, `TrainedAverage(vectors, head="Triplet")` is better than neural encoders
    (docs/results/defaults.md).

    Attributes:
        {options}

    Example:
        >>> import sentencode as se
        >>> se.Triplet()
        Triplet(margin=0.2, distance='cosine')
    """

    sentences = (3,)


class RowRegression(Head):
    """Regression of the embeddings of another encoder: `fit(sentences, teacher.encode(sentences))`.

    A projection is initialised by ridge regression on the embeddings of the untrained network. With up to
    4,000 sentences, ridge regression on the average of word vectors is closer to the teacher than `RNNCNN`
    and `MeanMaxAAE`, and training does not make `GeneralizedPooling` better; with 20,000 it does
    (docs/results/defaults.md).

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
        return int(scores(y, "y", 2).shape[1])

    def numbers(self, y: Any, learnt: int, what: str) -> npt.NDArray[np.float32]:
        """Return the teacher's embeddings [n, Y]; labels in C++ are their indices."""
        targets = scores(y, what, 2)
        if targets.shape[1] != learnt:
            raise ValueError(
                f"{what} must be {learnt}-dimensional embeddings as y, got {targets.shape[1]} dimensions"
            )
        return np.ascontiguousarray(targets, np.float32)


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
