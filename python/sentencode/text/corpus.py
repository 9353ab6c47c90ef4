"""Corpora: sentences from files or iterables, in order, in constant memory."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from sentencode import _core

from ..checks import checked_int
from .inputs import TEXT_AT_ONCE, Batch, Progress, batches, is_blank
from .text_files import expanded, pipes_of, read_files

__all__ = ["Corpus", "repeatable"]

_READ_AHEAD = 4096


class Corpus:
    """Sentences that can be read again and again, and are never in memory together.

    Files hold one sentence a line; a line without text ends a document. They may be packed (gzip, xz or zstd,
    known by their content; bzip2 and zip are refused). They are read in the order given, those of a folder or
    a glob in the order of their names. In an iterable, a sentence without text ends a document likewise.

    Args:
        source: The path of a file or folder, a glob, or a list of `pathlib.Path`; a list, array, column or
            other iterable of sentences; a function that returns such an iterable whenever it is called.
        keep_empty: Whether a sentence without text is a sentence like any other, and no end of a document.

    Raises:
        FormatError: A file is packed in a way that is not read.
        OSError: There is no such file.

    Example:
        >>> corpus = Corpus(["One sentence.", "Another.", "", "The next document."])
        >>> list(corpus)
        ['One sentence.', 'Another.', 'The next document.']
        >>> [len(document) for document in corpus.documents()]
        [2, 1]
    """

    def __init__(self, source: Any, *, keep_empty: bool = False) -> None:
        self.keep_empty = bool(keep_empty)
        self._source: Any = None
        self._files: list[str] | None = None
        self._spent = False
        if isinstance(source, (str, os.PathLike)):
            self._files = expanded([source])
        elif _is_list_of(source, lambda item: isinstance(item, os.PathLike)):
            self._files = expanded(source)
        else:
            if _is_list_of(source, _is_file):
                raise ValueError(
                    f"source is a list of str that are names of files, such as {source[0]!r}: pass "
                    "Corpus.from_files(source) to read them"
                )
            self._source = source

    @classmethod
    def from_files(cls, paths: Iterable[str | os.PathLike[str]], *, keep_empty: bool = False) -> Corpus:
        """The sentences of several files, folders or globs, in the order given.

        Args:
            paths: Their names.
            keep_empty: As for `Corpus`.

        Raises:
            OSError: One of them is not there.
        """
        corpus = cls((), keep_empty=keep_empty)
        corpus._source, corpus._files = None, expanded(paths)
        return corpus

    @property
    def files(self) -> list[str]:
        """The files that are read; none for an iterable."""
        return list(self._files or ())

    def __iter__(self) -> Iterator[Any]:
        for batch, _ in self._read(_READ_AHEAD, None, TEXT_AT_ONCE):
            yield from _texts(batch)

    def batches(
        self, size: int, *, text: int | None = None, on_progress: Progress | None = None
    ) -> Iterator[Batch]:
        """The sentences in batches that everything that takes sentences takes.

        Those of files are never made Python strings.

        Args:
            size: The most sentences in one batch.
            text: A batch ends, before it has `size` sentences, once it has so many bytes of text; of others'
                strings, about so many characters. None: only `size` counts.
            on_progress: Called after each batch with what was read and the whole: bytes of files, else
                sentences. The whole is 0 where it is not known.
        """
        for batch, _ in self._read(size, on_progress, text):
            yield batch

    def documents(self) -> Iterator[list[Any]]:
        """The sentences of one document after the other."""
        document: list[Any] = []
        for batch, starts in self._read(_READ_AHEAD, None, TEXT_AT_ONCE):
            for text, begins in zip(_texts(batch), starts, strict=True):
                if begins and document:
                    yield document
                    document = []
                document.append(text)
        if document:
            yield document

    def _growing(
        self, first: int, size: int, text: int | None, on_progress: Progress | None
    ) -> Iterator[Batch]:
        """As `batches`, of files: the first has `first` sentences, each other one twice as many as before."""
        for batch, _ in self._read(size, on_progress, text, first):
            yield batch

    def _read(
        self, size: int, on_progress: Progress | None, text: int | None, first: int | None = None
    ) -> Iterator[tuple[Batch, list[bool]]]:
        """Batches, and for each sentence whether it begins a document."""
        size = checked_int("size", size, 1)
        if text is not None:
            text = checked_int("text", text, 1)
        if self._files is not None:
            if pipes := pipes_of(self._files):
                if self._spent:
                    raise ValueError(
                        f"this corpus reads {pipes[0]}, a pipe or a device, which can be read only once; "
                        "copy it into a file"
                    )
                self._spent = True
            yield from read_files(
                self._files, size, text, on_progress, keep_empty=self.keep_empty, first=first
            )
            return
        begins = True
        for batch in batches(self._fresh_source(), size, "source", text=text, on_progress=on_progress):
            kept, starts = [], []
            for sentence in _texts(batch):
                if not self.keep_empty and is_blank(sentence):
                    begins = True
                    continue
                kept.append(sentence)
                starts.append(begins)
                begins = False
            if kept:
                yield kept, starts

    def _fresh_source(self) -> Any:
        if callable(self._source):
            return self._source()
        if isinstance(self._source, Iterator):
            if self._spent:
                raise ValueError(
                    "this corpus was made from an iterator, which can be read only once; "
                    "pass a list, a file, or a function that returns a new iterator"
                )
            self._spent = True
        return self._source

    def __repr__(self) -> str:
        if self._files is None:
            what = f"<{type(self._source).__name__}>"
        elif len(self._files) == 1:
            what = repr(self._files[0])
        else:
            what = f"<{len(self._files)} files>"
        return f"Corpus({what}{', keep_empty=True' if self.keep_empty else ''})"


def repeatable(sentences: Any, *, keep_empty: bool = False) -> Any:
    """The same sentences, so that they can be read more than once.

    Args:
        sentences: Whatever holds sentences; a `str` is the name of a file.
        keep_empty: Of a file: as for `Corpus`.

    Returns:
        Of an iterator, and of what is read from a pipe, a list; else what was given.

    Example:
        >>> repeatable(text for text in ["One.", "Another."])
        ['One.', 'Another.']
    """
    if isinstance(sentences, Iterator):
        return list(sentences)
    if isinstance(sentences, (str, os.PathLike)):
        corpus = Corpus(sentences, keep_empty=keep_empty)
    elif isinstance(sentences, Corpus):
        corpus = sentences
    else:
        return sentences
    return list(corpus) if pipes_of(corpus.files) else sentences


def _is_list_of(source: Any, fits: Callable[[Any], bool]) -> bool:
    return isinstance(source, (list, tuple)) and bool(source) and all(fits(item) for item in source)


def _is_file(text: Any) -> bool:
    return isinstance(text, str) and "\0" not in text and len(text) < 4096 and os.path.isfile(text)


def _texts(batch: Batch) -> Iterable[Any]:
    return batch.to_list() if isinstance(batch, _core.SentenceBatch) else batch
