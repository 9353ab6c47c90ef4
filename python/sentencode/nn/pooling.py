"""One vector for a sentence of the vectors of its words."""

from __future__ import annotations

from typing import Literal

from torch import Tensor

from .. import _nn
from .module import CppModule

__all__ = ["MaskedPooling", "ProjectedPooling"]

Pooling = Literal["mean", "max", "mean_max"]


class MaskedPooling(CppModule):
    """The mean, the maximum, or both, of a sentence's word vectors.

    Hidden words count for nothing, whatever their vectors hold. A sentence without words has a zero vector,
    and gives no gradient.

    Args:
        pooling: "mean", "max", or "mean_max" (the mean first, then the maximum).

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


class ProjectedPooling(CppModule):
    """Each word's vector through one linear map, then pooled: the simplest encoder that is learnt.

    Args:
        in_features: Width of the word vectors.
        out_features: Width after the map.
        pooling: As in `MaskedPooling`.
        bias: Whether the map has one.

    Raises:
        ValueError: If a width is less than 1, or `pooling` is unknown.

    Example:
        >>> import torch
        >>> from sentencode.nn import ProjectedPooling
        >>> encoder = ProjectedPooling(in_features=300, out_features=64, pooling="max")
        >>> encoder(torch.randn(8, 20, 300), torch.ones(8, 20, dtype=torch.bool)).shape
        torch.Size([8, 64])
        >>> list(encoder.state_dict())
        ['projection.weight', 'projection.bias']
    """

    def __init__(
        self, in_features: int, out_features: int, pooling: Pooling = "mean_max", bias: bool = True
    ) -> None:
        super().__init__(
            _nn.ProjectedPooling,
            in_features=in_features,
            out_features=out_features,
            pooling=pooling,
            bias=bias,
        )

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """Projects and pools.

        Args:
            x: [batch, time, in_features], floating point.
            mask: [batch, time], bool: true where there is a word.

        Returns:
            [batch, out_features], twice as wide for "mean_max".

        Raises:
            ValueError: If shapes or types differ from these.
        """
        pooled: Tensor = self._cpp.forward(x, mask)
        return pooled
