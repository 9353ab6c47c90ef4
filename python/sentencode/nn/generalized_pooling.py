"""Generalized pooling, and penalties of similar heads (paper 002)."""

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
    """A penalty of similar heads.

    Attributes:
        loss: Sum over pairs of heads of max(lambda - distance, 0), [].
        active: Fraction of pairs with a positive hinge, [], without a gradient. If 0, the penalty has no
            effect.
    """

    loss: Tensor
    active: Tensor


def head_penalty(heads: Tensor, lambda_: float = 1.0, batch_distance: bool = False) -> HeadPenalty:
    """Return the penalty of similar heads, equations 7 to 9 of paper 002, without the factor mu.

    Args:
        heads: Vectors of the heads, [heads, features] or [batch, heads, features].
        lambda_: Squared distance from which on a pair of heads has no penalty.
        batch_distance: Whether to average distances over the batch, as in the paper's code; by default the
            penalty is averaged.

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
    """Generalized pooling: one weighted sum of the word vectors for each head (paper 002, equations 5 and 6).

        A_i = softmax(W2_i f(W1_i h_t + b1_i)) over t,  v_i = sum_t A_i,t * h_t,  v = [v_1; ...; v_I]

    With vector scores, each dimension of h_t has its own weight, and each head its own W1. With scalar
    scores, a word has one weight, and heads share W1: the attention of Lin et al. (2017), and with
    `activation="tanh", bias=False` the inner attention of paper 003. There is no b2, because it would cancel
    in the softmax.

    Padding is not read; a sentence without words has a zero vector. Computes in float32 (or float64), also
    under autocast. On the CPU it cannot be differentiated twice.

    Parameters are `hidden.weight` (W1 of all heads), `hidden.bias` and `score.weight` (W2 of all heads).

    Args:
        features: Dimensions of the word vectors.
        hidden: Hidden units of each head, or with scalar scores of all heads together.
        heads: Number of heads.
        scores: "vector" or "scalar".
        activation: Activation f: "relu" or "tanh".
        bias: Whether to add b1, which is initialised with 0.

    Raises:
        ValueError: If an argument is out of range.

    Example:
        >>> import torch
        >>> from sentencode.nn import AttentionPooling
        >>> pooling = AttentionPooling(600, hidden=300, heads=5)
        >>> h, lengths = torch.randn(2, 7, 600), torch.tensor([7, 4])
        >>> v = pooling(h, lengths)
        >>> v.shape
        torch.Size([2, 3000])
        >>> pooling.weights(h, lengths).shape
        torch.Size([2, 5, 7, 600])
        >>> float(pooling.penalty("embeddings", pooled=v).active)  # without effect yet
        0.0
    """

    _cpp: _nn.AttentionPooling

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
        """Return the embeddings of sentences, [batch, heads * features].

        Args:
            h: Word vectors, [batch, time, features].
            lengths: Number of words of each sentence, [batch], int64; by default `time`.

        Raises:
            ValueError: If shapes, types or lengths do not fit.
        """
        return self._cpp.forward(h, lengths)

    def weights(self, h: Tensor, lengths: Tensor | None = None) -> Tensor:
        """Return the attention weights A, with a gradient.

        Args:
            h: Word vectors, [batch, time, features].
            lengths: Number of words of each sentence, [batch], int64; by default `time`.

        Returns:
            Weights [batch, heads, time, features], with scalar scores [batch, heads, time]; zero at padding.

        Raises:
            ValueError: If shapes, types or lengths do not fit.
        """
        return self._cpp.weights(h, lengths)

    def penalty(
        self,
        penalty: Penalty,
        h: Tensor | None = None,
        lengths: Tensor | None = None,
        pooled: Tensor | None = None,
        lambda_: float = 1.0,
        batch_distance: bool = False,
    ) -> HeadPenalty:
        """Return the penalty of similar heads, see `head_penalty`; zeros for "none".

        Args:
            penalty: What is compared between heads. "parameters": W1, with scalar scores W2. "attention": the
                weights, which are computed again for it. "embeddings": the pooled vectors.
            h: Word vectors, for "attention".
            lengths: Number of words of each sentence, for "attention".
            pooled: Output of `forward`, for "embeddings".
            lambda_: Squared distance from which on a pair of heads has no penalty.
            batch_distance: See `head_penalty`.

        Raises:
            ValueError: If `penalty` is unknown, or an argument that it needs is missing.
        """
        return HeadPenalty(*self._cpp.penalty(penalty, h, lengths, pooled, lambda_, batch_distance))
