"""Our tokenizers as tokenizer.json, in parts of Hugging Face."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..text.tokenizer import Tokenizer
from .words_patterns import PATTERNS, VARIANTS

__all__ = ["OurSplit", "split_of", "tokenizer_json", "with_variants"]

Floats = npt.NDArray[np.float32]

_UNKNOWN = "[UNK]"  # or with more brackets, if that is a word
_MARK = "\U0010fffd"  # for private use; begins every token of a model that skips unknown words

# Quotes and dashes as `fold_typography` of the core writes them; U+0091 to U+0097 are those of Windows-1252.
_BEFORE = "[0-9A-Za-z_]|[^\u0000-\u007f\u2013\u0096\u2014\u2015\u0097]"
_AFTER = "[0-9A-Za-z_]|[^\u0000-\u007f]"
_TYPOGRAPHY = (
    (f"[\u2013\u0096](?!{_AFTER})", "\u2014"),  # before the next characters are replaced
    ("[\u00ad\u2060\ufeff]", ""),
    ("[\u2018\u2019\u201b\u02bc\u00b4\u0091\u0092]", "'"),
    ("[\u201c-\u201f\u0093\u0094]", '"'),
    ("\u2026", "..."),
    ("[\u2010\u2011\u2212]", "-"),
    (f"(?<={_BEFORE})[\u2013\u0096]", "-"),
    ("[\u2013\u0096\u2014\u2015\u0097]", "--"),
)

# Letters and digits, and other visible characters, as the core classifies them. Code points that Unicode has
# not assigned are letters below U+1F000, and emoji above.
_LETTERS = r"[[^\p{P}\p{S}\p{Z}\p{Cc}\p{Cf}\p{Cn}][_\x{FFFD}\x{200C}\x{200D}][\p{Cn}&&[\x{80}-\x{1EFFF}]]]"
_SYMBOLS = r"[[\p{P}\p{S}&&[^_\x{FFFD}]][\p{Cn}&&[\x{1F000}-\x{10FFFF}]]]"
_JOINERS = r"\x{200C}\x{200D}\x{FE0E}\x{FE0F}"  # they begin no word
_PATTERNS = {
    "words": PATTERNS,
    "punctuation": (rf"(?![{_JOINERS}]){_LETTERS}(?:{_LETTERS}|(?<=[0-9])[.,](?=[0-9]))*|{_SYMBOLS}",),
    "whitespace": (r"[^\x09-\x0D\x1C-\x20\x{85}\p{Z}]+",),
}


def _parts(split: str, lowercase: bool) -> dict[str, Any]:
    """The normalizer and the pre-tokenizers of a tokenizer of ours."""
    steps: list[dict[str, Any]] = []
    if split != "whitespace":
        steps += [_replace({"Regex": pattern}, content) for pattern, content in _TYPOGRAPHY]
    if lowercase:  # Hugging Face would lower-case U+0130 to two characters
        steps += [_replace({"String": "\u0130"}, "i"), {"type": "Lowercase"}]
    keep = [
        {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Removed", "invert": True}
        for pattern in _PATTERNS[split]
    ]
    pre = keep[0] if len(keep) == 1 else {"type": "Sequence", "pretokenizers": keep}
    return {"normalizer": {"type": "Sequence", "normalizers": steps}, "pre_tokenizer": pre}


def _replace(pattern: dict[str, str], content: str) -> dict[str, Any]:
    return {"type": "Replace", "pattern": pattern, "content": content}


def tokenizer_json(split: str, lowercase: bool, words: Sequence[str], *, unknown: bool) -> dict[str, Any]:
    """The tokenizer.json that splits as a tokenizer of ours and has these words, in the order of ids.

    Args:
        split: "words", "punctuation" or "whitespace".
        lowercase: Whether it lower-cases.
        words: Tokens of the ids 0, 1, ...
        unknown: Whether unknown words become a token, which has the last id. Otherwise they have none: the
            model is a BPE without merges whose tokens begin with a mark, so that no character of an unknown
            word is a token.

    Raises:
        NotImplementedError: The split has no equivalent.
    """
    if split not in _PATTERNS:
        raise NotImplementedError(
            f"the tokenizer {split!r} has no equivalent in tokenizer.json; "
            "'words', 'punctuation' and 'whitespace' have"
        )
    return _with_model(_parts(split, lowercase), words, unknown)


def _with_model(parts: dict[str, Any], words: Sequence[str], unknown: bool) -> dict[str, Any]:
    if unknown:
        token = _UNKNOWN
        while token in words:
            token = f"[{token}]"
        model: dict[str, Any] = {
            "type": "WordLevel",
            "vocab": {word: i for i, word in enumerate([*words, token])},
        }
        model["unk_token"] = token
    else:
        mark = {"type": "Metaspace", "replacement": _MARK, "prepend_scheme": "always", "split": False}
        parts["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": [parts["pre_tokenizer"], mark]}
        model = {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None}
        model |= {"end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False}
        model |= {"ignore_merges": True, "vocab": {_MARK + word: i for i, word in enumerate(words)}}
        model["merges"] = []
    shared: dict[str, Any] = {"version": "1.0", "truncation": None, "padding": None, "added_tokens": []}
    return {**shared, **parts, "post_processor": None, "decoder": None, "model": model}


@dataclass(frozen=True)
class OurSplit:
    """A tokenizer of ours that was written as tokenizer.json.

    Attributes:
        tokenizer: The tokenizer.
        words: Words in the order of ids.
        unknown: Whether unknown words have an id, the last one.
    """

    tokenizer: Tokenizer
    words: list[str]
    unknown: bool


def with_variants(split: str, words: Sequence[str], rows: Floats) -> tuple[Sequence[str], Floats]:
    """Words and rows [words, n] for `tokenizer_json`, whose tokens are always parts of the text.

    `words` returns `...` for `..`, and `"` for two apostrophes: those get rows of their own.
    """
    if split != "words":
        return words, rows
    # A token of that name can only be a variant: `words` never returns it.
    words = [f"{_MARK}{word}" if word in VARIANTS else word for word in words]
    variants = {variant: words.index(word) for variant, word in VARIANTS.items() if word in words}
    return [*words, *variants], np.concatenate([rows, rows[list(variants.values())]])


def split_of(tokenizer: Any) -> OurSplit | None:
    """What `tokenizer_json` wrote this tokenizer.json of; None: it did not write it."""
    model = tokenizer.get("model") if isinstance(tokenizer, dict) else None
    vocabulary = model.get("vocab") if isinstance(model, dict) else None
    if not isinstance(model, dict) or not isinstance(vocabulary, dict):
        return None
    for split in _PATTERNS:
        for lowercase in (False, True):
            for unknown in (False, True):
                empty = _with_model(_parts(split, lowercase), [], unknown)
                empty["model"] |= {"vocab": vocabulary, "unk_token": model.get("unk_token")}
                if empty == tokenizer and sorted(vocabulary.values()) == list(range(len(vocabulary))):
                    words = sorted(vocabulary, key=vocabulary.__getitem__)
                    if not unknown:
                        words = [word.removeprefix(_MARK) for word in words]
                    elif words.pop() != model["unk_token"]:
                        return None
                    return OurSplit(Tokenizer(split, lowercase=lowercase), words, unknown)
    return None
