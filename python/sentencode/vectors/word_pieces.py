"""The word pieces of a teacher's tokenizer, as the vocabulary of a student."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from typing import Any

from ..text import hugging_face
from ..text.tokenizer import Tokenizer
from ..text.vocabulary import Vocabulary

__all__ = [
    "piece_texts",
    "piece_tokenizer",
    "piece_vocabulary",
    "special_tokens",
    "whole_words",
    "with_words",
]

_PREFIX = "##"  # of pieces that continue a word
_STARTS = (
    "\u2581",
    "\u0120",
)  # marks of the first piece of a word: sentencepiece's, and that of byte-level BPE


def piece_tokenizer(teacher: Any) -> Tokenizer:
    """Return the tokenizer of a teacher, without its token for unknown text.

    Args:
        teacher: A model of sentence-transformers, or an encoder that splits into subwords.

    Raises:
        ValueError: The teacher has no tokenizer of Hugging Face.
        NotImplementedError: The core cannot reproduce it.
    """
    own = getattr(teacher, "tokenizer_", None)
    if isinstance(own, Tokenizer) and own.subwords is not None:
        return Tokenizer(own, lowercase=False, keep_unknown=False, max_tokens=0, max_characters=0)
    tokenizer = getattr(teacher, "tokenizer", None)
    backend = getattr(tokenizer, "backend_tokenizer", tokenizer)
    if backend is None or not hasattr(backend, "to_str"):
        raise ValueError(
            f"words: the teacher {type(teacher).__name__} has no tokenizer of Hugging Face, whose pieces "
            "could be the words; give a list of words"
        )
    return _of_json(str(backend.to_str()))


def _of_json(content: str) -> Tokenizer:
    core = hugging_face.subwords_of(content, {"keep_unknown": False})
    if isinstance(core, str):
        raise NotImplementedError(f"words: the pieces of the teacher are not supported: {core}")
    return Tokenizer.from_config({"split": "subwords", "lowercase": False}, subwords=core)


def with_words(tokenizer: Tokenizer, words: Sequence[str]) -> Tokenizer:
    """Return a tokenizer of WordPiece with more words, which are not split into pieces any more.

    WordPiece takes the longest piece from the left, so that other words keep their pieces unless they begin
    with one of these words.

    Args:
        tokenizer: Tokenizer whose `split` is "subwords".
        words: Words; those that its normalizer changes or splits are left out.

    Raises:
        NotImplementedError: Its model is not WordPiece.
    """
    assert tokenizer.subwords is not None
    content = json.loads(tokenizer.subwords.json)
    kind = content["model"]["type"]
    if kind != "WordPiece":
        raise NotImplementedError(f"words='both': the teacher's tokenizer is {kind}, expected WordPiece")
    pieces, added = content["model"]["vocab"], content.get("added_tokens") or []
    for _ in range(2):  # first with all words, to see which are changed
        vocabulary, ids = dict(pieces), itertools.count(max(pieces.values()) + 1)
        for word in words:
            if word not in vocabulary:
                vocabulary[word] = next(ids)
        # The ids of added tokens that are no pieces follow.
        content["added_tokens"] = [
            token if token["content"] in vocabulary else {**token, "id": next(ids)} for token in added
        ]
        model = {**content["model"], "vocab": vocabulary}
        extended = _of_json(json.dumps({**content, "model": model}, ensure_ascii=False))
        words = [word for word, tokens in zip(words, extended(list(words)), strict=True) if tokens == [word]]
    return extended


def piece_vocabulary(tokenizer: Tokenizer, counted: Vocabulary) -> Vocabulary:
    """Return all tokens of a tokenizer with their counts, also those that are in no sentence.

    Args:
        tokenizer: Tokenizer whose `split` is "subwords".
        counted: Counts of its tokens.
    """
    assert tokenizer.subwords is not None
    tokens = filter(None, map(tokenizer.subwords.token, range(len(tokenizer.subwords))))
    return Vocabulary({token: counted.get(token, 0) for token in tokens}, min_count=0)


def piece_texts(tokenizer: Tokenizer, tokens: Sequence[str]) -> list[str]:
    """Return the texts of tokens for a teacher: without the mark of pieces that continue a word.

    Args:
        tokenizer: Tokenizer whose `split` is "subwords".
        tokens: Its tokens.
    """
    texts = []
    for token in tokens:
        text = token.removeprefix(_PREFIX) if token != _PREFIX else token
        text = text if text != token or token.isascii() else tokenizer.join([token]).strip()
        texts.append(text or token)
    return texts


def whole_words(tokenizer: Tokenizer) -> list[str]:
    """Return the texts of the tokens that begin a word.

    Args:
        tokenizer: Tokenizer whose `split` is "subwords".
    """
    assert tokenizer.subwords is not None
    tokens = list(filter(None, map(tokenizer.subwords.token, range(len(tokenizer.subwords)))))
    starting = [token for token in tokens if token.startswith(_STARTS)]
    if starting:
        return list(filter(None, (tokenizer.join([token]).strip() for token in starting)))
    special = special_tokens(tokenizer)
    return [token for token in tokens if not token.startswith(_PREFIX) and token not in special]


def special_tokens(tokenizer: Tokenizer) -> set[str]:
    """Return the tokens that stand for no text, such as [CLS]."""
    assert tokenizer.subwords is not None
    added = json.loads(tokenizer.subwords.json).get("added_tokens") or []
    return {token["content"] for token in added if token.get("special")}
