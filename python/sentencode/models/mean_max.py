"""The mean-max attention autoencoder."""

from __future__ import annotations

from typing import Any, Literal

from torch import Tensor

from .. import _nn
from ..nn.attention import Activation
from ..nn.pooling import Pooling
from .autoencoder import Autoencoder

__all__ = ["MeanMaxNetwork"]


class MeanMaxNetwork(Autoencoder):
    """The mean-max attention autoencoder (Zhang et al. 2018).

    Self-attention encodes words; their mean and their maximum are the sentence's vector; a decoder writes
    the sentence with attention over these two rows. Defaults are the paper's, and what the paper leaves
    open says so.

    Args:
        hidden: Width of all vectors after the first attention, a multiple of `heads`.
        inner: Width inside the feed-forward layers.
        heads: Of every attention.
        pooling: "mean_max", or "mean" or "max" alone.
        dropout: Its rate.
        dropout_place: Where it falls beside the input (open in the paper): on the "weights" of attention,
            as in the public code, or on what "sublayers" give, as Vaswani et al. (2017) have it.
        positions: "sinusoidal", or "learnt" as in the public code.
        places: In the table of learnt positions; words beyond it have the last one's.
        projection: Of queries, keys and values: "none", or "relu" as in the public code.
        projection_bias: Whether a bias is added to them, as in the public code; eq. 7 has none.
        output_projection: Whether there is one after the heads; neither paper nor code have it.
        epsilon: Of layer norms (open in the paper); the public code's is 1e-8.
        **words: The keyword arguments of `Autoencoder`: words, features, begin, end, trainable_words,
            label_smoothing, sampled_words.

    Raises:
        ValueError: If an argument is out of range.

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

    def __init__(
        self,
        *,
        hidden: int = 2048,
        inner: int = 4096,
        heads: int = 8,
        pooling: Pooling = "mean_max",
        dropout: float = 0.5,
        dropout_place: Literal["weights", "sublayers"] = "weights",
        positions: Literal["sinusoidal", "learnt"] = "sinusoidal",
        places: int = 34,
        projection: Activation = "none",
        projection_bias: bool = False,
        output_projection: bool = False,
        epsilon: float = 1e-5,
        **words: Any,
    ) -> None:
        super().__init__(
            _nn.MeanMaxNetwork,
            hidden=hidden,
            inner=inner,
            heads=heads,
            pooling=pooling,
            dropout=dropout,
            dropout_place=dropout_place,
            positions=positions,
            places=places,
            projection=projection,
            projection_bias=projection_bias,
            output_projection=output_projection,
            epsilon=epsilon,
            **words,
        )

    def attention(self, x: Tensor, lengths: Tensor) -> Tensor:
        """What each word attends to in its own sentence's vector when it is written (the paper's Figure 2).

        Args:
            x: As in `encode`.
            lengths: As in `encode`.

        Returns:
            [batch, heads, time, rows]; rows are the mean, then the maximum.

        Raises:
            ValueError: If shapes or types do not fit.
        """
        weights: Tensor = self._cpp.attention(x, lengths)
        return weights
