"""The recurrent variant of the mean-max attention autoencoder."""

from __future__ import annotations

from .autoencoder import LatentAutoencoder

__all__ = ["LSTMAutoencoderNetwork"]


class LSTMAutoencoderNetwork(LatentAutoencoder):
    """The recurrent variant of `MeanMaxNetwork` (RAE, Zhang et al. 2018, section 4.4).

    LSTMs replace self-attention: a bidirectional one with `hidden` / 2 units in each direction in the
    encoder, and one of `hidden` units in the decoder, which attends to the sentence embedding as in
    `MeanMaxNetwork`. The paper has few details and no code of it: the halves, and the layers after the
    decoder's LSTM, are our choice.

    Args:
        {options}

    Example:
        >>> import torch
        >>> from sentencode.models import LSTMAutoencoderNetwork
        >>> network = LSTMAutoencoderNetwork(words=50, features=16, hidden=32, heads=4, pooling="max")
        >>> ids, lengths = torch.tensor([[7, 8, 9, 1], [5, 1, 1, 1]]), torch.tensor([4, 2])
        >>> network.encode(network.table.weight[ids], lengths).shape
        torch.Size([2, 32])
        >>> network.loss(ids, lengths).tokens
        6.0
    """
