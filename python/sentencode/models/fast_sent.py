"""The network of FastSent."""

from __future__ import annotations

from torch import Tensor

from ..nn.module import in_core
from .writing_network import Loss, WritingNetwork

__all__ = ["FastSentNetwork"]


class FastSentNetwork(WritingNetwork):
    """FastSent (Hill et al. 2016).

    The sum of the word vectors is the sentence embedding. One softmax of it predicts each word of the
    previous and of the next sentence, with `autoencode` also those of the sentence itself. Word order has no
    effect.

    Args:
        {options}

    Example:
        >>> import torch
        >>> from sentencode.models import FastSentNetwork
        >>> network = FastSentNetwork(words=50, features=16)
        >>> ids, lengths = torch.tensor([[7, 8, 9, 2], [5, 2, 0, 0]]), torch.tensor([4, 2])
        >>> u = network.table.weight
        >>> torch.equal(network.encode(u[ids], lengths)[1], u[5] + u[2])
        True
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
        """Return the loss of predicting the words of both neighbours, computed in C++: no hooks run.

        Args:
            ids: [batch, time], int64. Padding must be valid ids.
            lengths: [batch], int64.
            previous: [batch, time], int64; without ends.
            previous_lengths: [batch], int64.
            next: [batch, time], int64; without ends.
            next_lengths: [batch], int64.

        Returns:
            The loss.

        Raises:
            ValueError: If shapes or types do not fit.
        """
        return self._loss(ids, lengths, previous, previous_lengths, next, next_lengths)
