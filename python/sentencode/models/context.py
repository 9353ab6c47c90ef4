"""The network of RNN-CNN: a recurrent encoder that is trained to predict the following words."""

from __future__ import annotations

import torch
from torch import Tensor

from ..nn.module import in_core
from .writing_network import Loss, WritingNetwork

__all__ = ["ContextNetwork"]


class ContextNetwork(WritingNetwork):
    """RNN-CNN (Tang et al. 2018), with all decoders of its paper.

    The pooled states of a bidirectional recurrent network are the sentence embedding. A decoder predicts the
    words that follow the sentence from the embedding: all at once, or each from the previous ones.

    Args:
        {options}

    Example:
        >>> import torch
        >>> from sentencode.models import ContextNetwork
        >>> network = ContextNetwork(words=50, features=16, hidden=8, predict=4, channels=8, inner=8)
        >>> ids, lengths = torch.tensor([[7, 8, 9], [5, 0, 0]]), torch.tensor([3, 1])
        >>> network.encode(network.table.weight[ids], lengths).shape
        torch.Size([2, 32])
        >>> following = torch.tensor([[4, 5, 6, 7], [8, 9, 0, 0]])
        >>> network.loss(ids, lengths, following, torch.tensor([4, 2])).tokens
        6.0
    """

    @in_core
    def loss(self, ids: Tensor, lengths: Tensor, following: Tensor, following_lengths: Tensor) -> Loss:
        """Return the loss of predicting the following words, computed in C++: no hooks run.

        Args:
            ids: [batch, time], int64. Padding must be valid ids.
            lengths: [batch], int64.
            following: [batch, words], int64, at most `predict` words.
            following_lengths: [batch], int64.

        Returns:
            The loss.

        Raises:
            ValueError: If shapes or types do not fit.
        """
        return self._loss(ids, lengths, following, following_lengths)

    def following(self, z: Tensor) -> Tensor:
        """Return log p of the following words at each position.

        The input of an autoregressive decoder is the most likely word of the previous position.

        Args:
            z: [batch, dim], of `encode`.

        Returns:
            [batch, predict, words].

        Raises:
            ValueError: If the shape does not fit.
        """
        memory, cache = self._cpp.start([z])
        ids = torch.full((len(z),), self._config["begin"], device=z.device)
        log_p = []
        for _ in range(self._config["predict"]):
            logits, cache, _ = self._cpp.step(ids, memory, cache)  # [B, V]
            log_p.append(logits.log_softmax(1))
            ids = logits.argmax(1)
        return torch.stack(log_p, 1)
