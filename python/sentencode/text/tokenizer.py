"""Tokenizers."""

from __future__ import annotations

import copy
import importlib
import sys
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, overload

import numpy as np

from sentencode import _core

from ..errors import FormatError
from .inputs import Batch, is_single, to_batch
from .tokenizer_json import check_added_tokens, check_tokenizer_json, rust_errors

__all__ = ["Tokenizer", "chosen_tokenizer"]

_BUILT_IN = ("words", "punctuation", "whitespace")
_HUGGING_FACE = "hf:"
_AGAIN = "pass it again, as in se.load(path, tokenizer=my_tokenizer)"


class Tokenizer:
    """Immutable tokenizer, which is saved with models.

    `words` splits English as in the Penn Treebank: contractions, punctuation, numbers, hyphens. `punctuation`
    splits around every character that is neither letter nor digit, but not inside numbers. `whitespace` is
    for tokenised text. Others are functions from a `str` to its tokens, or tokenizers of Hugging Face, which
    run in Python. Tokenizers of the package `tokenizers` without a name are saved as JSON; others by their
    name.

    Args:
        split: `"words"`, `"punctuation"`, `"whitespace"`; a callable; an object with `encode_batch(texts)` or
            `tokenize(text)`, as in `tokenizers` and `transformers`; `"package.module:function"`, which is
            imported; or `"hf:name"`, which `tokenizers` loads from the Hugging Face Hub or a file. Tokenizers
            of Hugging Face are copied, without padding and truncation.
        lowercase: Whether to lower-case tokens (Unicode's simple lower case). `"auto"`: encoders lower-case
            if their vectors have no upper-case letters; without an encoder, the case is kept.
        invalid: Handling of bytes that are not UTF-8: `"replace"` (by U+FFFD) or `"refuse"`.
        name: Name under which a callable is saved, if it cannot be imported by its own name.
            `sentencode.load` does not import names in files unless it is asked to.

    Example:
        >>> Tokenizer("whitespace", lowercase=True)("A man plays .")
        ['a', 'man', 'plays', '.']
        >>> Tokenizer("whitespace") == Tokenizer("whitespace", lowercase="auto")
        True
    """

    __slots__ = ("_external", "_invalid", "_lowercase", "_name", "_split", "_tokenize")

    _split: str
    _lowercase: bool | Literal["auto"]
    _invalid: str
    _name: str
    _external: Any
    _tokenize: Callable[[list[str]], list[list[str]]] | None  # of an external one

    def __init__(
        self,
        split: Any = "words",
        *,
        lowercase: bool | Literal["auto"] = "auto",
        invalid: Literal["replace", "refuse"] = "replace",
        name: str = "",
    ) -> None:
        if isinstance(lowercase, np.bool_):
            lowercase = bool(lowercase)
        if not (isinstance(lowercase, bool) or (isinstance(lowercase, str) and lowercase == "auto")):
            raise ValueError(f"lowercase must be True, False or 'auto', got {lowercase!r}")
        external = tokenize = None
        if isinstance(split, Tokenizer):
            name = name or split._name
            split, external, tokenize = split._split, split._external, split._tokenize
        elif not isinstance(split, str):
            split, external, name = "external", split, name or _name_of(split)
        elif split not in _BUILT_IN:
            split, external, name = "external", _load(split), split
        if external is None:
            name = ""
        elif tokenize is None:
            tokenize = _tokenize_of(external)
        _core.Tokenizer(split, lowercase=False, invalid=invalid)  # checks the other arguments
        values = (external, invalid, lowercase, name, split, tokenize)
        for slot, value in zip(self.__slots__, values, strict=True):
            object.__setattr__(self, slot, value)

    @property
    def split(self) -> str:
        """`words`, `punctuation`, `whitespace` or `external`."""
        return self._split

    @property
    def lowercase(self) -> bool | Literal["auto"]:
        """Whether to lower-case tokens, or `"auto"`."""
        return self._lowercase

    @property
    def invalid(self) -> str:
        """`replace` or `refuse`."""
        return self._invalid

    @property
    def name(self) -> str:
        """Name under which an external tokenizer is saved; else empty."""
        return self._name

    @property
    def found_by_name(self) -> bool:
        """Whether the tokenizer can be imported by its name. Imports and downloads nothing."""
        if self._external is None or self._name.startswith(_HUGGING_FACE) or self._content():
            return True
        module, _, qualname = self._name.partition(":")
        value: Any = sys.modules.get(module)
        for part in qualname.split("."):
            value = getattr(value, part, None)
        # Class methods are new objects at every access.
        return value is self._external or (isinstance(value, types.MethodType) and value == self._external)

    @overload
    def __call__(self, sentences: str | bytes) -> list[str]: ...
    @overload
    def __call__(self, sentences: Iterable[Any]) -> list[list[str]]: ...
    def __call__(self, sentences: Any) -> list[str] | list[list[str]]:
        """Return the list of tokens of a sentence, or a list of such lists for several.

        Args:
            sentences: A sentence, or several.

        Raises:
            TypeError: A sentence is not a text.
            ValueError: Bytes are not UTF-8, and `invalid` is `"refuse"`.
        """
        core = self.core()
        if is_single(sentences):
            return core(self.prepare([sentences]))[0]
        return core(self.prepare(sentences))

    def core(self, lowercase: bool = False) -> _core.Tokenizer:
        """Return the tokenizer of the core.

        Args:
            lowercase: Value for `"auto"`.
        """
        lowercase = lowercase if self._lowercase == "auto" else self._lowercase
        return _core.Tokenizer(self._split, lowercase=lowercase, invalid=self._invalid, name=self._name)

    def prepare(self, sentences: Any, name: str = "sentences") -> Batch:
        """Return a batch for the core. External tokenizers split sentences here, others in the core.

        Args:
            sentences: Sentences, or token lists, which are not changed.
            name: Name of the argument in errors.
        """
        batch = to_batch(sentences, name)
        if self._tokenize is None:
            return batch
        texts = batch.to_list() if isinstance(batch, _core.SentenceBatch) else batch
        if texts and not is_single(texts[0]):
            return texts
        errors = "strict" if self._invalid == "refuse" else "replace"
        texts = [text.decode("utf-8", errors) if isinstance(text, bytes) else text for text in texts]
        for i, text in enumerate(texts):
            if not isinstance(text, str):
                raise TypeError(f"{name}[{i}] is {type(text).__name__} ({text!r:.40}); expected str")
        return self._tokenize(texts)

    def to_config(self) -> dict[str, Any]:
        """Return a dictionary for JSON, with the name or the JSON of an external tokenizer."""
        config = {"split": self._split, "lowercase": self._lowercase, "invalid": self._invalid}
        if content := self._content():
            config["content"] = content
        return {**config, "name": self._name} if self._name else config

    def join(self, tokens: Sequence[str]) -> str:
        """Return the text of tokens, by the decoder of a tokenizer of `tokenizers`, else joined by spaces.

        Args:
            tokens: Tokens of a sentence.
        """
        decoder = getattr(self._external, "decoder", None)
        if decoder is None:
            return " ".join(tokens)
        with rust_errors(ValueError, "the decoder of the tokenizer failed"):
            return str(decoder.decode(list(tokens)))

    def _content(self) -> str:
        """The JSON of a tokenizer of `tokenizers` without a name, else empty."""
        written = getattr(self._external, "to_str", None)
        return "" if self._name or written is None else str(written())

    @classmethod
    def from_config(
        cls, config: Mapping[str, Any], external: Any = None, *, trust: bool = False
    ) -> Tokenizer:
        """Return the tokenizer of a config.

        Args:
            config: Result of `to_config`.
            external: The tokenizer, if it is not a built-in one.
            trust: Whether to import the name in the config, or load it from the Hub, if `external` is None.
                It may be the name of any function. Also whether to accept the JSON of any tokenizer of
                `tokenizers`; otherwise its time and output must be bounded.

        Raises:
            FormatError: The JSON of a tokenizer is damaged.
            ValueError: The config has unknown keys or values, or a tokenizer that is neither passed nor
                trusted, cannot be found, or may be unbounded.
        """
        keys = {"split", "lowercase", "invalid", "name", "content"}
        if unknown := set(config) - keys:
            raise ValueError(f"tokenizer: unknown key {min(unknown)!r}; expected {sorted(keys)}")
        options = {key: config[key] for key in ("lowercase", "invalid") if key in config}
        split, name, content = config.get("split", "words"), config.get("name", ""), config.get("content", "")
        if split not in (*_BUILT_IN, "external") or not isinstance(name, str) or not isinstance(content, str):
            raise ValueError(f"tokenizer: cannot use {split=!r:.40} with {name=!r:.40} and {content=!r:.40}")
        if split != "external":
            if external is not None:
                raise ValueError(f"saved with the tokenizer {split!r}, so that no other can be given")
            return cls(split, **options)
        if external is None and content:
            external = _of_content(content, trust)
        if external is None:
            if not name:
                raise ValueError(f"saved with a tokenizer that has no name; {_AGAIN}")
            if not trust:
                raise ValueError(
                    f"saved with the tokenizer {name!r}, which is not built in; {_AGAIN}, or let that name "
                    "be imported, if you trust the file: se.load(path, trust_tokenizer=True)"
                )
            try:
                external = _load(name)
            except (ImportError, AttributeError, ValueError, OSError) as error:
                raise ValueError(
                    f"saved with the tokenizer {name!r}, which cannot be found ({error}); {_AGAIN}"
                ) from error
        with rust_errors(FormatError, "tokenizer: tokenizers cannot read the content"):
            tokenizer = cls(external)
        # The core expects tokens, so that a built-in tokenizer in place of an external one must split in
        # Python.
        return cls(tokenizer.__call__ if tokenizer._external is None else tokenizer, name=name, **options)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"a Tokenizer cannot be changed; create one with another {name.lstrip('_')}")

    def __delattr__(self, name: str) -> None:
        raise AttributeError("a Tokenizer cannot be changed")

    def __reduce__(self) -> tuple[Any, ...]:
        split = self._split if self._external is None else self._external
        return _restore, (split, self._lowercase, self._invalid, self._name)

    def __copy__(self) -> Tokenizer:
        return self

    def __deepcopy__(self, memo: Any) -> Tokenizer:
        return self

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Tokenizer):
            return NotImplemented
        same_external = self._external == other._external or self._name.startswith(_HUGGING_FACE)
        return self.to_config() == other.to_config() and same_external

    def __hash__(self) -> int:
        return hash((self._split, self._lowercase, self._invalid, self._name))

    def __repr__(self) -> str:
        split = self._split if self._external is None else self._name or repr(self._external)
        options = [f"lowercase={self._lowercase!r}"] if self._lowercase != "auto" else []
        options += [f"invalid={self._invalid!r}"] if self._invalid != "replace" else []
        return f"Tokenizer({', '.join([repr(split), *options])})"


def chosen_tokenizer(owner: str, tokenizer: Any, lowercase: Any, *, compounds: bool) -> Tokenizer:
    """Return the tokenizer for an encoder's arguments `tokenizer` and `lowercase`.

    Args:
        owner: Class of the encoder, for messages.
        tokenizer: A `Tokenizer`, its argument, or "auto": the one that matches the words of the vectors.
        lowercase: Whether to lower-case; "auto": as the tokenizer does.
        compounds: Whether words of the vectors contain punctuation.

    Raises:
        ValueError: Both contradict each other.
    """
    if isinstance(tokenizer, str) and tokenizer == "auto":
        tokenizer = "words" if compounds else "punctuation"
    if not isinstance(tokenizer, Tokenizer):
        return Tokenizer(tokenizer, lowercase=lowercase)
    if tokenizer.lowercase == "auto":  # the encoder decides
        return Tokenizer(tokenizer, lowercase=lowercase, invalid=tokenizer.invalid)  # type: ignore[arg-type]
    if lowercase not in ("auto", tokenizer.lowercase):
        raise ValueError(f"{owner}: lowercase={lowercase!r} contradicts its {tokenizer!r}")
    return tokenizer


def _restore(split: Any, lowercase: Any, invalid: Any, name: str) -> Tokenizer:
    return Tokenizer(split, lowercase=lowercase, invalid=invalid, name=name)


def _name_of(external: Any) -> str:
    """Name of a tokenizer on its hub, or in a module; empty if it has none."""
    if hub_name := getattr(external, "name_or_path", None):
        return f"{_HUGGING_FACE}{hub_name}"
    owner = getattr(external, "__self__", None)
    if owner is not None and not isinstance(owner, (type, types.ModuleType)):
        return ""  # a method of an object, which cannot be imported
    qualname = getattr(external, "__qualname__", "")
    module = getattr(external, "__module__", None) or "builtins"
    return f"{module}:{qualname}" if qualname and "<" not in qualname else ""  # <lambda>, <locals>


def _load(name: str) -> Any:
    if name.startswith(_HUGGING_FACE):
        return _load_hugging_face(name.removeprefix(_HUGGING_FACE))
    module, colon, qualname = name.partition(":")
    if not colon:
        raise ValueError(
            f"unknown tokenizer {name!r}; expected 'words', 'punctuation', 'whitespace', 'module:function', "
            "'hf:name' or a callable"
        )
    value = importlib.import_module(module)
    for part in qualname.split("."):
        value = getattr(value, part)
    return value


def _load_hugging_face(name: str) -> Any:
    try:
        import tokenizers  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        raise ImportError(f"'hf:{name}' needs the package tokenizers: pip install tokenizers") from None
    if name.endswith(".json"):
        return tokenizers.Tokenizer.from_file(name)
    return tokenizers.Tokenizer.from_pretrained(name)


def _of_content(content: str, trust: bool) -> Any:
    try:
        import tokenizers  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        raise ValueError("saved with a tokenizer of the package tokenizers: pip install tokenizers") from None
    try:
        if not trust:
            check_tokenizer_json(content)
        with rust_errors(FormatError, "tokenizer: tokenizers cannot read the content"):
            tokenizer = tokenizers.Tokenizer.from_str(content)
            if not trust:
                check_added_tokens(content, tokenizer)
        return tokenizer
    except FormatError:
        raise
    except ValueError as error:
        raise ValueError(
            f"saved with a tokenizer that could hang, or fill the memory: {error}; {_AGAIN}, or, if you "
            "trust the file, se.load(path, trust_tokenizer=True)"
        ) from None


def _tokenize_of(external: Any) -> Callable[[list[str]], list[list[str]]]:
    """A function from texts to their tokens, without special tokens such as [CLS]."""
    if hasattr(external, "encode_batch"):  # tokenizers
        if hasattr(external, "no_padding"):
            # With padding, tokens would depend on the other sentences; truncation would lose some.
            external = copy.deepcopy(external)
            external.no_padding()
            external.no_truncation()
            external.post_processor = None  # adds special tokens, or repeats the text without bound
        return lambda texts: _encoded(external, texts)
    if hasattr(external, "tokenize"):  # transformers, nltk
        return lambda texts: [list(external.tokenize(text)) for text in texts]
    if callable(external):
        return lambda texts: [_checked(external(text), external) for text in texts]
    raise TypeError(
        f"tokenizer must be 'words', 'punctuation', 'whitespace', a callable or an object with "
        f"encode_batch(texts) or tokenize(text), got {external!r:.40} ({type(external).__name__})"
    )


def _encoded(external: Any, texts: list[str]) -> list[list[str]]:
    with rust_errors(ValueError, "the tokenizer failed"):
        return [e.tokens for e in external.encode_batch(texts, add_special_tokens=False)]


def _checked(tokens: Any, external: Any) -> list[str]:
    if isinstance(tokens, (str, bytes)):
        raise TypeError(f"{external!r} returned {type(tokens).__name__}; expected a list of str")
    return list(tokens)
