"""Examples as ids in a mapped file."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from sentencode import _core

from ..cache import cache_dir
from ..checks import checked_bool, checked_int, checked_str
from ..code_digest import code_digest
from ..files import as_name, make_folder
from ..text.corpus import Corpus
from ..text.inputs import TEXT_AT_ONCE, Batch, Progress, counted_from, gathered, to_batch
from ..text.tokenizer import Tokenizer
from ..text.vocabulary import Vocabulary

__all__ = ["Examples"]

_ROWS = 16384  # in memory at once
_SHARD = 1_000_000
Labels = Literal["int64", "float32"]
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

    __slots__ = ("_config", "_fields", "_parts", "core")

    core: _core.ExampleFile

    def __init__(self, core: _core.ExampleFile) -> None:
        self.core = core
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
        names = _names(source, fields)
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
            source=_description(source),
            shard_examples=checked_int("shard_examples", shard_examples, 1),
        )
        rows = _Rows(source, names, labels, [tokenizers[name][0] for name in names])
        key = "" if rows.digest is None else _core.examples_key(options, rows.digest)
        if path is None:
            if not key:
                raise ValueError(
                    "source can be read only once, so its examples have no name in the cache; pass path=, or "
                    "a list, a file, or a function that returns a new iterator"
                )
            path = make_folder(cache_dir() / "examples") / f"{key}.examples"
        builder = _core.ExampleBuilder(path, options, key)
        if builder.damage:
            warnings.warn(f"{builder.damage}; the examples are built again", UserWarning, stacklevel=2)
        if rows.files is not None:
            return cls(_core.build_examples(builder, rows.files, on_progress))
        if not builder.done:
            rows.add_to(builder, on_progress)
        return cls(builder.finish())

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
        """Labels [n], a read-only view of the file, or None."""
        labels: npt.NDArray[np.int64] | npt.NDArray[np.float32] | None = self.core.labels
        return labels

    def vocabulary_size(self, field: str | None = None) -> int:
        """Return the number of words and symbols of a field, by default the first."""
        return self.core.vocabulary_size(self._name(field))

    def symbols(self, field: str | None = None) -> dict[str, int]:
        """Return the symbols of a field's vocabulary and their ids."""
        symbols: dict[str, int] = self._fields[self._name(field)]["symbols"]
        return dict(sorted(symbols.items(), key=lambda item: item[1]))

    def ids(self, field: str | None = None) -> npt.NDArray[np.int32]:
        """Return the concatenated ids of all examples, a read-only view of the file."""
        return self._parts[self._name(field)][0]

    def lengths(self, field: str | None = None) -> npt.NDArray[np.int64]:
        """Return the number of ids of each example in a field [n]."""
        return np.diff(self._parts[self._name(field)][1])

    def example(self, i: int) -> dict[str, Any]:
        """Return the ids of each field, read-only views of the file, and the `label` if there is one."""
        at = checked_int("i", i, -len(self), len(self) - 1) % len(self)
        example: dict[str, Any] = {
            name: ids[offsets[at] : offsets[at + 1]] for name, (ids, offsets) in self._parts.items()
        }
        if (labels := self.labels) is not None:
            example["label"] = labels[at].item()
        return example

    def __getitem__(self, i: int) -> dict[str, Any]:
        try:
            return self.example(i)
        except ValueError as error:
            raise IndexError(str(error)) from None

    def __len__(self) -> int:
        return len(self.core)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return (self.example(i) for i in range(len(self)))

    def __reduce__(self) -> tuple[Any, ...]:
        return Examples.open, (self.core.path,)

    def __repr__(self) -> str:
        return f"Examples({self.core.path!r}, {len(self):,} of {', '.join(self.fields)})"

    def _name(self, field: str | None) -> str:
        if field is None:
            return next(iter(self._fields))
        if field not in self._fields:
            raise ValueError(f"examples have no field {field!r}; they have {sorted(self._fields)}")
        return field


class _Chunk(NamedTuple):
    """Some rows of input, with a batch for each field."""

    fields: list[Batch]
    starts_document: list[bool]
    labels: list[Any]


class _Rows:
    """The source of `build`, as rows, or as files that C++ reads."""

    def __init__(
        self, source: Any, names: Sequence[str], labels: Labels | None, tokenizers: list[Tokenizer]
    ) -> None:
        self.files: list[list[str]] | None = None
        self.digest: str | None = None  # None: the source can be read only once
        self._names, self._labels, self._tokenizers = names, labels, tokenizers
        # If the code of a tokenizer cannot be compared, its tokens are.
        codes = [_code_of(tokenizer) for tokenizer in tokenizers]
        comparable = None not in codes
        self._corpora: list[Corpus] | None = None
        self._tuples: Any = None
        if isinstance(source, Mapping):
            aligned = len(names) > 1
            self._corpora = [
                Corpus.from_files(
                    [as_name(part)] if isinstance(part, (str, bytes, os.PathLike)) else part,
                    keep_empty=aligned,
                )
                for part in (source[name] for name in names)
            ]
        elif len(names) == 1 and labels is None:
            self._corpora = [source if isinstance(source, Corpus) else Corpus(source)]
        elif isinstance(source, (str, bytes, os.PathLike)):
            raise TypeError(f"source must hold tuples of {_shown(names, labels)}, got {source!r:.80}")
        else:
            self._tuples = source
        if labels is not None and self._corpora is not None:
            raise ValueError("labels require tuples; files have none")

        files = [corpus.files for corpus in self._corpora or ()]
        regular = bool(files) and all(
            of_field and all(os.path.isfile(file) for file in of_field) for of_field in files
        )
        if self._corpora is not None and regular and comparable:
            self.digest = _core.digest_of_files(files)
            keeps_empty = len(names) == 1 and self._corpora[0].keep_empty
            if keeps_empty:
                self.digest += "+empty"
            elif all(tokenizer.split != "external" for tokenizer in tokenizers):
                self.files = files
        elif regular or self._is_repeatable():
            content, row = _core.ContentDigest(), 0
            for chunk in self._chunks(None):
                with counted_from(row):
                    for tokenizer, batch in zip(tokenizers, chunk.fields, strict=True):
                        content.add(batch if comparable else tokenizer.prepare(batch))
                row += len(chunk.starts_document)
                content.add_bytes(np.array(chunk.starts_document, np.bool_).tobytes())
                if labels is not None:
                    content.add_bytes(np.array(chunk.labels, labels).tobytes())
            self.digest = content.hex()
        if self.digest is not None and comparable and any(codes):
            self.digest += f"+code:{','.join(map(str, codes))}"

    def _is_repeatable(self) -> bool:
        source = self._tuples if self._corpora is None else self._corpora[0]._source
        return not isinstance(source, Iterator) and (self._corpora is None or source is not None)

    def add_to(self, builder: _core.ExampleBuilder, on_progress: Progress | None) -> None:
        """Adds all rows that the builder does not have in shards."""
        skip, row = builder.first_row, 0
        for chunk in self._chunks(on_progress):
            count = len(chunk.starts_document)
            drop = min(max(skip - row, 0), count)
            row += count
            if drop == count:
                continue
            labels = None if self._labels is None else np.array(chunk.labels[drop:], self._labels)
            with counted_from(row - count + drop):
                batches = [
                    tokenizer.prepare(list(_texts(batch))[drop:] if drop else batch)
                    for tokenizer, batch in zip(self._tokenizers, chunk.fields, strict=True)
                ]
                builder.add(
                    batches,
                    starts_document=chunk.starts_document[drop:],
                    int_labels=labels if self._labels == "int64" else None,
                    float_labels=labels if self._labels == "float32" else None,
                )

    def _chunks(self, on_progress: Progress | None) -> Iterator[_Chunk]:
        if self._corpora is None:
            yield from self._tuple_chunks(on_progress)
        elif len(self._corpora) == 1:
            for batch, starts in self._corpora[0]._read(_ROWS, on_progress, TEXT_AT_ONCE):
                yield _Chunk([batch], list(starts), [])
        else:
            readers = [  # limited by rows alone, so that they stay aligned
                corpus._read(_ROWS, on_progress if i == 0 else None, None)
                for i, corpus in enumerate(self._corpora)
            ]
            while True:
                batches: list[tuple[Batch, list[bool]]] = [next(reader, ([], [])) for reader in readers]
                counts = [len(starts) for _, starts in batches]
                if len(set(counts)) > 1:
                    raise ValueError(f"the files of {', '.join(self._names)} differ in their number of lines")
                if counts[0] == 0:
                    return
                yield _Chunk([batch for batch, _ in batches], list(batches[0][1]), [])

    def _tuple_chunks(self, on_progress: Progress | None) -> Iterator[_Chunk]:
        source = self._tuples() if callable(self._tuples) else self._tuples
        total = len(source) if hasattr(source, "__len__") else 0
        width = len(self._names) + (self._labels is not None)
        row = 0
        for rows in gathered(source, _ROWS, TEXT_AT_ONCE):
            for i, item in enumerate(rows):
                if not isinstance(item, (tuple, list)) or len(item) != width:
                    expected = _shown(self._names, self._labels)
                    raise ValueError(f"source[{row + i}] is {item!r:.80}; expected a tuple of {expected}")
            columns = [list(column) for column in zip(*rows, strict=True)]
            labels = _checked_labels(columns.pop(), self._labels, row) if self._labels is not None else []
            yield _Chunk([to_batch(column, "source") for column in columns], [False] * len(rows), labels)
            row += len(rows)
            if on_progress is not None:
                on_progress(row, total)


def _code_of(tokenizer: Tokenizer) -> str | None:
    """Return a digest of the code of a user's tokenizer, "" for others; None where there is no code."""
    is_user_code = tokenizer.split == "external" and not tokenizer.name.startswith("hf:")
    return code_digest(tokenizer._external) if is_user_code else ""


def _texts(batch: Batch) -> Iterable[Any]:
    return batch.to_list() if isinstance(batch, _core.SentenceBatch) else batch


def _shown(names: Sequence[str], labels: Labels | None) -> str:
    return ", ".join([*names, *(["label"] if labels is not None else [])])


def _checked_labels(column: list[Any], labels: Labels, row: int) -> list[Any]:
    for i, label in enumerate(column):
        is_int = isinstance(label, (int, np.integer)) and not isinstance(label, (bool, np.bool_))
        if not is_int and not (labels == "float32" and isinstance(label, (float, np.floating))):
            kind = "a whole number" if labels == "int64" else "a number"
            raise TypeError(f"the label of source[{row + i}] is {label!r:.40}; expected {kind}")
        if labels == "int64" and not -(2**63) <= label < 2**63:
            raise ValueError(f"the label of source[{row + i}] is {label}; expected an int64")
    return column


def _names(source: Any, fields: Sequence[str] | None) -> list[str]:
    if fields is None:
        return list(source) if isinstance(source, Mapping) else ["tokens"]
    if isinstance(fields, str):
        raise TypeError(f"fields is one str; expected several, as in [{fields!r}]")
    names = [checked_str("fields", name) for name in fields]
    if isinstance(source, Mapping) and set(names) != set(source):
        raise ValueError(f"fields are {names}, but source has {list(source)}")
    return names


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
    lower = auto and isinstance(vocabulary, Vocabulary) and all(w == w.lower() for w in vocabulary)
    return tokenizer, tokenizer.core(lowercase=lower)


def _symbol(what: str, symbol: str | None) -> str:
    return "" if symbol is None else checked_str(what, symbol)


def _offset(name: str, offset: Any) -> int:
    return checked_int(f"neighbours[{name!r}]", offset, -(2**31), 2**31)


def _description(source: Any) -> str:
    if isinstance(source, (str, os.PathLike)):
        text = os.fsdecode(source)
    elif isinstance(source, Corpus) and source.files:
        text = ", ".join(source.files)
    elif isinstance(source, Mapping):
        text = ", ".join(f"{name}: {value}" for name, value in source.items())
    else:
        text = f"<{type(source).__name__}>"
    return text.encode("utf-8", "backslashreplace").decode()  # file names may not be UTF-8, as JSON requires
