"""Filters over windows of words."""

from __future__ import annotations

from typing import Literal

from torch import Tensor

from .. import _nn
from .attention import Activation
from .module import CppModule

__all__ = ["Convolution"]


class Convolution(CppModule):
    """Filters that see several words at a time: f(W x + b) of each window. What is not there counts as zero.

    Args:
        features: Width of the input.
        filters: Width of the output.
        window: Words that a filter sees.
        activation: f, as in `MultiHeadAttention`.
        padding: Where windows lie. "valid": within the sentence; N words have max(N - window + 1, 1) of them,
            since a sentence that is shorter than the window has a single one, filled up with zeros. "same":
            one around each word, which reaches one word further to the right than to the left where it has an
            even width. "causal": one that ends at each word, so that no output sees a later word.

    Raises:
        ValueError: If an argument is out of range.

    Example:
        >>> import torch
        >>> from sentencode.nn import Convolution
        >>> x, mask = torch.randn(2, 5, 16), torch.arange(5) < torch.tensor([[5], [2]])
        >>> h, windows = Convolution(16, 8, window=3)(x, mask)
        >>> h.shape, windows.sum(1)
        (torch.Size([2, 5, 8]), tensor([3, 1]))
        >>> causal = Convolution(16, 8, window=3, padding="causal")
        >>> h, windows = causal(x, mask)
        >>> h.shape, windows.sum(1)
        (torch.Size([2, 5, 8]), tensor([5, 2]))
        >>> cache = causal.empty_cache(2)
        >>> for t in range(5):
        ...     now, cache = causal.step(x[:, t], cache)
        >>> torch.allclose(now[0], h[0, 4], atol=1e-6)
        True
    """

    def __init__(
        self,
        features: int,
        filters: int,
        window: int,
        activation: Activation = "tanh",
        padding: Literal["valid", "same", "causal"] = "valid",
    ) -> None:
        super().__init__(
            _nn.Convolution,
            features=features,
            filters=filters,
            window=window,
            activation=activation,
            padding=padding,
        )

    def forward(self, x: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Goes over windows. Valid ones stand where their first words do.

        Args:
            x: [batch, time, features], floating point.
            mask: [batch, time], bool: true where there is a word; all by default. Valid windows want words at
                the left.

        Returns:
            [batch, time, filters], and [batch, time], bool: where there is a window. For padding "same" and
            "causal" that is where there is a word.

        Raises:
            ValueError: If shapes or types differ from these.
        """
        h, windows = self._cpp.forward(x, mask)
        return h, windows

    def step(self, x: Tensor, cache: Tensor) -> tuple[Tensor, Tensor]:
        """One word further, for causal windows.

        Args:
            x: [batch, features].
            cache: [batch, window - 1, features], the words before, as the step before returned it.

        Returns:
            [batch, filters], and the next cache.

        Raises:
            ValueError: If shapes or types do not fit, or the padding is not "causal".
        """
        h, following = self._cpp.step(x, cache)
        return h, following

    def empty_cache(self, batch: int, like: Tensor | None = None) -> Tensor:
        """What `step` sees before the first word.

        Args:
            batch: How many sentences there are.
            like: A tensor of the type that is wanted, on the device; the parameters' by default.

        Returns:
            Zeros [batch, window - 1, features].

        Raises:
            ValueError: If the padding is not "causal".
        """
        cache: Tensor = self._cpp.empty_cache(batch, next(self.parameters()) if like is None else like)
        return cache
