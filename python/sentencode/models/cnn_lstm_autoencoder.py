"""The CNN-LSTM autoencoder."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import _nn
from .autoencoder import Autoencoder

__all__ = ["CNNLSTMAutoencoderNetwork"]


class CNNLSTMAutoencoderNetwork(Autoencoder):
    """The CNN-LSTM autoencoder (Gan et al. 2017).

    Filters over windows of words, tanh, and their maxima over the sentence are its vector. It sets the
    initial state of the LSTM that writes the sentence, which is all that this one is told.

    Args:
        hidden: Units of the LSTM.
        filters: For each window.
        windows: Words that filters see at a time. A sentence that is shorter is filled up with zeros.
        dropout: On words' vectors.
        **words: The keyword arguments of `Autoencoder`.

    Raises:
        ValueError: If an argument is out of range.

    Example:
        >>> import torch
        >>> from sentencode.models import CNNLSTMAutoencoderNetwork
        >>> network = CNNLSTMAutoencoderNetwork(words=50, features=16, hidden=32, filters=10)
        >>> ids, lengths = torch.tensor([[7, 8, 9, 1], [5, 1, 1, 1]]), torch.tensor([4, 2])
        >>> network.encode(network.table.weight[ids], lengths).shape
        torch.Size([2, 30])
    """

    def __init__(
        self,
        *,
        hidden: int = 2048,
        filters: int = 800,
        windows: Sequence[int] = (3, 4, 5),
        dropout: float = 0.5,
        **words: Any,
    ) -> None:
        super().__init__(
            _nn.CNNLSTMAutoencoderNetwork,
            hidden=hidden,
            filters=filters,
            windows=tuple(windows),
            dropout=dropout,
            **words,
        )
