"""Sentences word by word: greedy, by chance, or by beam search, whatever the model."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple

from torch import Tensor

from .. import _nn

__all__ = ["Decoded", "Decoder", "beam_search", "greedy_search", "sample", "score"]


class _Found(NamedTuple):
    ids: Tensor
    lengths: Tensor
    scores: Tensor


class Decoded(_Found):
    """Sentences, without the words that they were begun with and without their ends.

    It is the tuple (ids, lengths, scores), with the alignments beside it.

    Attributes:
        ids: [batch, hypotheses, time], int64, filled up with the end. The best hypothesis comes first.
        lengths: [batch, hypotheses], int64; -1 where there are fewer hypotheses than were asked for.
        scores: [batch, hypotheses], double: log p, of the end too if it came; divided by the beam's penalty.
        alignments: [batch, hypotheses, time, places], float: what each word looked at, zero behind the last
            one; None where the decoder does not tell.
    """

    alignments: Tensor | None

    def __new__(
        cls, ids: Tensor, lengths: Tensor, scores: Tensor, alignments: Tensor | None = None
    ) -> Decoded:
        """Puts them together."""
        found = super().__new__(cls, ids, lengths, scores)
        found.alignments = alignments
        return found


class Decoder(_nn.Decoder):
    """What writes a sentence word by word: derive from it, and give it to one of the searches.

    What changes from word to word is its cache, a list of tensors whose first dimension are the hypotheses,
    those of a sentence together. What does not change, such as the vectors that an attention looks at, may be
    a memory apart from it, whose first dimension are the sentences: a search does not copy it for each
    hypothesis.

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
        """The cache before the first word, of what the search was given as `memory`.

        Returns:
            The cache; or a tuple of memory and cache, both lists, and then `step` gets both.
        """
        raise NotImplementedError(f"{type(self).__name__} has no start")

    @abstractmethod
    def step(self, ids: Tensor, *state: Any) -> Any:
        """One word further.

        Args:
            ids: [hypotheses], int64: the words before.
            *state: The cache; or the memory and the cache, where `start` gave both.

        Returns:
            Logits [hypotheses, words] of the next words, the next cache, and, if there is such a thing, what
            each word looks at, [hypotheses, places].
        """
        raise NotImplementedError(f"{type(self).__name__} has no step")

    def reorder(self, cache: Sequence[Tensor], index: Tensor) -> list[Tensor]:
        """The cache of the hypotheses `index`, which may be there more than once, or not at all."""
        return [part.index_select(0, index) for part in cache]


def greedy_search(
    decoder: _nn.Decoder, memory: Sequence[Tensor], first: Tensor, *, end: int, max_length: int = 100
) -> Decoded:
    """The most likely word each time.

    Args:
        decoder: What writes.
        memory: What it starts from.
        first: [batch], int64: the words that sentences are begun with.
        end: The word that ends a sentence.
        max_length: Words at most.

    Returns:
        One hypothesis a sentence.

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
    """Samples words from their probabilities.

    The random numbers of a sentence depend on the seed and the sentence's index alone, not on the rest of the
    batch or the device.

    Args:
        decoder: What writes.
        memory: What it starts from.
        first: [batch], int64: the words that sentences are begun with.
        end: The word that ends a sentence.
        max_length: Words at most.
        temperature: What logits are divided by: below 1, likely words become more likely.
        top_k: Only the most likely words are drawn; 0: all.
        top_p: Of these, the fewest and most likely ones that have so much of the probability.
        seed: Seed of the random numbers.
        indices: Index of each sentence; their rows in the batch by default.

    Returns:
        One hypothesis a sentence. Scores are log p of the decoder itself.

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
    return Decoded(
        *_nn.sample(
            decoder,
            list(memory),
            first,
            end,
            max_length,
            temperature,
            top_k,
            top_p,
            seed,
            list(indices or ()),
        )
    )


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
    """The best hypotheses that end, of those that the beam has seen.

    All sentences go together; those that are finished leave. A sentence is finished when no hypothesis that
    is still open can come before its best ones. At `max_length` words hypotheses have to end, and pay for it.

    Args:
        decoder: What writes.
        memory: What it starts from.
        first: [batch], int64: the words that sentences are begun with.
        end: The word that ends a sentence.
        max_length: Words at most, without the end.
        beam: Hypotheses that are pursued.
        best: Hypotheses that are returned.
        length_penalty: a: scores are log p / ((5 + words) / 6)^a, the end being a word.

    Returns:
        `best` hypotheses a sentence.

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
        >>> found = beam_search(Coin(), [], torch.tensor([1]), end=0, best=2)
        >>> found.lengths, found.scores.exp()
        (tensor([[0, 1]]), tensor([[0.5000, 0.2500]], dtype=torch.float64))
    """
    return Decoded(
        *_nn.beam_search(decoder, list(memory), first, end, max_length, beam, best, length_penalty)
    )


def score(
    decoder: _nn.Decoder, memory: Sequence[Tensor], first: Tensor, ids: Tensor, lengths: Tensor
) -> Tensor:
    """How likely given sentences are.

    Args:
        decoder: What would write them.
        memory: What it starts from.
        first: [batch], int64: the words that sentences are begun with.
        ids: [batch, time], int64: the sentences, with their ends.
        lengths: [batch], int64.

    Returns:
        log p, [batch], double.

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
        >>> one, first = torch.tensor([[1, 1, 0]]), torch.tensor([1])
        >>> score(Coin(), [], first, one, torch.tensor([3])).exp()
        tensor([0.1250], dtype=torch.float64)
    """
    found: Tensor = _nn.score(decoder, list(memory), first, ids, lengths)
    return found
