"""The sequential denoising autoencoder."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from .. import _nn
from .autoencoder import Autoencoder

__all__ = ["DenoisingNetwork", "noisy"]


def noisy(
    x: Tensor, lengths: Tensor, drop_words: float = 0.1, swap_words: float = 0.1
) -> tuple[Tensor, Tensor]:
    """Sentences with words lost and swapped (Hill et al. 2016), by torch's random numbers.

    Args:
        x: [batch, time, features]; the last word of each sentence is its end, which stays where it is.
        lengths: [batch], int64.
        drop_words: How likely each word is to be left out.
        swap_words: How likely the first and second, third and fourth, ... of what is left are to change
            places.

    Returns:
        Sentences, zero where there is no word, and their lengths.

    Raises:
        ValueError: If shapes or types do not fit, or a probability is none.

    Example:
        >>> import torch
        >>> from sentencode.models import noisy
        >>> x = torch.tensor([[[3.0], [4.0], [5.0], [1.0]]])
        >>> changed, lengths = noisy(x, torch.tensor([4]), drop_words=0.0, swap_words=1.0)
        >>> changed.squeeze(2), lengths
        (tensor([[4., 3., 5., 1.]]), tensor([4]))
    """
    changed, left = _nn.noisy(x, lengths, drop_words, swap_words)
    return changed, left


class DenoisingNetwork(Autoencoder):
    """The sequential denoising autoencoder (LSTM-SDAE; Hill et al. 2016).

    An LSTM's last state is the sentence's vector. It sets the initial state of the LSTM that writes the
    sentence, which is all that this one is told. In training the first LSTM sees `noisy` sentences.

    Args:
        hidden: Units of both LSTMs, and width of the vector.
        dropout: On words' vectors.
        drop_words: As in `noisy`.
        swap_words: As in `noisy`.
        **words: The keyword arguments of `Autoencoder`.

    Raises:
        ValueError: If an argument is out of range.

    Example:
        >>> import torch
        >>> from sentencode.models import DenoisingNetwork
        >>> network = DenoisingNetwork(words=50, features=16, hidden=32)
        >>> ids, lengths = torch.tensor([[7, 8, 9, 1], [5, 1, 1, 1]]), torch.tensor([4, 2])
        >>> network.encode(network.table.weight[ids], lengths).shape
        torch.Size([2, 32])
    """

    def __init__(
        self,
        *,
        hidden: int = 2048,
        dropout: float = 0.5,
        drop_words: float = 0.1,
        swap_words: float = 0.1,
        **words: Any,
    ) -> None:
        super().__init__(
            _nn.DenoisingNetwork,
            hidden=hidden,
            dropout=dropout,
            drop_words=drop_words,
            swap_words=swap_words,
            **words,
        )
