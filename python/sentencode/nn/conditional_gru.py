"""The recurrent decoder of Nematus, which looks at a memory between two transitions."""

from __future__ import annotations

from typing import NamedTuple

from torch import Tensor

from .. import _nn
from .module import CppModule

__all__ = ["ConditionalGRU", "ConditionalStates"]


class ConditionalStates(NamedTuple):
    """What a `ConditionalGRU` gives; that of a step has no dimension for time.

    Attributes:
        states: [batch, time, hidden], after each word.
        contexts: [batch, time, memory_features], what was looked at.
        weights: [batch, time, places], how much of each place.
    """

    states: Tensor
    contexts: Tensor
    weights: Tensor


class ConditionalGRU(CppModule):
    """Two GRU transitions a word, and an `AdditiveAttention` between them.

    Of the word and the state before, the first makes a state s'. With s', the attention looks at the memory.
    Of s' and of what it sees, the second makes the next state.

    Args:
        features: Width of the words' vectors.
        hidden: Width of the states.
        memory_features: Width of the memory.
        attention: Width of what the attention projects states and memory to; as the states by default. 0:
            there is none, and the memory's one place is what each word sees.

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
        """Goes over sentences whose words are known.

        Args:
            x: [batch, time, features]; words at the left.
            state: [batch, hidden], where to begin.
            memory: [batch, places, memory_features].
            memory_mask: [batch, places], bool: true where there is something; all by default.
            lengths: [batch], int64, how many words there are; all by default. Best on the CPU.

        Returns:
            States, contexts and weights, zero where there is no word.

        Raises:
            ValueError: If shapes or types do not fit.
        """
        return ConditionalStates(*self._cpp.forward(x, state, memory, memory_mask, lengths))

    def project(self, memory: Tensor, memory_mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Keys and values as `step` wants them: what a `Decoder` has in its memory, beside the mask.

        Args:
            memory: [batch, places, memory_features].
            memory_mask: [batch, places], bool.

        Returns:
            Keys [batch, places, attention]; values, which are the memory, zero where it is masked.

        Raises:
            ValueError: If shapes or types do not fit.
        """
        keys, values = self._cpp.project(memory, memory_mask)
        return keys, values

    def step(
        self, x: Tensor, state: Tensor, keys: Tensor, values: Tensor, memory_mask: Tensor | None = None
    ) -> ConditionalStates:
        """One word further, by the same weights.

        Args:
            x: [hypotheses, features]. There are as many hypotheses as sentences, or a multiple: those of a
                sentence stand together, and look at one memory, which is not copied for each.
            state: [hypotheses, hidden], the one before.
            keys: [batch, places, attention].
            values: [batch, places, memory_features].
            memory_mask: [batch, places], bool.

        Returns:
            The next states [hypotheses, hidden], and what they looked at.

        Raises:
            ValueError: If shapes or types do not fit.
        """
        return ConditionalStates(*self._cpp.step(x, state, keys, values, memory_mask))
