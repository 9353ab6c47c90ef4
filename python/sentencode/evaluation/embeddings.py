"""Embeddings of the sentences of tasks: each distinct sentence is encoded once and cached on disk."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ..encoder_rows import DegenerateEncoderError, Embeddings, EncoderRows, has_own_tokenizer
from ..text.tokenizer import chosen_tokenizer, lowercased
from ..vectors import WordVectors
from ..whitening import Whitening
from .data import Task
from .precomputed import Precomputed, sentences_of

__all__ = ["DegenerateEncoderError", "Embedder", "distinct"]

_MEMORY = 1 << 30  # bytes of embeddings that are kept in memory
_BLOCK = 1 << 16  # sentences


@dataclass
class Embedder(EncoderRows):
    """Embeds the sentences of tasks, and measures the encoder's speed and unknown words.

    Embeddings of sentences of several tasks (`expect`) are kept in memory, too. `Precomputed` embeddings are
    not cached on disk.

    Attributes:
        seconds: Time spent encoding, without cached and precomputed embeddings.
        sentences: Number of sentences encoded in this time.
        timings: Number of sentences and seconds of each call of the encoder.
    """

    seconds: float = field(default=0.0, init=False)
    sentences: int = field(default=0, init=False)
    timings: list[tuple[int, float]] = field(default_factory=list, init=False, repr=False)
    _shared: set[str] = field(default_factory=set, init=False, repr=False)
    _in_memory: dict[tuple[bool, str], Embeddings] = field(default_factory=dict, init=False, repr=False)
    _strings: bool = field(default=False, init=False, repr=False)

    def __post_init__(self) -> None:
        if isinstance(self.encoder, Precomputed):
            self.cache = None
        self._strings = self.tokens is None  # may be passed for texts that are not tokenized
        super().__post_init__()

    def __call__(self, sentences: list[str]) -> Embeddings:
        """Embed sentences as `EncoderRows` does; those in memory are not encoded again."""
        embeddings = super().__call__(sentences)
        self._remember(sentences, embeddings)
        return embeddings

    def of_task(self, task: Task, sentences: list[str]) -> Embeddings:
        """Embed sentences of a task, as lists of tokens only if they are tokenized."""
        tokens = self.tokens
        try:
            self.tokens = self._as_tokens(task.kind.tokenized)
            return self(sentences)
        finally:
            self.tokens = tokens

    def _as_tokens(self, tokenized: bool) -> bool:
        return bool(self.tokens) and (tokenized or not self._strings)

    def speeds(self) -> list[float]:
        """Lowest and highest sentences per second of the larger calls; empty if there are fewer than two."""
        speeds = [
            count / seconds for count, seconds in self.timings if seconds > 0 and 50 * count > self.sentences
        ]
        return [round(min(speeds), 1), round(max(speeds), 1)] if len(speeds) > 1 else []

    def expect(self, tasks: Iterable[Task]) -> None:
        """Announce the tasks, so that sentences of several tasks are encoded once.

        Their embeddings are kept in memory, up to 1 GiB.

        Args:
            tasks: All tasks that will be encoded.
        """
        if getattr(self.encoder, "statistics", None) == "evaluated":
            return  # an embedding depends on the other sentences of a call
        counts = Counter(sentence for task in tasks for sentence in sentences_of(task))
        self._shared = {sentence for sentence, count in counts.items() if count > 1}

    def unknown(self, sentences: list[str], *, tokenized: bool = True) -> float | None:
        """Fraction of tokens without a word vector; None for encoders without word vectors.

        Args:
            sentences: The sentences.
            tokenized: Whether they are tokens separated by spaces.
        """
        encoder = self.encoder
        while isinstance(encoder, Whitening):
            encoder = encoder.encoder
        vectors = (
            None if getattr(encoder, "vectors", None) is None else getattr(encoder, "_word_vectors", None)
        )
        if not isinstance(vectors, WordVectors) or has_own_tokenizer(encoder):
            return None
        lowercase = getattr(encoder, "lowercase", "auto")
        lower = not vectors.cased if lowercase == "auto" else bool(lowercase)
        tokenizer = getattr(encoder, "tokenizer", "whitespace")
        tokenize = chosen_tokenizer("", tokenizer, lowercase, compounds=vectors.compounds)
        if tokenize.split == "punctuation" or not self._as_tokens(tokenized):  # it splits tokens further
            sentences = [" ".join(tokens) for tokens in tokenize(sentences)]
        counts = Counter(token for sentence in sentences for token in sentence.split())
        tokens = lowercased(list(counts)) if lower else counts
        missing = sum(n for token, n in zip(tokens, counts.values(), strict=True) if token not in vectors)
        return missing / max(1, counts.total())

    def _remember(self, sentences: list[str], embeddings: Embeddings) -> None:
        room = _MEMORY // (embeddings.shape[1] * embeddings.itemsize)
        for i, sentence in enumerate(sentences):
            key = (bool(self.tokens), sentence)
            if sentence in self._shared and key not in self._in_memory and len(self._in_memory) < room:
                self._in_memory[key] = embeddings[i].copy()

    def _encoded(self, sentences: list[str]) -> Embeddings:
        tokens = bool(self.tokens)
        new = [i for i, sentence in enumerate(sentences) if (tokens, sentence) not in self._in_memory]
        if len(new) == len(sentences):
            return self._timed(sentences)
        assert self.dim is not None
        embeddings = np.empty((len(sentences), self.dim), dtype=np.float32)
        for i, sentence in enumerate(sentences):
            if (tokens, sentence) in self._in_memory:
                embeddings[i] = self._in_memory[tokens, sentence]
        for first in range(0, len(new), _BLOCK):  # blocks save a second copy of all
            block = new[first : first + _BLOCK]
            embeddings[block] = self._timed([sentences[i] for i in block])
        return embeddings

    def _timed(self, sentences: list[str]) -> Embeddings:
        begin = time.perf_counter()
        embeddings = super()._encoded(sentences)
        if not isinstance(self.encoder, Precomputed):
            seconds = time.perf_counter() - begin
            self.seconds += seconds
            self.sentences += len(sentences)
            self.timings.append((len(sentences), seconds))
        return embeddings


def distinct(sides: Iterable[list[str]]) -> tuple[list[str], list[NDArray[np.int64]]]:
    """Distinct sentences of several lists by first appearance, and the indices of each list's sentences."""
    index_of: dict[str, int] = {}
    indices = [
        np.array([index_of.setdefault(s, len(index_of)) for s in side], dtype=np.int64) for side in sides
    ]
    return list(index_of), indices
