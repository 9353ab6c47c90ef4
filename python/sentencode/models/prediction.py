"""Predictions of heads: classes, scores, embeddings."""

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
_BATCH = 4096  # embeddings in one call of a head


@dataclass(frozen=True)
class Learnt:
    """A trained head.

    Attributes:
        head: The module.
        sides: Number of sentences of an example.
        classes: Classes of a classifier, in the order of its scores; else None.
    """

    head: HeadModule
    sides: int
    classes: list[Any] | None

    def begin_with(self, other: Any) -> None:
        """Copies the weights of another encoder's head, if it has the same kind, shape and classes."""
        learnt: Learnt | None = other._learnt
        if learnt is None or (learnt.classes, learnt.sides) != (self.classes, self.sides):
            return
        state = self.head.state_dict()
        weights = {name: w for name, w in learnt.head.state_dict().items() if name != "class_weights"}
        if self.head._config["head"] == learnt.head._config["head"] and all(
            name in state and state[name].shape == weight.shape for name, weight in weights.items()
        ):
            self.head.load_state_dict(weights, strict=False)

    @classmethod
    def read(cls, core: Any, saved: Any, head: Head | None, dim: int) -> Learnt | None:
        """The head of a file.

        Args:
            core: The head in C++, or None.
            saved: What the file has besides its weights.
            head: The parameter `head`.
            dim: Dimensions of the embeddings.

        Raises:
            ValueError: If these do not belong together.
        """
        if core is None and saved is None:
            return None
        if core is None or not isinstance(saved, Mapping) or set(saved) != {"sides", "classes"}:
            raise ValueError("params: a head needs what it has learnt, with sides and classes")
        config, classes, sides = json.loads(core.config()), saved["classes"], saved["sides"]
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
    """Return the values.

    Raises:
        DivergedError: If one is not finite.
    """
    if not values.isfinite().all():
        raise DivergedError(f"{what} is not finite: weights are damaged, or the training diverged")
    return values


class Prediction(CoreEncoder):
    """Predictions of a `NeuralEncoder` with a head."""

    _learnt: Learnt | None = None
    settings: Any
    network: Any

    @property
    def _estimator_type(self) -> Literal["classifier", "regressor"] | None:
        try:
            head = self.settings()["head"]
        except (TypeError, ValueError):  # `fit` reports invalid parameters
            return None
        return None if head is None else head.estimator_type

    @property
    def head_(self) -> HeadModule:
        """The trained head, a `torch.nn.Module`."""
        return self._learnt_head().head

    @property
    def classes_(self) -> Rows:
        """The classes of a classifier, sorted.

        Raises:
            NotFittedError: If the encoder is not fitted.
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

    def _predicted(self, sentences: Any) -> Rows:
        """The head's predictions for examples."""
        self._check_fitted()
        learnt = self._learnt_head()
        sides = sides_of(sentences, (learnt.sides,))
        if len(sides) != learnt.sides:
            raise ValueError(
                f"{type(self).__name__} was trained on examples of {learnt.sides} sentences, got {len(sides)}"
                + (": pairs are tuples, as in [(first, second), ...]" if len(sides) == 1 else "")
            )
        every = [sentence for side in sides for sentence in side]
        z, count = torch.from_numpy(self.encode(every)), len(sides[0])
        device = next((t.device for t in self.network.parameters()), torch.device("cpu"))
        with torch.no_grad():
            predictions = [
                learnt.head.predict(
                    [
                        z[side * count + begin : side * count + min(begin + _BATCH, count)].to(device)
                        for side in range(learnt.sides)
                    ]
                ).cpu()
                for begin in range(0, count, _BATCH)
            ]
        return checked_finite(torch.cat(predictions).float(), f"{type(self).__name__}: a prediction").numpy()

    def predict_proba(self, sentences: Any) -> Rows:
        """Return the probability of each class.

        Args:
            sentences: As in `fit`.

        Returns:
            [n, classes], in the order of `classes_`.

        Raises:
            NotFittedError: If the encoder is not fitted.
            AttributeError: If its head is no classifier.
        """
        self.classes_  # noqa: B018
        return self._predicted(sentences)

    def predict(self, sentences: Any) -> Rows:
        """Return the head's predictions.

        A classifier predicts classes; a regression the scores of pairs, or target embeddings; a ranking the
        cosines of pairs; a triplet head how much closer the second sentence is than the third.

        Args:
            sentences: As in `fit`.

        Returns:
            [n], or embeddings [n, d].

        Raises:
            NotFittedError: If the encoder is not fitted.
            AttributeError: If it has no head.
        """
        if self._learnt_head().classes is None:
            return self._predicted(sentences)
        predictions: Rows = self.classes_[self.predict_proba(sentences).argmax(axis=1)]
        return predictions

    def score(self, sentences: Any, y: Any) -> float:
        """Return the accuracy of a classifier, or Spearman's rank correlation of predicted scores.

        Args:
            sentences: As in `fit`.
            y: The true classes or scores.

        Raises:
            NotFittedError: If the encoder is not fitted.
            AttributeError: If it has no head.
            NotImplementedError: If its head predicts neither classes nor scores.
        """
        learnt, head = self._learnt_head(), self.settings()["head"]
        if isinstance(head, Classifier):
            return float((self._class_ids(y) == self.predict_proba(sentences).argmax(axis=1)).mean())
        if not isinstance(head, CosineRegression):
            raise NotImplementedError(f"{type(head).__name__} predicts neither classes nor scores")
        from ..evaluation.metrics.scores import spearman

        return float(spearman(self.predict(sentences), head.numbers(y, learnt.classes, "y")))

    def confusion_matrix(self, sentences: Any, y: Any) -> npt.NDArray[np.int64]:
        """Return the confusion matrix of a classifier.

        Args:
            sentences: As in `fit`.
            y: The true classes.

        Returns:
            [classes, classes]: a row for each true class, a column for each predicted one.

        Raises:
            NotFittedError: If the encoder is not fitted.
            AttributeError: If its head is no classifier.
        """
        count, true = len(self.classes_), self._class_ids(y)
        cells = true * count + self.predict_proba(sentences).argmax(axis=1)
        return np.bincount(cells, minlength=count**2).reshape(count, count).astype(np.int64)

    def _class_ids(self, y: Any) -> npt.NDArray[np.int64]:
        """Labels as indices of classes."""
        head = self.settings()["head"]
        if not isinstance(head, Classifier):
            self.classes_  # noqa: B018
        ids: npt.NDArray[np.int64] = head.numbers(y, self._learnt_head().classes, "y")
        return ids
