"""Residual connection and layer norm."""

from __future__ import annotations

from torch import Tensor

from .. import _nn
from .module import CppModule

__all__ = ["AddNorm"]


class AddNorm(CppModule):
    """The end of a Transformer's sub-layer: layer_norm(residual + dropout(output)).

    Args:
        features: Dimensions of the vectors.
        epsilon: Constant added to the variance.
        dropout: Dropout probability of the sub-layer's output.

    Raises:
        ValueError: If an argument is out of range.

    Example:
        >>> import torch
        >>> from sentencode.nn import AddNorm
        >>> end = AddNorm(4)
        >>> end(torch.tensor([[1.0, 2.0, 3.0, 4.0]]), torch.tensor([[4.0, 3.0, 2.0, 1.0]]))
        tensor([[0., 0., 0., 0.]], grad_fn=<NativeLayerNormBackward0>)
    """

    _cpp: _nn.AddNorm

    def __init__(self, features: int, epsilon: float = 1e-5, dropout: float = 0.0) -> None:
        super().__init__(_nn.AddNorm, features=features, epsilon=epsilon, dropout=dropout)

    def forward(self, given: Tensor, residual: Tensor | None = None) -> Tensor:
        """Return layer_norm(residual + dropout(given)).

        Args:
            given: The sub-layer's output, [..., features].
            residual: The sub-layer's input, of the same shape; None: no residual connection.

        Returns:
            A tensor of the same shape.

        Raises:
            ValueError: If shapes do not fit.
        """
        return self._cpp.forward(given, residual)
