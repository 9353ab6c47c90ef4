"""What a job reads, cut into shards: files of text and tables, here or wherever fsspec reads."""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import json
import lzma
import os
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from .. import _core
from .._extras import require
from ..errors import FormatError
from ..text.inputs import TEXT_AT_ONCE, gathered
from .arrow import pyarrow

__all__ = ["Columns", "Input", "Shard", "inputs_of", "opened", "read", "shards_of"]

_BLOCK = 1 << 22  # bytes that are read at a time
_SAMPLES, _SAMPLE = 64, 1 << 16  # of a file, which tell it from others
_AT_ONCE = 16  # files that are looked at together

Batch = tuple[Any, Any]  # sentences, and their ids or None: lists, or columns of Arrow


@dataclass(frozen=True)
class Columns:
    """Which columns of tables are read.

    Args:
        text: That of the sentences.
        id: That of the rows' names, or None.
        id_type: Arrow's name of its type.
    """

    text: str
    id: str | None = None
    id_type: str | None = None


@dataclass(frozen=True)
class Input:
    """A file, and what tells whether it has changed.

    Args:
        path: Its absolute path, or its URL.
        format: "text", "csv", "tsv", "jsonl" or "parquet".
        packed: "gzip", "xz", "zstd", or "" for none.
        bytes: Its size.
        identity: Of a local file a hash of 64 places of it, and when it was last modified where these are not
            all of it; else what its file system has for that.
    """

    path: str
    format: str
    packed: str
    bytes: int
    identity: str


@dataclass(frozen=True)
class Shard:
    """A part of a file that one task reads.

    Args:
        number: Its place among all shards.
        input: The file.
        begin: The first byte, or row group; a line belongs where it begins.
        end: That behind the last. -1: all there is.
        size: How many bytes of the file it is, about: for progress, and to share work out.
    """

    number: int
    input: Input
    begin: int
    end: int
    size: int

    def __str__(self) -> str:
        if self.end < 0:
            return self.input.path
        what = "row groups" if self.input.format == "parquet" else "bytes"
        return f"{self.input.path}, {what} {self.begin:,} to {self.end:,}"


# --- files


def is_url(path: str) -> bool:
    """Whether fsspec is to read it. "file://" stands for a path, too."""
    return "://" in path


@contextmanager
def opened(path: str) -> Iterator[BinaryIO]:
    """A file or a URL, to be read."""
    if not is_url(path):
        with open(path, "rb") as file:
            yield file
        return
    with require("fsspec", "scale").open(path, "rb") as file:
        yield file


def inputs_of(paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]]) -> list[Input]:
    """The files that paths, folders, globs and URLs are, in order, those of a folder by their names.

    Args:
        paths: One or more.

    Returns:
        The files.

    Raises:
        OSError: If one of them is not there.
        FormatError: If one is packed in a way that is not read.
    """
    names: list[str] = []
    for path in [paths] if isinstance(paths, (str, bytes, os.PathLike)) else paths:
        name = os.fsdecode(path)
        names += _expanded(name) if is_url(name) else map(os.path.abspath, _core.expand_paths(name))
    if not names:
        raise ValueError("there is no input")
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return list(pool.map(_input, names))


def _expanded(url: str) -> list[str]:
    fs, inner = require("fsspec", "scale").core.url_to_fs(url)
    if any(mark in inner for mark in "*?["):
        found = [name for name in fs.glob(inner) if not fs.isdir(name)]
    else:
        found = fs.find(inner)  # itself, where it is a file
    hidden = ("_", ".")  # what Spark and others put beside their data
    found = sorted(name for name in found if not name.rpartition("/")[2].startswith(hidden))
    if not found:
        raise FileNotFoundError(2, "there is no such file", url)
    return [fs.unstrip_protocol(name) for name in found]


_MAGIC = {b"\x1f\x8b": "gzip", b"\xfd7zXZ\x00": "xz", b"\x28\xb5\x2f\xfd": "zstd"}
_FORMATS = {".csv": "csv", ".tsv": "tsv", ".jsonl": "jsonl", ".ndjson": "jsonl", ".parquet": "parquet"}
_ENDINGS = (".gz", ".xz", ".zst", ".zstd")


def _input(path: str) -> Input:
    stem = Path(path.rpartition("/")[2])
    if stem.suffix.lower() in _ENDINGS:
        stem = stem.with_suffix("")
    kind = _FORMATS.get(stem.suffix.lower(), "text")
    with opened(path) as file:
        head = file.read(10)
        packed = next((name for magic, name in _MAGIC.items() if head.startswith(magic)), "")
        if head.startswith((b"PK\x03\x04", b"BZh")) and kind != "parquet":
            raise FormatError(f"{path}: is packed by zip or bzip2; gzip, xz and zstd are read")
        if is_url(path):
            fs, inner = require("fsspec", "scale").core.url_to_fs(path)
            return Input(path, kind, packed, int(fs.size(inner)), str(fs.ukey(inner)))
        status = os.fstat(file.fileno())
        return Input(path, kind, packed, status.st_size, _identity(file, status))


def _identity(file: BinaryIO, status: os.stat_result) -> str:
    size, digest = status.st_size, hashlib.sha256()
    whole = size <= _SAMPLES * _SAMPLE
    if whole:
        places = range(0, size, _SAMPLE)
    else:
        places = [i * (size - _SAMPLE) // (_SAMPLES - 1) for i in range(_SAMPLES)]  # type: ignore[assignment]
        digest.update(str(status.st_mtime_ns).encode())
    for place in places:
        file.seek(place)
        digest.update(file.read(_SAMPLE))
    return digest.hexdigest()


def shards_of(inputs: Iterable[Input], columns: Columns, size: int) -> tuple[list[Shard], Columns]:
    """Cuts files into shards of about `size` bytes: text and JSON between lines, Parquet between row groups.

    What is packed, and csv, whose cells may hold line ends, is read from its beginning: a file a shard.

    Args:
        inputs: The files.
        columns: Which are read.
        size: How many bytes; of Parquet, of the columns that are read, unpacked.

    Returns:
        The shards, in order, and the columns with the type of the ids.

    Raises:
        FormatError: If a table has no such column, or files differ in the type of ids.
    """
    inputs = list(inputs)
    tables = [one for one in inputs if one.format != "text"]
    if columns.id is not None and len(tables) < len(inputs):
        text = next(one for one in inputs if one.format == "text")
        raise ValueError(f"{text.path}: lines of text have no column {columns.id!r} for ids")
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        looked = list(pool.map(lambda one: _pieces(one, columns, size), inputs))
    if columns.id is not None:
        types = {found[1]: one.path for one, found in zip(inputs, looked, strict=True) if found[1]}
        if len(types) > 1:
            (kind, first), (other, second) = list(types.items())[:2]
            raise FormatError(f"column {columns.id!r} is {kind} in {first} and {other} in {second}")
        columns = Columns(columns.text, columns.id, next(iter(types), "string"))
    shards: list[Shard] = []
    for one, (pieces, _) in zip(inputs, looked, strict=True):
        shards += [Shard(len(shards) + i, one, *piece) for i, piece in enumerate(pieces)]
    return shards, columns


def _pieces(one: Input, columns: Columns, size: int) -> tuple[list[tuple[int, int, int]], str]:
    """Begin, end and bytes of its shards; and the type of its ids, "" where there are none."""
    if one.format == "parquet":
        with _naming(one.path), opened(one.path) as file:
            return _row_groups(one, pyarrow("parquet").ParquetFile(file), columns, size)
    kind = ""
    if columns.id is not None:
        kind = "string" if one.format != "jsonl" else _id_type(one, columns)
    if one.packed or one.format in ("csv", "tsv"):
        return [(0, -1, one.bytes)], kind
    return [(b, min(b + size, one.bytes), min(size, one.bytes - b)) for b in range(0, one.bytes, size)], kind


def _row_groups(one: Input, file: Any, columns: Columns, size: int) -> tuple[list[tuple[int, int, int]], str]:
    schema = file.schema_arrow
    _check_schema(one.path, schema, columns)
    kind = "" if columns.id is None else str(schema.field(columns.id).type)
    meta = file.metadata
    places = [i for i in range(meta.num_columns) if _root(meta, i) in (columns.text, columns.id)]
    pieces: list[tuple[int, int, int]] = []
    begin = held = 0
    for group in range(meta.num_row_groups):
        row_group = meta.row_group(group)
        held += sum(row_group.column(i).total_uncompressed_size for i in places)
        if held >= size or group == meta.num_row_groups - 1:
            pieces.append((begin, group + 1, held))
            begin, held = group + 1, 0
    return pieces, kind


def _check_schema(path: str, schema: Any, columns: Columns) -> None:
    """Refuses a table of Parquet that lacks a column, or whose sentences are none."""
    for name in filter(None, (columns.text, columns.id)):
        if name not in schema.names:
            raise _no_column(path, name, schema.names)
    kind, types = schema.field(columns.text).type, pyarrow().types
    inner = kind.value_type if types.is_dictionary(kind) or types.is_list(kind) else kind
    texts = ("string", "large_string", "binary", "large_binary", "null")
    if not any(getattr(types, f"is_{text}")(inner) for text in texts):
        raise FormatError(f"{path}: column {columns.text!r}: expected text, got {kind}")


def _root(meta: Any, column: int) -> str:
    return str(meta.schema.column(column).path.partition(".")[0])


def _no_column(path: str, name: str, known: Iterable[Any]) -> FormatError:
    return FormatError(f"{path}: has no column {name!r}; it has {', '.join(map(str, known))}")


def _id_type(one: Input, columns: Columns) -> str:
    """That of the first row: "int64" or "string"."""
    for _, ids in read(Shard(0, one, 0, -1, 0), Columns(columns.text, columns.id), 1):
        return "int64" if isinstance(ids[0], int) and not isinstance(ids[0], bool) else "string"
    return ""


# --- rows


def read(shard: Shard, columns: Columns, rows: int) -> Iterator[Batch]:
    """The sentences of a shard, and their ids, in batches.

    Args:
        shard: What to read.
        columns: Which columns of a table.
        rows: The most in a batch; fewer where texts are long.

    Yields:
        Texts and ids. A missing text is None, or null; ids are None where none are asked for.

    Raises:
        FormatError: If something cannot be read, with the file and the place.
        OSError: If the file cannot be read.
    """
    with _naming(shard.input.path):
        if shard.input.format == "parquet":
            with opened(shard.input.path) as file:
                yield from _parquet(file, shard, columns, rows)
            return
        make = {"text": _text_lines, "jsonl": _json_lines, "csv": _csv, "tsv": _csv}[shard.input.format]
        for items in gathered(make(shard, columns), rows, TEXT_AT_ONCE):
            if columns.id is None:
                yield items, None
            else:
                texts, ids = zip(*items, strict=True)
                yield list(texts), list(ids)


@contextmanager
def _naming(path: str) -> Iterator[None]:
    """Names the file in what its libraries say of damage."""
    try:
        yield
    except FormatError:
        raise
    except (ValueError, EOFError, lzma.LZMAError, gzip.BadGzipFile) as error:  # pyarrow's are ValueErrors
        raise FormatError(f"{path}: cannot be read: {error}") from error
    except OSError as error:
        if error.errno is None:  # pyarrow's word for damage
            raise FormatError(f"{path}: cannot be read: {error}") from error
        if error.filename is None:
            raise OSError(error.errno, f"cannot be read: {error.strerror}", path) from error
        raise


def _parquet(file: BinaryIO, shard: Shard, columns: Columns, rows: int) -> Iterator[Batch]:
    table = pyarrow("parquet").ParquetFile(file, pre_buffer=is_url(shard.input.path))
    _check_schema(shard.input.path, table.schema_arrow, columns)
    end = table.metadata.num_row_groups if shard.end < 0 else shard.end
    wanted = [name for name in (columns.text, columns.id) if name is not None]
    groups = list(range(shard.begin, end))
    for batch in table.iter_batches(batch_size=rows, row_groups=groups, columns=wanted, use_threads=False):
        yield batch[columns.text], None if columns.id is None else batch[columns.id]


def _unpacked(file: BinaryIO, packed: str) -> Any:
    if packed == "gzip":
        return gzip.GzipFile(fileobj=file)
    if packed == "xz":
        return lzma.LZMAFile(file)
    if packed == "zstd":
        return io.BufferedReader(pyarrow().CompressedInputStream(pyarrow().PythonFile(file), "zstd"))
    return file


_MARK = b"\xef\xbb\xbf"


def _numbered(shard: Shard) -> Iterator[tuple[str, bytes]]:
    """Where each line of a shard stands, for errors; and the line."""
    for number, line in enumerate(_lines(shard), 1):
        yield f"line {number}" + (f" behind byte {shard.begin:,}" if shard.begin else ""), line


def _lines(shard: Shard) -> Iterator[bytes]:
    """Lines without their ends, as `Corpus` has them: those that begin between `begin` and `end`."""
    lines = _raw_lines(shard)
    if shard.begin == 0 and (first := next(lines, None)) is not None and first != _MARK:
        yield _bare(first.removeprefix(_MARK))
    for line in lines:
        yield _bare(line)


def _raw_lines(shard: Shard) -> Iterator[bytes]:
    with opened(shard.input.path) as file:
        if shard.input.packed:
            yield from _unpacked(file, shard.input.packed)
            return
        # Lines of fsspec's files are put together in Python, one after the other.
        quick = isinstance(file, io.BufferedReader | io.BytesIO)
        raw: Any = file if quick else io.BufferedReader(file, _BLOCK)
        place = max(shard.begin - 1, 0)
        raw.seek(place)
        if shard.begin:
            place += len(raw.readline())  # of the shard before, or the end of it alone
        end = shard.input.bytes if shard.end < 0 else shard.end
        while place < end and (lines := raw.readlines(min(_BLOCK, end - place))):
            for line in lines:
                if place >= end:
                    return
                place += len(line)
                yield line


def _bare(line: bytes) -> bytes:
    return line.removesuffix(b"\n").removesuffix(b"\r")


def _text_lines(shard: Shard, columns: Columns) -> Iterator[bytes]:
    return _lines(shard)


def _row(columns: Columns, text: Any, id: Any, where: str) -> Any:
    if text is not None and not isinstance(text, str):
        raise FormatError(f"{where}: {columns.text!r}: expected text, got {text!r:.60}")
    if columns.id is None:
        return text
    if columns.id_type == "int64" and (not isinstance(id, int) or isinstance(id, bool)):
        raise FormatError(f"{where}: {columns.id!r}: expected a whole number, got {id!r:.60}")
    if columns.id_type == "string" and not isinstance(id, str):
        raise FormatError(f"{where}: {columns.id!r}: expected text, got {id!r:.60}")
    return text, id


def _json_lines(shard: Shard, columns: Columns) -> Iterator[Any]:
    path = shard.input.path
    for where, line in _numbered(shard):
        if not line or line.isspace():
            continue
        try:
            row = json.loads(line)
        except ValueError as error:
            raise FormatError(f"{path}: {where}: {error}") from error
        if not isinstance(row, dict):
            raise FormatError(f"{path}: {where}: expected a JSON object, got {row!r:.60}")
        for name in filter(None, (columns.text, columns.id)):
            if name not in row:
                raise FormatError(f"{path}: {where}: has no {name!r}; it has {', '.join(row)}")
        id = None if columns.id is None else row[columns.id]
        yield _row(columns, row[columns.text], id, f"{path}: {where}")


def _csv(shard: Shard, columns: Columns) -> Iterator[Any]:
    path = shard.input.path
    with opened(path) as raw:
        text = io.TextIOWrapper(_unpacked(raw, shard.input.packed), encoding="utf-8-sig", newline="")
        table = csv.DictReader(text, delimiter="\t" if shard.input.format == "tsv" else ",")
        try:
            for name in filter(None, (columns.text, columns.id)):
                if name not in (table.fieldnames or ()):
                    raise _no_column(path, name, table.fieldnames or ())
            for row in table:
                id = None if columns.id is None else row[columns.id]
                yield _row(columns, row[columns.text], id, f"{path}: line {table.line_num}")
        except UnicodeDecodeError as error:
            raise FormatError(f"{path}: behind line {table.line_num}: not UTF-8: {error.reason}") from error
        except csv.Error as error:
            raise FormatError(f"{path}: line {table.line_num}: {error}") from error
