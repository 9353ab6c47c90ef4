"""Examples as ids in one mapped file."""

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

_ROWS = 16384  # of an iterable that are in memory together
_SHARD = 1_000_000
Labels = Literal["int64", "float32"]
TooLong = Literal["drop", "truncate"]


class Examples:
    """What a model is trained on: examples of named token fields and perhaps a label, as ids on disk.

    An example may be a sentence (one field, `tokens`), a sentence and its next (`tokens`, `next`), a pair
    with a label (`first`, `second`), a source and its translation: the file does not know, nor does the
    `Batcher` that cuts it into batches. The file is mapped: opening it costs one reading of it, and memory
    does not grow with it.

    Make one by `build`, or by `open`.

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
        """The examples of a file. All that later steps rely on is checked.

        Args:
            path: The file.
            verify: Whether its bytes are compared with the checksums that were written with them, too.

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
        """Tokenises a corpus, looks its words up, and writes their ids to a file; or finds that file.

        The work is done on all threads, in order and in constant memory. What has been built from the same
        texts in the same way is opened, not built again, whatever the files are called. A build that was
        killed goes on with the first shard that it had not finished; two at a time wait for each other.

        Args:
            source: Sentences: a Corpus, the path of a text file, a folder or a glob, a list or other
                iterable. A blank line, or an empty sentence, ends a document. For several fields: an iterable
                of tuples, of one text for each field; or a dictionary from each field's name to files that
                belong together line by line.
            vocabulary: Its words' places are the ids. For fields of different languages, one for each.
            tokenizer: A `Tokenizer`, or what one is made of; or one for each field. Its lowercase="auto" asks
                whether the vocabulary has upper-case letters. One of your own is known again by its code,
                with that of the functions that it calls; one that cannot be compared cuts all texts a first
                time, to tell whether they are the same.
            path: Where the file is to be. By default in `cache_dir()`, by the name of its key.
            fields: The names of a tuple's texts; by default `tokens`, or what the dictionary has.
            labels: The type of the labels, when tuples end with one.
            neighbours: More fields, each the sentence at so many places from this one in its document:
                `{"next": 1}`, `{"previous": -1, "next": 1}`. Sentences without them are left out.
            following_words: One more field, `following`: the first so many words behind a sentence, over the
                ends of sentences but not beyond the document, at whose end they may be fewer.
            begin: A symbol before each example, or one for each field. Symbols that are no words of the
                vocabulary get the ids behind it.
            end: The like behind it.
            unknown: The symbol for unknown words.
            unknown_words: What is done with them: `"symbol"`, `"drop_word"` or `"drop_example"`.
            min_length: Examples of fewer words are left out; begin and end, and dropped words, do not count.
            max_length: What is longer is left out or cut. None: no bound.
            too_long: `"drop"` or `"truncate"`, or one for each field.
            shard_examples: How many are held in memory, and made anew at most after a kill.
            on_progress: Called after each batch with what was read and the whole: bytes of files, else rows.

        Warns:
            UserWarning: The file was there, and is damaged: it is built again.

        Raises:
            ValueError: An argument does not fit, or no example is left; the message tells why.
            FormatError: Files that belong together differ in their number of lines.

        Example:
            Paper 000's sentences have 4 to 32 known words:

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
            name: _tokenizer(cut, _for_field("vocabulary", vocabulary, name))
            for name, cut in ((name, _for_field("tokenizer", tokenizer, name)) for name in names)
        }

        def options_of(name: str, like: str, bounded: bool = True) -> _core.FieldOptions:
            most = _for_field("max_length", max_length, name) if bounded else None
            words = _for_field("vocabulary", vocabulary, like)
            if not isinstance(words, Vocabulary):
                raise TypeError(f"vocabulary must be a Vocabulary, got {type(words).__name__}")
            return _core.FieldOptions(
                name=name,
                tokenizer=tokenizers[like][1],
                vocabulary=words.core,
                begin=_symbol("begin", _for_field("begin", begin, name)),
                end=_symbol("end", _for_field("end", end, name)),
                unknown_words=checked_str("unknown_words", unknown_words),
                unknown=checked_str("unknown", unknown),
                min_length=checked_int("min_length", _for_field("min_length", min_length, name), 0),
                max_length=0 if most is None else checked_int("max_length", most, 1),
                too_long=checked_str("too_long", _for_field("too_long", too_long, name)),
            )

        around = [
            _core.Neighbour(options_of(name, names[0]), offset=_offset(name, offset), words=0)
            for name, offset in (neighbours or {}).items()
        ]
        if following_words is not None:
            count = checked_int("following_words", following_words, 1)
            around.append(_core.Neighbour(options_of("following", names[0], False), offset=1, words=count))
        options = _core.ExampleOptions(
            fields=[options_of(name, name) for name in names],
            neighbours=around,
            labels=labels or "none",
            source=_description(source),
            shard_examples=checked_int("shard_examples", shard_examples, 1),
        )
        rows = _Rows(source, names, labels, [tokenizers[name][0] for name in names])
        key = "" if rows.digest is None else _core.examples_key(options, rows.digest)
        if path is None:
            if not key:
                raise ValueError(
                    "source can be read only once, so that what is built of it has no name in the cache; "
                    "pass path=, or a list, a file, or a function that returns a new iterator"
                )
            path = make_folder(cache_dir() / "examples") / f"{key}.examples"
        builder = _core.ExampleBuilder(path, options, key)
        if builder.damage:
            warnings.warn(f"{builder.damage}; the examples are built again", UserWarning, stacklevel=2)
        if rows.files is not None:
            return cls(_core.build_examples(builder, rows.files, on_progress))
        if not builder.done:
            rows.give(builder, on_progress)
        return cls(builder.finish())

    @property
    def fields(self) -> tuple[str, ...]:
        """The names of the fields; lengths, where batches are made by them, are those of the first."""
        return tuple(self._fields)

    @property
    def path(self) -> Path:
        """The file."""
        return Path(self.core.path)

    @property
    def key(self) -> str:
        """A hash of all that the content depends on; empty where the source could be read only once."""
        return self.core.key

    @property
    def config(self) -> dict[str, Any]:
        """How the file was made, and of what: vocabularies' digests, tokenizers, symbols, options, source."""
        config: dict[str, Any] = json.loads(self.core.config)
        return config

    @property
    def rows(self) -> dict[str, int]:
        """How many rows of the source were read, and what became of them."""
        return dict(self._config["rows"])

    @property
    def labels(self) -> npt.NDArray[np.int64] | npt.NDArray[np.float32] | None:
        """The labels [n], a read-only view of the file; None where there are none."""
        found: npt.NDArray[np.int64] | npt.NDArray[np.float32] | None = self.core.labels
        return found

    def vocabulary_size(self, field: str | None = None) -> int:
        """How many ids there can be in a field: words and symbols.

        Args:
            field: The first one by default.
        """
        return self.core.vocabulary_size(self._name(field))

    def symbols(self, field: str | None = None) -> dict[str, int]:
        """The symbols of a field's vocabulary and their ids."""
        found: dict[str, int] = self._fields[self._name(field)]["symbols"]
        return dict(sorted(found.items(), key=lambda item: item[1]))

    def ids(self, field: str | None = None) -> npt.NDArray[np.int32]:
        """The ids of all examples, one after the other: a read-only view of the file."""
        return self._parts[self._name(field)][0]

    def lengths(self, field: str | None = None) -> npt.NDArray[np.int64]:
        """How many ids each example has in a field [n]."""
        return np.diff(self._parts[self._name(field)][1])

    def example(self, i: int) -> dict[str, Any]:
        """The ids of each field, read-only views of the file; and the `label`, where there is one."""
        at = checked_int("i", i, -len(self), len(self) - 1) % len(self)
        found: dict[str, Any] = {
            name: ids[offsets[at] : offsets[at + 1]] for name, (ids, offsets) in self._parts.items()
        }
        if (labels := self.labels) is not None:
            found["label"] = labels[at].item()
        return found

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


class _Piece(NamedTuple):
    """Rows of input: for each field a batch for the core, and what belongs to them."""

    fields: list[Batch]
    starts_document: list[bool]
    labels: list[Any]


class _Rows:
    """What `build` was given, as rows that can be read, or as files that the core reads itself."""

    def __init__(
        self, source: Any, names: Sequence[str], labels: Labels | None, tokenizers: list[Tokenizer]
    ) -> None:
        self.files: list[list[str]] | None = None
        self.digest: str | None = None  # None: it can be read only once
        self._names, self._labels, self._tokenizers = names, labels, tokenizers
        # Of a tokenizer that cannot be told from others, what it makes is the content.
        codes = [_code_of(cut) for cut in tokenizers]
        known = None not in codes
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
            raise ValueError("labels come with tuples; files hold none")

        files = [corpus.files for corpus in self._corpora or ()]
        plain = (
            bool(files)
            and all(files)
            and all(os.path.isfile(file) for of_field in files for file in of_field)
        )
        if self._corpora is not None and plain and known:
            self.digest = _core.digest_of_files(files)
            if all(cut.split != "external" for cut in tokenizers) and not (
                len(names) == 1 and self._corpora[0].keep_empty
            ):
                self.files = files
            elif len(names) == 1:
                self.digest += "+empty" if self._corpora[0].keep_empty else ""
        elif plain or self._can_be_read_again():
            content, row = _core.ContentDigest(), 0
            for piece in self._pieces(None):
                with counted_from(row):
                    for cut, batch in zip(tokenizers, piece.fields, strict=True):
                        content.add(batch if known else cut.prepare(batch))
                row += len(piece.starts_document)
                content.add_bytes(np.array(piece.starts_document, np.bool_).tobytes())
                if labels is not None:
                    content.add_bytes(np.array(piece.labels, labels).tobytes())
            self.digest = content.hex()
        if self.digest is not None and known and any(codes):
            self.digest += f"+code:{','.join(map(str, codes))}"

    def _can_be_read_again(self) -> bool:
        source = self._tuples if self._corpora is None else self._corpora[0]._source
        return not isinstance(source, Iterator) and (self._corpora is None or source is not None)

    def give(self, builder: _core.ExampleBuilder, on_progress: Progress | None) -> None:
        """Hands the builder all rows that it has not in shards."""
        skip, row = builder.first_row, 0
        for piece in self._pieces(on_progress):
            count = len(piece.starts_document)
            drop = min(max(skip - row, 0), count)
            row += count
            if drop == count:
                continue
            labels = None if self._labels is None else np.array(piece.labels[drop:], self._labels)
            with counted_from(row - count + drop):
                batches = [
                    cut.prepare(list(_texts(batch))[drop:] if drop else batch)
                    for cut, batch in zip(self._tokenizers, piece.fields, strict=True)
                ]
                builder.add(
                    batches,
                    starts_document=piece.starts_document[drop:],
                    int_labels=labels if self._labels == "int64" else None,
                    float_labels=labels if self._labels == "float32" else None,
                )

    def _pieces(self, on_progress: Progress | None) -> Iterator[_Piece]:
        if self._corpora is None:
            yield from self._tuple_pieces(on_progress)
        elif len(self._corpora) == 1:
            for batch, starts in self._corpora[0]._read(_ROWS, on_progress, TEXT_AT_ONCE):
                yield _Piece([batch], list(starts), [])
        else:
            readers = [  # by rows alone, else they would part
                corpus._read(_ROWS, on_progress if i == 0 else None, None)
                for i, corpus in enumerate(self._corpora)
            ]
            while True:
                found: list[tuple[Batch, list[bool]]] = [next(reader, ([], [])) for reader in readers]
                counts = [len(starts) for _, starts in found]
                if len(set(counts)) > 1:
                    raise ValueError(f"the files of {', '.join(self._names)} differ in their number of lines")
                if counts[0] == 0:
                    return
                yield _Piece([batch for batch, _ in found], list(found[0][1]), [])

    def _tuple_pieces(self, on_progress: Progress | None) -> Iterator[_Piece]:
        source = self._tuples() if callable(self._tuples) else self._tuples
        whole = len(source) if hasattr(source, "__len__") else 0
        width = len(self._names) + (self._labels is not None)
        row = 0
        for rows in gathered(source, _ROWS, TEXT_AT_ONCE):
            for i, item in enumerate(rows):
                if not isinstance(item, (tuple, list)) or len(item) != width:
                    expected = _shown(self._names, self._labels)
                    raise ValueError(f"source[{row + i}] is {item!r:.80}; expected a tuple of {expected}")
            columns = [list(column) for column in zip(*rows, strict=True)]
            labels = _checked_labels(columns.pop(), self._labels, row) if self._labels is not None else []
            yield _Piece([to_batch(column, "source") for column in columns], [False] * len(rows), labels)
            row += len(rows)
            if on_progress is not None:
                on_progress(row, whole)


def _code_of(cut: Tokenizer) -> str | None:
    """What a tokenizer of one's own computes with; None where nothing tells it from others."""
    return "" if cut.split != "external" or cut.name.startswith("hf:") else code_digest(cut._external)


def _corpus(files: Any, keep_empty: bool) -> Corpus:
    listed = [files] if isinstance(files, (str, os.PathLike)) else files
    return Corpus.from_files(listed, keep_empty=keep_empty)


def _texts(batch: Batch) -> Iterable[Any]:
    return batch.to_list() if isinstance(batch, _core.SentenceBatch) else batch


def _shown(names: Sequence[str], labels: Labels | None) -> str:
    return ", ".join([*names, *(["label"] if labels is not None else [])])


def _checked_labels(column: list[Any], labels: Labels, row: int) -> list[Any]:
    for i, label in enumerate(column):
        whole = isinstance(label, (int, np.integer)) and not isinstance(label, (bool, np.bool_))
        if not whole and not (labels == "float32" and isinstance(label, (float, np.floating))):
            kind = "a whole number" if labels == "int64" else "a number"
            raise TypeError(f"the label of source[{row + i}] is {label!r:.40}; expected {kind}")
        if labels == "int64" and not -(2**63) <= label < 2**63:
            raise ValueError(f"the label of source[{row + i}] is {label}; expected a number of 64 bits")
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
    """What an option says of one field."""
    if isinstance(value, Mapping) and not isinstance(value, Vocabulary):
        if field not in value:
            raise ValueError(f"{what} says nothing of the field {field!r}; it has {list(value)}")
        return value[field]
    return value


def _tokenizer(cut: Any, vocabulary: Any) -> tuple[Tokenizer, _core.Tokenizer]:
    tokenizer = cut if isinstance(cut, Tokenizer) else Tokenizer(cut)
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
    return text.encode("utf-8", "backslashreplace").decode()  # names of files may be no UTF-8; JSON is
