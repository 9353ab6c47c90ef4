"""Shards of input files, and their rows."""

from __future__ import annotations

import asyncio
import codecs
import csv
import gzip
import io
import json
import lzma
import zlib
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, BinaryIO

from ..errors import FormatError
from ..text.inputs import TEXT_AT_ONCE, gathered
from ..text.text_files import LINE_BYTES
from .arrow import plain_column, plain_type, pyarrow
from .inputs import AT_ONCE, BOM, FORMATS, Input, ending, is_url, opened, unchanged

__all__ = ["Columns", "Shard", "read", "shards_of"]

_BLOCK = 1 << 22  # bytes read at a time
_MAX_SHARDS = 100_000  # of one file: with more, tasks and files dominate the work
_OFFSETS = 64  # bytes of a column of one text in addition to the text
_REST = 1 << 16  # bytes read at a time after a shard, for the rest of its last line

Batch = tuple[Any, Any]  # sentences, and their ids or None: lists or Arrow arrays


@dataclass(frozen=True)
class Columns:
    """The columns of tables to read.

    Args:
        text: Column of the sentences.
        id: Column of the ids, or None.
        id_type: Arrow type of the ids; `shards_of` sets it.
    """

    text: str
    id: str | None = None
    id_type: Any = None


@dataclass(frozen=True)
class Shard:
    """A part of a file that one task reads.

    Args:
        number: Index among all shards.
        input: File.
        begin: First byte or row group; a line belongs to the shard of its first byte.
        end: End, exclusive. -1: end of the file.
        size: Approximate size in bytes, for progress and for balance.
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


def shards_of(inputs: Iterable[Input], columns: Columns, size: int) -> tuple[list[Shard], Columns]:
    """Splits files into shards of about `size` bytes, between lines or Parquet's row groups.

    A compressed file, or a csv file, whose cells may contain line ends, is one shard.

    Args:
        inputs: Files.
        columns: Columns to read.
        size: Size in bytes; for Parquet, uncompressed bytes of the columns to read.

    Returns:
        Shards in order, and the columns with the type of the ids.

    Raises:
        FormatError: A table lacks a column, or files differ in the type of ids.
        ValueError: A file of text is to have a column, or a file has more than 100,000 shards.
    """
    inputs = list(inputs)
    for file in inputs:
        _check_columns(file, columns)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        pieces_and_types = list(pool.map(lambda file: _pieces(file, columns, size), inputs))
    if columns.id is not None:
        types = {kind: file.path for file, (_, kind) in zip(inputs, pieces_and_types, strict=True)}
        types.pop(None, None)
        if len(types) > 1:
            (kind, first), (other, second) = list(types.items())[:2]
            raise FormatError(f"column {columns.id!r} is {kind} in {first} and {other} in {second}")
        columns = Columns(columns.text, columns.id, next(iter(types), pyarrow().string()))
    shards: list[Shard] = []
    for file, (pieces, _) in zip(inputs, pieces_and_types, strict=True):
        shards += [Shard(len(shards) + i, file, *piece) for i, piece in enumerate(pieces)]
    return shards, columns


def _check_columns(one: Input, columns: Columns) -> None:
    """Raises ValueError if text is to have a column; the default column and .txt among tables are fine."""
    needs_table = columns.id is not None or (columns.text != "text" and ending(one.path) != ".txt")
    if one.format == "text" and needs_table:
        raise ValueError(
            f"{one.path}: lines of text have no column {columns.id or columns.text!r}; tables are Parquet "
            f"and {', '.join(FORMATS)}"
        )


def _pieces(one: Input, columns: Columns, size: int) -> tuple[list[tuple[int, int, int]], Any]:
    """Begin, end and size of the shards of a file; and the type of its ids or None."""
    if one.format == "parquet":
        with _naming(one.path), unchanged(one), opened(one.path) as file:
            return _row_groups(one, pyarrow("parquet").ParquetFile(file), columns, size)
    kind = None
    if columns.id is not None:
        kind = pyarrow().string() if one.format != "jsonl" else _id_type(one, columns)
    if one.packed or one.format in ("csv", "tsv"):
        return [(0, -1, one.bytes)], kind
    if one.bytes > size * _MAX_SHARDS:
        least = -(-one.bytes // _MAX_SHARDS)
        raise ValueError(
            f"shard_size: {size:,} bytes make more than {_MAX_SHARDS:,} shards of {one.path}, which has "
            f"{one.bytes:,}: give at least {least:,} bytes"
        )
    return [(b, min(b + size, one.bytes), min(size, one.bytes - b)) for b in range(0, one.bytes, size)], kind


def _row_groups(one: Input, file: Any, columns: Columns, size: int) -> tuple[list[tuple[int, int, int]], Any]:
    kind = _check_schema(one.path, file.schema_arrow, columns)
    sizes = _sizes(file.metadata, range(file.metadata.num_row_groups), columns)
    pieces: list[tuple[int, int, int]] = []
    begin = total = 0
    for end, group_size in enumerate(sizes, 1):
        total += group_size
        if total >= size or end == len(sizes):
            pieces.append((begin, end, total))
            begin, total = end, 0
    return pieces, kind


def _sizes(meta: Any, groups: Iterable[int], columns: Columns) -> list[int]:
    """The uncompressed size of the columns to read, for each row group."""
    paths = [meta.schema.column(i).path for i in range(meta.num_columns)]
    names = [name for name in (columns.text, columns.id) if name is not None]
    # Parts of a nested column follow a dot; names may have dots, too.
    read = [i for i, path in enumerate(paths) if any(f"{path}.".startswith(f"{name}.") for name in names)]
    return [sum(meta.row_group(g).column(i).total_uncompressed_size for i in read) for g in groups]


def _check_schema(path: str, schema: Any, columns: Columns) -> Any:
    """Returns the type of the ids; raises FormatError if a column is missing or has a wrong type."""
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
    """The type of the first id: int64 or string; None without rows."""
    arrow = pyarrow()
    for _, ids in read(Shard(0, one, 0, -1, 0), Columns(columns.text, columns.id), 1):
        return arrow.int64() if isinstance(ids[0], int) and not isinstance(ids[0], bool) else arrow.string()
    return None


def read(shard: Shard, columns: Columns, rows: int) -> Iterator[Batch]:
    """Yields batches of the sentences of a shard, and their ids.

    Args:
        shard: Shard to read.
        columns: Columns of a table.
        rows: Maximum rows per batch; fewer if texts are long.

    Yields:
        Texts, where missing ones are None or null, and ids or None.

    Raises:
        FormatError: The file is damaged; the message has the position.
        OSError: The file cannot be read.
    """
    with _naming(shard.input.path), unchanged(shard.input):
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
    """Adds the file's name to errors of libraries about damage."""
    try:
        yield
    except FormatError:
        raise
    # The first two are pyarrow's.
    except (ValueError, NotImplementedError, EOFError, lzma.LZMAError, gzip.BadGzipFile, zlib.error) as error:
        raise FormatError(f"{path}: cannot be read: {error}") from error
    except (TimeoutError, asyncio.TimeoutError, ConnectionError):  # transient, see `engines.attempt`
        raise
    except OSError as error:
        if error.errno is None:  # pyarrow's error for damage
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
        names = [name for name in (columns.text, columns.id) if name is not None]
        batches = table.iter_batches(batch_size=rows, row_groups=groups, columns=names, use_threads=False)
        done = 0
        for batch in batches:
            ids = None if columns.id is None else plain_column(batch[columns.id])
            for texts, some in _halved(plain_column(batch[columns.text]), ids):
                if len(texts) == 1 and texts.nbytes > LINE_BYTES + _OFFSETS:
                    raise FormatError(
                        f"{shard}: row {done}: {columns.text!r}: longer than {LINE_BYTES:,} bytes"
                    )
                done += len(texts)
                yield texts, some


def _halved(texts: Any, ids: Any) -> Iterator[Batch]:
    """Halves a batch until its text is short enough; Parquet stores equal texts once, so sizes mislead."""
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
    """Yields the position of each line, for errors, and the line."""
    for number, line in enumerate(_lines(shard), 1):
        yield _position(shard, number), line


def _position(shard: Shard, number: int) -> str:
    return f"line {number}" + (f" after byte {shard.begin:,}" if shard.begin else "")


def _lines(shard: Shard) -> Iterator[bytes]:
    """Yields the lines of a shard without line ends, as `Corpus` does."""
    lines = _raw_lines(shard)
    if shard.begin == 0 and (first := next(lines, None)) is not None and first != BOM:
        if first.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            raise FormatError(f"{shard.input.path} is UTF-16 text; expected UTF-8")
        yield _bare(first.removeprefix(BOM))
    for line in lines:
        yield _bare(line)


def _raw_lines(shard: Shard) -> Iterator[bytes]:
    with opened(shard.input.path) as file:
        if shard.input.packed:
            for lines in _line_blocks(_unpacked(file, shard.input.packed), shard, None, 1):
                yield from lines
            return
        end = shard.input.bytes if shard.end < 0 else shard.end
        offset = max(shard.begin - 1, 0)
        file.seek(offset)
        skip = shard.begin > 0  # the rest of the previous shard's last line, perhaps only its end
        for lines in _line_blocks(file, shard, end - offset, 0 if skip else 1):
            for line in lines:
                if offset >= end:
                    return
                offset += len(line)
                if not skip:
                    yield line
                skip = False


def _line_blocks(file: Any, shard: Shard, wanted: int | None, number: int) -> Iterator[list[bytes]]:
    """Yields blocks of lines with their ends, in bounded memory.

    Args:
        file: File to read.
        shard: Shard, for errors.
        wanted: Bytes of lines to read. None: all.
        number: Number of the first line, for errors.

    Raises:
        FormatError: A line is longer than `LINE_BYTES`.
    """
    rest = b""
    while True:
        block = file.read(_BLOCK if wanted is None else min(_BLOCK, max(wanted, _REST)))
        lines = io.BytesIO(rest + block).readlines()
        if wanted is not None:
            wanted -= len(block)
        rest = lines.pop() if block and lines and not lines[-1].endswith(b"\n") else b""
        for i, line in enumerate(
            [*lines[:1], rest] if lines else [rest]
        ):  # the others are shorter than a block
            if len(_bare(line)) > LINE_BYTES:
                raise FormatError(_too_long(shard, number + (len(lines) if i else 0)))
        yield lines
        number += len(lines)
        if not block:
            return


def _too_long(shard: Shard, number: int) -> str:
    where = _position(shard, number) if number else f"the line before byte {shard.begin:,}"
    return f"{shard.input.path}: {where}: longer than {LINE_BYTES:,} bytes: is this text, a sentence a line?"


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
        expected = "text" if id_type is str else "a whole number"
        raise FormatError(f"{where}: {columns.id!r}: expected {expected}, got {id!r:.60}")
    return text, id


def _json_lines(shard: Shard, columns: Columns) -> Iterator[Any]:
    path = shard.input.path
    id_type = {"int64": int, "string": str}.get(str(columns.id_type))
    for where, line in _numbered(shard):
        if not line or line.isspace():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:  # RecursionError: deeply nested lists
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
    csv.field_size_limit(max(LINE_BYTES, csv.field_size_limit()))
    row_size = 0  # characters of the current row; after an unclosed quote, the rest of the file is one cell

    def lines(text: io.TextIOWrapper) -> Iterator[str]:
        nonlocal row_size
        while line := text.readline(LINE_BYTES + 3):
            row_size += len(line)
            if row_size > LINE_BYTES and row_size - len(line) + len(line.rstrip("\r\n")) > LINE_BYTES:
                where = f"{path}: line {table.line_num + 1}"
                raise FormatError(f"{where}: the row is longer than {LINE_BYTES:,} characters")
            yield line

    with opened(shard.input.path) as raw:
        text = io.TextIOWrapper(_unpacked(raw, shard.input.packed), encoding="utf-8-sig", newline="")
        delimiter = "\t" if shard.input.format == "tsv" else ","
        table = csv.reader(lines(text), delimiter=delimiter, strict=True)  # else a quote could hide rows
        try:
            names = next(table, [])
            _check_names(path, names, columns)
            indices = [names.index(name) for name in (columns.text, columns.id) if name is not None]
            row_size = 0
            for row in table:
                row_size = 0
                if not row and len(names) > 1:
                    continue
                if any(row[len(names) :]):
                    raise FormatError(
                        f"{path}: line {table.line_num}: {len(row)} cells, but the header has {len(names)}: "
                        "a text with the delimiter must be in quotes"
                    )
                # In a table of one column, an empty line is an empty cell. Short rows lack their last cells.
                cells = [row[i] if i < len(row) else None for i in indices] if row else [""] * len(indices)
                yield _row(columns, str, cells[0], cells[-1], f"{path}: line {table.line_num}")
        except UnicodeDecodeError as error:
            raise FormatError(f"{path}: after line {table.line_num}: not UTF-8: {error.reason}") from error
        except csv.Error as error:
            raise FormatError(
                f"{path}: line {table.line_num}: {error}; a cell that begins with a quote must end with one"
            ) from error
