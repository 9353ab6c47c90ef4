"""One vector for a sentence of the vectors of its words."""

from __future__ import annotations

from typing import Literal

from torch import Tensor

from .. import _nn
from .module import CppModule

__all__ = ["MaskedPooling"]

Pooling = Literal["mean", "max", "mean_max", "last"]


class MaskedPooling(CppModule):
    """The mean, the maximum, both, or the last of a sentence's word vectors.

    Hidden words count for nothing, whatever their vectors hold. A sentence without words has a zero vector,
    and gives no gradient.

    Args:
        pooling: "mean", "max", "mean_max" (the mean first, then the maximum), or "last".

    Raises:
        ValueError: If `pooling` is something else.

    Example:
        >>> import torch
        >>> from sentencode.nn import MaskedPooling
        >>> x = torch.tensor([[[1.0, 4.0], [3.0, 2.0], [9.0, 9.0]]])
        >>> mask = torch.tensor([[True, True, False]])
        >>> MaskedPooling("mean_max")(x, mask)
        tensor([[2., 3., 3., 4.]])
    """

    def __init__(self, pooling: Pooling = "mean_max") -> None:
        super().__init__(_nn.MaskedPooling, pooling=pooling)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """Pools.

        Args:
            x: [batch, time, features], floating point.
            mask: [batch, time], bool: true where there is a word.

        Returns:
            [batch, features], twice as wide for "mean_max".

        Raises:
            ValueError: If shapes or types differ from these.
        """
        pooled: Tensor = self._cpp.forward(x, mask)
        return pooled
