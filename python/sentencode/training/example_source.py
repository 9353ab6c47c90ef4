"""The source of examples: texts, tuples of texts or aligned files, read in chunks of rows."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from sentencode import _core

from ..checks import checked_str
from ..code_digest import code_digest
from ..files import as_name
from ..text.corpus import Corpus
from ..text.inputs import TEXT_AT_ONCE, Batch, Progress, counted_from, gathered, to_batch
from ..text.tokenizer import Tokenizer

__all__ = ["ExampleSource", "Labels", "description", "field_names"]

_ROWS = 16384  # in memory at once
Labels = Literal["int64", "float32"]


class _Chunk(NamedTuple):
    """Some rows of input, with a batch for each field."""

    fields: list[Batch]
    starts_document: list[bool]
    labels: list[Any]


class ExampleSource:
    """The source of `Examples.build`, as rows, or as files that C++ reads."""

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
        regular = bool(files) and all(paths and all(map(os.path.isfile, paths)) for paths in files)
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


def field_names(source: Any, fields: Sequence[str] | None) -> list[str]:
    """The names of the fields of a source, given the argument of `Examples.build`."""
    if fields is None:
        return list(source) if isinstance(source, Mapping) else ["tokens"]
    if isinstance(fields, str):
        raise TypeError(f"fields is one str; expected several, as in [{fields!r}]")
    names = [checked_str("fields", name) for name in fields]
    if isinstance(source, Mapping) and set(names) != set(source):
        raise ValueError(f"fields are {names}, but source has {list(source)}")
    return names


def description(source: Any) -> str:
    """A name of a source for people, which files of examples contain."""
    if isinstance(source, (str, os.PathLike)):
        text = os.fsdecode(source)
    elif isinstance(source, Corpus) and source.files:
        text = ", ".join(source.files)
    elif isinstance(source, Mapping):
        text = ", ".join(f"{name}: {value}" for name, value in source.items())
    else:
        text = f"<{type(source).__name__}>"
    return text.encode("utf-8", "backslashreplace").decode()  # file names may not be UTF-8, as JSON requires
