"""Tokenizers."""

from __future__ import annotations

import importlib
import sys
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, overload

import numpy as np

from sentencode import _core

from ..checks import checked_bool, checked_int
from ..code_digest import code_digest
from ..errors import FormatError
from . import hugging_face
from .inputs import Batch, is_single, to_batch
from .tokenizer_json import rust_errors

__all__ = ["Tokenizer", "chosen_tokenizer", "lowercased"]

_BUILT_IN = ("words", "punctuation", "whitespace")
_NO_LIMITS: dict[str, Any] = {"keep_unknown": True, "max_tokens": 0, "max_characters": 0}
_AGAIN = "pass it again, as in se.load(path, tokenizer=my_tokenizer)"


class Tokenizer:
    """Immutable tokenizer, which is saved with models.

    `words` splits English as in the Penn Treebank: contractions, punctuation, numbers, hyphens. `punctuation`
    splits around every character that is neither letter nor digit, but not inside numbers. `whitespace` is
    for tokenised text. Tokenizers of Hugging Face (`tokenizer.json`) run in the core, without the package
    `tokenizers`: their `split` is `"subwords"`, and they are saved with models. Those with a part that the
    core cannot reproduce exactly run in Python, as callables do: their `split` is `"external"`. External
    tokenizers are saved by their name; without a name, those of the package `tokenizers` as JSON.

    Args:
        split: `"words"`, `"punctuation"`, `"whitespace"`; a callable; an object with `encode_batch(texts)` or
            `tokenize(text)`, as in `tokenizers` and `transformers`; `"package.module:function"`, which is
            imported; or `"hf:name"`, the path of a tokenizer.json or a name on the Hugging Face Hub.
            Tokenizers of Hugging Face are copied, without padding and truncation.
        lowercase: Whether to lower-case tokens (Unicode's simple lower case). `"auto"`: encoders lower-case
            if their vectors have no upper-case letters; without an encoder, the case is kept.
        invalid: Handling of bytes that are not UTF-8: `"replace"` (by U+FFFD) or `"refuse"`.
        name: Name under which a callable is saved, if it cannot be imported by its own name.
            `sentencode.load` does not import names in files unless it is asked to.
        keep_unknown: Whether to keep tokens such as `[UNK]`, which stand for unknown text. This and the
            limits can be given for `"subwords"` only. None: as `split`, if that is a `Tokenizer`, else yes.
        max_tokens: Maximum of tokens of a text, unknown ones included; 0: no limit. None: as `split`, or 0.
        max_characters: Maximum of characters of a text that are read; 0: no limit. None: as `split`, or 0.

    Example:
        >>> Tokenizer("whitespace", lowercase=True)("A man plays .")
        ['a', 'man', 'plays', '.']
        >>> Tokenizer("whitespace") == Tokenizer("whitespace", lowercase="auto")
        True
    """

    __slots__ = ("_external", "_invalid", "_lowercase", "_name", "_split", "_subwords", "_tokenize")

    _split: str
    _lowercase: bool | Literal["auto"]
    _invalid: str
    _name: str
    _external: Any
    _subwords: _core.SubwordTokenizer | None
    _tokenize: Callable[[list[str]], list[list[str]]] | None  # of an external one

    def __init__(
        self,
        split: Any = "words",
        *,
        lowercase: bool | Literal["auto"] = "auto",
        invalid: Literal["replace", "refuse"] = "replace",
        name: str = "",
        keep_unknown: bool | None = None,
        max_tokens: int | None = None,
        max_characters: int | None = None,
    ) -> None:
        limits = dict(zip(_NO_LIMITS, (keep_unknown, max_tokens, max_characters), strict=True))
        limits = {name: value for name, value in limits.items() if value is not None}
        options = _checked_limits(**{**_NO_LIMITS, **limits})
        external = tokenize = subwords = None
        why = f"its split is {split!r:.40}"  # why it is not in the core
        if isinstance(split, Tokenizer):
            external, subwords, tokenize = split._external, split._subwords, split._tokenize
            name, split = name or split._name, split._split
            if subwords is not None and limits:
                subwords = subwords.with_options(**{**_options_of(subwords), **limits})
        elif not isinstance(split, str) or split not in _BUILT_IN:
            source, name = (_load(split), split) if isinstance(split, str) else (split, name)
            core = hugging_face.subwords_of(source, options)
            if isinstance(core, str):
                why = core
                if isinstance(source, str):
                    source = hugging_face.external_tokenizer(source, why)
                external, split, name = source, "external", name or _name_of(source)
            else:
                subwords, split = core, "subwords"
        if subwords is None and options != _NO_LIMITS:
            names = ", ".join(name for name, value in options.items() if value != _NO_LIMITS[name])
            raise ValueError(f"{names}: the tokenizer does not split into subwords in the core: {why}")
        self._set(
            split=split,
            lowercase=lowercase,
            invalid=invalid,
            name=name,
            external=external,
            subwords=subwords,
            tokenize=tokenize,
        )

    def _set(
        self,
        *,
        split: str,
        lowercase: Any,
        invalid: Any,
        name: str,
        external: Any = None,
        subwords: _core.SubwordTokenizer | None = None,
        tokenize: Any = None,
    ) -> None:
        """Check and set the attributes."""
        if isinstance(lowercase, np.bool_):
            lowercase = bool(lowercase)
        if not (isinstance(lowercase, bool) or (isinstance(lowercase, str) and lowercase == "auto")):
            raise ValueError(f"lowercase must be True, False or 'auto', got {lowercase!r}")
        if external is None and subwords is None:
            name = ""
        if external is not None and tokenize is None:
            tokenize = _tokenize_of(external)
        _core.Tokenizer(split, lowercase=False, invalid=invalid, subwords=subwords)  # checks the others
        values = (external, invalid, lowercase, name, split, subwords, tokenize)
        for slot, value in zip(self.__slots__, values, strict=True):
            object.__setattr__(self, slot, value)

    @property
    def split(self) -> str:
        """`words`, `punctuation`, `whitespace`, `subwords` or `external`."""
        return self._split

    @property
    def subwords(self) -> _core.SubwordTokenizer | None:
        """Vocabulary and ids of a tokenizer of Hugging Face in the core; None for others."""
        return self._subwords

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
        """Name under which an external tokenizer is saved, or that of subwords; else empty."""
        return self._name

    @property
    def found_by_name(self) -> bool:
        """Whether the tokenizer can be imported by its name. Imports and downloads nothing."""
        if self._external is None or self._name.startswith(hugging_face.PREFIX) or self._content():
            return True
        module, _, qualname = self._name.partition(":")
        value: Any = sys.modules.get(module)
        for part in qualname.split("."):
            value = getattr(value, part, None)
        # Class methods are new objects at every access.
        return value is self._external or (isinstance(value, types.MethodType) and value == self._external)

    @property
    def code_digest(self) -> str | None:
        """Hash of the code of an external tokenizer that is not in `to_config`.

        Empty: there is none. None: its code cannot be hashed.
        """
        if self._external is None or self._name.startswith(hugging_face.PREFIX) or self._content():
            return ""
        return code_digest(self._external)

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
        return _core.Tokenizer(
            self._split, lowercase=lowercase, invalid=self._invalid, name=self._name, subwords=self._subwords
        )

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
        texts = [_valid(text, errors) for text in texts]
        for i, text in enumerate(texts):
            if not isinstance(text, str):
                raise TypeError(f"{name}[{i}] is {type(text).__name__} ({text!r:.40}); expected str")
        return self._tokenize(texts)

    def to_config(self, *, content: bool = True) -> dict[str, Any]:
        """Return a dictionary for JSON, with the name or the JSON of an external tokenizer.

        Args:
            content: Whether to include the JSON of subwords.
        """
        config: dict[str, Any] = {
            "split": self._split,
            "lowercase": self._lowercase,
            "invalid": self._invalid,
        }
        if self._subwords is not None:
            config |= _options_of(self._subwords)
        elif isinstance(self._external, hugging_face.LimitedTokenizer) and not self._name:
            config |= self._external.limits
        if (self._subwords is None or content) and (text := self._content()):
            config["content"] = text
        return {**config, "name": self._name} if self._name else config

    def join(self, tokens: Sequence[str]) -> str:
        """Return the text of tokens, by the decoder of a tokenizer of Hugging Face, else joined by spaces.

        Args:
            tokens: Tokens of a sentence.

        Raises:
            ImportError: There is a decoder, and the package `tokenizers` is missing.
        """
        if self._subwords is None:
            decoder = getattr(self._external, "decoder", None)
        else:
            decoder = hugging_face.decoder_of(self._subwords.json)
        if decoder is None:
            return " ".join(tokens)
        with rust_errors(ValueError, "the decoder of the tokenizer failed"):
            return str(decoder.decode(list(tokens)))

    def _content(self) -> str:
        """The JSON of subwords, or of a tokenizer of `tokenizers` without a name, else empty."""
        if self._subwords is not None:
            return self._subwords.json
        written = getattr(self._external, "to_str", None)
        return "" if self._name or written is None else str(written())

    @classmethod
    def from_config(
        cls, config: Mapping[str, Any], external: Any = None, *, subwords: Any = None, trust: bool = False
    ) -> Tokenizer:
        """Return the tokenizer of a config.

        Args:
            config: Result of `to_config`.
            external: The tokenizer, if it is not a built-in one.
            subwords: The `_core.SubwordTokenizer` of the config, if that is without its content.
            trust: Whether to import the name in the config, or load it from the Hub, if `external` is None.
                It may be the name of any function. Also whether to accept the JSON of any external tokenizer
                of `tokenizers`; otherwise its time and output must be bounded.

        Raises:
            FormatError: The JSON of a tokenizer is damaged.
            ValueError: The config has unknown keys or values, or a tokenizer that is neither passed nor
                trusted, cannot be found, or may be unbounded.
        """
        keys = {"split", "lowercase", "invalid", "name", "content", *_NO_LIMITS}
        if unknown := set(config) - keys:
            raise ValueError(f"tokenizer: unknown key {min(unknown)!r}; expected {sorted(keys)}")
        options = {
            "lowercase": config.get("lowercase", "auto"),
            "invalid": config.get("invalid", "replace"),
        }
        split, name, content = config.get("split", "words"), config.get("name", ""), config.get("content", "")
        known = split in (*_BUILT_IN, "external", "subwords") if isinstance(split, str) else False
        if not known or not isinstance(name, str) or not isinstance(content, str):
            raise ValueError(f"tokenizer: cannot use {split=!r:.40} with {name=!r:.40} and {content=!r:.40}")
        if split != "external" and external is not None:
            raise ValueError(f"saved with the tokenizer {split!r}, so that no other can be given")
        limits = {key: config[key] for key in _NO_LIMITS if key in config}
        if split == "subwords":
            if subwords is None:
                subwords = _saved_subwords(content, limits)
            return _made(split=split, subwords=subwords, name=name, **options)
        if limits and (split != "external" or not content):
            raise ValueError(f"tokenizer: {min(limits)} is for subwords, not for {split!r}")
        if split != "external":
            return cls(split, **options)
        if external is None and content:
            external = hugging_face.saved_tokenizer(content, trust=trust, again=_AGAIN)
        if limits and hasattr(external, "no_truncation"):
            external = hugging_face.LimitedTokenizer(external, **_checked_limits(**{**_NO_LIMITS, **limits}))
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
                if isinstance(external, str):
                    external = hugging_face.external_tokenizer(external, "it is of Hugging Face")
            except (ImportError, AttributeError, ValueError, OSError) as error:
                raise ValueError(
                    f"saved with the tokenizer {name!r}, which cannot be found ({error}); {_AGAIN}"
                ) from error
        # The core expects tokens, so that a tokenizer of the core in place of an external one must split in
        # Python.
        if isinstance(external, str):
            external = cls(external)
        if isinstance(external, Tokenizer):
            name = name or external._name
            external = external.__call__ if external._external is None else external._external
        with rust_errors(FormatError, "tokenizer: tokenizers cannot read the content"):
            return _made(split="external", external=external, name=name or _name_of(external), **options)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"a Tokenizer cannot be changed; create one with another {name.lstrip('_')}")

    def __delattr__(self, name: str) -> None:
        raise AttributeError("a Tokenizer cannot be changed")

    def __reduce__(self) -> tuple[Any, ...]:
        if self._subwords is not None:
            content = (self._subwords.json, _options_of(self._subwords))
            return _restore_subwords, (*content, self._lowercase, self._invalid, self._name)
        split = self._split if self._external is None else self._external
        return _restore, (split, self._lowercase, self._invalid, self._name)

    def __copy__(self) -> Tokenizer:
        return self

    def __deepcopy__(self, memo: Any) -> Tokenizer:
        return self

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Tokenizer):
            return NotImplemented
        same_external = self._external == other._external or self._name.startswith(hugging_face.PREFIX)
        return self.to_config() == other.to_config() and same_external

    def __hash__(self) -> int:
        return hash((self._split, self._lowercase, self._invalid, self._name))

    def __repr__(self) -> str:
        split = self._split if self._external is None else self._name or repr(self._external)
        options = [f"lowercase={self._lowercase!r}"] if self._lowercase != "auto" else []
        options += [f"invalid={self._invalid!r}"] if self._invalid != "replace" else []
        if self._subwords is None:
            return f"Tokenizer({', '.join([repr(split), *options])})"
        limits = _options_of(self._subwords).items()
        options += [f"{name}={value!r}" for name, value in limits if value != _NO_LIMITS[name]]
        split = repr(self._name) if self._name else f"<{len(self._subwords)} subwords>"
        return f"Tokenizer({', '.join([split, *options])})"


def lowercased(words: Sequence[str]) -> list[str]:
    """Return words in lower case, as tokenizers do it: one code point for one, where `str.lower` differs.

    Args:
        words: Words.
    """
    return Tokenizer("whitespace", lowercase=True)([list(words)])[0]


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


def _checked_limits(keep_unknown: Any, max_tokens: Any, max_characters: Any) -> dict[str, Any]:
    return {
        "keep_unknown": checked_bool("keep_unknown", keep_unknown),
        "max_tokens": checked_int("max_tokens", max_tokens, 0),
        "max_characters": checked_int("max_characters", max_characters, 0),
    }


def _valid(text: Any, errors: str) -> Any:
    """Bytes as a text; a text without lone surrogates, which are no UTF-8, as in the core."""
    if isinstance(text, str) and not text.isascii():
        text = text.encode("utf-8", "surrogatepass")
    return text.decode("utf-8", errors) if isinstance(text, bytes) else text


def _options_of(subwords: _core.SubwordTokenizer) -> dict[str, Any]:
    return {name: getattr(subwords, name) for name in _NO_LIMITS}


def _saved_subwords(content: str, options: Mapping[str, Any]) -> _core.SubwordTokenizer:
    try:
        return _core.SubwordTokenizer(content, **options)
    except (NotImplementedError, TypeError) as error:  # of a later version, or damaged
        raise FormatError(f"tokenizer: {error}") from error


# Names and signatures of these functions are in pickles.
def _restore(split: Any, lowercase: Any, invalid: Any, name: str) -> Tokenizer:
    if isinstance(split, str):
        return Tokenizer(split, lowercase=lowercase, invalid=invalid, name=name)
    return _made(split="external", external=split, lowercase=lowercase, invalid=invalid, name=name)


def _restore_subwords(
    content: str, options: Mapping[str, Any], lowercase: Any, invalid: Any, name: str
) -> Tokenizer:
    subwords = _saved_subwords(content, options)
    return _made(split="subwords", subwords=subwords, lowercase=lowercase, invalid=invalid, name=name)


def _made(**attributes: Any) -> Tokenizer:
    tokenizer = object.__new__(Tokenizer)
    tokenizer._set(**attributes)
    return tokenizer


def _name_of(external: Any) -> str:
    """Name of a tokenizer on its hub, or in a module; empty if it has none."""
    if hub_name := getattr(external, "name_or_path", None):
        return f"{hugging_face.PREFIX}{hub_name}"
    owner = getattr(external, "__self__", None)
    if owner is not None and not isinstance(owner, (type, types.ModuleType)):
        return ""  # a method of an object, which cannot be imported
    qualname = getattr(external, "__qualname__", "")
    module = getattr(external, "__module__", None) or "builtins"
    return f"{module}:{qualname}" if qualname and "<" not in qualname else ""  # <lambda>, <locals>


def _load(name: str) -> Any:
    """The function of a name, or the JSON of a tokenizer of Hugging Face."""
    if name.startswith(hugging_face.PREFIX):
        return hugging_face.load(name.removeprefix(hugging_face.PREFIX))
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


def _tokenize_of(external: Any) -> Callable[[list[str]], list[list[str]]]:
    """A function from texts to their tokens, without special tokens such as [CLS]."""
    if hasattr(external, "encode_batch"):  # tokenizers
        return hugging_face.tokenize_batch(external)
    if hasattr(external, "tokenize"):  # transformers, nltk
        return lambda texts: [list(external.tokenize(text)) for text in texts]
    if callable(external):
        return lambda texts: [_checked(external(text), external) for text in texts]
    raise TypeError(
        f"tokenizer must be 'words', 'punctuation', 'whitespace', a callable or an object with "
        f"encode_batch(texts) or tokenize(text), got {external!r:.40} ({type(external).__name__})"
    )


def _checked(tokens: Any, external: Any) -> list[str]:
    if isinstance(tokens, (str, bytes)) or not isinstance(tokens, Iterable):
        raise TypeError(f"{external!r} returned {type(tokens).__name__}; expected a list of str")
    return list(tokens)
