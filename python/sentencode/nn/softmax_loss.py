"""Cross-entropy over large vocabularies, and the output layer."""

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
    """The output of `softmax_loss`. Only `loss` has a gradient.

    Attributes:
        loss: The loss, a scalar.
        nll: -log p(target), of the targets' shape, without smoothing or weights; 0 for rows that do not
            count.
        correct: Number of rows that count and whose target has the largest logit.
        tokens: Number of rows that count.
    """

    loss: Tensor
    nll: Tensor
    correct: Tensor
    tokens: Tensor


class Negatives(NamedTuple):
    """Sampled words, which all rows share.

    Attributes:
        ids: Distinct word ids, [count], int64.
        expected: Probability that a sample contains each word, [words].
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
    """Return the cross-entropy over all words, without the logits of all rows in memory.

    Rows are processed in chunks. If gradients are required, each chunk computes its part in the forward pass.
    Memory is needed for one chunk's logits and for the gradients. Under autocast, or if `h` and `weight` are
    bfloat16 or float16, matrix products are of that type; logits and sums are float32.

    Args:
        h: Decoder states, [..., features].
        weight: Weights of the words, [words, features]; may be an embedding table.
        targets: Word ids, [...], int64.
        bias: Biases of the words, [words].
        row_weights: Mask (bool) or weights (floating point) of the rows, [...].
        label_smoothing: Probability that is distributed over all words; the target has the rest.
        reduction: "mean", over the rows that count, by their weights, or "sum".
        ignore_index: Target of rows that do not count.
        chunk_rows: Rows per chunk; 0: automatic.

    Raises:
        ValueError: If shapes or types do not fit, or a target is out of range.
        NotImplementedError: In backward, if second derivatives are requested.

    Example:
        >>> import torch
        >>> from sentencode.nn import softmax_loss
        >>> h, table = torch.eye(3), torch.eye(3).requires_grad_()
        >>> losses = softmax_loss(h, table, torch.tensor([0, 1, 0]))
        >>> losses.correct.item(), losses.tokens.item()
        (2, 3)
        >>> losses.loss.backward()
        >>> table.grad.shape
        torch.Size([3, 3])
    """
    return SoftmaxLoss(
        *_nn.softmax_loss(
            h, weight, bias, targets, row_weights, label_smoothing, reduction, ignore_index, chunk_rows
        )
    )


def log_uniform_distribution(words: int) -> Tensor:
    """Return approximate frequencies (Zipf's law) of words whose ids are ranks, [words], double.

    They sum to 1.

    Args:
        words: Number of words.

    Raises:
        ValueError: If `words` is less than 1.

    Example:
        >>> from sentencode.nn import log_uniform_distribution
        >>> log_uniform_distribution(3)
        tensor([0.5000, 0.2925, 0.2075], dtype=torch.float64)
    """
    return _nn.log_uniform_distribution(words)


def expected_counts(distribution: Tensor, count: int) -> Tensor:
    """Return the probability that each word is in a sample without replacement, [words], float.

    It is 1 - exp(-p tau), where tau makes the sum `count`.

    Args:
        distribution: Positive frequencies p, [words]; they need not sum to 1.
        count: Average size of a sample.

    Raises:
        ValueError: If the distribution is not positive, or has fewer than `count` words.

    Example:
        >>> import torch
        >>> from sentencode.nn import expected_counts
        >>> expected_counts(torch.tensor([2.0, 1.0, 1.0]), 2)
        tensor([0.8284, 0.5858, 0.5858])
    """
    return _nn.expected_counts(distribution, count)


def draw_negatives(expected: Tensor, *, generator: Generator | None = None) -> Negatives:
    """Sample each word independently, with its own probability.

    The number of words therefore varies, and the correction in `sampled_softmax_loss` is exact.

    Args:
        expected: Output of `expected_counts`, [words].
        generator: Random number generator; by default torch's.

    Raises:
        ValueError: If `expected` is not a float vector.

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
    """Return the cross-entropy of each target against the sampled words, a scalar.

    The logarithm of each word's expected count is subtracted from its logit, so that the model learns the
    logits of the softmax over all words. A sampled word that is a row's target counts once. With all words
    sampled, this is `softmax_loss`.

    Args:
        h: Decoder states, [..., features].
        weight: Weights of the words, [words, features].
        targets: Word ids, [...], int64.
        negatives: Sampled words, from `draw_negatives`.
        bias: Biases of the words, [words].
        row_weights: Mask (bool) or weights (floating point) of the rows, [...].
        reduction: "mean" or "sum", as in `softmax_loss`.
        ignore_index: Target of rows that do not count.

    Raises:
        ValueError: If shapes or types do not fit, or a target is out of range.

    Example:
        >>> import torch
        >>> from sentencode.nn import draw_negatives, expected_counts, sampled_softmax_loss
        >>> h, table = torch.randn(4, 8), torch.randn(1000, 8)
        >>> negatives = draw_negatives(expected_counts(torch.ones(1000), 100))
        >>> sampled_softmax_loss(h, table, torch.tensor([1, 5, 0, 999]), negatives).shape
        torch.Size([])
    """
    return _nn.sampled_softmax_loss(
        h, weight, bias, targets, negatives.ids, negatives.expected, row_weights, reduction, ignore_index
    )


class WordSoftmax(CppModule):
    """The output layer: logits of the words for each decoder state.

    Args:
        features: Dimensions of the states.
        words: Number of words.
        bias: Whether words have a bias.
        tied: Whether there is no weight, and calls pass the word embeddings as `table`.
        label_smoothing: Label smoothing in training, as in `softmax_loss`.

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

    _cpp: _nn.WordSoftmax

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
        """Return the mean loss over all words, see `softmax_loss`.

        Args:
            h: Decoder states, [..., features].
            targets: Word ids, [...], int64; rows with -100 do not count.
            row_weights: Mask or weights of the rows, [...].
            table: Word embeddings, [words, features], if tied.

        Raises:
            ValueError: If shapes or types do not fit, or `table` is missing or superfluous.
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
        """Return the mean loss against sampled words, see `sampled_softmax_loss`."""
        return self._cpp.sampled_loss(h, targets, *negatives, row_weights, table)

    def logits(self, h: Tensor, table: Tensor | None = None) -> Tensor:
        """Return the logits of all words, [..., words]."""
        return self._cpp.logits(h, table)
