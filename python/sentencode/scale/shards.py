"""What a job reads, cut into shards: files of text and tables, here or wherever fsspec reads."""

from __future__ import annotations

import asyncio
import csv
import gzip
import hashlib
import io
import json
import lzma
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from .. import _core
from .._extras import require
from ..errors import FormatError
from ..text.inputs import TEXT_AT_ONCE, gathered
from .arrow import plain_column, plain_type, pyarrow

__all__ = ["Columns", "Input", "Shard", "identity_at", "inputs_of", "opened", "read", "shards_of"]

_BLOCK = 1 << 22  # bytes that are read at a time
_SAMPLES, _SAMPLE = 64, 1 << 16  # of a file, which tell it from others
_AT_ONCE = 16  # files that are looked at together
_CELL = 1 << 28  # characters of a cell of csv; all that follows a quote that is not closed is one

Batch = tuple[Any, Any]  # sentences, and their ids or None: lists, or columns of Arrow


@dataclass(frozen=True)
class Columns:
    """Which columns of tables are read.

    Args:
        text: That of the sentences.
        id: That of the rows' names, or None.
        id_type: Arrow's type of it, a `pyarrow.DataType`; `shards_of` tells it.
    """

    text: str
    id: str | None = None
    id_type: Any = None


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
        seen: What tells at little cost whether it is still the same: its size, then what is known of it, the
            surest first.
    """

    path: str
    format: str
    packed: str
    bytes: int
    identity: str
    seen: tuple[tuple[str, str], ...]


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

    What begins with "_" or "." in a folder is not read: Spark and others keep there what is none of their
    data. Folders of partitions (`_month=5`) may begin with "_".

    Args:
        paths: One or more.

    Returns:
        The files.

    Raises:
        OSError: If one of them is not there.
        FormatError: If one is of a kind, or packed in a way, that is not read.
    """
    names: list[str] = []
    for path in [paths] if isinstance(paths, (str, bytes, os.PathLike)) else paths:
        names += _expanded(os.fsdecode(path))
    if not names:
        raise ValueError("there is no input")
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return list(pool.map(_input, names))


_HIDDEN = re.compile(r"/(\.|_(?![^/]*=))")
_MARKS = re.compile(r"[*?[]")  # of globs


def _expanded(path: str) -> list[str]:
    if is_url(path):
        root, names = _below(path)
    else:
        whole = os.path.abspath(path)
        root = whole if os.path.exists(whole) else _MARKS.split(whole)[0]
        names = [os.path.abspath(name) for name in _core.expand_paths(path)]
    # The name of what was given may begin as it likes, and what stands before the mark of a glob, too.
    shown = sorted(name for name in names if not _HIDDEN.search(name, max(len(root) - 1, 0)))
    if not shown:
        raise FileNotFoundError(2, "all files of it are hidden" if names else "there is no such file", path)
    return shown


def _below(url: str) -> tuple[str, list[str]]:
    """What the URLs of all files of it begin with, and these URLs, on the same host as it is."""
    fs, inner = require("fsspec", "scale").core.url_to_fs(url)
    fs.invalidate_cache()  # of an earlier job in this process
    if fs.exists(inner):
        scheme, _, place = url.partition("://")
        root, place = f"{scheme}://{place.rstrip('/')}", inner.rstrip("/")
        found = fs.find(inner)  # itself, where it is a file
    else:
        root, place = (_MARKS.split(one)[0] for one in (url, inner))
        found = []
        for name, info in fs.glob(inner, detail=True).items():
            found += fs.find(name) if info["type"] == "directory" else [name]
    return root, [root + name[len(place) :] for name in found if name.startswith(place)]


_MAGIC = {b"\x1f\x8b": "gzip", b"\xfd7zXZ\x00": "xz", b"\x28\xb5\x2f\xfd": "zstd"}
_OTHERS = {b"Obj\x01": "Avro", b"ARROW1": "Arrow"}
_HEAD, _PARQUET, _MARK = 10, b"PAR1", b"\xef\xbb\xbf"
_FORMATS = {".csv": "csv", ".tsv": "tsv", ".parquet": "parquet"}
_FORMATS |= dict.fromkeys((".json", ".jsonl", ".ndjson"), "jsonl")
_ENDINGS = (".gz", ".xz", ".zst", ".zstd")


def _input(path: str) -> Input:
    if is_url(path):
        fs, inner = require("fsspec", "scale").core.url_to_fs(path)
        info = fs.info(inner)
        if info.get("size") is None:
            raise FormatError(f"{path}: its server does not tell its size, which is needed to cut it")
        size = int(info["size"])
        kind, packed = _kind(path, size, lambda begin, end: fs.cat_file(inner, start=begin, end=end))
        return Input(path, kind, packed, size, identity_at(fs, inner), _seen(info))
    with open(path, "rb") as file:

        def part(begin: int, end: int) -> bytes:
            file.seek(begin)
            return file.read(end - begin)

        status = os.fstat(file.fileno())
        kind, packed = _kind(path, status.st_size, part)
        return Input(path, kind, packed, status.st_size, _identity(file, status), _seen(_info(status)))


def _kind(path: str, size: int, part: Callable[[int, int], bytes]) -> tuple[str, str]:
    """Of a file the format, and how it is packed. Parquet is known by its content: Hive's has no ending."""
    kind = _FORMATS.get(_ending(path), "text")
    head = part(0, min(_HEAD, size)) if size else b""
    if head.startswith(_PARQUET) and kind != "parquet" and part(size - 4, size).endswith(_PARQUET):
        kind = "parquet"
    if head.startswith((b"PK\x03\x04", b"BZh")) and kind != "parquet":
        raise FormatError(f"{path}: is packed by zip or bzip2; gzip, xz and zstd are read")
    if (other := next((name for magic, name in _OTHERS.items() if head.startswith(magic)), None)) is not None:
        raise FormatError(f"{path}: is a file of {other}; text, csv, JSON lines and Parquet are read")
    if kind == "jsonl" and head.removeprefix(_MARK).lstrip().startswith(b"["):
        raise FormatError(f"{path}: expected a JSON object in each line, got one array")
    return kind, next((name for magic, name in _MAGIC.items() if head.startswith(magic)), "")


def _ending(path: str) -> str:
    stem = Path((path.partition("?")[0] if path.startswith("http") else path).rpartition("/")[2])
    return (stem.with_suffix("") if stem.suffix.lower() in _ENDINGS else stem).suffix.lower()


# What file systems tell of a file, the surest first. Listings may tell less of it than it does itself.
_TELLS = [
    *("ETag", "etag", "Content-MD5"),
    *("Last-Modified", "LastModified", "last_modified", "mtime", "modificationTime", "created"),
]


def _seen(info: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    names = [name for name in ("size", *_TELLS) if info.get(name) is not None]
    return tuple((name, str(info[name]).strip('"')) for name in names)  # Azure quotes ETags now and then


def _info(status: os.stat_result) -> dict[str, int]:
    return {"size": status.st_size, "mtime": status.st_mtime_ns}


def identity_at(fs: Any, inner: str) -> str:
    """What tells a file at a URL from a later one of the same name.

    Args:
        fs: A file system of fsspec.
        inner: The file's name there.

    Returns:
        `ukey` of the file system. That of http is a hash of the URL alone: there it is the ETag, the time of
        modification and the size, as far as the server tells them.
    """
    protocols = (fs.protocol,) if isinstance(fs.protocol, str) else fs.protocol
    if not any(name.startswith("http") for name in protocols):
        return str(fs.ukey(inner))
    known = _seen(fs.info(inner))
    told = ", ".join(f"{name} {value}" for name, value in known)
    return told if len(known) > 1 else f"{told or 'nothing'}, and no more is known"


@contextmanager
def _unchanged(one: Input) -> Iterator[None]:
    """Around what reads an input: shards, read at many times, must be of the file that the driver saw."""
    _check_unchanged(one)
    try:
        yield
    except Exception:
        _check_unchanged(one)  # else it would be called damaged
        raise
    _check_unchanged(one)


def _check_unchanged(one: Input) -> None:
    if is_url(one.path):
        fs, inner = require("fsspec", "scale").core.url_to_fs(one.path)
        fs.invalidate_cache(inner)
        now = dict(_seen(fs.info(inner)))
    else:
        now = dict(_seen(_info(os.stat(one.path))))
    told = [(value, now[name]) for name, value in one.seen if name in now]
    if any(before != after for before, after in told[:2]):  # size, and the surest of all else
        raise FormatError(f"{one.path}: changed while it was read")


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
        ValueError: If a column is asked for of what is no table by its name.
    """
    inputs = list(inputs)
    for one in inputs:
        _check_columns(one, columns)
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        looked = list(pool.map(lambda one: _pieces(one, columns, size), inputs))
    if columns.id is not None:
        types = {found[1]: one.path for one, found in zip(inputs, looked, strict=True)}
        types.pop(None, None)
        if len(types) > 1:
            (kind, first), (other, second) = list(types.items())[:2]
            raise FormatError(f"column {columns.id!r} is {kind} in {first} and {other} in {second}")
        columns = Columns(columns.text, columns.id, next(iter(types), pyarrow().string()))
    shards: list[Shard] = []
    for one, (pieces, _) in zip(inputs, looked, strict=True):
        shards += [Shard(len(shards) + i, one, *piece) for i, piece in enumerate(pieces)]
    return shards, columns


def _check_columns(one: Input, columns: Columns) -> None:
    """Refuses lines of text where a column is asked for: not by default, and .txt may be among tables."""
    asked = columns.id is not None or (columns.text != "text" and _ending(one.path) != ".txt")
    if one.format == "text" and asked:
        raise ValueError(
            f"{one.path}: lines of text have no column {columns.id or columns.text!r}; tables are Parquet, "
            f"and what ends in {', '.join(_FORMATS)}"
        )


def _pieces(one: Input, columns: Columns, size: int) -> tuple[list[tuple[int, int, int]], Any]:
    """Begin, end and bytes of its shards; and the type of its ids, None where there are none."""
    if one.format == "parquet":
        with _naming(one.path), _unchanged(one), opened(one.path) as file:
            return _row_groups(one, pyarrow("parquet").ParquetFile(file), columns, size)
    kind = None
    if columns.id is not None:
        kind = pyarrow().string() if one.format != "jsonl" else _id_type(one, columns)
    if one.packed or one.format in ("csv", "tsv"):
        return [(0, -1, one.bytes)], kind
    return [(b, min(b + size, one.bytes), min(size, one.bytes - b)) for b in range(0, one.bytes, size)], kind


def _row_groups(one: Input, file: Any, columns: Columns, size: int) -> tuple[list[tuple[int, int, int]], Any]:
    kind = _check_schema(one.path, file.schema_arrow, columns)
    sizes = _sizes(file.metadata, range(file.metadata.num_row_groups), columns)
    pieces: list[tuple[int, int, int]] = []
    begin = held = 0
    for end, found in enumerate(sizes, 1):
        held += found
        if held >= size or end == len(sizes):
            pieces.append((begin, end, held))
            begin, held = end, 0
    return pieces, kind


def _sizes(meta: Any, groups: Iterable[int], columns: Columns) -> list[int]:
    """Of row groups, how many bytes the columns have that are read, unpacked."""
    paths = [meta.schema.column(i).path for i in range(meta.num_columns)]
    wanted = [name for name in (columns.text, columns.id) if name is not None]
    # Behind a dot is what a column is made of: but names may have dots, too.
    read = [i for i, path in enumerate(paths) if any(f"{path}.".startswith(f"{name}.") for name in wanted)]
    return [sum(meta.row_group(g).column(i).total_uncompressed_size for i in read) for g in groups]


def _check_schema(path: str, schema: Any, columns: Columns) -> Any:
    """Refuses a table of Parquet that lacks a column, or whose sentences are none; tells the type of ids."""
    _check_names(path, schema.names, columns)
    types = pyarrow().types
    kind = plain_type(schema.field(columns.text).type)
    inner = kind.value_type if types.is_list(kind) or types.is_large_list(kind) else kind
    if str(inner) not in ("string", "large_string", "binary", "large_binary"):
        raise FormatError(f"{path}: column {columns.text!r}: expected text, got {kind}")
    if columns.id is None:
        return None
    kind = plain_type(schema.field(columns.id).type)
    if types.is_nested(kind):
        raise FormatError(f"{path}: column {columns.id!r}: ids may be text, numbers or times, got {kind}")
    return kind


def _check_names(path: str, names: list[str], columns: Columns) -> None:
    for name in filter(None, (columns.text, columns.id)):
        if name not in names:
            raise FormatError(f"{path}: has no column {name!r}; it has {', '.join(names)}")
        if names.count(name) > 1:
            raise FormatError(f"{path}: has {names.count(name)} columns {name!r}; expected one")


def _id_type(one: Input, columns: Columns) -> Any:
    """That of the first row: int64 or string; None where there is none."""
    arrow = pyarrow()
    for _, ids in read(Shard(0, one, 0, -1, 0), Columns(columns.text, columns.id), 1):
        return arrow.int64() if isinstance(ids[0], int) and not isinstance(ids[0], bool) else arrow.string()
    return None


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
    with _naming(shard.input.path), _unchanged(shard.input):
        if shard.input.format == "parquet":
            yield from _parquet(shard, columns, rows)
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
    # Pyarrow's are the first two.
    except (ValueError, NotImplementedError, EOFError, lzma.LZMAError, gzip.BadGzipFile) as error:
        raise FormatError(f"{path}: cannot be read: {error}") from error
    except (TimeoutError, asyncio.TimeoutError, ConnectionError):  # may pass, see `engines.attempt`
        raise
    except OSError as error:
        if error.errno is None:  # pyarrow's word for damage
            raise FormatError(f"{path}: cannot be read: {error}") from error
        if error.filename is None:
            raise OSError(error.errno, f"cannot be read: {error.strerror}", path) from error
        raise


def _parquet(shard: Shard, columns: Columns, rows: int) -> Iterator[Batch]:
    with opened(shard.input.path) as file:
        table = pyarrow("parquet").ParquetFile(file, pre_buffer=is_url(shard.input.path))
        _check_schema(shard.input.path, table.schema_arrow, columns)
        meta = table.metadata
        groups = list(range(shard.begin, meta.num_row_groups if shard.end < 0 else shard.end))
        for group, size in zip(groups, _sizes(meta, groups, columns), strict=True):
            if size > TEXT_AT_ONCE:
                rows = min(rows, max(1, TEXT_AT_ONCE * meta.row_group(group).num_rows // size))
        wanted = [name for name in (columns.text, columns.id) if name is not None]
        batches = table.iter_batches(batch_size=rows, row_groups=groups, columns=wanted, use_threads=False)
        for batch in batches:
            ids = None if columns.id is None else plain_column(batch[columns.id])
            yield from _halved(plain_column(batch[columns.text]), ids)


def _halved(texts: Any, ids: Any) -> Iterator[Batch]:
    """Cuts a batch of much text: long ones may stand together, and Parquet stores equal ones once."""
    if texts.nbytes <= TEXT_AT_ONCE or len(texts) == 1:
        yield texts, ids
        return
    half = len(texts) // 2
    for part in (slice(half), slice(half, None)):
        yield from _halved(texts[part], None if ids is None else ids[part])


def _unpacked(file: BinaryIO, packed: str) -> Any:
    if packed == "gzip":
        return gzip.GzipFile(fileobj=file)
    if packed == "xz":
        return lzma.LZMAFile(file)
    if packed == "zstd":
        return io.BufferedReader(pyarrow().CompressedInputStream(pyarrow().PythonFile(file), "zstd"))
    return file


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


def _row(columns: Columns, id_type: type | None, text: Any, id: Any, where: str) -> Any:
    if text is not None and not isinstance(text, str):
        raise FormatError(f"{where}: {columns.text!r}: expected text, got {text!r:.60}")
    if columns.id is None:
        return text
    if id_type is not None and (not isinstance(id, id_type) or isinstance(id, bool)):
        wanted = "text" if id_type is str else "a whole number"
        raise FormatError(f"{where}: {columns.id!r}: expected {wanted}, got {id!r:.60}")
    return text, id


def _json_lines(shard: Shard, columns: Columns) -> Iterator[Any]:
    path = shard.input.path
    id_type = {"int64": int, "string": str}.get(str(columns.id_type))
    for where, line in _numbered(shard):
        if not line or line.isspace():
            continue
        try:
            row = json.loads(line)
        except ValueError as error:
            raise FormatError(f"{path}: {where}: expected a JSON object: {error}") from error
        if not isinstance(row, dict):
            raise FormatError(f"{path}: {where}: expected a JSON object, got {row!r:.60}")
        for name in filter(None, (columns.text, columns.id)):
            if name not in row:
                raise FormatError(f"{path}: {where}: has no {name!r}; it has {', '.join(row)}")
        id = None if columns.id is None else row[columns.id]
        yield _row(columns, id_type, row[columns.text], id, f"{path}: {where}")


def _csv(shard: Shard, columns: Columns) -> Iterator[Any]:
    path = shard.input.path
    csv.field_size_limit(max(_CELL, csv.field_size_limit()))
    with opened(shard.input.path) as raw:
        text = io.TextIOWrapper(_unpacked(raw, shard.input.packed), encoding="utf-8-sig", newline="")
        table = csv.reader(text, delimiter="\t" if shard.input.format == "tsv" else ",")
        try:
            names = next(table, [])
            _check_names(path, names, columns)
            places = [names.index(name) for name in (columns.text, columns.id) if name is not None]
            for row in table:
                if not row and len(names) > 1:
                    continue
                # Of one column, an empty line is a row with an empty cell. Short rows lack their last cells.
                cells = [row[i] if i < len(row) else None for i in places] if row else [""] * len(places)
                yield _row(columns, str, cells[0], cells[-1], f"{path}: line {table.line_num}")
        except UnicodeDecodeError as error:
            raise FormatError(f"{path}: behind line {table.line_num}: not UTF-8: {error.reason}") from error
        except csv.Error as error:
            raise FormatError(f"{path}: line {table.line_num}: {error}") from error
