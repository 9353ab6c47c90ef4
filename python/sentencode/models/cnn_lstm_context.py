"""The networks of Gan et al. (2017) that learn from ordered text."""

from __future__ import annotations

from torch import Tensor

from ..nn.module import in_core
from .writing_network import Loss, WritingNetwork

__all__ = ["CompositeCNNNetwork", "HierarchicalCNNNetwork"]


class CompositeCNNNetwork(WritingNetwork):
    """The composite model of Gan et al. (2017).

    Convolutions over windows of words, tanh, and their maxima over time are the sentence embedding. It
    initialises two LSTMs: one reconstructs the sentence, one predicts the next sentence.

    Args:
        {options}

    Example:
        >>> import torch
        >>> from sentencode.models import CompositeCNNNetwork
        >>> network = CompositeCNNNetwork(words=50, features=16, hidden=32, filters=10)
        >>> ids, lengths = torch.tensor([[7, 8, 9, 1], [5, 1, 1, 1]]), torch.tensor([4, 2])
        >>> network.encode(network.table.weight[ids], lengths).shape
        torch.Size([2, 30])
        >>> network.loss(ids, lengths, ids, lengths).tokens
        12.0
    """

    @in_core
    def loss(self, ids: Tensor, lengths: Tensor, next: Tensor, next_lengths: Tensor) -> Loss:
        """Return the loss of predicting both sentences, computed in C++: no hooks run.

        Args:
            ids: [batch, time], int64; the last word of each is `end`. Padding must be valid ids.
            lengths: [batch], int64, with the ends.
            next: [batch, time], int64; the last word of each is `end`.
            next_lengths: [batch], int64, with the ends.

        Returns:
            The loss.

        Raises:
            ValueError: If shapes or types do not fit.
        """
        return self._loss(ids, lengths, next, next_lengths)


class HierarchicalCNNNetwork(WritingNetwork):
    """The hierarchical model of Gan et al. (2017).

    The sentence embedding is that of `CompositeCNNNetwork`. An LSTM, the paragraph generator, reads the
    embeddings of consecutive sentences. Each of its states initialises the LSTM that predicts the next
    sentence.

    Args:
        {options}

    Example:
        >>> import torch
        >>> from sentencode.models import HierarchicalCNNNetwork
        >>> network = HierarchicalCNNNetwork(words=50, features=16, hidden=32, filters=10)
        >>> ids, lengths = torch.tensor([[7, 8, 9, 1], [5, 1, 1, 1]]), torch.tensor([4, 2])
        >>> network.encode(network.table.weight[ids], lengths).shape
        torch.Size([2, 30])
        >>> network.loss(ids, lengths, ids, lengths, ids, lengths).tokens
        12.0
    """

    @in_core
    def loss(self, *sentences: Tensor) -> Loss:
        """Return the loss of predicting all sentences but the first, computed in C++: no hooks run.

        Args:
            sentences: For each of two or more consecutive sentences its ids, [batch, time], int64, of which
                the last word is `end`, and its lengths with the ends, [batch], int64. Padding must be valid
                ids.

        Returns:
            The loss.

        Raises:
            ValueError: If shapes or types do not fit.
        """
        return self._loss(*sentences)
