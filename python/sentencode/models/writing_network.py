"""Networks that generate words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

import torch
from torch import Tensor

from .cpp_network import CppNetwork

__all__ = ["Loss", "WritingNetwork"]


class Loss(NamedTuple):
    """The loss of a batch.

    Attributes:
        sum: Sum of -log p of all target words, [], with a gradient; with label smoothing in training.
        tokens: Number of target words, ends included.
        right: Number of targets with the highest probability, []; None if words were sampled.
    """

    sum: Tensor
    tokens: float
    right: Tensor | None


class WritingNetwork(CppNetwork):
    """A network that is trained to generate words: those of a sentence, or of its neighbours.

    Use one of its subclasses. Sentences are word vectors [batch, time, features] or ids [batch, time], padded
    at the end with any values. All subclasses have the keyword arguments `words`, the number of ids;
    `features`, the dimensions of a word vector; `begin` and `end`, the ids of the symbols before the first
    and after the last generated word; `trainable_words`, `label_smoothing` and `sampled_words`.
    """

    word_tables: ClassVar[Mapping[str, str]] = dict.fromkeys(
        ("table.weight", "softmax.weight", "softmax.bias"), "words"
    )
    corpus_tensors: ClassVar[tuple[str, ...]] = ("expected",)

    def learnt_words(self) -> Tensor | None:
        """The word table [words, features], if it is trained."""
        table: Tensor = self.table.weight  # type: ignore[assignment, union-attr]
        return table if self._config["trainable_words"] else None

    def _loss(self, *fields: Tensor) -> Loss:
        """The loss, given ids and lengths of each field of a batch."""
        total, tokens, right, _ = self._cpp.loss(list(zip(fields[::2], fields[1::2], strict=True)))
        return Loss(total, tokens, right)

    def load_words(self, rows: Any) -> None:
        """Fill the word table.

        Args:
            rows: [words, features], a tensor or an array.

        Raises:
            ValueError: If the shape is wrong.
        """
        self._cpp.load_words(torch.as_tensor(rows))

    def set_word_counts(self, counts: Any) -> None:
        """Set the word frequencies that sampled softmax samples by. By default ids are frequency ranks.

        Args:
            counts: [words], a tensor or an array.

        Raises:
            ValueError: If the shape is wrong.
        """
        self._cpp.set_word_counts(torch.as_tensor(counts))
