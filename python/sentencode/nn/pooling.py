"""Pooling without parameters."""

from __future__ import annotations

from typing import Literal

from torch import Tensor

from .. import _nn
from .module import CppModule

__all__ = ["MaskedPooling"]

Pooling = Literal["mean", "max", "mean_max", "last"]


class MaskedPooling(CppModule):
    """The mean, the maximum, both, or the last of a sentence's word vectors.

    A sentence without words has a zero vector and no gradient.

    Args:
        pooling: "mean", "max", "mean_max" (the mean first), or "last".

    Raises:
        ValueError: If `pooling` is unknown.

    Example:
        >>> import torch
        >>> from sentencode.nn import MaskedPooling
        >>> x = torch.tensor([[[1.0, 4.0], [3.0, 2.0], [9.0, 9.0]]])
        >>> mask = torch.tensor([[True, True, False]])
        >>> MaskedPooling("mean_max")(x, mask)
        tensor([[2., 3., 3., 4.]])
    """

    _cpp: _nn.MaskedPooling

    def __init__(self, pooling: Pooling = "mean_max") -> None:
        super().__init__(_nn.MaskedPooling, pooling=pooling)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """Return the embeddings of sentences: [batch, features], for "mean_max" [batch, 2 features].

        Args:
            x: Word vectors, [batch, time, features], floating point.
            mask: Mask of words, [batch, time], bool.

        Raises:
            ValueError: If shapes or types do not fit.
        """
        return self._cpp.forward(x, mask)
