"""Examples as ids in a mapped file."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from sentencode import _core

from ..cache import cache_dir, limit_cache
from ..checks import checked_bool, checked_int, checked_str
from ..files import make_folder
from ..text.inputs import Progress
from ..text.tokenizer import Tokenizer, lowercased
from ..text.vocabulary import Vocabulary
from .example_source import ExampleSource, Labels, description, field_names

__all__ = ["Examples"]

_SHARD = 1_000_000
TooLong = Literal["drop", "truncate"]


class Examples:
    """Training data: examples with named token fields and maybe a label, as ids in a mapped file.

    An example may be a sentence (one field, `tokens`), a sentence and the next one (`tokens`, `next`), a pair
    with a label (`first`, `second`), or a source and its translation. The file is read once when it is
    opened, and memory does not grow with it. Make one with `build` or `open`.

    Example:
        >>> import tempfile, os
        >>> from sentencode import Vocabulary
        >>> from sentencode.training import Examples
        >>> sentences = ["a man , a plan", "a canal", "panama"]
        >>> vocabulary = Vocabulary({"a": 4, ",": 1, "man": 1, "plan": 1})
        >>> folder = tempfile.TemporaryDirectory()
        >>> path = os.path.join(folder.name, "tokens.examples")
        >>> examples = Examples.build(sentences, vocabulary, "whitespace", path=path, end="</s>")
        >>> len(examples), examples.fields, examples.vocabulary_size(), examples.symbols()
        (3, ('tokens',), 6, {'</s>': 4, '<unk>': 5})
        >>> examples[0]
        {'tokens': array([0, 2, 1, 0, 3, 4], dtype=int32)}
        >>> Examples.open(path)[1]
        {'tokens': array([0, 5, 4], dtype=int32)}
        >>> folder.cleanup()
    """

    __slots__ = ("_config", "_fields", "_parts", "core", "numbers")

    core: _core.ExampleFile
    numbers: npt.NDArray[np.uint32] | None
    """Indices in the file of the examples of a `part`; None: all."""

    def __init__(self, core: _core.ExampleFile, numbers: npt.NDArray[np.uint32] | None = None) -> None:
        self.core = core
        self.numbers = numbers
        self._config: dict[str, Any] = json.loads(core.config)
        self._fields: dict[str, Any] = {field["name"]: field for field in self._config["fields"]}
        self._parts = {name: (core.ids(name), core.offsets(name)) for name in self._fields}

    @classmethod
    def open(cls, path: str | os.PathLike[str], *, verify: bool = True) -> Examples:
        """Opens a file of examples and checks its content.

        Args:
            path: File.
            verify: Whether to verify its checksums, too.

        Raises:
            OSError: It cannot be read.
            FormatError: It is no file of examples, is damaged, or comes from a later version.
        """
        return cls(_core.ExampleFile.open(path, checked_bool("verify", verify)))

    @classmethod
    def build(
        cls,
        source: Any,
        vocabulary: Vocabulary | Mapping[str, Vocabulary],
        tokenizer: Any = "words",
        *,
        path: str | os.PathLike[str] | None = None,
        fields: Sequence[str] | None = None,
        labels: Labels | None = None,
        neighbours: Mapping[str, int] | None = None,
        following_words: int | None = None,
        begin: str | Mapping[str, str | None] | None = None,
        end: str | Mapping[str, str | None] | None = None,
        unknown: str = "<unk>",
        unknown_words: Literal["symbol", "drop_word", "drop_example"] = "symbol",
        min_length: int | Mapping[str, int] = 1,
        max_length: int | Mapping[str, int | None] | None = None,
        too_long: TooLong | Mapping[str, TooLong] = "drop",
        shard_examples: int = _SHARD,
        on_progress: Progress | None = None,
    ) -> Examples:
        """Tokenizes a corpus and writes the ids of its words to a file, or opens that file.

        It uses all threads and constant memory. A file that was built from the same texts in the same way is
        opened instead, whatever the names of the source files. A build that was killed resumes with its first
        unfinished shard; simultaneous builds wait for each other.

        Args:
            source: Sentences: a Corpus, the path of a text file, a folder or a glob, a list or other
                iterable. A blank line, or an empty sentence, ends a document. For several fields: an iterable
                of tuples with one text for each field, or a dictionary from each field's name to files that
                are aligned line by line.
            vocabulary: Vocabulary, whose order of words defines the ids; or one for each field.
            tokenizer: `Tokenizer`, or an argument of it; or one for each field. Its lowercase="auto" depends
                on whether the vocabulary has upper-case letters. A tokenizer of your own is identified by its
                code and that of functions that it calls; if that is impossible, all texts are tokenized an
                additional time to compare them.
            path: File to write. By default it is in `cache_dir()` with its key as name.
            fields: Names of a tuple's texts; by default `tokens`, or those of the dictionary.
            labels: Type of the labels, if tuples end with one.
            neighbours: Additional fields, each the sentence at an offset in the document: `{"next": 1}`,
                `{"previous": -1, "next": 1}`. Sentences without them are dropped.
            following_words: Number of words of an additional field, `following`, after a sentence: across
                sentences but not beyond the document, at whose end there may be fewer.
            begin: Symbol before each example, or one for each field. Symbols that are not in the vocabulary
                get the ids after it.
            end: Symbol after each example, or one for each field.
            unknown: Symbol for unknown words.
            unknown_words: Treatment of unknown words: `"symbol"`, `"drop_word"` or `"drop_example"`.
            min_length: Minimum number of words of an example, without begin, end and dropped words.
            max_length: Maximum number of words. None: no limit.
            too_long: Treatment of longer examples: `"drop"` or `"truncate"`, or one for each field.
            shard_examples: Number of examples in memory, and lost at most when a build is killed.
            on_progress: Called after each batch with the amount read and the total: bytes of files, else
                rows.

        Warns:
            UserWarning: An existing file is damaged and is built again.

        Raises:
            ValueError: An argument is invalid, or no example is left; the message says why.
            FormatError: Aligned files differ in their number of lines.

        Example:
            Sentences of 4 to 32 known words:

            >>> import tempfile, os
            >>> from sentencode import Vocabulary
            >>> texts = ["a man a plan", "a man", "a man a canal"]
            >>> vocabulary = Vocabulary({"a": 4, "man": 3, "plan": 1})
            >>> folder = tempfile.TemporaryDirectory()
            >>> examples = Examples.build(texts, vocabulary, path=os.path.join(folder.name, "file"),
            ...     unknown_words="drop_example", min_length=4, max_length=32)
            >>> len(examples), examples.rows
            (1, {'examples': 1, 'no_neighbour': 0, 'read': 3, 'too_long': 0, 'too_short': 1, 'unknown': 1})
            >>> folder.cleanup()
        """
        names = field_names(source, fields)
        tokenizers = {
            name: _tokenizer(
                _for_field("tokenizer", tokenizer, name), _for_field("vocabulary", vocabulary, name)
            )
            for name in names
        }

        def options_of(name: str, source_field: str, bounded: bool = True) -> _core.FieldOptions:
            maximum = _for_field("max_length", max_length, name) if bounded else None
            words = _for_field("vocabulary", vocabulary, source_field)
            if not isinstance(words, Vocabulary):
                raise TypeError(f"vocabulary must be a Vocabulary, got {type(words).__name__}")
            return _core.FieldOptions(
                name=name,
                tokenizer=tokenizers[source_field][1],
                vocabulary=words.core,
                begin=_symbol("begin", _for_field("begin", begin, name)),
                end=_symbol("end", _for_field("end", end, name)),
                unknown_words=checked_str("unknown_words", unknown_words),
                unknown=checked_str("unknown", unknown),
                min_length=checked_int("min_length", _for_field("min_length", min_length, name), 0),
                max_length=0 if maximum is None else checked_int("max_length", maximum, 1),
                too_long=checked_str("too_long", _for_field("too_long", too_long, name)),
            )

        context = [
            _core.Neighbour(options_of(name, names[0]), offset=_offset(name, offset), words=0)
            for name, offset in (neighbours or {}).items()
        ]
        if following_words is not None:
            count = checked_int("following_words", following_words, 1)
            context.append(_core.Neighbour(options_of("following", names[0], False), offset=1, words=count))
        options = _core.ExampleOptions(
            fields=[options_of(name, name) for name in names],
            neighbours=context,
            labels=labels or "none",
            source=description(source),
            shard_examples=checked_int("shard_examples", shard_examples, 1),
        )
        rows = ExampleSource(source, names, labels, [tokenizers[name][0] for name in names])
        key = "" if rows.digest is None else _core.examples_key(options, rows.digest)
        if path is None:
            if not key:
                raise ValueError(
                    "source can be read only once, so its examples have no name in the cache; pass path=, or "
                    "a list, a file, or a function that returns a new iterator"
                )
            path = _cache_folder() / f"{key}.examples"
            with suppress(OSError):  # the time of its last use
                os.utime(path)
            limit_cache(path.parent, "*.examples")
        # Closed also after an error, whose traceback would keep the builder and its lock.
        with closing(_core.ExampleBuilder(path, options, key)) as builder:
            if builder.damage:
                warnings.warn(f"{builder.damage}; the examples are built again", UserWarning, stacklevel=2)
            if rows.files is not None:
                return cls(_core.build_examples(builder, rows.files, on_progress))
            if not builder.done:
                rows.add_to(builder, on_progress)
            return cls(builder.finish())

    def part(self, numbers: npt.ArrayLike) -> Examples:
        """Return some of the examples, such as those for validation. They stay in the same file.

        Args:
            numbers: Their indices in the file, ascending.

        Raises:
            ValueError: If indices are not ascending, or there is no such example.

        Example:
            >>> import tempfile, os
            >>> from sentencode import Vocabulary
            >>> from sentencode.training import Examples
            >>> folder = tempfile.TemporaryDirectory()
            >>> path = os.path.join(folder.name, "file")
            >>> examples = Examples.build(["a", "b a", "b"], Vocabulary({"a": 2, "b": 2}), path=path)
            >>> part = examples.part([0, 2])
            >>> len(part), part[1]
            (2, {'tokens': array([1], dtype=int32)})
            >>> folder.cleanup()
        """
        chosen = np.asarray(numbers)
        if chosen.ndim != 1 or chosen.dtype.kind not in "iu" or len(chosen) == 0:
            raise ValueError(f"numbers must be indices of examples, got {chosen.dtype} {list(chosen.shape)}")
        if not (
            chosen[0] >= 0 and chosen[-1] < len(self.core) and np.all(np.diff(chosen.astype(np.int64)) > 0)
        ):
            raise ValueError(f"numbers must be ascending, and below the number of examples, {len(self.core)}")
        return Examples(self.core, chosen.astype(np.uint32))

    @property
    def fields(self) -> tuple[str, ...]:
        """Names of the fields; by default, batches are grouped by the length of the first."""
        return tuple(self._fields)

    @property
    def path(self) -> Path:
        """Path of the file."""
        return Path(self.core.path)

    @property
    def key(self) -> str:
        """Hash of all that the content depends on; "" if the source could be read only once."""
        return self.core.key

    @property
    def config(self) -> dict[str, Any]:
        """Vocabulary digests, tokenizers, symbols, options and source of the file."""
        return dict(json.loads(self.core.config))

    @property
    def rows(self) -> dict[str, int]:
        """Numbers of rows of the source that were read, used and dropped."""
        return dict(self._config["rows"])

    @property
    def labels(self) -> npt.NDArray[np.int64] | npt.NDArray[np.float32] | None:
        """Labels [n], of all examples a read-only view of the file, or None."""
        labels: npt.NDArray[np.int64] | npt.NDArray[np.float32] | None = self.core.labels
        return labels if labels is None or self.numbers is None else labels[self.numbers]

    def vocabulary_size(self, field: str | None = None) -> int:
        """Return the number of words and symbols of a field, by default the first."""
        return self.core.vocabulary_size(self._name(field))

    def symbols(self, field: str | None = None) -> dict[str, int]:
        """Return the symbols of a field's vocabulary and their ids."""
        symbols: dict[str, int] = self._fields[self._name(field)]["symbols"]
        return dict(sorted(symbols.items(), key=lambda item: item[1]))

    def ids(self, field: str | None = None) -> npt.NDArray[np.int32]:
        """Return the concatenated ids of all examples of the file, a read-only view."""
        return self._parts[self._name(field)][0]

    def lengths(self, field: str | None = None) -> npt.NDArray[np.int64]:
        """Return the number of ids of each example in a field [n]."""
        lengths = np.diff(self._parts[self._name(field)][1])
        return lengths if self.numbers is None else lengths[self.numbers]

    def example(self, i: int) -> dict[str, Any]:
        """Return the ids of each field, read-only views of the file, and the `label` if there is one."""
        at = checked_int("i", i, -len(self), len(self) - 1) % len(self)
        if self.numbers is not None:
            at = int(self.numbers[at])
        example: dict[str, Any] = {
            name: ids[offsets[at] : offsets[at + 1]] for name, (ids, offsets) in self._parts.items()
        }
        if (labels := self.core.labels) is not None:
            example["label"] = labels[at].item()
        return example

    def __getitem__(self, i: int) -> dict[str, Any]:
        try:
            return self.example(i)
        except ValueError as error:
            raise IndexError(str(error)) from None

    def __len__(self) -> int:
        return len(self.core) if self.numbers is None else len(self.numbers)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return (self.example(i) for i in range(len(self)))

    def __reduce__(self) -> tuple[Any, ...]:
        return _reopened, (self.core.path, self.numbers)

    def __repr__(self) -> str:
        return f"Examples({self.core.path!r}, {len(self):,} of {', '.join(self.fields)})"

    def _name(self, field: str | None) -> str:
        if field is None:
            return next(iter(self._fields))
        if field not in self._fields:
            raise ValueError(f"examples have no field {field!r}; they have {sorted(self._fields)}")
        return field


def _reopened(path: str, numbers: npt.NDArray[np.uint32] | None) -> Examples:
    examples = Examples.open(path)
    return examples if numbers is None else examples.part(numbers)


def _cache_folder() -> Path:
    """The folder of the cache for examples."""
    folder = cache_dir() / "examples"
    try:
        make_folder(folder)
    except OSError as error:
        raise OSError(
            error.errno,
            f"{error.strerror}: the cache folder of training examples; sentencode.set_cache_dir sets another",
            str(folder),
        ) from None
    return folder


def _for_field(what: str, value: Any, field: str) -> Any:
    """Return the value of an option for one field."""
    if isinstance(value, Mapping) and not isinstance(value, Vocabulary):
        if field not in value:
            raise ValueError(f"{what} has no value for the field {field!r}, only for {list(value)}")
        return value[field]
    return value


def _tokenizer(argument: Any, vocabulary: Any) -> tuple[Tokenizer, _core.Tokenizer]:
    tokenizer = argument if isinstance(argument, Tokenizer) else Tokenizer(argument)
    auto = tokenizer.lowercase == "auto"
    lower = auto and isinstance(vocabulary, Vocabulary) and lowercased(list(vocabulary)) == list(vocabulary)
    return tokenizer, tokenizer.core(lowercase=lower)


def _symbol(what: str, symbol: str | None) -> str:
    return "" if symbol is None else checked_str(what, symbol)


def _offset(name: str, offset: Any) -> int:
    return checked_int(f"neighbours[{name!r}]", offset, -(2**31), 2**31)
