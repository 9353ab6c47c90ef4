"""Convolutions over words."""

from __future__ import annotations

from typing import Literal

from torch import Tensor

from .. import _nn
from .attention import Activation
from .module import CppModule

__all__ = ["Convolution"]


class Convolution(CppModule):
    """One-dimensional convolution: f(W x + b) of each window of words. Padding is zero.

    Args:
        features: Dimensions of the input.
        filters: Dimensions of the output.
        window: Width of a window, in words.
        activation: Activation f: "none", "relu", "gelu" or "tanh".
        padding: Positions of the windows. "valid": inside the sentence; N words have max(N - window + 1, 1)
            windows, because a sentence that is shorter than the window is padded with zeros. "same": centred
            at each word; a window of even width extends one word further to the right. "causal": ending at
            each word, so that no output depends on a later word.

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
        ...     output, cache = causal.step(x[:, t], cache)
        >>> torch.allclose(output[0], h[0, 4], atol=1e-6)
        True
    """

    _cpp: _nn.Convolution

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
        """Return the outputs of all windows, and where they are.

        Args:
            x: Word vectors, [batch, time, features], floating point.
            mask: Mask of words, [batch, time], bool; by default all. For padding "valid", padding must be on
                the right.

        Returns:
            Outputs [batch, time, filters], and the mask of positions with a window, [batch, time], bool. A
            valid window is at the position of its first word. For padding "same" and "causal" it is the mask
            of words.

        Raises:
            ValueError: If shapes or types differ from these.
        """
        return self._cpp.forward(x, mask)

    def step(self, x: Tensor, cache: Tensor) -> tuple[Tensor, Tensor]:
        """Return the output of the next word, and the next cache, for causal windows.

        Args:
            x: Word vectors, [batch, features].
            cache: Previous words, [batch, window - 1, features], as returned by the previous step.

        Returns:
            The output [batch, filters], and the next cache.

        Raises:
            ValueError: If shapes or types do not fit, or the padding is not "causal".
        """
        return self._cpp.step(x, cache)

    def empty_cache(self, batch: int, like: Tensor | None = None) -> Tensor:
        """Return the initial cache: zeros [batch, window - 1, features].

        Args:
            batch: Number of sentences.
            like: Tensor whose type and device the cache has; by default the parameters'.

        Raises:
            ValueError: If the padding is not "causal".
        """
        return self._cpp.empty_cache(batch, next(self.parameters()) if like is None else like)
