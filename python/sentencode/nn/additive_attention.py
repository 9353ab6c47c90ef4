"""Attention whose scores are those of a small network."""

from __future__ import annotations

from torch import Tensor

from .. import _nn
from .module import CppModule

__all__ = ["AdditiveAttention"]


class AdditiveAttention(CppModule):
    """Attention whose scores are v^T tanh(W q + U k + b), of query q and key k.

    What is attended to, the memory, is both keys and values. A key that is masked has no weight; where all
    keys are, context and weights are zero.

    Args:
        query_features: Width of the queries.
        memory_features: Width of the memory; as the queries by default.
        features: Width of what both are projected to; as the queries by default.
        bias: Whether there is b. It begins as zero.

    Raises:
        ValueError: If an argument is out of range.

    Example:
        >>> import torch
        >>> from sentencode.nn import AdditiveAttention
        >>> attention = AdditiveAttention(300, 512)
        >>> query, memory = torch.randn(2, 7, 300), torch.randn(2, 5, 512)
        >>> context, weights = attention(query, memory)
        >>> context.shape, weights.shape
        (torch.Size([2, 7, 512]), torch.Size([2, 7, 5]))
        >>> keys, values = attention.project(memory)
        >>> hypotheses = torch.randn(2 * 4, 1, 300)  # four of each sentence
        >>> attention.attend(hypotheses, keys, values)[0].shape
        torch.Size([8, 1, 512])
    """

    def __init__(
        self,
        query_features: int,
        memory_features: int | None = None,
        features: int | None = None,
        bias: bool = True,
    ) -> None:
        super().__init__(
            _nn.AdditiveAttention,
            query_features=query_features,
            memory_features=query_features if memory_features is None else memory_features,
            features=query_features if features is None else features,
            bias=bias,
        )

    def forward(self, query: Tensor, memory: Tensor, key_mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Attends.

        Args:
            query: [batch, time, query_features].
            memory: [batch, places, memory_features].
            key_mask: [batch, places], bool: true where there is something; all by default.

        Returns:
            The context [batch, time, memory_features], and the weights [batch, time, places].

        Raises:
            ValueError: If shapes or types do not fit.
        """
        context, weights = self._cpp.forward(query, memory, key_mask)
        return context, weights

    def project(self, memory: Tensor, key_mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Keys and values as `attend` wants them, which a decoder keeps from step to step.

        Args:
            memory: [batch, places, memory_features].
            key_mask: [batch, places], bool.

        Returns:
            Keys [batch, places, features]; values, which are the memory, zero where it is masked.

        Raises:
            ValueError: If shapes or types do not fit.
        """
        keys, values = self._cpp.project(memory, key_mask)
        return keys, values

    def attend(
        self, query: Tensor, keys: Tensor, values: Tensor, key_mask: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """The second half of `forward`, of what `project` returned.

        Args:
            query: [rows, time, query_features]. There are as many rows as sentences, or a multiple: those of
                a sentence stand together, and attend to one memory, which is not copied for each.
            keys: [batch, places, features].
            values: [batch, places, memory_features].
            key_mask: [batch, places], bool.

        Returns:
            As `forward` does, with as many rows as the query.

        Raises:
            ValueError: If shapes or types do not fit.
        """
        context, weights = self._cpp.attend(query, keys, values, key_mask)
        return context, weights
