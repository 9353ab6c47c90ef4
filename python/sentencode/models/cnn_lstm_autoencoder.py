"""The CNN-LSTM autoencoder."""

from __future__ import annotations

from .autoencoder import Autoencoder

__all__ = ["CNNLSTMAutoencoderNetwork"]


class CNNLSTMAutoencoderNetwork(Autoencoder):
    """The CNN-LSTM autoencoder (Gan et al. 2017).

    Convolutions over windows of words, tanh, and their maxima over time are the sentence embedding. It
    initialises the LSTM that reconstructs the sentence.

    Args:
        {options}

    Example:
        >>> import torch
        >>> from sentencode.models import CNNLSTMAutoencoderNetwork
        >>> network = CNNLSTMAutoencoderNetwork(words=50, features=16, hidden=32, filters=10)
        >>> ids, lengths = torch.tensor([[7, 8, 9, 1], [5, 1, 1, 1]]), torch.tensor([4, 2])
        >>> network.encode(network.table.weight[ids], lengths).shape
        torch.Size([2, 30])
    """
