"""The sequential denoising autoencoder."""

from __future__ import annotations

from torch import Tensor

from .. import _nn
from .autoencoder import Autoencoder

__all__ = ["DenoisingNetwork", "noisy"]


def noisy(
    x: Tensor, lengths: Tensor, drop_words: float = 0.1, swap_words: float = 0.1
) -> tuple[Tensor, Tensor]:
    """Drop and swap words of sentences (Hill et al. 2016), with torch's random numbers.

    Args:
        x: [batch, time, features]; the last word of each sentence is its end, which stays where it is.
        lengths: [batch], int64.
        drop_words: Probability that a word is dropped.
        swap_words: Probability that two neighbouring words (the first and second, third and fourth, ... of
            the remaining ones) are swapped.

    Returns:
        Sentences, padded with zeros, and their lengths.

    Raises:
        ValueError: If shapes or types do not fit, or a probability is out of range.

    Example:
        >>> import torch
        >>> from sentencode.models import noisy
        >>> x = torch.tensor([[[3.0], [4.0], [5.0], [1.0]]])
        >>> changed, lengths = noisy(x, torch.tensor([4]), drop_words=0.0, swap_words=1.0)
        >>> changed.squeeze(2), lengths
        (tensor([[4., 3., 5., 1.]]), tensor([4]))
    """
    sentences, noisy_lengths = _nn.noisy(x, lengths, drop_words, swap_words)
    return sentences, noisy_lengths


class DenoisingNetwork(Autoencoder):
    """The sequential denoising autoencoder (LSTM-SDAE; Hill et al. 2016).

    The last state of an LSTM is the sentence embedding. It initialises the LSTM that reconstructs the
    sentence. In training the first LSTM reads `noisy` sentences.

    Args:
        {options}

    Example:
        >>> import torch
        >>> from sentencode.models import DenoisingNetwork
        >>> network = DenoisingNetwork(words=50, features=16, hidden=32)
        >>> ids, lengths = torch.tensor([[7, 8, 9, 1], [5, 1, 1, 1]]), torch.tensor([4, 2])
        >>> network.encode(network.table.weight[ids], lengths).shape
        torch.Size([2, 32])
    """
