"""Filters over windows of words."""

from __future__ import annotations

from torch import Tensor

from .. import _nn
from .attention import Activation
from .module import CppModule

__all__ = ["Convolution"]


class Convolution(CppModule):
    """Filters that see several words at a time: f(W x + b) of each window.

    A sentence of N words has max(N - window + 1, 1) windows: one that is shorter than the window has a
    single one, filled up with zeros.

    Args:
        features: Width of the input.
        filters: Width of the output.
        window: Words that a filter sees.
        activation: f, as in `MultiHeadAttention`.

    Raises:
        ValueError: If an argument is out of range.

    Example:
        >>> import torch
        >>> from sentencode.nn import Convolution
        >>> x, mask = torch.randn(2, 5, 16), torch.arange(5) < torch.tensor([[5], [2]])
        >>> h, windows = Convolution(16, 8, window=3)(x, mask)
        >>> h.shape, windows.sum(1)
        (torch.Size([2, 5, 8]), tensor([3, 1]))
    """

    def __init__(self, features: int, filters: int, window: int, activation: Activation = "tanh") -> None:
        super().__init__(
            _nn.Convolution, features=features, filters=filters, window=window, activation=activation
        )

    def forward(self, x: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """Goes over windows, each of which stands where its first word does.

        Args:
            x: [batch, time, features], floating point.
            mask: [batch, time], bool: true where there is a word; words are at the left.

        Returns:
            [batch, time, filters], and [batch, time], bool: where there is a window.

        Raises:
            ValueError: If shapes or types differ from these.
        """
        h, windows = self._cpp.forward(x, mask)
        return h, windows
