"""The recurrent twin of the mean-max attention autoencoder."""

from __future__ import annotations

from typing import Any, Literal

from torch import Tensor

from .. import _nn
from ..nn.attention import Activation
from ..nn.pooling import Pooling
from .autoencoder import Autoencoder

__all__ = ["LSTMAutoencoderNetwork"]


class LSTMAutoencoderNetwork(Autoencoder):
    """The recurrent twin of `MeanMaxNetwork` (RAE, Zhang et al. 2018, section 4.4).

    LSTMs take the place of self-attention: a bidirectional one, `hidden` / 2 units a direction, in the
    encoder, one of `hidden` units in the decoder, which attends to the sentence's vector as the twin does.
    The paper says little of it and its code leaves it out: halves, and layers after the decoder's LSTM, are
    inferred.

    Args:
        hidden: Width of all vectors, even and a multiple of `heads`.
        inner: As in `MeanMaxNetwork`.
        heads: As in `MeanMaxNetwork`.
        pooling: As in `MeanMaxNetwork`.
        dropout: As in `MeanMaxNetwork`.
        dropout_place: As in `MeanMaxNetwork`.
        projection: As in `MeanMaxNetwork`.
        projection_bias: As in `MeanMaxNetwork`.
        output_projection: As in `MeanMaxNetwork`.
        epsilon: As in `MeanMaxNetwork`.
        **words: The keyword arguments of `Autoencoder`.

    Raises:
        ValueError: If an argument is out of range.

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

    def __init__(
        self,
        *,
        hidden: int = 2048,
        inner: int = 4096,
        heads: int = 8,
        pooling: Pooling = "mean_max",
        dropout: float = 0.5,
        dropout_place: Literal["weights", "sublayers"] = "weights",
        projection: Activation = "none",
        projection_bias: bool = False,
        output_projection: bool = False,
        epsilon: float = 1e-5,
        **words: Any,
    ) -> None:
        super().__init__(
            _nn.LSTMAutoencoderNetwork,
            hidden=hidden,
            inner=inner,
            heads=heads,
            pooling=pooling,
            dropout=dropout,
            dropout_place=dropout_place,
            projection=projection,
            projection_bias=projection_bias,
            output_projection=output_projection,
            epsilon=epsilon,
            **words,
        )

    def attention(self, x: Tensor, lengths: Tensor) -> Tensor:
        """As `MeanMaxNetwork.attention`: [batch, heads, time, rows]."""
        weights: Tensor = self._cpp.attention(x, lengths)
        return weights
