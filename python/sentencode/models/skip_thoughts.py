"""The network of skip-thoughts."""

from __future__ import annotations

from torch import Tensor

from ..nn.module import in_core
from .writing_network import Loss, WritingNetwork

__all__ = ["SkipThoughtsNetwork"]


class SkipThoughtsNetwork(WritingNetwork):
    """Skip-thoughts (Kiros et al. 2015).

    The last state of a GRU is the sentence embedding. It initialises two more GRUs, which predict the
    previous and the next sentence.

    Args:
        {options}

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
        """Return the loss of predicting both neighbours, computed in C++: no hooks run.

        Args:
            ids: [batch, time], int64. Padding must be valid ids.
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
