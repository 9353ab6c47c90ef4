"""Sums of words' vectors with weights that are learnt, and penalties of heads that resemble each other."""

from __future__ import annotations

from typing import Literal, NamedTuple

from torch import Tensor

from .. import _nn
from .module import CppModule

__all__ = ["AttentionPooling", "HeadPenalty", "head_penalty"]

Scores = Literal["vector", "scalar"]
Activation = Literal["relu", "tanh"]
Penalty = Literal["none", "parameters", "attention", "embeddings"]


class HeadPenalty(NamedTuple):
    """A penalty of heads that resemble each other, and whether it does anything.

    Attributes:
        loss: The sum over pairs of heads of max(lambda - distance, 0), [].
        active: The share of pairs whose hinge is above zero, []. Without a gradient. Where it is 0, the
            penalty changes nothing.
    """

    loss: Tensor
    active: Tensor


def head_penalty(heads: Tensor, lambda_: float = 1.0, batch_distance: bool = False) -> HeadPenalty:
    """Penalises heads that are closer than a squared distance: equations 7 to 9 of paper 002, without mu.

    Args:
        heads: What each head has, [heads, numbers] or [batch, heads, numbers].
        lambda_: The squared distance from which on a pair of heads costs nothing.
        batch_distance: Distances are means over the batch, as in the paper's code; by default the penalty
            is the mean over the batch.

    Returns:
        The penalty, and the share of pairs that it acts on.

    Raises:
        ValueError: If shape or type do not fit.

    Example:
        >>> import torch
        >>> from sentencode.nn import head_penalty
        >>> head_penalty(torch.tensor([[0.0, 0.0], [0.5, 0.5], [3.0, 4.0]]))
        HeadPenalty(loss=tensor(0.5000), active=tensor(0.3333))
    """
    return HeadPenalty(*_nn.head_penalty(heads, lambda_, batch_distance))


class AttentionPooling(CppModule):
    """Generalized pooling: weighted sums of a sentence's vectors, one for each head.

    Head i weighs the words t by a small network (paper 002, equations 5 and 6):

        A_i = softmax(W2_i f(W1_i h_t + b1_i)) over t,  v_i = sum_t A_i,t * h_t,  v = [v_1; ...; v_I]

    With vector scores, every dimension of h_t has a weight of its own, and every head its own W1. With scalar
    scores, a weight is of the whole vector, and heads share W1: that is the attention of Lin et al. (2017),
    and with `activation="tanh", bias=False` the inner attention of paper 003. There is no b2: it would move
    all scores of a dimension alike, which the softmax does not see.

    What lies behind a sentence's end is never read; a sentence without words has a zero row. The weights are
    never kept, backward works them out again. Numbers are float32 (or float64) also under autocast. It cannot
    be differentiated twice.

    Parameters are `hidden.weight` (W1, head after head), `hidden.bias` and `score.weight` (W2).

    Args:
        features: Width of the vectors.
        hidden: Width of the hidden layer: of each head, or with scalar scores of all together.
        heads: How many heads.
        scores: "vector" or "scalar".
        activation: "relu" or "tanh".
        bias: Whether there is b1. It begins as zero.

    Raises:
        ValueError: If an argument is out of range.

    Example:
        >>> import torch
        >>> from sentencode.nn import AttentionPooling
        >>> pooling = AttentionPooling(600, hidden=300, heads=5)
        >>> h, lengths = torch.randn(2, 7, 600), torch.tensor([7, 4])
        >>> v = pooling(h, lengths)
        >>> v.shape  # head after head
        torch.Size([2, 3000])
        >>> pooling.weights(h, lengths).shape
        torch.Size([2, 5, 7, 600])
        >>> float(pooling.penalty("embeddings", pooled=v).active)  # does the penalty do anything?
        0.0
    """

    def __init__(
        self,
        features: int,
        hidden: int,
        heads: int = 1,
        scores: Scores = "vector",
        activation: Activation = "relu",
        bias: bool = True,
    ) -> None:
        super().__init__(
            _nn.AttentionPooling,
            features=features,
            hidden=hidden,
            heads=heads,
            scores=scores,
            activation=activation,
            bias=bias,
        )

    def forward(self, h: Tensor, lengths: Tensor | None = None) -> Tensor:
        """Pools.

        Args:
            h: [batch, time, features].
            lengths: [batch], int64: how many words, at the left, each sentence has; all by default.

        Returns:
            [batch, heads * features], head after head.

        Raises:
            ValueError: If shapes, types or lengths do not fit.
        """
        pooled: Tensor = self._cpp.forward(h, lengths)
        return pooled

    def weights(self, h: Tensor, lengths: Tensor | None = None) -> Tensor:
        """The weights A, to be looked at; differentiable, and held in memory.

        Args:
            h: [batch, time, features].
            lengths: [batch], int64.

        Returns:
            [batch, heads, time, features], or with scalar scores [batch, heads, time]; zero where there is
            no word.

        Raises:
            ValueError: If shapes, types or lengths do not fit.
        """
        weights: Tensor = self._cpp.weights(h, lengths)
        return weights

    def penalty(
        self,
        penalty: Penalty,
        h: Tensor | None = None,
        lengths: Tensor | None = None,
        pooled: Tensor | None = None,
        lambda_: float = 1.0,
        batch_distance: bool = False,
    ) -> HeadPenalty:
        """The penalty of heads that resemble each other, see `head_penalty`.

        Args:
            penalty: What heads are to differ in. "parameters": W1 of each head or, as scalar scores share it,
                the row of W2. "attention": the weights, which are computed for it apart from `forward`, and
                held in memory. "embeddings": the pooled vectors.
            h: For "attention", as for `forward`.
            lengths: For "attention", as for `forward`.
            pooled: For "embeddings", what `forward` returned.
            lambda_: The squared distance from which on a pair of heads costs nothing.
            batch_distance: See `head_penalty`.

        Returns:
            The penalty, and the share of pairs that it acts on; zeros for "none".

        Raises:
            ValueError: If `penalty` is something else, or what it needs is missing.
        """
        return HeadPenalty(*self._cpp.penalty(penalty, h, lengths, pooled, lambda_, batch_distance))
