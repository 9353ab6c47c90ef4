"""Files of text: which there are, and how their lines become batches."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator

from sentencode import _core

from ..checks import checked_int
from ..errors import FormatError

__all__ = ["LINE_BYTES", "expanded", "pipes_of", "read_files"]

LINE_BYTES = 1 << 24  # the longest line of text, as `CorpusOptions::max_line_bytes`

_NOT_READ = {".bz2": "bzip2", ".zip": "zip"}
_BZIP2 = (b"1AY&SY", b"\x17rE8P\x90")  # behind "BZh9": of a block, and of the end


def expanded(paths: Iterable[str | os.PathLike[str]]) -> list[str]:
    """The files that paths, folders and globs are, in their order.

    Raises:
        FormatError: One is packed in a way that is not read.
        OSError: One of them is not there.
    """
    files = [file for path in paths for file in _core.expand_paths(path)]
    for file in files:
        _check_packing(file)
    return files


def pipes_of(files: Iterable[str]) -> list[str]:
    """Those of the files that can be read only once."""
    return [file for file in files if not os.path.isfile(file)]


def read_files(
    files: list[str],
    size: int,
    text: int | None,
    on_progress: Callable[[int, int], None] | None,
    *,
    keep_empty: bool = False,
    first: int | None = None,
) -> Iterator[tuple[_core.SentenceBatch, list[bool]]]:
    """Batches of lines, and for each line whether it begins a document.

    Args:
        files: Their names.
        size: The most sentences in one batch.
        text: A batch ends, before it has `size` sentences, once it has so many bytes. None: `size` alone.
        on_progress: Called after each batch with the bytes that were read and all bytes (0 if not known).
        keep_empty: Whether a line without text is a sentence like any other, and no end of a document.
        first: The first batch has so many sentences, each other one twice as many as before. None: `size`.
    """
    if text is not None:
        text = checked_int("text", text, 1)
    reader = _core.CorpusReader(files, keep_empty=keep_empty)
    count = size if first is None else min(first, size)
    while (batch := reader.next(count, max_bytes=text)) is not None:
        yield batch, batch.starts_document
        count = min(2 * count, size)
        if on_progress is not None:
            on_progress(reader.bytes_read, reader.bytes_total)


def _check_packing(file: str) -> None:
    """Refuses archives that would be read as lines of garbage."""
    packing = _NOT_READ.get(os.path.splitext(file)[1].lower())
    if packing is None and os.path.isfile(file):  # of a pipe nothing may be read
        with open(file, "rb") as opened:
            begin = opened.read(10)
        if begin.startswith(b"PK\x03\x04"):
            packing = "zip"
        elif begin.startswith(b"BZh") and begin[4:] in _BZIP2:
            packing = "bzip2"
    if packing is not None:
        raise FormatError(
            f"{file}: is packed by {packing}, which is not read; "
            "plain text is, and what gzip, xz and zstd have packed"
        )
