"""Corpora: sentences of files or iterables, in constant memory."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from sentencode import _core

from ..checks import checked_int
from .inputs import TEXT_AT_ONCE, Batch, Progress, batches, is_blank
from .text_files import expanded, pipes_of, read_files

__all__ = ["Corpus", "repeatable"]

_READ_AHEAD = 4096


class Corpus:
    """Sentences that can be read repeatedly, without being in memory together.

    Files have one sentence per line; a blank line ends a document, as does a blank sentence of an iterable.
    Files may be compressed (gzip, xz or zstd, recognised by their content; bzip2 and zip are refused). They
    are read in order, those of a folder or glob by name.

    Args:
        source: Path of a file or folder, a glob, or a list of `pathlib.Path`; a list, array, column or other
            iterable of sentences; or a function that returns a new iterable.
        keep_empty: Whether blank sentences are sentences, and do not end documents.

    Raises:
        FormatError: The compression of a file is not supported.
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
                    f"source is a list of file names, such as {source[0]!r}: pass "
                    "Corpus.from_files(source) to read them"
                )
            self._source = source

    @classmethod
    def from_files(cls, paths: Iterable[str | os.PathLike[str]], *, keep_empty: bool = False) -> Corpus:
        """Create from several files, folders or globs, which are read in order.

        Args:
            paths: Their paths.
            keep_empty: As for `Corpus`.

        Raises:
            OSError: One of them does not exist.
        """
        corpus = cls((), keep_empty=keep_empty)
        corpus._source, corpus._files = None, expanded(paths)
        return corpus

    @property
    def files(self) -> list[str]:
        """Paths of the files; empty for an iterable."""
        return list(self._files or ())

    def __iter__(self) -> Iterator[Any]:
        for batch, _ in self._read(_READ_AHEAD, None, TEXT_AT_ONCE):
            yield from _texts(batch)

    def batches(
        self, size: int, *, text: int | None = None, on_progress: Progress | None = None
    ) -> Iterator[Batch]:
        """Yield batches, which can be passed wherever sentences can. Those of files are not Python strings.

        Args:
            size: Maximum of sentences in a batch.
            text: Number of bytes of text (of characters, for an iterable) after which a batch ends. None: no
                limit.
            on_progress: Called after each batch with the progress and the total (0 if unknown), in bytes of
                files, else in sentences.
        """
        for batch, _ in self._read(size, on_progress, text):
            yield batch

    def documents(self) -> Iterator[list[Any]]:
        """Yield the sentences of each document."""
        document: list[Any] = []
        for text, begins in self.marked():
            if begins and document:
                yield document
                document = []
            document.append(text)
        if document:
            yield document

    def marked(self) -> Iterator[tuple[Any, bool]]:
        """Yield each sentence, and whether it begins a document."""
        for batch, starts in self._read(_READ_AHEAD, None, TEXT_AT_ONCE):
            yield from zip(_texts(batch), starts, strict=True)

    def _growing(
        self, first: int, size: int, text: int | None, on_progress: Progress | None
    ) -> Iterator[Batch]:
        """`batches` of files, where the first has `first` sentences, and sizes double up to `size`."""
        for batch, _ in self._read(size, on_progress, text, first):
            yield batch

    def _read(
        self, size: int, on_progress: Progress | None, text: int | None, first: int | None = None
    ) -> Iterator[tuple[Batch, list[bool]]]:
        """Yield batches, and for each sentence whether it begins a document."""
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
        begins, done = True, 0
        for batch in batches(self._fresh_source(), size, "source", text=text, on_progress=on_progress):
            _check_sentences(batch, done)
            done += len(batch)
            texts, starts = [], []
            for sentence in _texts(batch):
                if not self.keep_empty and is_blank(sentence):
                    begins = True
                    continue
                texts.append(sentence)
                starts.append(begins)
                begins = False
            if texts:
                yield texts, starts

    def _fresh_source(self) -> Any:
        if callable(self._source):
            return self._source()
        if isinstance(self._source, Iterator):
            if self._spent:
                raise ValueError(
                    "this corpus is an iterator, which can be read only once; "
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
    """Return sentences that can be read more than once: a list for an iterator or a pipe, else the argument.

    Args:
        sentences: A `Corpus`, the path of a file, or an iterable of sentences.
        keep_empty: As for `Corpus`, for files.

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


def _check_sentences(batch: Batch, first: int) -> None:
    """TypeError for an item that is no sentence; `first` is the index of the first one."""
    if isinstance(batch, _core.SentenceBatch) or set(map(type, batch)) <= {str, bytes}:
        return
    for i, item in enumerate(batch, first):
        if not isinstance(item, (str, bytes, list, tuple, np.ndarray)):
            raise TypeError(f"sentences[{i}] is {type(item).__name__} ({item!r:.40}); expected str")


def _texts(batch: Batch) -> Iterable[Any]:
    return batch.to_list() if isinstance(batch, _core.SentenceBatch) else batch
