"""Greedy search, sampling and beam search for any decoder."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple

from torch import Tensor

from .. import _nn

__all__ = ["Decoded", "Decoder", "beam_search", "greedy_search", "sample", "score"]


class _Outputs(NamedTuple):
    ids: Tensor
    lengths: Tensor
    scores: Tensor


class Decoded(_Outputs):
    """Generated sentences, without begin and end symbols: the tuple (ids, lengths, scores).

    Attributes:
        ids: Word ids, [batch, hypotheses, time], int64, the best hypothesis first; padded with the end
            symbol.
        lengths: Number of words, [batch, hypotheses], int64; -1 for hypotheses that do not exist.
        scores: log p including the end symbol, [batch, hypotheses], double; from beam search, divided by the
            length penalty.
        alignments: Attention weights of each word, [batch, hypotheses, time, positions], float, zero at
            padding; None if the decoder returns none.
    """

    alignments: Tensor | None

    def __new__(
        cls, ids: Tensor, lengths: Tensor, scores: Tensor, alignments: Tensor | None = None
    ) -> Decoded:
        """Create the tuple."""
        decoded = super().__new__(cls, ids, lengths, scores)
        decoded.alignments = alignments
        return decoded


class Decoder(_nn.Decoder):
    """Base class of models that generate sentences word by word.

    The cache is the state that changes with each word: a list of tensors whose first dimension is the
    hypotheses; those of a sentence are adjacent. The memory is optional, and constant: a list of tensors
    whose first dimension is the sentences, such as the vectors that an attention reads. It is not copied for
    each hypothesis.

    Example:
        >>> import torch
        >>> from sentencode.nn import Decoder, greedy_search
        >>> class Counting(Decoder):
        ...     def start(self, memory):
        ...         return memory
        ...
        ...     def step(self, ids, state):
        ...         return torch.eye(5)[(ids + 1) % 5], state
        >>> greedy_search(Counting(), [torch.zeros(2, 1)], torch.tensor([1, 3]), end=0).ids
        tensor([[[2, 3, 4]],
                [[4, 0, 0]]])
    """

    @abstractmethod
    def start(self, memory: Sequence[Tensor]) -> Any:
        """Return the initial cache, or a tuple of memory and initial cache.

        Args:
            memory: The `memory` argument of the search.
        """
        raise NotImplementedError(f"{type(self).__name__} has no start")

    @abstractmethod
    def step(self, ids: Tensor, *state: Any) -> Any:
        """Return logits of the next words and the next cache.

        Args:
            ids: Previous words, [hypotheses], int64.
            *state: The cache, or memory and cache if `start` returned both.

        Returns:
            Logits [hypotheses, words], the next cache, and optionally attention weights [hypotheses,
            positions].
        """
        raise NotImplementedError(f"{type(self).__name__} has no step")

    def reorder(self, cache: Sequence[Tensor], index: Tensor) -> list[Tensor]:
        """Return the cache of hypotheses `index`, which may contain one several times or not at all."""
        return [part.index_select(0, index) for part in cache]


def greedy_search(
    decoder: _nn.Decoder, memory: Sequence[Tensor], first: Tensor, *, end: int, max_length: int = 100
) -> Decoded:
    """Generate sentences of the most likely next words, one hypothesis per sentence.

    Args:
        decoder: The decoder.
        memory: Argument of its `start`.
        first: First decoder input of each sentence: the begin symbol, [batch], int64.
        end: Id of the end symbol.
        max_length: Largest number of words, without the end symbol.

    Raises:
        ValueError: If an argument is out of range, or logits have a wrong shape.

    Example:
        See `Decoder`.
    """
    return Decoded(*_nn.greedy_search(decoder, list(memory), first, end, max_length))


def sample(
    decoder: _nn.Decoder,
    memory: Sequence[Tensor],
    first: Tensor,
    *,
    end: int,
    max_length: int = 100,
    temperature: float = 1.0,
    top_k: int = 0,
    top_p: float = 1.0,
    seed: int = 0,
    indices: Sequence[int] | None = None,
) -> Decoded:
    """Sample sentences, one hypothesis per sentence. Scores are log p of the decoder, without temperature.

    The random numbers of a sentence depend on the seed and the sentence's index alone, not on the rest of the
    batch or the device.

    Args:
        decoder: The decoder.
        memory: Argument of its `start`.
        first: First decoder input of each sentence: the begin symbol, [batch], int64.
        end: Id of the end symbol.
        max_length: Largest number of words, without the end symbol.
        temperature: Divisor of the logits: below 1, likely words become more likely.
        top_k: Number of most likely words to sample from; 0: all.
        top_p: Sample from the fewest most likely words whose probabilities sum to this.
        seed: Seed of the random numbers.
        indices: Index of each sentence; by default its position in the batch.

    Raises:
        ValueError: If an argument is out of range, or logits have a wrong shape.

    Example:
        >>> import torch
        >>> from sentencode.nn import Decoder, sample
        >>> class Coin(Decoder):
        ...     def start(self, memory):
        ...         return []
        ...
        ...     def step(self, ids, state):
        ...         return torch.zeros(len(ids), 2), state
        >>> tosses = sample(Coin(), [], torch.zeros(1000, dtype=torch.int64), end=0, seed=1)
        >>> 0.9 < tosses.lengths.double().mean() < 1.1
        tensor(True)
    """
    options = (temperature, top_k, top_p, seed, list(indices or ()))
    return Decoded(*_nn.sample(decoder, list(memory), first, end, max_length, *options))


def beam_search(
    decoder: _nn.Decoder,
    memory: Sequence[Tensor],
    first: Tensor,
    *,
    end: int,
    max_length: int = 100,
    beam: int = 5,
    best: int = 1,
    length_penalty: float = 0.0,
) -> Decoded:
    """Generate sentences by beam search, `best` hypotheses per sentence.

    A sentence is finished, and leaves the batch, when no open hypothesis can become one of its best.
    Hypotheses of `max_length` words are ended, and their scores include log p of the end symbol.

    Args:
        decoder: The decoder.
        memory: Argument of its `start`.
        first: First decoder input of each sentence: the begin symbol, [batch], int64.
        end: Id of the end symbol.
        max_length: Largest number of words, without the end symbol.
        beam: Number of open hypotheses per sentence.
        best: Number of hypotheses to return.
        length_penalty: Exponent a: scores are log p / ((5 + words) / 6)^a, where words include the end
            symbol.

    Raises:
        ValueError: If an argument is out of range, or logits have a wrong shape.

    Example:
        >>> import torch
        >>> from sentencode.nn import Decoder, beam_search
        >>> class Coin(Decoder):
        ...     def start(self, memory):
        ...         return []
        ...
        ...     def step(self, ids, state):
        ...         return torch.zeros(len(ids), 2), state
        >>> decoded = beam_search(Coin(), [], torch.tensor([1]), end=0, best=2)
        >>> decoded.lengths, decoded.scores.exp()
        (tensor([[0, 1]]), tensor([[0.5000, 0.2500]], dtype=torch.float64))
    """
    return Decoded(
        *_nn.beam_search(decoder, list(memory), first, end, max_length, beam, best, length_penalty)
    )


def score(
    decoder: _nn.Decoder, memory: Sequence[Tensor], first: Tensor, ids: Tensor, lengths: Tensor
) -> Tensor:
    """Return log p of sentences, [batch], double.

    Args:
        decoder: The decoder.
        memory: Argument of its `start`.
        first: First decoder input of each sentence: the begin symbol, [batch], int64.
        ids: Word ids, [batch, time], int64, including the end symbols.
        lengths: Number of words, [batch], int64, including the end symbols.

    Raises:
        ValueError: If shapes or types do not fit.

    Example:
        >>> import torch
        >>> from sentencode.nn import Decoder, score
        >>> class Coin(Decoder):
        ...     def start(self, memory):
        ...         return []
        ...
        ...     def step(self, ids, state):
        ...         return torch.zeros(len(ids), 2), state
        >>> ids, lengths = torch.tensor([[1, 1, 0]]), torch.tensor([3])
        >>> score(Coin(), [], torch.tensor([1]), ids, lengths).exp()
        tensor([0.1250], dtype=torch.float64)
    """
    return _nn.score(decoder, list(memory), first, ids, lengths)
