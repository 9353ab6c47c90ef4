"""Words and their counts."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from sentencode import _core

from ..checks import checked_int
from ..files import as_name
from .inputs import TEXT_AT_ONCE, Progress, batches, counted_from
from .tokenizer import Tokenizer

__all__ = ["Vocabulary", "vocabulary_bounds"]

_BATCH = 16384


class Vocabulary(Mapping[str, int]):
    """Immutable mapping of words to counts, most frequent first; words of equal counts are sorted by bytes.

    Args:
        counts: Count of each word.
        min_count: Minimum count of a word.
        max_size: Maximum of words, the most frequent ones.

    Example:
        >>> vocabulary = Vocabulary({"a": 5, "man": 2, "plan": 2, "canal": 1}, min_count=2)
        >>> list(vocabulary), vocabulary["man"], vocabulary.id("plan"), "canal" in vocabulary
        (['a', 'man', 'plan'], 2, 2, False)
        >>> vocabulary.most_common(1)
        [('a', 5)]
    """

    __slots__ = ("_words", "core")

    core: _core.Vocabulary
    _words: list[str]

    def __init__(self, counts: Mapping[str, int], *, min_count: int = 1, max_size: int | None = None) -> None:
        checked = (checked_int(f"counts[{word!r:.40}]", count, 0) for word, count in counts.items())
        values = np.fromiter(checked, dtype=np.int64, count=len(counts))
        self._set(_core.Vocabulary(list(counts), values).pruned(*vocabulary_bounds(min_count, max_size)))

    @classmethod
    def from_corpus(
        cls,
        sentences: Any,
        tokenizer: Any = "words",
        *,
        min_count: int = 1,
        max_size: int | None = None,
        on_progress: Progress | None = None,
    ) -> Vocabulary:
        """Count the words of a corpus, on all threads.

        Args:
            sentences: A `Corpus`, its path, or an iterable of sentences.
            tokenizer: A `Tokenizer`, or its argument.
            min_count: Minimum count of a word.
            max_size: Maximum of words, the most frequent ones.
            on_progress: Called after each batch with the progress and the total.

        Example:
            >>> dict(Vocabulary.from_corpus(["A man , a plan ."], Tokenizer("whitespace", lowercase=True)))
            {'a': 2, ',': 1, '.': 1, 'man': 1, 'plan': 1}
        """
        least, most = vocabulary_bounds(min_count, max_size)  # before the corpus is read
        if not isinstance(tokenizer, Tokenizer):
            tokenizer = Tokenizer(tokenizer)
        counter = _core.VocabularyCounter(tokenizer.core())
        done = 0
        for batch in batches(sentences, _BATCH, text=TEXT_AT_ONCE, on_progress=on_progress):
            with counted_from(done):
                counter.add(tokenizer.prepare(batch))
            done += len(batch)
        return cls._of(counter.finish(min_count=least, max_size=most))

    @classmethod
    def read(
        cls, path: str | os.PathLike[str], *, min_count: int = 1, max_size: int | None = None
    ) -> Vocabulary:
        """Read a file with a line `word count` per word, compressed or not, such as SIF's enwiki file.

        Args:
            path: The file.
            min_count: Minimum count of a word.
            max_size: Maximum of words, the most frequent ones.

        Raises:
            FormatError: A line is not a word and its count.
        """
        return cls._of(_core.Vocabulary.read(path).pruned(*vocabulary_bounds(min_count, max_size)))

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write a line `word count` per word, atomically."""
        self.core.write(_core.link_target(as_name(path)))

    def pruned(self, *, min_count: int = 1, max_size: int | None = None) -> Vocabulary:
        """Return the vocabulary without rare words. `total` is unchanged.

        Args:
            min_count: Minimum count of a word.
            max_size: Maximum of words, the most frequent ones.
        """
        return self._of(self.core.pruned(*vocabulary_bounds(min_count, max_size)))

    @property
    def words(self) -> list[str]:
        """The words, most frequent first."""
        return list(self._words)

    @property
    def counts(self) -> npt.NDArray[np.int64]:
        """Counts of `words`."""
        return self.core.counts

    @property
    def total(self) -> int:
        """Number of counted tokens, including those of pruned words."""
        return self.core.total

    def id(self, word: str) -> int:
        """Return the index of a word in `words`.

        Raises:
            KeyError: The vocabulary does not have the word.
        """
        i = self.core.find(word) if isinstance(word, str) else -1
        if i < 0:
            raise KeyError(word)
        return i

    def most_common(self, n: int | None = None) -> list[tuple[str, int]]:
        """Return the `n` most frequent words (all by default) and their counts."""
        words = self._words if n is None else self._words[: max(n, 0)]
        return list(zip(words, self.counts[: len(words)].tolist(), strict=True))

    def __getitem__(self, word: str) -> int:
        return int(self.counts[self.id(word)])

    def __contains__(self, word: object) -> bool:
        return isinstance(word, str) and self.core.find(word) >= 0

    def __iter__(self) -> Iterator[str]:
        return iter(self._words)

    def __len__(self) -> int:
        return len(self.core)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Vocabulary):
            return NotImplemented
        same_counts = self.total == other.total and np.array_equal(self.counts, other.counts)
        return same_counts and self._words == other._words

    def __hash__(self) -> int:
        return hash((len(self), self.total, tuple(self._words[:8])))

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError("a Vocabulary cannot be changed")

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (self.words, np.array(self.counts), self.total)

    def __repr__(self) -> str:
        shown = ", ".join(f"{word!r}: {count}" for word, count in self.most_common(3))
        more = ", ..." if len(self) > 3 else ""
        return f"Vocabulary({{{shown}{more}}}, words={len(self):,}, total={self.total:,})"

    @classmethod
    def _of(cls, core: _core.Vocabulary) -> Vocabulary:
        vocabulary = cls.__new__(cls)
        vocabulary._set(core)
        return vocabulary

    def _set(self, core: _core.Vocabulary) -> None:
        object.__setattr__(self, "core", core)
        object.__setattr__(self, "_words", core.words)


def vocabulary_bounds(min_count: int, max_size: int | None) -> tuple[int, int]:
    """Check the bounds; the core has 0 for no limit."""
    least = checked_int("min_count", min_count, 0)
    return least, 0 if max_size is None else checked_int("max_size", max_size, 1)


def _restore(words: list[str], counts: npt.NDArray[np.int64], total: int) -> Vocabulary:
    return Vocabulary._of(_core.Vocabulary(words, counts, total))
