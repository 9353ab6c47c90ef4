"""Networks of C++ as modules: their constructors, signatures and docstrings come from its options."""

from __future__ import annotations

import inspect
import json
import re
import textwrap
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, NamedTuple

from torch import Tensor

from .. import _nn
from ..nn.module import CppModule

__all__ = ["CppNetwork", "Option", "documented", "options_of"]

_TYPES = {"bool": "bool", "int": "int", "float": "float", "str": "str", "ints": "Sequence[int]"}
_WIDTH = 110
_RAISES = """
    Raises:
        ValueError: If an option is out of range, or does not fit the others.
"""


class Option(NamedTuple):
    """An option of a network.

    Attributes:
        name: Its name.
        default: Its default.
        annotation: Its type.
        text: Its description.
    """

    name: str
    default: Any
    annotation: str
    text: str


def options_of(network: str) -> dict[str, Option]:
    """The options of a network of C++ by name. Those whose default is out of range have no default.

    Args:
        network: The network's class.
    """
    options = {}
    for option in json.loads(_nn.described_options(network)):
        default, choices = option["default"], option["choices"]
        required = option["low"] is not None and option["kind"] == "int" and default < option["low"]
        options[option["name"]] = Option(
            option["name"],
            inspect.Parameter.empty if required else tuple(default) if isinstance(default, list) else default,
            f"Literal[{', '.join(map(repr, choices))}]" if choices else _TYPES[option["kind"]],
            option["text"],
        )
    return options


def documented(doc: str | None, options: Iterable[Option], more: str = "") -> str | None:
    """A class's docstring with the descriptions of options instead of the line "{options}".

    Args:
        doc: The docstring. An option that it describes itself is left out.
        options: The options.
        more: Text after them.
    """
    if doc is None or (line := re.search(r"^( *)\{options\}\n", doc, re.MULTILINE)) is None:
        return doc
    indent = line[1]
    entries = [
        textwrap.fill(
            f"{option.name}: {option.text}",
            _WIDTH,
            initial_indent=indent,
            subsequent_indent=f"{indent}    ",
            break_on_hyphens=False,
        )
        for option in options
        if re.search(rf"^{indent}{option.name}:", doc, re.MULTILINE) is None
    ]
    return doc.replace(line[0], "".join(f"{entry}\n" for entry in entries) + more)


class CppNetwork(CppModule):
    """A network of C++ that encodes sentences. Its keyword arguments are the options of the class in C++.

    Raises:
        TypeError: If there is no such option, one is missing, or has the wrong type.
        ValueError: If an option is out of range.
    """

    options: ClassVar[Mapping[str, Option]] = {}
    word_tables: ClassVar[Mapping[str, str]] = {}
    """The weights that have a row for each word, with the option that is the number of rows."""
    corpus_tensors: ClassVar[tuple[str, ...]] = ()
    """Statistics of the training data, which are not copied to an encoder of another corpus."""
    _cpp_name: ClassVar[str]

    def __init_subclass__(cls, **arguments: Any) -> None:
        super().__init_subclass__(**arguments)
        if cls.__module__.startswith("sentencode.") and hasattr(_nn, cls.__name__):
            try:
                cls.options = options_of(cls.__name__)
            except ValueError:  # an abstract class
                return
            cls._cpp_name = cls.__name__
            cls.__doc__ = documented(cls.__doc__, cls.options.values(), _RAISES)
            cls.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
                [
                    inspect.Parameter(
                        option.name,
                        inspect.Parameter.KEYWORD_ONLY,
                        default=option.default,
                        annotation=option.annotation,
                    )
                    for option in cls.options.values()
                ]
            )

    def __init__(self, **options: Any) -> None:
        if not self.options:
            raise TypeError(f"{type(self).__name__} is an abstract class: use one of its subclasses")
        for name in options:
            if name not in self.options:
                raise TypeError(f"{type(self).__name__} has no option {name!r}")
        config = {}
        for name, option in self.options.items():
            value = options.get(name, option.default)
            if value is inspect.Parameter.empty:
                raise TypeError(f"{type(self).__name__}: option {name!r} is missing")
            config[name] = tuple(value) if isinstance(value, list) else value
        super().__init__(getattr(_nn, self._cpp_name), **config)

    def __setstate__(self, state: dict[str, Any]) -> None:
        # Earlier versions lack options.
        empty = inspect.Parameter.empty
        known = {n: option.default for n, option in self.options.items() if option.default is not empty}
        super().__setstate__({**state, "_config": {**known, **state["_config"]}})

    @property
    def dim(self) -> int:
        """Dimensions of a sentence embedding."""
        dim: int = self._cpp.dim
        return dim

    def forward(self, x: Tensor, lengths: Tensor) -> Tensor:
        """The same as `encode`."""
        z: Tensor = self._cpp.encode(x, lengths)
        return z

    def encode(self, x: Tensor, lengths: Tensor) -> Tensor:
        """Return the sentence embeddings. It calls the network, so that its hooks run.

        Words need not be those of a word table: every word vector can be encoded.

        Args:
            x: [batch, time, features], the word vectors, padded at the end; what `word_rows` of C++ returns
                if the network reads characters. Autoencoders read the vector of `end` as each sentence's
                last.
            lengths: [batch], int64, of sentences, with their ends if there are any.

        Returns:
            [batch, dim].

        Raises:
            ValueError: If shapes or types do not fit.
        """
        z: Tensor = self(x, lengths)
        return z
