"""Tokenizers of Hugging Face: in the core, else by the package `tokenizers`."""

from __future__ import annotations

import copy
import functools
import json
import os
from collections.abc import Callable, Mapping
from typing import Any

from sentencode import _core

from ..errors import FormatError
from ..files import read_text
from .tokenizer_json import check_added_tokens, check_tokenizer_json, rust_errors

__all__ = [
    *("PREFIX", "LimitedTokenizer", "bounded_tokenizer", "decoder_of", "external_tokenizer", "load"),
    *("saved_tokenizer", "subwords_of", "tokenize_batch"),
]

PREFIX = "hf:"  # of names


def load(name: str) -> str:
    """Return a tokenizer.json.

    Args:
        name: Path that ends in ".json", a folder with a tokenizer.json, or a name on the Hugging Face Hub.

    Raises:
        ImportError: The Hub needs the package `tokenizers` or `huggingface_hub`.
        OSError: The file cannot be read.
    """
    if name.endswith(".json"):
        return read_text(name)
    if os.path.isdir(name):
        return read_text(os.path.join(name, "tokenizer.json"))
    try:
        import tokenizers  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        try:
            from huggingface_hub import hf_hub_download  # type: ignore[import-not-found,unused-ignore]
        except ImportError:
            raise ImportError(f"'hf:{name}' needs the package tokenizers: pip install tokenizers") from None
        return read_text(hf_hub_download(name, "tokenizer.json"))
    return str(tokenizers.Tokenizer.from_pretrained(name).to_str())


def subwords_of(source: Any, options: Mapping[str, Any]) -> _core.SubwordTokenizer | str:
    """Return the tokenizer of the core, or why it cannot reproduce a tokenizer.

    Args:
        source: A tokenizer.json, or an object.
        options: Keywords of `_core.SubwordTokenizer`.

    Raises:
        FormatError: The JSON is damaged.
    """
    if not isinstance(source, str):
        if type(source).__module__.partition(".")[0] != "tokenizers" or not hasattr(source, "to_str"):
            return "it is not of the package tokenizers"
        if getattr(source, "encode_special_tokens", False):
            return "it splits special tokens"
        try:
            source = str(source.to_str())
        except Exception as error:  # components in Python
            return str(error)
    try:
        return _core.SubwordTokenizer(source, **options)
    except NotImplementedError as error:
        return str(error)


def external_tokenizer(content: str, why: str) -> Any:
    """Return the `tokenizers.Tokenizer` of JSON.

    Args:
        content: A tokenizer.json.
        why: Why the package is needed, for errors.

    Raises:
        ImportError: The package `tokenizers` is missing.
        FormatError: The JSON is damaged.
    """
    try:
        import tokenizers  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        raise ImportError(f"{why}; this needs the package tokenizers: pip install tokenizers") from None
    with rust_errors(FormatError, "tokenizer: tokenizers cannot read the content"):
        return tokenizers.Tokenizer.from_str(content)


def bounded_tokenizer(content: str, why: str, *, trust: bool) -> Any:
    """Return the `tokenizers.Tokenizer` of JSON whose time and output are bounded.

    Args:
        content: A tokenizer.json.
        why: Why the package is needed, for errors.
        trust: Whether to accept any tokenizer.

    Raises:
        ImportError: The package `tokenizers` is missing.
        FormatError: The JSON is damaged.
        ValueError: The tokenizer may be unbounded.
    """
    if trust:
        return external_tokenizer(content, why)
    try:
        check_tokenizer_json(content)
        tokenizer = external_tokenizer(content, why)
        with rust_errors(FormatError, "tokenizer: tokenizers cannot read the content"):
            check_added_tokens(content, tokenizer)
        return tokenizer
    except FormatError:
        raise
    except ValueError as error:
        raise ValueError(
            f"the tokenizer could hang, or fill the memory: {error}; if you trust the file, "
            "se.load(path, trust_tokenizer=True)"
        ) from None


def saved_tokenizer(content: str, *, trust: bool, again: str) -> Any:
    """Return the `tokenizers.Tokenizer` of JSON in a saved file.

    Args:
        content: A tokenizer.json.
        trust: Whether to accept any tokenizer; otherwise its time and output must be bounded.
        again: What to do about a refused one, for errors.

    Raises:
        FormatError: The JSON is damaged.
        ValueError: The tokenizer may be unbounded, or the package `tokenizers` is missing.
    """
    try:
        return bounded_tokenizer(content, "saved with a tokenizer of Hugging Face", trust=trust)
    except ImportError as error:
        raise ValueError(str(error)) from None
    except FormatError:
        raise
    except ValueError as error:
        raise ValueError(f"{error}, or {again}") from None


def tokenize_batch(external: Any) -> Callable[[list[str]], list[list[str]]]:
    """Return a function from texts to their tokens, without special tokens such as [CLS].

    Args:
        external: An object with `encode_batch`.
    """
    if not hasattr(external, "no_padding"):
        return lambda texts: [one.tokens for one in _encoded(external, texts)]
    external = _without_limits(external)
    external.post_processor = None  # adds special tokens, or repeats the text without bound
    # Not `Encoding.tokens`, which has the text itself of unknown pieces and of some added tokens.
    name = functools.lru_cache(maxsize=1 << 16)(external.id_to_token)
    return lambda texts: [[name(i) for i in one.ids] for one in _encoded(external, texts)]


class LimitedTokenizer:
    """A tokenizer of the package `tokenizers` with the options of a static model.

    Args:
        tokenizer: A `tokenizers.Tokenizer`, which is copied.
        keep_unknown: Whether to keep the token that stands for unknown text.
        max_tokens: Maximum of tokens of a text, unknown ones included; 0: no limit.
        max_characters: Maximum of characters of a text that are read; 0: no limit.
    """

    def __init__(self, tokenizer: Any, *, keep_unknown: bool, max_tokens: int, max_characters: int) -> None:
        self.limits = {
            "keep_unknown": keep_unknown,
            "max_tokens": max_tokens,
            "max_characters": max_characters,
        }
        self._content = str(tokenizer.to_str())
        self._inner = _without_limits(tokenizer)
        if max_tokens > 0:
            self._inner.enable_truncation(max_tokens)
        self._names = {i: token for token, i in self._inner.get_vocab().items()}
        if not keep_unknown:
            model = json.loads(self._content)["model"]
            unknown = model.get("unk_id")
            if unknown is None:
                unknown = self._inner.token_to_id(model.get("unk_token") or "")
            self._names.pop(unknown, "")

    def to_str(self) -> str:
        """The JSON, without the limits."""
        return self._content

    def tokenize(self, text: str) -> list[str]:
        """The tokens of a text."""
        text = text[: self.limits["max_characters"] or None]
        with rust_errors(ValueError, "the tokenizer failed"):
            one = self._inner.encode(text, add_special_tokens=False)
        return [self._names[i] for i in one.ids if i in self._names]


def _without_limits(tokenizer: Any) -> Any:
    """A copy without padding, where tokens would depend on other sentences, and truncation."""
    tokenizer = copy.deepcopy(tokenizer)
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


def _encoded(external: Any, texts: list[str]) -> Any:
    with rust_errors(ValueError, "the tokenizer failed"):
        return external.encode_batch(texts, add_special_tokens=False)


@functools.lru_cache(maxsize=4)
def decoder_of(content: str) -> Any:
    """Return the decoder of a tokenizer.json, an object of `tokenizers`; None if it has none.

    Args:
        content: The JSON.

    Raises:
        ImportError: It has one, and the package `tokenizers` is missing.
    """
    decoder = json.loads(content).get("decoder")
    if decoder is None:
        return None
    try:
        import tokenizers  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        raise ImportError(
            f"joining the tokens of a tokenizer with the decoder {decoder.get('type')!r} needs the package "
            "tokenizers: pip install tokenizers"
        ) from None
    model = {"type": "WordLevel", "vocab": {"": 0}, "unk_token": ""}
    with rust_errors(FormatError, "tokenizer: tokenizers cannot read the decoder"):
        return tokenizers.Tokenizer.from_str(json.dumps({"model": model, "decoder": decoder})).decoder
