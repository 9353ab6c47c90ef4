"""What all networks share that learn by writing words."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, NamedTuple

import torch
from torch import Tensor

from ..nn.module import CppModule

__all__ = ["Loss", "WritingNetwork"]


class Loss(NamedTuple):
    """What a network says of a batch.

    Attributes:
        sum: Of -log p of all words, [], with a gradient; smoothed in training if it is to be.
        tokens: How many words there are to be told, ends among them.
        right: How many of them the network holds for the most likely ones, []; None where it looked at a
            sample of the words alone.
    """

    sum: Tensor
    tokens: float
    right: Tensor | None


class WritingNetwork(CppModule):
    """A network that is trained to write words: those of a sentence again, or those around it.

    Use one of its subclasses. Sentences are word vectors [batch, time, features], words at the left, or ids
    [batch, time]. What lies behind them does not matter. All take these keyword arguments:

    Args:
        cpp_class: The bound C++ class.
        words: Words that can be written, rows of the table; `begin` and `end` are two of them.
        features: Width of a word's vector.
        begin: The symbol before the first word that is written.
        end: The symbol after the last one.
        trainable_words: Whether the table is trained.
        label_smoothing: In training, as in `sentencode.nn.softmax_loss`.
        sampled_words: How many words, on average, targets are told from in training; 0: all.
        **config: The network's own.

    Raises:
        ValueError: If an argument is out of range.
    """

    word_tables: ClassVar[Mapping[str, str]] = dict.fromkeys(
        ("table.weight", "softmax.weight", "softmax.bias"), "words"
    )
    """The weights that have a row for each word, with the option that is the number of rows."""
    corpus_tensors: ClassVar[tuple[str, ...]] = ("expected",)
    """Statistics of the training data, which another corpus must not replace."""

    def __init__(
        self,
        cpp_class: Callable[..., Any],
        words: int,
        features: int,
        begin: int = 0,
        end: int = 1,
        trainable_words: bool = False,
        label_smoothing: float = 0.0,
        sampled_words: int = 0,
        **config: Any,
    ) -> None:
        super().__init__(
            cpp_class,
            words=words,
            features=features,
            begin=begin,
            end=end,
            trainable_words=trainable_words,
            label_smoothing=label_smoothing,
            sampled_words=sampled_words,
            **config,
        )

    def learnt_words(self) -> Tensor | None:
        """The table of words [words, features], if it is trained."""
        table: Tensor = self.table.weight  # type: ignore[assignment, union-attr]
        return table if self._config["trainable_words"] else None

    @property
    def dim(self) -> int:
        """Width of a sentence's vector."""
        dim: int = self._cpp.dim
        return dim

    def forward(self, x: Tensor, lengths: Tensor) -> Tensor:
        """The same as `encode`."""
        z: Tensor = self._cpp.encode(x, lengths)
        return z

    def encode(self, x: Tensor, lengths: Tensor) -> Tensor:
        """The vectors of sentences. This is what calling the network does: its hooks fire.

        Words need not be those of the table: any that has a vector can be encoded.

        Args:
            x: [batch, time, features]: word vectors; of autoencoders that of `end` is each sentence's last.
            lengths: [batch], int64, of sentences, with their ends where they have any.

        Returns:
            [batch, dim].

        Raises:
            ValueError: If shapes or types do not fit.
        """
        z: Tensor = self(x, lengths)
        return z

    def _loss(self, *fields: Tensor) -> Loss:
        """Of ids and lengths of each field of a batch."""
        total, tokens, right, _ = self._cpp.loss(list(zip(fields[::2], fields[1::2], strict=True)))
        return Loss(total, tokens, right)

    def load_words(self, rows: Any) -> None:
        """Fills the table of words.

        Args:
            rows: [words, features], a tensor or an array.

        Raises:
            ValueError: If its shape is another.
        """
        self._cpp.load_words(torch.as_tensor(rows))

    def set_word_counts(self, counts: Any) -> None:
        """How frequent words are, which is what sampled ones are drawn by; ids are ranks by default.

        Args:
            counts: [words], a tensor or an array.

        Raises:
            ValueError: If its shape is another.
        """
        self._cpp.set_word_counts(torch.as_tensor(counts))
