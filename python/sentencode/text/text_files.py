"""Expands paths of text files, and reads their lines in batches."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator

from sentencode import _core

from ..checks import checked_int
from ..errors import FormatError

__all__ = ["LINE_BYTES", "expanded", "pipes_of", "read_files"]

LINE_BYTES = 1 << 24  # maximum of a line, as `CorpusOptions::max_line_bytes`

_UNSUPPORTED = {".bz2": "bzip2", ".zip": "zip"}
_NO_TEXT = {b"PAR1": "a Parquet file", b"ARROW1": "an Arrow file", b"\x93NUMPY": "an array of NumPy"}
_BZIP2 = (b"1AY&SY", b"\x17rE8P\x90")  # after "BZh9": begin of a block, or end


def expanded(paths: Iterable[str | os.PathLike[str]]) -> list[str]:
    """Return the files of paths, folders and globs, in order.

    Raises:
        FormatError: The compression of one is not supported.
        OSError: One of them does not exist.
    """
    files = [file for path in paths for file in _core.expand_paths(path)]
    for file in files:
        _check_compression(file)
    return files


def pipes_of(files: Iterable[str]) -> list[str]:
    """Return those files that can be read only once."""
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
    """Yield batches of lines, and for each line whether it begins a document.

    Args:
        files: Paths.
        size: Maximum of sentences in a batch.
        text: Number of bytes after which a batch ends. None: no limit.
        on_progress: Called after each batch with the bytes read and all bytes (0 if unknown).
        keep_empty: Whether blank lines are sentences, and do not end documents.
        first: Size of the first batch, which doubles up to `size`. None: `size`.
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


def _check_compression(file: str) -> None:
    """Refuse archives and arrays that would be read as lines of garbage."""
    compression = _UNSUPPORTED.get(os.path.splitext(file)[1].lower())
    if compression is None and os.path.isfile(file):  # pipes can be read only once
        with open(file, "rb") as opened:
            begin = opened.read(10)
        if begin.startswith(b"PK\x03\x04"):
            compression = "zip"
        elif begin.startswith(b"BZh") and begin[4:] in _BZIP2:
            compression = "bzip2"
        elif kind := next((kind for magic, kind in _NO_TEXT.items() if begin.startswith(magic)), None):
            raise FormatError(f"{file}: is {kind}, not text")
    if compression is not None:
        raise FormatError(
            f"{file}: is compressed by {compression}, which is not supported; use plain text, gzip, xz or "
            "zstd"
        )
