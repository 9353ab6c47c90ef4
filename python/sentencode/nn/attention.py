"""Multi-head attention and feed-forward layers."""

from __future__ import annotations

from typing import Literal

from torch import Tensor

from .. import _nn
from .module import CppModule

__all__ = ["FeedForward", "MultiHeadAttention"]

Activation = Literal["none", "relu", "gelu", "tanh"]


class MultiHeadAttention(CppModule):
    """Multi-head attention, softmax(Q K^T scale) V (Vaswani et al., 2017).

    Masked keys have weight 0; if all keys are masked, the heads are 0.

    Args:
        query_features: Dimensions of the queries.
        memory_features: Dimensions of keys and values; by default those of the queries.
        features: Dimensions of all heads together, a multiple of `heads`; by default those of the queries.
        heads: Number of heads.
        activation: Activation of the projections: "none", "relu", "gelu" or "tanh".
        output_projection: Whether to project the concatenated heads.
        bias: Whether projections have a bias.
        dropout: Dropout probability of the attention weights.
        scale: Factor of the scores; by default 1 / sqrt(features / heads).

    Raises:
        ValueError: If an argument is out of range.

    Example:
        >>> import torch
        >>> from sentencode.nn import MultiHeadAttention
        >>> attention = MultiHeadAttention(300, features=512, heads=8, activation="relu")
        >>> x, mask = torch.randn(4, 7, 300), torch.ones(4, 7, dtype=torch.bool)
        >>> attention(x, x, x, key_mask=mask).shape
        torch.Size([4, 7, 512])
        >>> attended, weights = attention.with_weights(x, x, x, causal=True)
        >>> weights.shape
        torch.Size([4, 8, 7, 7])
    """

    _cpp: _nn.MultiHeadAttention

    def __init__(
        self,
        query_features: int,
        memory_features: int | None = None,
        features: int | None = None,
        heads: int = 8,
        activation: Activation = "none",
        output_projection: bool = True,
        bias: bool = True,
        dropout: float = 0.0,
        scale: float | None = None,
    ) -> None:
        super().__init__(
            _nn.MultiHeadAttention,
            query_features=query_features,
            memory_features=query_features if memory_features is None else memory_features,
            features=query_features if features is None else features,
            heads=heads,
            activation=activation,
            output_projection=output_projection,
            bias=bias,
            dropout=dropout,
            scale=0.0 if scale is None else scale,
        )

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_mask: Tensor | None = None,
        causal: bool = False,
    ) -> Tensor:
        """Return the concatenated (and projected) heads, [batch, time, features].

        Args:
            query: Queries, [batch, time, query_features].
            key: Keys, [batch, keys, memory_features].
            value: Values, of the same shape as the keys.
            key_mask: Mask of the keys to attend to, [batch, keys], bool; by default all.
            causal: Whether the query at t attends only to keys up to t.

        Raises:
            ValueError: If shapes or types do not fit.
        """
        return self._cpp.forward(query, key, value, key_mask, causal)

    def with_weights(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_mask: Tensor | None = None,
        causal: bool = False,
    ) -> tuple[Tensor, Tensor]:
        """Return the output of `forward`, and the weights before dropout, [batch, heads, time, keys]."""
        return self._cpp.with_weights(query, key, value, key_mask, causal)

    def project(self, key: Tensor, value: Tensor, key_mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Return keys and values for `attend`, which a decoder reuses in every step.

        Args:
            key: Keys, [batch, keys, memory_features].
            value: Values, of the same shape.
            key_mask: Mask of the keys to attend to, [batch, keys], bool.

        Returns:
            Projected keys and values, each [batch, heads, keys, features / heads].

        Raises:
            ValueError: If shapes or types do not fit.
        """
        return self._cpp.project(key, value, key_mask)

    def attend(
        self,
        query: Tensor,
        keys: Tensor,
        values: Tensor,
        key_mask: Tensor | None = None,
        causal: bool = False,
    ) -> Tensor:
        """Return what `forward` does, from the output of `project`."""
        return self._cpp.attend(query, keys, values, key_mask, causal)


class FeedForward(CppModule):
    """W2 f(W1 x + b1) + b2 at each position.

    Args:
        features: Dimensions of input and output.
        hidden: Number of hidden units.
        activation: Activation f: "none", "relu", "gelu" or "tanh".
        dropout: Dropout probability of the hidden units.

    Raises:
        ValueError: If an argument is out of range.

    Example:
        >>> import torch
        >>> from sentencode.nn import FeedForward
        >>> FeedForward(16, 64)(torch.randn(2, 5, 16)).shape
        torch.Size([2, 5, 16])
    """

    _cpp: _nn.FeedForward

    def __init__(
        self, features: int, hidden: int, activation: Activation = "relu", dropout: float = 0.0
    ) -> None:
        super().__init__(
            _nn.FeedForward, features=features, hidden=hidden, activation=activation, dropout=dropout
        )

    def forward(self, x: Tensor) -> Tensor:
        """Return W2 f(W1 x + b1) + b2, [..., features]."""
        return self._cpp.forward(x)
