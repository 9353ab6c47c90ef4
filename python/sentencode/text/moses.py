"""Moses' punctuation normalisation, tokenisation and truecasing for translation, by `sacremoses`."""

from __future__ import annotations

import json
import os
import re
from collections import Counter, defaultdict
from typing import Any

from .._extras import require
from ..checks import checked_str
from ..errors import FormatError
from ..files import StrPath, read_json, whole_file
from .corpus import Corpus
from .inputs import is_single, to_batch

__all__ = ["Moses"]

_FORMAT = "sentencode.moses.v1"
_KEYS = {"format", "language", "casing"}
_LANGUAGE = re.compile("[a-z]{2,3}")
_END = "\ue000"  # end of a sentence; a private-use character, which texts do not have


class Moses:
    """Prepares text for translation as Moses' scripts do, and restores translations.

    `prepare` normalises punctuation, tokenises, and, after `learn`, truecases. `restore` detruecases and
    detokenises.

    Truecasing follows Moses: within a sentence, a word keeps its casing if it was seen in `learn`, else it
    gets the most frequent one; sentences also begin after ".", ":", "?" and "!". Quotes and dashes become
    ASCII.

    Args:
        language: Code of two or three lower-case letters, such as "de", which selects rules of abbreviations
            and apostrophes. Languages without a list of abbreviations in Moses use those of English.

    Attributes:
        casing_: Lower-cased word -> its casings within sentences, most frequent first. None before `learn`.

    Raises:
        ImportError: `sacremoses` is not installed.
        ValueError: The language code is invalid.

    Example:
        >>> from sentencode.text import Moses
        >>> moses = Moses("en").learn(["Two dogs see the man.", "Now the dogs run."])
        >>> moses.prepare("The dogs see Mr. Smith, don't they?")
        "the dogs see Mr. Smith , don 't they ?"
        >>> moses.restore(moses.prepare("The dogs see Mr. Smith, don't they?"))
        "The dogs see Mr. Smith, don't they?"
    """

    def __init__(self, language: str) -> None:
        self.language = checked_str("language", language)
        if not _LANGUAGE.fullmatch(language):
            raise ValueError(
                f"language must be two or three lower-case letters, as in 'de', got {language!r:.40}"
            )
        self.casing_: dict[str, list[str]] | None = None
        self._make()

    def learn(self, sentences: Any) -> Moses:
        """Learn the casing of words within sentences, replacing what was learnt before.

        Args:
            sentences: Raw text: a `Corpus`, the path of a file with one sentence per line, or an iterable.

        Returns:
            self.

        Raises:
            TypeError: A sentence is not a `str`.
            ValueError: No sentence has a second word.
        """
        casings: defaultdict[str, Counter[str]] = defaultdict(Counter)
        learner = self._moses.MosesTruecaser()
        for i, sentence in enumerate(sentences if isinstance(sentences, Corpus) else Corpus(sentences)):
            for lower, written, weight in learner.learn_truecase_weights(self._tokens(sentence, i)):
                casings[lower][written] += weight
        if not casings:
            raise ValueError("learn: no sentence has a second word")
        self.casing_ = {
            lower: [word for word, _ in casings[lower].most_common()] for lower in sorted(casings)
        }
        self._make()
        return self

    def prepare(self, sentences: Any) -> Any:
        """Return tokens separated by spaces, one line per text.

        Args:
            sentences: A text, or an iterable of texts. Line breaks become spaces.

        Raises:
            TypeError: A sentence is not a `str`.
        """
        return self._each(self._prepared, sentences)

    def restore(self, sentences: Any) -> Any:
        """Return the text of tokens separated by spaces.

        Args:
            sentences: A text, or an iterable of texts.

        Raises:
            TypeError: A sentence is not a `str`.
        """
        return self._each(self._restored, sentences)

    def save(self, path: StrPath) -> None:
        """Write a JSON file atomically."""
        content = {"format": _FORMAT, "language": self.language, "casing": self.casing_}
        with whole_file(path, follow_link=True) as out:
            out.write(f"{json.dumps(content, indent=0)}\n".encode("ascii"))

    @classmethod
    def load(cls, path: StrPath) -> Moses:
        """Read a file of `save`.

        Raises:
            OSError: It cannot be read.
            FormatError: It is of another format, or damaged.
        """
        content = read_json(path)
        try:
            return cls._of(content)
        except ValueError as error:
            expected = f"expected what Moses.save writes: {error}"
            raise FormatError(f"{os.fsdecode(path)}: {expected}") from None

    @classmethod
    def _of(cls, content: Any) -> Moses:
        if not isinstance(content, dict) or content.get("format") != _FORMAT:
            raise ValueError(f"there is no format {_FORMAT!r}")
        if content.keys() != _KEYS:
            raise ValueError(f"there must be {', '.join(sorted(_KEYS))}, not {', '.join(sorted(content))}")
        if not isinstance(content["language"], str):
            raise ValueError(f"language must be a text, got {content['language']!r:.40}")
        casing = content["casing"]
        if casing is not None and not (isinstance(casing, dict) and casing):
            raise ValueError("casing must be null, or an object that is not empty")
        for small, written in (casing or {}).items():
            fits = isinstance(written, list) and written and all(isinstance(word, str) for word in written)
            if not fits or any(word.lower() != small for word in written):
                raise ValueError(f"casing: {small!r:.40} must have ways of writing it, got {written!r:.80}")
        moses = cls(content["language"])
        moses.casing_ = casing
        moses._make()
        return moses

    def __getstate__(self) -> dict[str, Any]:
        return {"language": self.language, "casing_": self.casing_}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._make()

    def __repr__(self) -> str:
        words = "not learnt" if self.casing_ is None else f"of {len(self.casing_):,} words"
        return f"Moses({self.language!r}, casing {words})"

    def _make(self) -> None:
        self._moses = require("sacremoses", "translate")
        self._normalizer = self._moses.MosesPunctNormalizer(self.language)
        self._tokenizer = self._moses.MosesTokenizer(self.language)
        self._detokenizer = self._moses.MosesDetokenizer(self.language)
        self._detruecaser = self._moses.MosesDetruecaser()
        self._truecaser = None
        if self.casing_ is not None:
            self._truecaser = self._moses.MosesTruecaser()
            self._truecaser.model = {
                "best": {small: written[0] for small, written in self.casing_.items()},
                "known": {word for written in self.casing_.values() for word in written},
            }

    def _each(self, one: Any, sentences: Any) -> Any:
        if is_single(sentences):
            return one(sentences, None)
        batch = sentences if isinstance(sentences, Corpus) else to_batch(sentences)
        batch = batch.to_list() if hasattr(batch, "to_list") else batch  # of the core
        return [one(sentence, i) for i, sentence in enumerate(batch)]

    def _tokens(self, sentence: Any, i: int | None) -> list[str]:
        text = self._normalizer.normalize(_text(sentence, i))
        tokens: list[str] = self._tokenizer.tokenize(text, escape=False)
        return tokens

    def _prepared(self, sentence: Any, i: int | None) -> str:
        text = " ".join(self._tokens(sentence, i))
        if self._truecaser is None:
            return text
        # As Moses does: without `use_known`, sacremoses changes the casing of words within a sentence, too.
        truecased: str = self._truecaser.truecase(text, return_str=True, use_known=True)
        return truecased

    def _restored(self, sentence: Any, i: int | None) -> str:
        words = _text(sentence, i).split()
        if words and self.casing_ is not None:
            words = self._detruecaser.detruecase(" ".join(words))
        if self.language == "cs":
            # In Czech, sacremoses looks at the end of the sentence where Moses looks at the words before a
            # number: it joins each number to what is before it if the sentence ends with one and a point.
            words = [*words, _END]
        text: str = self._detokenizer.detokenize(words, unescape=False) if words else ""
        return text.removesuffix(_END).rstrip()


def _text(sentence: Any, i: int | None) -> str:
    if not isinstance(sentence, str):
        name = "sentences" if i is None else f"sentences[{i}]"
        raise TypeError(f"{name} is {type(sentence).__name__} ({sentence!r:.40}); expected str")
    return sentence
