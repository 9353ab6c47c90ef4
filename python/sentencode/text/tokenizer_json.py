"""Checks tokenizers of the package `tokenizers` in untrusted files.

They are JSON for code in Rust that does not expect malicious options: a component can make a text grow
without bound, a pattern can take exponential time, and a damaged table ends the process. A tokenizer is
accepted if all of
this holds:

- its components are of the types below, 64 of them at most;
- a pattern is a string, one character or class that may be repeated, or one of the published ones, word for
  word: each is matched in linear time;
- no text grows more than 100 times, the product of the growth of each component and the model (without byte
  fallback, which has six characters per byte);
- words that WordPiece splits in quadratic time, and pieces of Unigram, have at most 256 characters;
- an added token that strips the white space around it is not white space itself (quadratic time);
- every path in the table of `Precompiled` stays inside it.
"""

from __future__ import annotations

import base64
import json
import re
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import FormatError

__all__ = ["check_added_tokens", "check_tokenizer_json", "rust_errors"]

_COMPONENTS = 64
_GROWTH = 100
_CHARACTERS = 256
_HOLES = 1000  # unused ids, in addition to the number of pieces
_KEY = 255  # maximum bytes of a key of Precompiled
# Growth factor of each type. Growth by Unicode's normal forms is a property of the text, so that text in a
# file is measured in NFKD, the longest form.
_TYPES: dict[str, dict[str, float]] = {
    "normalizer": {
        **dict.fromkeys(("Lowercase", "NFC", "NFD", "NFKC", "NFKD", "Nmt", "Strip", "StripAccents"), 1),
        **{"BertNormalizer": 2, "ByteLevel": 2, "Precompiled": 1, "Prepend": 1, "Replace": 1},
    },
    "pre_tokenizer": {
        **dict.fromkeys(("BertPreTokenizer", "CharDelimiterSplit", "Digits", "FixedLength"), 1),
        **dict.fromkeys(("Punctuation", "Split", "UnicodeScripts", "Whitespace", "WhitespaceSplit"), 1),
        **{"ByteLevel": 4, "Metaspace": 5},
    },
    "decoder": {
        **dict.fromkeys(("ByteFallback", "ByteLevel", "Fuse", "Metaspace", "Replace", "Strip"), 1),
        **{"BPEDecoder": 2, "CTC": 2, "WordPiece": 2},
    },
}
_LISTS = {"normalizer": "normalizers", "pre_tokenizer": "pretokenizers", "decoder": "decoders"}
_MODELS = frozenset({"BPE", "Unigram", "WordLevel", "WordPiece"})
# A character or a class, perhaps repeated; the group is the minimum of repetitions.
_ONE_CLASS = re.compile(
    r"(?:[^\\.\[\](){}*+?|^$]|\\[sSdDwW]|\\p\{[A-Z][a-z]?\})(?:\+|\{([1-9]\d?)(?:,\d{0,2})?\})?"
)
_PUBLISHED = frozenset(
    {
        # GPT-2, CLIP
        r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
        r"'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+",
        # GPT-4 and Llama 3, Qwen 2, GPT-4o
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
        r"|\s*[\r\n]+|\s+(?!\S)|\s+",
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"
        r"|\s*[\r\n]+|\s+(?!\S)|\s+",
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
        r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
        r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    }
)


def check_tokenizer_json(content: str) -> None:
    """Check that time and output of a tokenizer are bounded.

    Args:
        content: JSON of `tokenizers`.

    Raises:
        FormatError: It is not such JSON, or its table of `Precompiled` is damaged.
        ValueError: Time or output may be unbounded.
    """
    try:
        tokenizer = json.loads(content, object_pairs_hook=_distinct)
    except (ValueError, RecursionError) as error:
        raise FormatError(f"tokenizer: content is not JSON of tokenizers: {error}") from None
    if not isinstance(tokenizer, dict):
        raise FormatError(f"tokenizer: content must be a JSON object, got {tokenizer!r:.40}")
    count = 0
    growth = dict.fromkeys(_TYPES, 1.0)
    for part, types in _TYPES.items():
        for component in _components(tokenizer.get(part), part):
            kind = component.get("type")
            if not isinstance(kind, str) or kind not in types:
                raise ValueError(f"its {part} is {kind!r:.40}, which is not known to be bounded")
            growth[part] *= types[kind] * _growth(kind, component)
            if (count := count + 1) > _COMPONENTS:
                raise ValueError(f"it has more than {_COMPONENTS} components")
    growth["model"] = _growth_of_model(tokenizer.get("model"))
    for parts in (("normalizer", "pre_tokenizer", "model"), ("decoder",)):
        factor = float(np.prod([growth[part] for part in parts]))
        if factor > _GROWTH:
            raise ValueError(f"its {' and '.join(parts)} can make a text {factor:.0f} times as long")


def check_added_tokens(content: str, tokenizer: Any) -> None:
    """Check that added tokens are matched in linear time.

    Args:
        content: JSON that `check_tokenizer_json` accepted.
        tokenizer: The `tokenizers.Tokenizer` of it.

    Raises:
        ValueError: A token is white space and strips the white space around it, which takes quadratic time;
            or a token is empty after normalisation, which panics.
    """
    for token in json.loads(content).get("added_tokens") or ():
        text = token["content"]
        if token.get("normalized") and tokenizer.normalizer is not None:
            text = tokenizer.normalizer.normalize_str(text)
        if token["content"] and not text:
            raise ValueError(f"its added token {token['content']!r:.40} is empty after normalisation")
        if (token.get("lstrip") or token.get("rstrip")) and not text.strip():
            raise ValueError(
                f"its added token {token['content']!r:.40} is white space and strips more around it"
            )


@contextmanager
def rust_errors(kind: type[Exception], what: str) -> Iterator[None]:
    """Convert errors of `tokenizers`, which are `Exception` or, for panics, a `BaseException`.

    Args:
        kind: Class of the error to raise.
        what: Beginning of its message.
    """
    try:
        yield
    except BaseException as error:
        if type(error) is not Exception and type(error).__name__ != "PanicException":
            raise
        raise kind(f"{what}: {error}") from None


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object. Refuses duplicate keys, of which another parser might take another value."""
    values = dict(pairs)
    if len(values) < len(pairs):
        raise ValueError("an object has a key twice")
    return values


def _components(component: Any, part: str) -> Iterator[dict[str, Any]]:
    """Yield the components of a part; sequences may be nested."""
    if component is None:
        return
    if not isinstance(component, dict):
        raise FormatError(f"tokenizer: {part} must be a JSON object, got {component!r:.40}")
    if component.get("type") != "Sequence":
        yield component
        return
    members = component.get(_LISTS[part])
    if not isinstance(members, list):
        raise FormatError(f"tokenizer: {part} must be a list of {_LISTS[part]}, got {members!r:.40}")
    for member in members:
        yield from _components({} if member is None else member, part)


def _growth(kind: str, component: dict[str, Any]) -> float:
    """Check the options of a component, and return its growth factor."""
    if kind == "Precompiled":
        return _growth_of_table(_text(component, "precompiled_charsmap"))
    if kind == "Prepend":
        return 1 + _longest(_text(component, "prepend"))
    if kind == "FixedLength":
        _whole(component, "length", 1, 2**31)
    if kind not in ("Replace", "Split"):
        return 1
    least = _least_match(component.get("pattern"))
    return max(1, _longest(_text(component, "content")) / least) if kind == "Replace" else 1


def _least_match(pattern: Any) -> int:
    """Minimum bytes of a match."""
    if isinstance(pattern, dict) and len(pattern) == 1:
        ((kind, text),) = pattern.items()
        if kind == "String" and isinstance(text, str) and text:
            return len(text.encode("utf-8", "surrogatepass"))
        if kind == "Regex" and isinstance(text, str):
            if text in _PUBLISHED:
                return 1
            if (match := _ONE_CLASS.fullmatch(text)) is not None:
                return int(match[1] or 1)
    raise ValueError(f"its pattern {pattern!r:.60} is not known to be matched in linear time")


def _growth_of_model(model: Any) -> float:
    """Check a model, and return its growth factor."""
    kind = model.get("type") if isinstance(model, dict) else None
    if not isinstance(kind, str) or kind not in _MODELS:
        raise ValueError(f"its model is {kind!r:.40}, which is not known to be bounded")
    # A byte can become the unknown token, or a character with a prefix and a suffix.
    names = ("continuing_subword_prefix", "end_of_word_suffix", "unk_token")
    prefix, suffix, unknown = (
        _longest(model[name]) if isinstance(model.get(name), str) else 0 for name in names
    )
    if kind == "WordPiece":
        _whole(model, "max_input_chars_per_word", 0, _CHARACTERS)
    pieces = model.get("vocab")
    if not isinstance(pieces, list if kind == "Unigram" else dict):
        raise FormatError(f"tokenizer: vocab of {kind} is {pieces!r:.40}")
    if isinstance(pieces, dict):  # tokenizers loops over all ids up to the highest
        for piece, number in pieces.items():
            if type(number) is not int or not 0 <= number < 2 * len(pieces) + _HOLES:
                raise FormatError(f"tokenizer: the id of {piece!r:.40} among {len(pieces)} is {number!r:.40}")
    else:
        if any(isinstance(piece, list) and piece and len(str(piece[0])) > _CHARACTERS for piece in pieces):
            raise ValueError(f"a piece of its Unigram has more than {_CHARACTERS} characters")
    return max(1 + prefix + suffix, unknown)


def _text(component: dict[str, Any], name: str) -> str:
    if not isinstance(text := component.get(name), str):
        raise FormatError(f"tokenizer: {name} of {component['type']} must be a string, got {text!r:.40}")
    return text


def _whole(component: dict[str, Any], name: str, low: int, high: int) -> None:
    number = component.get(name)
    if not isinstance(number, int) or isinstance(number, bool) or not low <= number <= high:
        raise ValueError(f"its {component['type']} has {name}={number!r:.40}; expected {low} to {high}")


def _longest(text: str) -> int:
    """Bytes of a text in the longest of its normal forms."""
    return len(unicodedata.normalize("NFKD", text).encode("utf-8", "surrogatepass"))


def _growth_of_table(charsmap: str) -> float:
    """Growth factor of the table of a `Precompiled` normalizer.

    It is a double-array trie (Darts) of 32-bit units with an offset of the children, which are labelled with
    their bytes. After the units are the replacements, each followed by a zero byte.
    """
    try:
        blob = base64.b64decode(charsmap, validate=True)
        size = int.from_bytes(blob[:4], "little") // 4
        if len(blob) < 4 + 4 * size or size == 0:
            raise ValueError(f"{len(blob)} bytes cannot hold {size} units")
        text = blob[4 + 4 * size :]
        decoded = text.decode()
    except ValueError as error:
        raise FormatError(f"tokenizer: precompiled_charsmap is damaged: {error}") from None
    units = np.frombuffer(blob, "<u4", size, 4).astype(np.int64)
    # Bytes of the text up to each character, in its own and in its longest form.
    sizes = [len(c.encode()) for c in decoded]
    begins = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])
    grown = np.concatenate([[0], np.cumsum([_longest(c) for c in decoded], dtype=np.int64)])
    ends = np.append(np.flatnonzero(np.frombuffer(text, np.uint8) == 0), len(text))

    seen = np.zeros(size, bool)
    nodes = np.array([_offset(units[:1])[0]])
    most = 1.0
    for key in range(1, _KEY + 2):  # length of the keys
        if len(nodes) == 0:
            return most
        _in_table(((nodes | 255) < size).all())
        children, labels = (part.ravel() for part in _children(nodes))
        children = np.unique(children[(units[children] & 0x800000FF) == labels])
        children = children[~seen[children]]  # keys share suffixes; the shortest key has the largest growth
        seen[children] = True
        child_units = units[children]
        nodes = children ^ _offset(child_units)
        _in_table((nodes < size).all())
        values = units[nodes[(child_units >> 8) & 1 == 1]] & 0x7FFFFFFF
        _in_table((values <= len(text)).all())
        first = np.searchsorted(begins, values)
        _in_table((begins[first] == values).all())  # at the begin of a character
        last = np.searchsorted(begins, ends[np.searchsorted(ends, values)])
        if len(values):
            most = max(most, float((grown[last] - grown[first]).max()) / key)
    raise FormatError(f"tokenizer: precompiled_charsmap is damaged: a key has more than {_KEY} bytes")


def _offset(units: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    return (units >> 10) << ((units & 0x200) >> 6)


def _children(nodes: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    labels = np.broadcast_to(np.arange(1, 256), (len(nodes), 255))
    return nodes[:, None] ^ labels, labels


def _in_table(fine: Any) -> None:
    if not fine:
        raise FormatError("tokenizer: precompiled_charsmap is damaged: a path leads out of its table")
