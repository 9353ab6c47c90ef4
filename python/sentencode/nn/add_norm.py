"""How sub-layers of a Transformer end."""

from __future__ import annotations

from torch import Tensor

from .. import _nn
from .module import CppModule

__all__ = ["AddNorm"]


class AddNorm(CppModule):
    """Residual, dropout and layer norm after a sub-layer: norm(residual + dropout(what it gives)).

    Args:
        features: Width of the vectors.
        epsilon: What keeps the norm's divisor from zero.
        dropout: On what the sub-layer gives.

    Raises:
        ValueError: If an argument is out of range.

    Example:
        >>> import torch
        >>> from sentencode.nn import AddNorm
        >>> end = AddNorm(4)
        >>> end(torch.tensor([[1.0, 2.0, 3.0, 4.0]]), torch.tensor([[4.0, 3.0, 2.0, 1.0]]))
        tensor([[0., 0., 0., 0.]], grad_fn=<NativeLayerNormBackward0>)
    """

    def __init__(self, features: int, epsilon: float = 1e-5, dropout: float = 0.0) -> None:
        super().__init__(_nn.AddNorm, features=features, epsilon=epsilon, dropout=dropout)

    def forward(self, given: Tensor, residual: Tensor | None = None) -> Tensor:
        """Adds and normalises.

        Args:
            given: [..., features], what the sub-layer gives.
            residual: Of the same shape, what it was given; None: nothing is added.

        Returns:
            Of the same shape.

        Raises:
            ValueError: If shapes do not fit.
        """
        found: Tensor = self._cpp.forward(given, residual)
        return found
