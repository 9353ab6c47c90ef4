"""What a head that was trained says: classes, scores, rows."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import torch

from ..core_encoder import CoreEncoder
from ..errors import DivergedError, NotFittedError
from .heads import Classifier, CosineRegression, Head, HeadModule, class_array
from .supervised import sides_of

__all__ = ["Learnt", "Prediction", "checked_finite"]

Rows = npt.NDArray[Any]
_ROWS = 4096  # that a head sees at a time


@dataclass(frozen=True)
class Learnt:
    """What was learnt from the rows.

    Attributes:
        head: Its weights.
        sides: How many sentences an example has.
        classes: Of a classifier, in the order of its scores; else None.
    """

    head: HeadModule
    sides: int
    classes: list[Any] | None

    def begin_with(self, other: Any) -> None:
        """Takes the weights of another encoder's head, if it is one alike."""
        theirs: Learnt | None = other._learnt
        if theirs is None or (theirs.classes, theirs.sides) != (self.classes, self.sides):
            return
        mine = self.head.state_dict()
        given = {name: tensor for name, tensor in theirs.head.state_dict().items() if name != "class_weights"}
        if self.head._config["head"] == theirs.head._config["head"] and all(
            name in mine and mine[name].shape == tensor.shape for name, tensor in given.items()
        ):
            self.head.load_state_dict(given, strict=False)

    @classmethod
    def read(cls, core: Any, given: Any, head: Head | None, dim: int) -> Learnt | None:
        """That of a file.

        Args:
            core: The core's head, or None.
            given: What stands beside the parameters.
            head: The parameter.
            dim: Of the embeddings.

        Raises:
            ValueError: If these do not belong together.
        """
        if core is None and given is None:
            return None
        if core is None or not isinstance(given, Mapping) or set(given) != {"sides", "classes"}:
            raise ValueError("params: a head needs what it has learnt, with sides and classes")
        config, classes, sides = json.loads(core.config()), given["classes"], given["sides"]
        kind = config.pop("head")
        if head is None or kind != type(head).__name__:
            raise ValueError(f"params: head is {type(head).__name__}, but config has {kind}")
        if type(sides) is not int or sides not in head.sentences:
            raise ValueError(
                f"params: {kind} learns from {head.sentences} sentences, got sides={sides!r:.20}"
            )
        learnt = classes
        if isinstance(head, Classifier):
            if not isinstance(classes, list) or not all(isinstance(name, str | int) for name in classes):
                raise ValueError(
                    f"params: classes must be a list of names or whole numbers, got {classes!r:.60}"
                )
            if len(set(classes)) < len(classes):
                raise ValueError(f"params: classes must differ, got {classes!r:.60}")
        elif classes is not None:
            raise ValueError(f"params: {kind} has no classes, got {classes!r:.60}")
        elif "targets" in config:
            learnt = config["targets"]
        for name, value in head.core_options(dim, sides, learnt).items():
            if value != config[name]:
                raise ValueError(
                    f"params: {name} of the {kind} is {value!r:.40}, but config has {config[name]!r}"
                )
        return cls(HeadModule.of(core, {"head": kind, **config}), sides, classes)


def checked_finite(values: torch.Tensor, what: str) -> torch.Tensor:
    """The values, if all are finite.

    Raises:
        DivergedError: If one is not.
    """
    if not values.isfinite().all():
        raise DivergedError(f"{what} is not finite: weights are damaged, or the training diverged")
    return values


class Prediction(CoreEncoder):
    """The side of a `NeuralEncoder` that says what its head has learnt."""

    _learnt: Learnt | None = None
    settings: Any
    network: Any

    @property
    def _estimator_type(self) -> Literal["classifier", "regressor"] | None:
        try:
            head = self.settings()["head"]
        except (TypeError, ValueError):  # of a parameter that cannot be used; `fit` raises it
            return None
        return None if head is None else head.estimator_type

    @property
    def head_(self) -> HeadModule:
        """What was learnt from the rows, a `torch.nn.Module`."""
        return self._learnt_head().head

    @property
    def classes_(self) -> Rows:
        """The classes that a classifier knows, sorted.

        Raises:
            NotFittedError: If the encoder was not fitted.
            AttributeError: If its head is no classifier.
        """
        classes = self._learnt_head().classes
        if classes is None:
            raise AttributeError(f"this {type(self).__name__} has no classes_: its head is no Classifier")
        return class_array(classes)

    def _learnt_head(self) -> Learnt:
        if "_model" not in self.__dict__:
            raise NotFittedError(f"this {type(self).__name__} is not fitted yet: call fit first")
        if self._learnt is None:
            raise AttributeError(
                f"this {type(self).__name__} has no head to predict with: fit it with one, as in "
                "fit(sentences, y, head=se.Classifier())"
            )
        return self._learnt

    def _said(self, sentences: Any) -> Rows:
        """What the head says of examples."""
        self._check_fitted()
        learnt = self._learnt_head()
        sides = sides_of(sentences, (learnt.sides,))
        if len(sides) != learnt.sides:
            raise ValueError(
                f"{type(self).__name__} learnt from examples of {learnt.sides} sentences, got {len(sides)}"
                + (": pairs are tuples, as in [(first, second), ...]" if len(sides) == 1 else "")
            )
        every = [sentence for side in sides for sentence in side]
        rows, count = torch.from_numpy(self.encode(every)), len(sides[0])
        device = next((t.device for t in self.network.parameters()), torch.device("cpu"))
        with torch.no_grad():
            found = [
                learnt.head.predict(
                    [
                        rows[side * count + begin : side * count + min(begin + _ROWS, count)].to(device)
                        for side in range(learnt.sides)
                    ]
                ).cpu()
                for begin in range(0, count, _ROWS)
            ]
        return checked_finite(torch.cat(found).float(), f"{type(self).__name__}: a prediction").numpy()

    def predict_proba(self, sentences: Any) -> Rows:
        """How likely each class is.

        Args:
            sentences: As for `fit`.

        Returns:
            [n, classes], in the order of `classes_`.

        Raises:
            NotFittedError: If the encoder has to be fitted first.
            AttributeError: If its head is no classifier.
        """
        self.classes_  # noqa: B018
        return self._said(sentences)

    def predict(self, sentences: Any) -> Rows:
        """What the head says.

        That is the class of each example; of regression the score of a pair, or the row that was imitated; of
        a ranking the cosine of a pair; of triples how much nearer the second sentence is than the third.

        Args:
            sentences: As for `fit`.

        Returns:
            [n], or rows [n, d].

        Raises:
            NotFittedError: If the encoder has to be fitted first.
            AttributeError: If it has no head.
        """
        if self._learnt_head().classes is None:
            return self._said(sentences)
        best = self.predict_proba(sentences).argmax(axis=1)
        found: Rows = self.classes_[best]
        return found

    def score(self, sentences: Any, y: Any) -> float:
        """How good predictions are: a classifier's accuracy; Spearman's rank correlation of scores.

        Args:
            sentences: As for `fit`.
            y: What is right.

        Raises:
            NotFittedError: If the encoder has to be fitted first.
            AttributeError: If it has no head.
            NotImplementedError: If its head learns neither classes nor scores.
        """
        learnt, head = self._learnt_head(), self.settings()["head"]
        if isinstance(head, Classifier):
            return float((self._places(y) == self.predict_proba(sentences).argmax(axis=1)).mean())
        if not isinstance(head, CosineRegression):
            raise NotImplementedError(f"{type(head).__name__} learns neither classes nor scores")
        from ..evaluation.metrics.scores import spearman

        return float(spearman(self.predict(sentences), head.numbers(y, learnt.classes, "y")))

    def confusion_matrix(self, sentences: Any, y: Any) -> npt.NDArray[np.int64]:
        """How often each class is taken for each other one.

        Args:
            sentences: As for `fit`.
            y: The classes that are right.

        Returns:
            [classes, classes]: a row for each right class, a column for what was predicted.

        Raises:
            NotFittedError: If the encoder has to be fitted first.
            AttributeError: If its head is no classifier.
        """
        count, right = len(self.classes_), self._places(y)
        cells = right * count + self.predict_proba(sentences).argmax(axis=1)
        return np.bincount(cells, minlength=count**2).reshape(count, count).astype(np.int64)

    def _places(self, y: Any) -> npt.NDArray[np.int64]:
        """Labels as places among the classes."""
        head = self.settings()["head"]
        if not isinstance(head, Classifier):
            self.classes_  # noqa: B018
        found: npt.NDArray[np.int64] = head.numbers(y, self._learnt_head().classes, "y")
        return found
