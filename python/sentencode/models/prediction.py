"""Trained heads and their predictions: classes, scores, embeddings."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from ..errors import DivergedError
from ..labels import check_count, class_array, class_ids, scores
from ..linear.table_heads import confusion
from ..text.sides import is_empty, sides_of
from .heads import Classifier, CosineRegression, Head, HeadModule

__all__ = ["TrainedHead", "checked_finite"]

Rows = npt.NDArray[Any]
_BATCH = 4096  # embeddings in one call of a head


@dataclass(frozen=True)
class TrainedHead:
    """A trained head, which predicts from embeddings.

    Attributes:
        head: The module.
        sides: Number of sentences of an example.
        classes: Classes of a classifier, in the order of its scores; else None.
    """

    head: HeadModule
    sides: int
    classes: list[Any] | None

    def copy_weights(self, other: TrainedHead | None) -> None:
        """Copies the weights of another head, if it has the same kind, shape and classes."""
        if other is None or (other.classes, other.sides) != (self.classes, self.sides):
            return
        state = self.head.state_dict()
        weights = {name: w for name, w in other.head.state_dict().items() if name != "class_weights"}
        if self.head._config["head"] == other.head._config["head"] and all(
            name in state and state[name].shape == weight.shape for name, weight in weights.items()
        ):
            self.head.load_state_dict(weights, strict=False)

    @classmethod
    def read(cls, core: Any, saved: Any, head: Head | None, dim: int) -> TrainedHead | None:
        """The head of a file, or None; ValueError if weights, saved attributes and parameter contradict."""
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
        label_info = classes
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
            label_info = config["targets"]
        for name, value in head.core_options(dim, sides, label_info).items():
            if value != config[name]:
                raise ValueError(
                    f"params: {name} of the {kind} is {value!r:.40}, but config has {config[name]!r}"
                )
        return cls(HeadModule.of(core, {"head": kind, **config}), sides, classes)

    def outputs(self, encoder: Any, sentences: Any) -> Rows:
        """The outputs for examples as in `fit`: probabilities, scores or embeddings."""
        name = type(encoder).__name__
        sides = [[]] * self.sides if is_empty(sentences) else sides_of(sentences, (self.sides,), files=False)
        if len(sides) != self.sides:
            raise ValueError(
                f"{name} was trained on examples of {self.sides} sentences, got {len(sides)}"
                + (": pairs and triples are tuples, as in [(first, second), ...]" if len(sides) == 1 else "")
            )
        z = torch.from_numpy(encoder.encode([sentence for side in sides for sentence in side]))
        with torch.no_grad():
            outputs = [
                self.head.predict(list(batch.to(encoder._device))).cpu()
                for batch in torch.split(z.view(len(sides), len(sides[0]), z.shape[-1]), _BATCH, dim=1)
            ]
        return checked_finite(torch.cat(outputs).float(), f"{name}: a prediction").numpy()

    def class_array(self, encoder: Any) -> Rows:
        """The classes, sorted; AttributeError if the head is no classifier."""
        if self.classes is None:
            raise AttributeError(f"this {type(encoder).__name__} has no classes_: its head is no Classifier")
        return class_array(self.classes)

    def probabilities(self, encoder: Any, sentences: Any) -> Rows:
        """The probability of each class [n, classes]."""
        self.class_array(encoder)
        return self.outputs(encoder, sentences)

    def predictions(self, encoder: Any, sentences: Any) -> Rows:
        """The class with the highest probability, or the outputs of another head."""
        outputs = self.outputs(encoder, sentences)
        if self.classes is None:
            return outputs
        predictions: Rows = self.class_array(encoder)[outputs.argmax(axis=1)]
        return predictions

    def score(self, encoder: Any, sentences: Any, y: Any) -> float:
        """The accuracy of a classifier, or Spearman's rank correlation of predicted scores."""
        head = encoder.settings()["head"]
        outputs = self.outputs(encoder, sentences)
        if isinstance(head, Classifier):
            ids = class_ids(y, self.classes or [], "y", others=-1)
            check_count(ids, len(outputs), "y")
            return float((ids == outputs.argmax(axis=1)).mean())
        if not isinstance(head, CosineRegression):
            raise NotImplementedError(f"{type(head).__name__} predicts neither classes nor scores")
        from ..evaluation.metrics.scores import spearman

        truth = scores(y, "y", 1)
        check_count(truth, len(outputs), "y")
        return float(spearman(outputs, truth))

    def confusion_matrix(self, encoder: Any, sentences: Any, y: Any) -> npt.NDArray[np.int64]:
        """The number of examples of each true class (rows) and predicted class (columns)."""
        count = len(self.class_array(encoder))
        outputs = self.outputs(encoder, sentences)
        return confusion(self._class_ids(encoder, y, len(outputs)), outputs.argmax(axis=1), count)

    def _class_ids(self, encoder: Any, y: Any, examples: int) -> npt.NDArray[np.int64]:
        """Labels as indices of the classes."""
        self.class_array(encoder)
        ids: npt.NDArray[np.int64] = encoder.settings()["head"].numbers(y, self.classes, "y")
        check_count(ids, examples, "y")
        return ids


Learnt = TrainedHead  # in pickles of earlier versions


def checked_finite(values: torch.Tensor, what: str) -> torch.Tensor:
    """Return the values; `DivergedError` if one is not finite."""
    if not values.isfinite().all():
        raise DivergedError(f"{what} is not finite: weights are damaged, or the training diverged")
    return values
