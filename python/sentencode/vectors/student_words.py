"""The words of a student."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from .. import _core
from ..checks import checked_words
from ..text.tokenizer import Tokenizer
from ..text.vocabulary import Vocabulary
from .word_pieces import (
    piece_texts,
    piece_tokenizer,
    piece_vocabulary,
    special_tokens,
    whole_words,
    with_words,
)

__all__ = ["StudentWords", "Words", "student_words"]

Words = Iterable[str] | Literal["words", "wordpieces", "both"] | None

_ENGLISH = Path(__file__).parents[1] / "data" / "default_vectors.sentencode"  # its words, most frequent first


@dataclass(frozen=True)
class StudentWords:
    """Words, or pieces, of a student.

    Attributes:
        vocabulary: The words with their counts in the sentences, also those that are in none.
        tokenizer: The tokenizer that returns them.
        texts: What the teacher reads for each of them.
        listed: Words that do not come from the sentences.
        special: Tokens that stand for no text, such as [CLS].
    """

    vocabulary: Vocabulary
    tokenizer: Tokenizer
    texts: list[str]
    listed: frozenset[str]
    special: frozenset[str] = field(default_factory=frozenset)

    @property
    def pieces(self) -> bool:
        """Whether words without a vector are split into pieces."""
        return self.tokenizer.subwords is not None

    def unknown(self, held_out: Sequence[str]) -> float:
        """Fraction of the tokens of held-out sentences that would be unknown without these sentences."""
        counted = Vocabulary.from_corpus(held_out, self.tokenizer)
        if self.pieces or not counted.total:
            return 0.0
        known = self.vocabulary
        unknown = (
            count
            for word, count in counted.most_common()
            if word not in known or (word not in self.listed and known[word] == count)
        )
        return sum(unknown) / counted.total


def student_words(
    teacher: Any, texts: list[str], words: Words, max_words: int, tokenizer: Tokenizer, plain: bool
) -> StudentWords:
    """Choose the words of a student.

    Args:
        teacher: The teacher.
        texts: The sentences.
        words: As for `distill`.
        max_words: Maximum of words that are not listed by the caller.
        tokenizer: Splits text into words.
        plain: Whether `tokenizer` is the default, which the pieces of a teacher may replace.
    """
    if isinstance(words, str) and words not in ("words", "wordpieces", "both"):
        raise ValueError(f"words must be a list of words, 'words', 'wordpieces' or 'both', got {words!r:.40}")
    try:
        pieces = piece_tokenizer(teacher)
    except (ValueError, NotImplementedError):
        if words in ("wordpieces", "both"):
            raise
        pieces = None
    if words == "wordpieces":
        assert pieces is not None
        return _over_pieces(pieces, texts, frozenset())
    if words is not None and not isinstance(words, str):
        vocabulary = _listed(texts, words, tokenizer)
        return StudentWords(vocabulary, tokenizer, vocabulary.words, frozenset(vocabulary.words))

    counted = Vocabulary.from_corpus(texts, tokenizer, max_size=max_words)
    others = [*([] if pieces is None else whole_words(pieces)), *_english(counted)]
    single = (tokens[0] for tokens in tokenizer(others) if len(tokens) == 1)
    chosen = dict.fromkeys((*counted.words, *single))
    chosen = dict.fromkeys(list(chosen)[:max_words])
    listed = frozenset(others)
    if pieces is not None and words != "words" and (plain or words == "both"):
        try:
            return _over_pieces(with_words(pieces, list(chosen)), texts, listed)
        except NotImplementedError:
            if words == "both":
                raise
    vocabulary = Vocabulary({word: counted.get(word, 0) for word in chosen}, min_count=0)
    return StudentWords(vocabulary, tokenizer, vocabulary.words, listed)


def _over_pieces(tokenizer: Tokenizer, texts: list[str], listed: frozenset[str]) -> StudentWords:
    vocabulary = piece_vocabulary(tokenizer, Vocabulary.from_corpus(texts, tokenizer))
    special = frozenset(special_tokens(tokenizer))
    return StudentWords(vocabulary, tokenizer, piece_texts(tokenizer, vocabulary.words), listed, special)


def _listed(texts: list[str], words: Iterable[str], tokenizer: Tokenizer) -> Vocabulary:
    counted = Vocabulary.from_corpus(texts, tokenizer)
    words = checked_words("words", words)
    if not words:
        raise ValueError("words is empty")
    # No sentence contains a word that the tokenizer splits or changes.
    tokenized = tokenizer(list(words))
    chosen = dict.fromkeys(tokens[0] for tokens in tokenized if len(tokens) == 1)
    if split := [word for word, tokens in zip(words, tokenized, strict=True) if len(tokens) != 1]:
        warnings.warn(
            f"{len(split)} of {len(words)} words are left out because the tokenizer does not return them as "
            f"a single token, such as {split[0]!r:.60}",
            UserWarning,
            stacklevel=5,
        )
    if not chosen:
        raise ValueError("none of the words is a single token of the tokenizer")
    return Vocabulary({word: counted.get(word, 0) for word in chosen}, min_count=0)


def _english(counted: Vocabulary) -> list[str]:
    """The words of the built-in vectors, if these are at least half of the sentences' words."""
    english = _core.WordVectors.open(str(_ENGLISH), "skip")
    words: list[str] = english.words(0, len(english))
    known = sum(counted.get(word, 0) for word in words)
    return words if 2 * known >= counted.counts.sum() else []
