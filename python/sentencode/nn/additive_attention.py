"""Additive attention."""

from __future__ import annotations

from torch import Tensor

from .. import _nn
from .module import CppModule

__all__ = ["AdditiveAttention"]


class AdditiveAttention(CppModule):
    """Attention with the scores v^T tanh(W q + U k + b) for query q and key k (Bahdanau et al., 2015).

    The memory provides both keys and values. Masked keys have weight 0; if all keys are masked, context and
    weights are 0.

    Args:
        query_features: Dimensions of the queries.
        memory_features: Dimensions of the memory; by default those of the queries.
        features: Dimensions of projected queries and keys; by default those of the queries.
        bias: Whether to add b, which is initialised with 0.

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
        >>> hypotheses = torch.randn(2 * 4, 1, 300)  # four per sentence
        >>> attention.attend(hypotheses, keys, values)[0].shape
        torch.Size([8, 1, 512])
    """

    _cpp: _nn.AdditiveAttention

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
        """Return the context of each query, and the attention weights.

        Args:
            query: Queries, [batch, time, query_features].
            memory: Keys and values, [batch, positions, memory_features].
            key_mask: Mask of the keys to attend to, [batch, positions], bool; by default all.

        Returns:
            The context [batch, time, memory_features], and the weights [batch, time, positions].

        Raises:
            ValueError: If shapes or types do not fit.
        """
        return self._cpp.forward(query, memory, key_mask)

    def project(self, memory: Tensor, key_mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Return keys and values for `attend`, which a decoder reuses in every step.

        Args:
            memory: Keys and values, [batch, positions, memory_features].
            key_mask: Mask of the keys to attend to, [batch, positions], bool.

        Returns:
            Keys [batch, positions, features]; values, the memory with zeros where it is masked.

        Raises:
            ValueError: If shapes or types do not fit.
        """
        return self._cpp.project(memory, key_mask)

    def attend(
        self, query: Tensor, keys: Tensor, values: Tensor, key_mask: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Return what `forward` does, from the output of `project`.

        Args:
            query: Queries, [hypotheses, time, query_features]. The number of hypotheses is a multiple of the
                batch: those of a sentence are adjacent and share its memory.
            keys: Projected keys, [batch, positions, features].
            values: Values, [batch, positions, memory_features].
            key_mask: Mask of the keys to attend to, [batch, positions], bool.

        Returns:
            The context and the weights of each hypothesis.

        Raises:
            ValueError: If shapes or types do not fit.
        """
        return self._cpp.attend(query, keys, values, key_mask)
