"""Cross-entropy over many words, and the layer that predicts them."""

from __future__ import annotations

from typing import Literal, NamedTuple

from torch import Generator, Tensor

from .. import _nn
from .module import CppModule

__all__ = [
    "Negatives",
    "SoftmaxLoss",
    "WordSoftmax",
    "draw_negatives",
    "expected_counts",
    "log_uniform_distribution",
    "sampled_softmax_loss",
    "softmax_loss",
]

Reduction = Literal["mean", "sum"]


class SoftmaxLoss(NamedTuple):
    """What a softmax over words says about its targets. Only `loss` has a gradient.

    Attributes:
        loss: The loss, a scalar.
        nll: Of the targets' shape: -log p(target), without smoothing or weights; 0 where none counts.
        correct: How many rows count and have a target that no other word surpasses.
        tokens: How many rows count.
    """

    loss: Tensor
    nll: Tensor
    correct: Tensor
    tokens: Tensor


class Negatives(NamedTuple):
    """Words that all rows are compared with.

    Attributes:
        ids: [count], int64, no word twice.
        expected: [words], how likely a draw like this one has each word.
    """

    ids: Tensor
    expected: Tensor


def softmax_loss(
    h: Tensor,
    weight: Tensor,
    targets: Tensor,
    bias: Tensor | None = None,
    *,
    row_weights: Tensor | None = None,
    label_smoothing: float = 0.0,
    reduction: Reduction = "mean",
    ignore_index: int = -100,
    chunk_rows: int = 0,
) -> SoftmaxLoss:
    """Cross-entropy over all words, without the logits of all rows.

    Rows go through in chunks. Where gradients are wanted, each chunk adds its own in the forward pass, and
    backward multiplies them. What is held is one chunk's logits, and the gradients. Under autocast, or when
    `h` and `weight` are bfloat16 or half, products are of that type; logits and sums are float32.

    Args:
        h: [..., features].
        weight: [words, features]; it may be a table of embeddings.
        targets: [...], int64.
        bias: [words].
        row_weights: [...], bool (a mask) or floating point (weights).
        label_smoothing: How much of the probability all words share; the target has the rest.
        reduction: "mean" over rows that count, weighted as they are, or "sum".
        ignore_index: Rows with this target do not count.
        chunk_rows: Rows whose logits are held at a time; 0 chooses.

    Returns:
        The loss, and what is known beside it.

    Raises:
        ValueError: If shapes or types do not fit, or a target is not a word.
        NotImplementedError: If the gradient is to be differentiated.

    Example:
        >>> import torch
        >>> from sentencode.nn import softmax_loss
        >>> h, table = torch.eye(3), torch.eye(3).requires_grad_()
        >>> found = softmax_loss(h, table, torch.tensor([0, 1, 0]))
        >>> found.correct.item(), found.tokens.item()
        (2, 3)
        >>> found.loss.backward()
        >>> table.grad.shape
        torch.Size([3, 3])
    """
    return SoftmaxLoss(
        *_nn.softmax_loss(
            h, weight, bias, targets, row_weights, label_smoothing, reduction, ignore_index, chunk_rows
        )
    )


def log_uniform_distribution(words: int) -> Tensor:
    """How frequent words are, roughly, when their ids are ranks by frequency (Zipf's law).

    Args:
        words: How many there are.

    Returns:
        [words], double, summing to 1.

    Raises:
        ValueError: If there are none.

    Example:
        >>> from sentencode.nn import log_uniform_distribution
        >>> log_uniform_distribution(3)
        tensor([0.5000, 0.2925, 0.2075], dtype=torch.float64)
    """
    return _nn.log_uniform_distribution(words)


def expected_counts(distribution: Tensor, count: int) -> Tensor:
    """How likely each word is to be among `count` words that are drawn without replacement.

    Args:
        distribution: [words], positive; it need not sum to 1.
        count: How many are drawn, on average.

    Returns:
        1 - exp(-p tau) of each word, [words], float, which sum to `count`.

    Raises:
        ValueError: If the distribution is not positive, or has fewer words than are to be drawn.

    Example:
        >>> import torch
        >>> from sentencode.nn import expected_counts
        >>> expected_counts(torch.tensor([2.0, 1.0, 1.0]), 2)
        tensor([0.8284, 0.5858, 0.5858])
    """
    return _nn.expected_counts(distribution, count)


def draw_negatives(expected: Tensor, *, generator: Generator | None = None) -> Negatives:
    """Draws every word by itself, with its own probability.

    That no draw knows of the others makes the correction of `sampled_softmax_loss` exact. The number of words
    is not always the same.

    Args:
        expected: [words], of `expected_counts`.
        generator: Where randomness comes from; torch's own by default.

    Returns:
        The words, and `expected`.

    Raises:
        ValueError: If `expected` is no float vector.

    Example:
        >>> import torch
        >>> from sentencode.nn import draw_negatives, expected_counts, log_uniform_distribution
        >>> expected = expected_counts(log_uniform_distribution(20000), 2000)
        >>> 1800 < len(draw_negatives(expected).ids) < 2200
        True
    """
    return Negatives(_nn.draw_negatives(expected, generator), expected)


def sampled_softmax_loss(
    h: Tensor,
    weight: Tensor,
    targets: Tensor,
    negatives: Negatives,
    bias: Tensor | None = None,
    *,
    row_weights: Tensor | None = None,
    reduction: Reduction = "mean",
    ignore_index: int = -100,
) -> Tensor:
    """Cross-entropy of each target against the drawn words alone.

    Logits are less by the logarithm of how often their words are expected: what is learnt are the logits of
    the softmax over all words. A drawn word that is a row's target does not count twice. With all words drawn
    it is `softmax_loss`.

    Args:
        h: [..., features].
        weight: [words, features].
        targets: [...], int64.
        negatives: Of `draw_negatives`.
        bias: [words].
        row_weights: [...], bool (a mask) or floating point (weights).
        reduction: "mean" or "sum", as in `softmax_loss`.
        ignore_index: Rows with this target do not count.

    Returns:
        The loss, a scalar.

    Raises:
        ValueError: If shapes or types do not fit, or a target is not a word.

    Example:
        >>> import torch
        >>> from sentencode.nn import draw_negatives, expected_counts, sampled_softmax_loss
        >>> h, table = torch.randn(4, 8), torch.randn(1000, 8)
        >>> drawn = draw_negatives(expected_counts(torch.ones(1000), 100))
        >>> sampled_softmax_loss(h, table, torch.tensor([1, 5, 0, 999]), drawn).shape
        torch.Size([])
    """
    return _nn.sampled_softmax_loss(
        h, weight, bias, targets, negatives.ids, negatives.expected, row_weights, reduction, ignore_index
    )


class WordSoftmax(CppModule):
    """The output layer: which word follows from a state.

    Args:
        features: Width of the states.
        words: How many words there are.
        bias: Whether each word has one.
        tied: Without a matrix of its own: every call is given the table of word vectors.
        label_smoothing: In training, as in `softmax_loss`.

    Raises:
        ValueError: If an argument is out of range.

    Example:
        >>> import torch
        >>> from sentencode.nn import WordSoftmax
        >>> layer = WordSoftmax(features=16, words=100)
        >>> h, targets = torch.randn(2, 5, 16), torch.randint(100, (2, 5))
        >>> layer(h, targets).loss.shape
        torch.Size([])
        >>> layer.logits(h).shape
        torch.Size([2, 5, 100])
    """

    def __init__(
        self,
        features: int,
        words: int,
        bias: bool = True,
        tied: bool = False,
        label_smoothing: float = 0.0,
    ) -> None:
        super().__init__(
            _nn.WordSoftmax,
            features=features,
            words=words,
            bias=bias,
            tied=tied,
            label_smoothing=label_smoothing,
        )

    def forward(
        self, h: Tensor, targets: Tensor, row_weights: Tensor | None = None, table: Tensor | None = None
    ) -> SoftmaxLoss:
        """The loss over all words, a mean over rows that count.

        Args:
            h: [..., features].
            targets: [...], int64; -100 does not count.
            row_weights: [...], a mask or weights.
            table: [words, features], when tied.

        Returns:
            As `softmax_loss`.

        Raises:
            ValueError: If shapes or types do not fit, or there are two matrices or none.
        """
        return SoftmaxLoss(*self._cpp.forward(h, targets, row_weights, table))

    def sampled_loss(
        self,
        h: Tensor,
        targets: Tensor,
        negatives: Negatives,
        row_weights: Tensor | None = None,
        table: Tensor | None = None,
    ) -> Tensor:
        """The loss against drawn words alone, as `sampled_softmax_loss`."""
        loss: Tensor = self._cpp.sampled_loss(h, targets, *negatives, row_weights, table)
        return loss

    def logits(self, h: Tensor, table: Tensor | None = None) -> Tensor:
        """Of all words: [..., features] -> [..., words]."""
        logits: Tensor = self._cpp.logits(h, table)
        return logits
