"""What all autoencoders share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor

from ..nn.decoding import Decoded
from ..nn.module import CppModule, in_core

__all__ = ["Autoencoder", "Loss"]


class Loss(NamedTuple):
    """What a network says of a batch.

    Attributes:
        sum: Of -log p of all words, [], with a gradient; smoothed in training if it is to be.
        tokens: How many words there are, ends among them.
        right: How many of them the network holds for the most likely ones, []; None where it looked at a
            sample of the words alone.
    """

    sum: Tensor
    tokens: float
    right: Tensor | None


class Autoencoder(CppModule):
    """A network whose vector of a sentence is what its decoder needs to write the sentence again.

    Use one of its subclasses. Sentences are word vectors [batch, time, features], words at the left, or ids
    [batch, time]; the last word of each is `end`. What lies behind it does not matter. All take these
    keyword arguments:

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
            x: [batch, time, features]: word vectors, that of `end` being each sentence's last.
            lengths: [batch], int64, of sentences with their ends.

        Returns:
            [batch, dim].

        Raises:
            ValueError: If shapes or types do not fit.
        """
        z: Tensor = self(x, lengths)
        return z

    def decode(self, z: Tensor, y: Tensor, lengths: Tensor) -> Tensor:
        """States that tell the next words, where those before them are known: teacher forcing.

        Args:
            z: [batch, dim], of `encode`.
            y: [batch, time, features]: vectors of the words before, beginning with that of `begin`.
            lengths: [batch], int64.

        Returns:
            [batch, time, states].

        Raises:
            ValueError: If shapes or types do not fit.
        """
        states: Tensor = self._cpp.decode(z, y, lengths)
        return states

    @in_core
    def loss(self, ids: Tensor, lengths: Tensor) -> Loss:
        """How badly the network writes sentences again. All of it is computed in C++: no hooks fire.

        Nor does it ask what a subclass makes of `encode` or `decode`. A subclass may have another loss:
        `sentencode.training.Trainer` calls it as that of any module, with a `TensorBatch`.

        Args:
            ids: [batch, time], int64; each sentence's last word is `end`. Ids behind it must be words, too.
            lengths: [batch], int64, of sentences with their ends.

        Returns:
            The loss.

        Raises:
            ValueError: If shapes or types do not fit.
        """
        return Loss(*self._cpp.loss(ids, lengths))

    def reconstruct(
        self,
        z: Tensor,
        max_length: int = 100,
        beam: int = 1,
        best: int = 1,
        length_penalty: float = 0.0,
    ) -> Decoded:
        """Writes sentences. As of any module, `eval()` is what turns dropout off.

        Args:
            z: [batch, dim], of `encode`.
            max_length: Words at most.
            beam: Hypotheses that are kept; 1 takes the most likely word each time.
            best: Hypotheses that are returned.
            length_penalty: As in `sentencode.nn.beam_search`.

        Returns:
            Ids without ends, lengths, and log p.

        Raises:
            ValueError: If an argument is out of range.
        """
        return Decoded(*self._cpp.reconstruct(z, max_length, beam, best, length_penalty))

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
