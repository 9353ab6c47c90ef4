"""Attention with several heads, and what follows it."""

from __future__ import annotations

from typing import Literal

from torch import Tensor

from .. import _nn
from .module import CppModule

__all__ = ["FeedForward", "MultiHeadAttention"]

Activation = Literal["none", "relu", "gelu", "tanh"]


class MultiHeadAttention(CppModule):
    """Several attentions side by side: softmax(Q K^T scale) V.

    A key that is masked has no weight; where all keys are, the heads give zeros.

    Args:
        query_features: Width of the queries.
        memory_features: Width of keys and values; as the queries by default.
        features: Width of all heads together, a multiple of `heads`; as the queries by default.
        heads: How many there are.
        activation: Of the projections of queries, keys and values: "none", "relu", "gelu" or "tanh".
        output_projection: Whether there is one after the heads.
        bias: Whether projections have one.
        dropout: On the weights.
        scale: Of the scores; 1 / sqrt(features / heads) by default.

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
        """Attends.

        Args:
            query: [batch, time, query_features].
            key: [batch, keys, memory_features].
            value: As `key`.
            key_mask: [batch, keys], bool: true where there is a key.
            causal: The query at t sees keys up to t.

        Returns:
            [batch, time, features].

        Raises:
            ValueError: If shapes or types do not fit.
        """
        attended: Tensor = self._cpp.forward(query, key, value, key_mask, causal)
        return attended

    def with_weights(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_mask: Tensor | None = None,
        causal: bool = False,
    ) -> tuple[Tensor, Tensor]:
        """`forward`, and the weights before dropout: [batch, heads, time, keys]."""
        attended, weights = self._cpp.with_weights(query, key, value, key_mask, causal)
        return attended, weights

    def project(self, key: Tensor, value: Tensor, key_mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Keys and values as `attend` wants them, which a decoder keeps from step to step.

        Args:
            key: [batch, keys, memory_features].
            value: As `key`.
            key_mask: [batch, keys], bool.

        Returns:
            Both, [batch, heads, keys, features / heads].

        Raises:
            ValueError: If shapes or types do not fit.
        """
        keys, values = self._cpp.project(key, value, key_mask)
        return keys, values

    def attend(
        self,
        query: Tensor,
        keys: Tensor,
        values: Tensor,
        key_mask: Tensor | None = None,
        causal: bool = False,
    ) -> Tensor:
        """The second half of `forward`, of what `project` returned."""
        attended: Tensor = self._cpp.attend(query, keys, values, key_mask, causal)
        return attended


class FeedForward(CppModule):
    """W2 f(W1 x + b1) + b2, at each place by itself.

    Args:
        features: Width of input and output.
        hidden: Width between them.
        activation: f, as in `MultiHeadAttention`.
        dropout: On the hidden units.

    Raises:
        ValueError: If an argument is out of range.

    Example:
        >>> import torch
        >>> from sentencode.nn import FeedForward
        >>> FeedForward(16, 64)(torch.randn(2, 5, 16)).shape
        torch.Size([2, 5, 16])
    """

    def __init__(
        self, features: int, hidden: int, activation: Activation = "relu", dropout: float = 0.0
    ) -> None:
        super().__init__(
            _nn.FeedForward, features=features, hidden=hidden, activation=activation, dropout=dropout
        )

    def forward(self, x: Tensor) -> Tensor:
        """[..., features] -> [..., features]."""
        result: Tensor = self._cpp.forward(x)
        return result
