"""The network of skip-thoughts."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from .. import _nn
from ..nn.module import in_core
from .writing_network import Loss, WritingNetwork

__all__ = ["SkipThoughtsNetwork"]


class SkipThoughtsNetwork(WritingNetwork):
    """Skip-thoughts (Kiros et al. 2015).

    A GRU reads a sentence. With its last state two more GRUs begin, one to write the sentence before and one
    the sentence behind it.

    Args:
        hidden: Numbers of a sentence's vector, and units of both decoders.
        bidirectional: Whether the encoder has two directions, with half of `hidden` each.
        tied: Whether words are told by their own vectors, those of the table, to whose width states are
            mapped then; else by a matrix of its own.
        trainable_words: As in `WritingNetwork`.
        **words: The other keyword arguments of `WritingNetwork`.

    Raises:
        ValueError: If an argument is out of range.

    Example:
        >>> import torch
        >>> from sentencode.models import SkipThoughtsNetwork
        >>> network = SkipThoughtsNetwork(words=50, features=16, hidden=8)
        >>> ids, lengths = torch.tensor([[7, 8, 9, 1], [5, 1, 1, 1]]), torch.tensor([4, 2])
        >>> network.encode(network.table.weight[ids], lengths).shape
        torch.Size([2, 8])
        >>> network.loss(ids, lengths, ids, lengths, ids, lengths).tokens
        12.0
    """

    def __init__(
        self,
        *,
        hidden: int = 2400,
        bidirectional: bool = False,
        tied: bool = False,
        trainable_words: bool = True,
        **words: Any,
    ) -> None:
        super().__init__(
            _nn.SkipThoughtsNetwork,
            hidden=hidden,
            bidirectional=bidirectional,
            tied=tied,
            trainable_words=trainable_words,
            **words,
        )

    @in_core
    def loss(
        self,
        ids: Tensor,
        lengths: Tensor,
        previous: Tensor,
        previous_lengths: Tensor,
        next: Tensor,
        next_lengths: Tensor,
    ) -> Loss:
        """How badly the sentences around are written. All of it is computed in C++: no hooks fire.

        Args:
            ids: [batch, time], int64. Ids behind a sentence must be words, too.
            lengths: [batch], int64.
            previous: [batch, time], int64; the last word of each is `end`.
            previous_lengths: [batch], int64, with the ends.
            next: [batch, time], int64; the last word of each is `end`.
            next_lengths: [batch], int64, with the ends.

        Returns:
            The loss.

        Raises:
            ValueError: If shapes or types do not fit.
        """
        return self._loss(ids, lengths, previous, previous_lengths, next, next_lengths)
