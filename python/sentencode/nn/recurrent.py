"""Recurrent layers on top of each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from torch import Tensor

from .. import _nn
from .module import CppModule

__all__ = ["RecurrentStack"]

State = tuple[Tensor, ...]


class RecurrentStack(CppModule):
    """GRU or LSTM layers for sentences of any lengths. Padding is never computed with.

    A state is `(h,)`, for the LSTM `(h, c)`, each [batch, layers * directions, hidden]. On the CPU, without
    autocast, layers have a gradient of their own, and cannot be differentiated twice.

    Args:
        cell: "gru" or "lstm".
        features: Width of the input.
        hidden: Width of a layer's output, in each direction.
        layers: How many there are.
        bidirectional: Whether each layer also goes from the last word to the first.
        shortcuts: What layers above the first see beside the output below: "none"; "input", that of the
            stack; "all", the input and the outputs of all layers below.
        dropout: On what a layer gives to those above. Shortcuts to the input have none.
        orthogonal: Whether each gate's square matrices begin orthogonal, its others with N(0, 0.01²), and
            biases with zeros. Else all are drawn evenly from ±1/sqrt(hidden).

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
        )

    def forward(
        self, x: Tensor, lengths: Tensor | None = None, state: Sequence[Tensor] = ()
    ) -> tuple[Tensor, State]:
        """Goes over sentences.

        Args:
            x: [batch, time, features]; words at the left.
            lengths: [batch], int64, how many words there are; all by default. Best on the CPU.
            state: Where to begin; zeros by default.

        Returns:
            The last layer's output [batch, time, directions * hidden], zero where there is no word; and the
            state after each sentence's last word (for the backward direction its first).

        Raises:
            ValueError: If shapes or types do not fit.
        """
        output, last = self._cpp.forward(x, lengths, list(state))
        return output, tuple(last)

    def step(self, x: Tensor, state: Sequence[Tensor]) -> tuple[Tensor, State]:
        """One word further, by the same weights.

        Args:
            x: [batch, features].
            state: The one before.

        Returns:
            [batch, hidden], and the next state.

        Raises:
            ValueError: If shapes do not fit, or the stack has two directions.
        """
        output, last = self._cpp.step(x, list(state))
        return output, tuple(last)

    def zero_state(self, batch: int) -> State:
        """Zeros, of the parameters' type, on their device."""
        return tuple(self._cpp.zero_state(batch, next(self.parameters())))
