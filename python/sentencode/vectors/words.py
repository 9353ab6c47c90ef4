"""Words of a table without a copy."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from typing import overload

from .. import _core

__all__ = ["UnknownWordError", "Words"]

_STEP = 4096  # words converted to str at a time


class Words(Sequence[str]):
    """Sequence of the words of a table. Each is converted to `str` when it is accessed."""

    __slots__ = ("_core",)

    def __init__(self, core: _core.WordVectors) -> None:
        self._core = core

    def __len__(self) -> int:
        return len(self._core)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> list[str]: ...
    def __getitem__(self, index: int | slice) -> str | list[str]:
        if isinstance(index, slice):
            begin, end, step = index.indices(len(self))
            if step != 1:
                return [self[i] for i in range(begin, end, step)]
            words: list[str] = self._core.words(begin, end)
            return words
        i = operator.index(index)
        i = i + len(self) if i < 0 else i
        if not 0 <= i < len(self):
            raise IndexError(f"no word {index} in a table of {len(self)}")
        return str(self._core.words(i, i + 1)[0])

    def __iter__(self) -> Iterator[str]:
        for begin in range(0, len(self), _STEP):
            yield from self._core.words(begin, begin + _STEP)

    def __contains__(self, word: object) -> bool:
        return isinstance(word, str) and self._core.find(word) >= 0

    def index(self, word: str, start: int = 0, stop: int | None = None) -> int:
        """Return the row of a word.

        Args:
            word: A word.
            start: First row to consider.
            stop: End of the rows to consider.

        Raises:
            ValueError: The word is not in these rows.
        """
        i = self._core.find(word) if isinstance(word, str) else -1
        if i < max(start, 0) or (stop is not None and i >= stop):
            raise ValueError(f"{word!r} is not among these words")
        return i

    def count(self, word: object) -> int:
        """Return 1 if the table has the word, else 0.

        Args:
            word: A word.
        """
        return int(word in self)

    def __repr__(self) -> str:
        shown = ", ".join(map(repr, self[:5]))
        return f"<{len(self):,} words: {shown}{', ...' if len(self) > 5 else ''}>"


class UnknownWordError(KeyError):
    """A word that is not in the table. Similar words are searched when the message is shown."""

    def __init__(self, word: str, words: Words | None = None) -> None:
        super().__init__(word)
        self.word = word
        self._words = words

    def __str__(self) -> str:
        similar = self._similar()
        hint = f"; did you mean {' or '.join(map(repr, similar))}?" if similar else ""
        return f"{self.word!r} is not among the words of these vectors{hint}"

    def __reduce__(self) -> tuple[type[UnknownWordError], tuple[str]]:
        return UnknownWordError, (self.word,)

    def _similar(self) -> list[str]:
        if self._words is None:
            return []
        forms = (self.word.lower(), self.word.title(), self.word.upper(), self.word.strip())
        known = [form for form in dict.fromkeys(forms) if form in self._words]
        if known or len(self._words) > 500_000:
            return known[:3]
        import difflib

        # Typos rarely change the first letter, or the length by more than one.
        word = self.word.lower()
        near = [w for w in self._words if w[:1].lower() == word[:1] and abs(len(w) - len(word)) <= 1]
        return difflib.get_close_matches(word, near, n=3, cutoff=0.75)
