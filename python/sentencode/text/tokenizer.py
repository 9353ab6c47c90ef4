"""How sentences are cut into tokens."""

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
    """How sentences are cut into tokens: a value, saved with every model.

    `words` writes English as the Penn Treebank does: contractions, punctuation, numbers, hyphens.
    `punctuation` cuts around every character that is neither letter nor digit, and leaves numbers whole.
    `whitespace` is for text that is tokenised already. Anything else is a function of one `str` that returns
    its tokens, or a tokenizer of Hugging Face; these run in Python. A tokenizer of the package `tokenizers`
    that has no name is saved as the JSON that it writes of itself; others by their name alone.

    Args:
        split: `"words"`, `"punctuation"`, `"whitespace"`; a callable; an object with `encode_batch(texts)` or
            `tokenize(text)`, as `tokenizers` and `transformers` have; `"package.module:function"`, imported;
            or `"hf:name"`, which `tokenizers` loads from its hub or from a file. Of a tokenizer of Hugging
            Face a copy is used, without padding and without truncation.
        lowercase: Whether tokens are lower-cased (Unicode's simple lower case). `"auto"` leaves it to the
            encoder, which lower-cases if its vectors hold no upper-case letter; used alone it keeps the case.
        invalid: What is done with bytes that are not UTF-8: `"replace"` (each becomes U+FFFD) or `"refuse"`.
        name: Under which a callable is saved, where its own name does not lead to it. A name in a saved model
            is never imported unasked: see `sentencode.load`.

    Example:
        >>> Tokenizer("whitespace", lowercase=True)("A man plays .")
        ['a', 'man', 'plays', '.']
        >>> Tokenizer("whitespace") == Tokenizer("whitespace", lowercase="auto")
        True
    """

    __slots__ = ("_cut", "_external", "_invalid", "_lowercase", "_name", "_split")

    _split: str
    _lowercase: bool | Literal["auto"]
    _invalid: str
    _name: str
    _external: Any
    _cut: Callable[[list[str]], list[list[str]]] | None  # what an external one does

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
        external = cut = None
        if isinstance(split, Tokenizer):
            split, external, cut, name = split._split, split._external, split._cut, name or split._name
        elif not isinstance(split, str):
            split, external, name = "external", split, name or _name_of(split)
        elif split not in _BUILT_IN:
            split, external, name = "external", _load(split), split
        if external is None:
            name = ""
        elif cut is None:
            cut = _splitter(external)
        _core.Tokenizer(split, lowercase=False, invalid=invalid)  # says what is wrong with the rest
        for slot, value in zip(self.__slots__, (cut, external, invalid, lowercase, name, split), strict=True):
            object.__setattr__(self, slot, value)

    @property
    def split(self) -> str:
        """`words`, `punctuation`, `whitespace` or `external`."""
        return self._split

    @property
    def lowercase(self) -> bool | Literal["auto"]:
        """Whether tokens are lower-cased, or `"auto"`."""
        return self._lowercase

    @property
    def invalid(self) -> str:
        """`replace` or `refuse`."""
        return self._invalid

    @property
    def name(self) -> str:
        """Under which an external tokenizer is saved; else empty."""
        return self._name

    @property
    def found_by_name(self) -> bool:
        """Whether the name leads to the tokenizer. Nothing is imported to find out, and no hub is asked."""
        if self._external is None or self._name.startswith(_HUGGING_FACE) or self._content():
            return True
        module, _, qualname = self._name.partition(":")
        found: Any = sys.modules.get(module)
        for part in qualname.split("."):
            found = getattr(found, part, None)
        # A class's own methods are made anew whenever they are asked for.
        return found is self._external or (isinstance(found, types.MethodType) and found == self._external)

    @overload
    def __call__(self, sentences: str | bytes) -> list[str]: ...
    @overload
    def __call__(self, sentences: Iterable[Any]) -> list[list[str]]: ...
    def __call__(self, sentences: Any) -> list[str] | list[list[str]]:
        """The tokens of a sentence, or of each of several.

        Args:
            sentences: One sentence, or whatever holds several.

        Returns:
            A list of tokens for one sentence, else a list of such lists.

        Raises:
            TypeError: Something among them is no text.
            ValueError: Bytes are not UTF-8, and `invalid` is `"refuse"`.
        """
        core = self.core()
        if is_single(sentences):
            return core(self.prepare([sentences]))[0]
        return core(self.prepare(sentences))

    def core(self, lowercase: bool = False) -> _core.Tokenizer:
        """The core's form of this value.

        Args:
            lowercase: What `"auto"` shall mean.
        """
        wanted = lowercase if self._lowercase == "auto" else self._lowercase
        return _core.Tokenizer(self._split, lowercase=wanted, invalid=self._invalid, name=self._name)

    def prepare(self, sentences: Any, name: str = "sentences") -> Batch:
        """What the core can go on with: an external tokenizer cuts sentences here, the others do it there.

        Args:
            sentences: Whatever holds several sentences. Token lists stay as they are.
            name: What the argument is called in errors.

        Returns:
            A batch for the core.
        """
        batch = to_batch(sentences, name)
        if self._cut is None:
            return batch
        texts = batch.to_list() if isinstance(batch, _core.SentenceBatch) else batch
        if texts and not is_single(texts[0]):
            return texts
        errors = "strict" if self._invalid == "refuse" else "replace"
        texts = [text.decode("utf-8", errors) if isinstance(text, bytes) else text for text in texts]
        for i, text in enumerate(texts):
            if not isinstance(text, str):
                raise TypeError(f"{name}[{i}] is {type(text).__name__} ({text!r:.40}); expected str")
        return self._cut(texts)

    def to_config(self) -> dict[str, Any]:
        """A dictionary for JSON. An external tokenizer is in it by its name only."""
        config = {"split": self._split, "lowercase": self._lowercase, "invalid": self._invalid}
        if content := self._content():
            config["content"] = content
        return {**config, "name": self._name} if self._name else config

    def join(self, tokens: Sequence[str]) -> str:
        """The text of tokens.

        Args:
            tokens: Of a sentence.

        Returns:
            What a tokenizer of `tokenizers` with a decoder makes of them; else a space is between them.
        """
        decoder = getattr(self._external, "decoder", None)
        if decoder is None:
            return " ".join(tokens)
        with rust_errors(ValueError, "the decoder of the tokenizer failed"):
            return str(decoder.decode(list(tokens)))

    def _content(self) -> str:
        """The JSON of a tokenizer of `tokenizers` that no name leads to; else nothing."""
        written = getattr(self._external, "to_str", None)
        return "" if self._name or written is None else str(written())

    @classmethod
    def from_config(
        cls, config: Mapping[str, Any], external: Any = None, *, trust: bool = False
    ) -> Tokenizer:
        """The tokenizer that `to_config` described.

        Args:
            config: What `to_config` returned.
            external: The tokenizer itself, where it is not one of the built-in ones.
            trust: Whether a name that stands in the config may be imported, or asked for on the hub, when
                `external` is not given. It can name any function, also one that does harm. Likewise whether
                the JSON of a tokenizer of `tokenizers` may be anything: without trust, it must bound its work
                and output.

        Raises:
            FormatError: The JSON of a tokenizer is damaged.
            ValueError: The config has unknown keys or values, or names a tokenizer that is neither given nor
                trusted, or that cannot be found; or nothing bounds the work of its tokenizer.
        """
        known = {"split", "lowercase", "invalid", "name", "content"}
        if unknown := set(config) - known:
            raise ValueError(f"tokenizer: unknown key {min(unknown)!r}; expected {sorted(known)}")
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
        with rust_errors(FormatError, "tokenizer: content is none that tokenizers reads again"):
            given = cls(external)
        # Who reads the config expects tokens: a built-in one that stands in must cut here as well.
        return cls(given.__call__ if given._external is None else given, name=name, **options)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"a Tokenizer never changes; make a new one with another {name.lstrip('_')}")

    def __delattr__(self, name: str) -> None:
        raise AttributeError("a Tokenizer never changes")

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
    """The tokenizer that two parameters of an encoder ask for together.

    Args:
        owner: The encoder's class, for a message.
        tokenizer: A `Tokenizer`, what one is made of, or "auto": what finds the words of the encoder's
            vectors.
        compounds: Whether these hold punctuation.
        lowercase: Whether it lower-cases; "auto" leaves that to the tokenizer.

    Raises:
        ValueError: If the two contradict each other.
    """
    if isinstance(tokenizer, str) and tokenizer == "auto":
        tokenizer = "words" if compounds else "punctuation"
    if not isinstance(tokenizer, Tokenizer):
        return Tokenizer(tokenizer, lowercase=lowercase)
    own = tokenizer.lowercase
    if own == "auto":  # it leaves that to the encoder
        return Tokenizer(tokenizer, lowercase=lowercase, invalid=tokenizer.invalid)  # type: ignore[arg-type]
    if lowercase not in ("auto", own):
        raise ValueError(f"{owner}: lowercase={lowercase!r} contradicts its {tokenizer!r}")
    return tokenizer


def _restore(split: Any, lowercase: Any, invalid: Any, name: str) -> Tokenizer:
    return Tokenizer(split, lowercase=lowercase, invalid=invalid, name=name)


def _name_of(external: Any) -> str:
    """The name that leads to a tokenizer again, on its hub or in a module. Empty when there is none."""
    if hub_name := getattr(external, "name_or_path", None):
        return f"{_HUGGING_FACE}{hub_name}"
    owner = getattr(external, "__self__", None)
    if owner is not None and not isinstance(owner, (type, types.ModuleType)):
        return ""  # a method of some object, which no name leads to
    qualname = getattr(external, "__qualname__", "")
    module = getattr(external, "__module__", None) or "builtins"
    return f"{module}:{qualname}" if qualname and "<" not in qualname else ""  # <lambda>, <locals>


def _load(name: str) -> Any:
    if name.startswith(_HUGGING_FACE):
        return _load_hugging_face(name.removeprefix(_HUGGING_FACE))
    module, colon, qualname = name.partition(":")
    if not colon:
        raise ValueError(
            f"unknown tokenizer {name!r}; expected 'words', 'punctuation', 'whitespace', "
            "'module:function', 'hf:name' or "
            "a callable"
        )
    found = importlib.import_module(module)
    for part in qualname.split("."):
        found = getattr(found, part)
    return found


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
        with rust_errors(FormatError, "tokenizer: content is none that tokenizers reads"):
            made = tokenizers.Tokenizer.from_str(content)
            if not trust:
                check_added_tokens(content, made)
        return made
    except FormatError:
        raise
    except ValueError as error:
        raise ValueError(
            f"saved with a tokenizer that could hang, or fill the memory: {error}; {_AGAIN}, or, if you "
            "trust the file, se.load(path, trust_tokenizer=True)"
        ) from None


def _splitter(external: Any) -> Callable[[list[str]], list[list[str]]]:
    """A function from texts to their tokens, without marks that a model would add such as [CLS]."""
    if hasattr(external, "encode_batch"):  # tokenizers
        if hasattr(external, "no_padding"):
            # Padding would make a sentence's tokens depend on the others, truncation lose some of them.
            external = copy.deepcopy(external)
            external.no_padding()
            external.no_truncation()
            external.post_processor = (
                None  # adds what is not wanted, or repeats the text as often as it likes
            )
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
