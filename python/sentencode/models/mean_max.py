"""The mean-max attention autoencoder."""

from __future__ import annotations

from .autoencoder import LatentAutoencoder

__all__ = ["MeanMaxNetwork"]


class MeanMaxNetwork(LatentAutoencoder):
    """The mean-max attention autoencoder (Zhang et al. 2018).

    Self-attention encodes the words; the mean and the maximum of its outputs are the sentence embedding; the
    decoder reconstructs the sentence with attention over these two. Defaults are those of
    `MeanMaxAAE`, but for the paper's sinusoidal positions.

    Args:
        {options}

    Example:
        >>> import torch
        >>> from sentencode.models import MeanMaxNetwork
        >>> network = MeanMaxNetwork(words=50, features=16, hidden=32, inner=64, heads=4)
        >>> ids, lengths = torch.tensor([[7, 8, 9, 1], [5, 1, 1, 1]]), torch.tensor([4, 2])
        >>> loss = network.loss(ids, lengths)
        >>> loss.tokens
        6.0
        >>> network = network.eval()
        >>> z = network.encode(network.table.weight[ids], lengths)
        >>> z.shape
        torch.Size([2, 64])
        >>> network.attention(network.table.weight[ids], lengths).shape
        torch.Size([2, 4, 4, 2])
        >>> network.reconstruct(z, max_length=5, beam=3, best=2).ids.shape[:2]
        torch.Size([2, 2])
    """
