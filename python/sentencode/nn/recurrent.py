"""Stacks of GRU and LSTM layers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from torch import Tensor

from .. import _nn
from .module import CppModule

__all__ = ["RecurrentStack"]

State = tuple[Tensor, ...]


class RecurrentStack(CppModule):
    """A stack of GRU or LSTM layers, for sentences of any lengths.

    A state is `(h,)`, for the LSTM `(h, c)`, each [batch, layers * directions, hidden]. On the CPU, without
    autocast and `layer_norm`, it cannot be differentiated twice.

    Args:
        cell: "gru" or "lstm".
        features: Dimensions of the input.
        hidden: Dimensions of a layer's output in each direction.
        layers: Number of layers.
        bidirectional: Whether each layer also runs from the last word to the first.
        shortcuts: Additional inputs of the layers above the first: "none"; "input", the input of the stack;
            "all", the input and the outputs of all layers below.
        dropout: Dropout probability of each layer's output, for the layers above.
        orthogonal: Whether each gate's square matrices are initialised as orthogonal, others with N(0,
            0.01²), and biases with 0. By default all weights are uniform in ±1/sqrt(hidden).
        layer_norm: Whether the GRU's products with words and states are normalised (Ba, Kiros and Hinton
            2016): those of both gates together, and those of the candidate. It is computed word by word.

    Raises:
        ValueError: If an argument is out of range.

    Example:
        >>> import torch
        >>> from sentencode.nn import RecurrentStack
        >>> encoder = RecurrentStack("lstm", 300, 64, layers=3, bidirectional=True, shortcuts="input")
        >>> output, (h, c) = encoder(torch.randn(2, 5, 300), lengths=torch.tensor([5, 3]))
        >>> output.shape, h.shape
        (torch.Size([2, 5, 128]), torch.Size([2, 6, 64]))
        >>> output[1, 3:].any()
        tensor(False)
    """

    _cpp: _nn.RecurrentStack

    def __init__(
        self,
        cell: Literal["gru", "lstm"],
        features: int,
        hidden: int,
        layers: int = 1,
        bidirectional: bool = False,
        shortcuts: Literal["none", "input", "all"] = "none",
        dropout: float = 0.0,
        orthogonal: bool = False,
        layer_norm: bool = False,
    ) -> None:
        super().__init__(
            _nn.RecurrentStack,
            cell=cell,
            features=features,
            hidden=hidden,
            layers=layers,
            bidirectional=bidirectional,
            shortcuts=shortcuts,
            dropout=dropout,
            orthogonal=orthogonal,
            layer_norm=layer_norm,
        )

    def forward(
        self, x: Tensor, lengths: Tensor | None = None, state: Sequence[Tensor] = ()
    ) -> tuple[Tensor, State]:
        """Return the outputs and final states of sentences.

        Args:
            x: Word vectors, [batch, time, features].
            lengths: Number of words of each sentence, [batch], int64, preferably on the CPU; by default
                `time`.
            state: Initial state; by default zeros.

        Returns:
            The last layer's output [batch, time, directions * hidden], zero at padding; and the state after
            each sentence's last word (for the backward direction its first word).

        Raises:
            ValueError: If shapes or types do not fit.
        """
        output, final_state = self._cpp.forward(x, lengths, list(state))
        return output, tuple(final_state)

    def step(self, x: Tensor, state: Sequence[Tensor]) -> tuple[Tensor, State]:
        """Return the output after the next word, [batch, hidden], and the next state.

        Args:
            x: Word vectors, [batch, features].
            state: Previous state.

        Raises:
            ValueError: If shapes do not fit, or the stack is bidirectional.
        """
        output, next_state = self._cpp.step(x, list(state))
        return output, tuple(next_state)

    def zero_state(self, batch: int) -> State:
        """Return a state of zeros, of the parameters' type and on their device."""
        return tuple(self._cpp.zero_state(batch, next(self.parameters())))
