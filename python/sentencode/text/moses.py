"""Text as systems of translation want it, and back: Moses' punctuation, tokens and casing, by `sacremoses`."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from .._extras import require
from ..checks import checked_str
from ..errors import FormatError
from ..files import whole_file
from .corpus import Corpus
from .inputs import is_single

__all__ = ["Moses"]

_FORMAT = "sentencode.moses.v1"


class Moses:
    """Prepares text for translation as Moses' scripts do, and restores what was translated.

    `prepare` normalises punctuation, cuts tokens, and gives the first word of a sentence the casing that it
    has within sentences, once `learn` has seen some. `restore` writes the first letter large and joins tokens.

    Args:
        language: Its two letters, as in "de"; rules for abbreviations and apostrophes depend on it.

    Raises:
        ImportError: If `sacremoses` is not installed.

    Example:
        >>> from sentencode.text.moses import Moses
        >>> moses = Moses("en").learn(["Two dogs see the man.", "Now the dogs run."])
        >>> moses.prepare("The dogs see Mr. Smith, don't they?")
        "the dogs see Mr. Smith , don 't they ?"
        >>> moses.restore(moses.prepare("The dogs see Mr. Smith, don't they?"))
        "The dogs see Mr. Smith, don't they?"
    """

    def __init__(self, language: str) -> None:
        self.language = checked_str("language", language)
        self.casing_: dict[str, str] | None = None
        self._make()

    def learn(self, sentences: Any) -> Moses:
        """Learns how words are written within sentences.

        Args:
            sentences: Text as it is, or the name of a file with a sentence a line.

        Returns:
            Itself.

        Raises:
            ValueError: If there is no word within a sentence.
        """
        if isinstance(sentences, str | os.PathLike):
            sentences = Corpus(sentences)
        learner = self._moses.MosesTruecaser()
        learner.train([self._tokens(sentence) for sentence in sentences])
        found: dict[str, str] = dict(learner.model["best"])
        if not found:
            raise ValueError("learn: no sentence has a word behind its first one")
        self.casing_ = found
        self._make()
        return self

    def prepare(self, sentences: str | Iterable[str]) -> Any:
        """Tokens with spaces between them.

        Args:
            sentences: One, or many.

        Returns:
            A text, or a list of texts.
        """
        if is_single(sentences):
            return self._prepared(sentences)  # type: ignore[arg-type]
        return [self._prepared(sentence) for sentence in sentences]

    def restore(self, sentences: str | Iterable[str]) -> Any:
        """Text as it is printed, of tokens with spaces between them.

        Args:
            sentences: One, or many.

        Returns:
            A text, or a list of texts.
        """
        if is_single(sentences):
            return self._restored(sentences)  # type: ignore[arg-type]
        return [self._restored(sentence) for sentence in sentences]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes it to a JSON file, which is there whole or not at all."""
        content = {"format": _FORMAT, "language": self.language, "casing": self.casing_}
        with whole_file(Path(path)) as out:
            out.write(json.dumps(content, ensure_ascii=False, indent=0, sort_keys=True).encode("utf-8"))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Moses:
        """Reads such a file.

        Raises:
            FormatError: If it is none.
        """
        try:
            content = json.loads(Path(path).read_bytes())
            if content["format"] != _FORMAT:
                raise ValueError(f"format {content['format']!r}")
            language, casing = content["language"], content["casing"]
            if not isinstance(language, str) or not (casing is None or _all_texts(casing)):
                raise ValueError("language must be a text, and casing a dict of texts")
        except (ValueError, KeyError, TypeError) as error:
            raise FormatError(f"{os.fsdecode(path)}: expected what Moses.save writes: {error}") from None
        found = cls(language)
        found.casing_ = casing
        found._make()
        return found

    def __getstate__(self) -> dict[str, Any]:
        return {"language": self.language, "casing_": self.casing_}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._make()

    def __repr__(self) -> str:
        words = "none learnt" if self.casing_ is None else f"{len(self.casing_):,} words"
        return f"Moses({self.language!r}, casing: {words})"

    def _make(self) -> None:
        self._moses = require("sacremoses", "translate")
        self._normalizer = self._moses.MosesPunctNormalizer(self.language)
        self._tokenizer = self._moses.MosesTokenizer(self.language)
        self._detokenizer = self._moses.MosesDetokenizer(self.language)
        self._detruecaser = self._moses.MosesDetruecaser()
        self._truecaser = None
        if self.casing_ is not None:
            self._truecaser = self._moses.MosesTruecaser()
            self._truecaser.model = {"best": self.casing_, "known": {word: 1 for word in self.casing_.values()}}

    def _tokens(self, sentence: str) -> list[str]:
        if not isinstance(sentence, str):
            raise TypeError(f"sentences must be str, got {type(sentence).__name__}")
        found: list[str] = self._tokenizer.tokenize(self._normalizer.normalize(sentence), escape=False)
        return found

    def _prepared(self, sentence: str) -> str:
        text = " ".join(self._tokens(sentence))
        if self._truecaser is None or not text:
            return text
        found: str = self._truecaser.truecase(text, return_str=True)
        return found.strip()

    def _restored(self, sentence: str) -> str:
        words = sentence.split()
        if words and self.casing_ is not None:
            words = self._detruecaser.detruecase(" ".join(words))
        found: str = self._detokenizer.detokenize(words, unescape=False) if words else ""
        return found


def _all_texts(casing: Any) -> bool:
    return isinstance(casing, dict) and all(isinstance(word, str) for word in casing.values())
