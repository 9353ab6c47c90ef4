"""The conditional GRU, the recurrent decoder of Nematus."""

from __future__ import annotations

from typing import NamedTuple

from torch import Tensor

from .. import _nn
from .module import CppModule

__all__ = ["ConditionalGRU", "ConditionalStates"]


class ConditionalStates(NamedTuple):
    """The outputs of a `ConditionalGRU`. Those of a step have no time dimension.

    Attributes:
        states: State after each word, [batch, time, hidden].
        contexts: Context of each word, [batch, time, memory_features].
        weights: Attention weights, [batch, time, positions].
    """

    states: Tensor
    contexts: Tensor
    weights: Tensor


class ConditionalGRU(CppModule):
    """Two GRUs with an `AdditiveAttention` between them (Sennrich et al., 2017).

    For each word x_t: s'_t = GRU(x_t, s_(t-1)), c_t = attention(s'_t, memory), s_t = GRU(c_t, s'_t).

    Args:
        features: Dimensions of the word vectors.
        hidden: Dimensions of the states.
        memory_features: Dimensions of the memory.
        attention: Dimensions of projected states and memory; by default those of the states. 0: no attention,
            and the memory's only position is the context of each word.

    Raises:
        ValueError: If an argument is out of range.

    Example:
        >>> import torch
        >>> from sentencode.nn import ConditionalGRU
        >>> decoder = ConditionalGRU(300, 64, memory_features=128)
        >>> x, state, memory = torch.randn(2, 7, 300), torch.zeros(2, 64), torch.randn(2, 5, 128)
        >>> states, contexts, weights = decoder(x, state, memory)
        >>> states.shape, contexts.shape, weights.shape
        (torch.Size([2, 7, 64]), torch.Size([2, 7, 128]), torch.Size([2, 7, 5]))
        >>> keys, values = decoder.project(memory)
        >>> first = decoder.step(x[:, 0], state, keys, values)
        >>> torch.allclose(first.states, states[:, 0], atol=1e-6)
        True
    """

    _cpp: _nn.ConditionalGRU

    def __init__(
        self, features: int, hidden: int, memory_features: int, attention: int | None = None
    ) -> None:
        super().__init__(
            _nn.ConditionalGRU,
            features=features,
            hidden=hidden,
            memory_features=memory_features,
            attention=hidden if attention is None else attention,
        )

    def forward(
        self,
        x: Tensor,
        state: Tensor,
        memory: Tensor,
        memory_mask: Tensor | None = None,
        lengths: Tensor | None = None,
    ) -> ConditionalStates:
        """Return the states, contexts and weights of sentences; zero at padding.

        Args:
            x: Word vectors, [batch, time, features].
            state: Initial state, [batch, hidden].
            memory: Memory, [batch, positions, memory_features].
            memory_mask: Mask of the positions to attend to, [batch, positions], bool; by default all.
            lengths: Number of words of each sentence, [batch], int64, preferably on the CPU; by default
                `time`.

        Raises:
            ValueError: If shapes or types do not fit.
        """
        return ConditionalStates(*self._cpp.forward(x, state, memory, memory_mask, lengths))

    def project(self, memory: Tensor, memory_mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Return keys and values for `step`.

        Args:
            memory: Memory, [batch, positions, memory_features].
            memory_mask: Mask of the positions to attend to, [batch, positions], bool.

        Returns:
            Keys [batch, positions, attention]; values, the memory with zeros where it is masked.

        Raises:
            ValueError: If shapes or types do not fit.
        """
        return self._cpp.project(memory, memory_mask)

    def step(
        self, x: Tensor, state: Tensor, keys: Tensor, values: Tensor, memory_mask: Tensor | None = None
    ) -> ConditionalStates:
        """Return the states, contexts and weights after the next word.

        Args:
            x: Word vectors, [hypotheses, features]. The number of hypotheses is a multiple of the batch:
                those of a sentence are adjacent and share its memory.
            state: Previous states, [hypotheses, hidden].
            keys: Projected keys, [batch, positions, attention].
            values: Values, [batch, positions, memory_features].
            memory_mask: Mask of the positions to attend to, [batch, positions], bool.

        Raises:
            ValueError: If shapes or types do not fit.
        """
        return ConditionalStates(*self._cpp.step(x, state, keys, values, memory_mask))
