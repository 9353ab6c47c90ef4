"""Files, cut into shards, and the rows of these."""

from __future__ import annotations

import asyncio
import csv
import gzip
import io
import json
import lzma
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

_BLOCK = 1 << 22  # bytes that are read at a time
_MOST_SHARDS = 100_000  # of one file: with more, tasks and files are most of the work
_OFFSETS = 64  # bytes that a column of one text may have besides it
_REST = 1 << 16  # bytes that are read at a time behind a shard, for the rest of its last line

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
        ValueError: If a column is asked for of what is no table by its name, or shards are so small that a
            file has more than 100,000.
    """
    inputs = list(inputs)
    for one in inputs:
        _check_columns(one, columns)
    with ThreadPoolExecutor(AT_ONCE) as pool:
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
    asked = columns.id is not None or (columns.text != "text" and ending(one.path) != ".txt")
    if one.format == "text" and asked:
        raise ValueError(
            f"{one.path}: lines of text have no column {columns.id or columns.text!r}; tables are Parquet, "
            f"and what ends in {', '.join(FORMATS)}"
        )


def _pieces(one: Input, columns: Columns, size: int) -> tuple[list[tuple[int, int, int]], Any]:
    """Begin, end and bytes of its shards; and the type of its ids, None where there are none."""
    if one.format == "parquet":
        with _naming(one.path), unchanged(one), opened(one.path) as file:
            return _row_groups(one, pyarrow("parquet").ParquetFile(file), columns, size)
    kind = None
    if columns.id is not None:
        kind = pyarrow().string() if one.format != "jsonl" else _id_type(one, columns)
    if one.packed or one.format in ("csv", "tsv"):
        return [(0, -1, one.bytes)], kind
    if one.bytes > size * _MOST_SHARDS:
        least = -(-one.bytes // _MOST_SHARDS)
        raise ValueError(
            f"shard_size: {size:,} bytes make more than {_MOST_SHARDS:,} shards of {one.path}, which has "
            f"{one.bytes:,}: give at least {least:,} bytes"
        )
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
    """Where each line of a shard is, for errors; and the line."""
    for number, line in enumerate(_lines(shard), 1):
        yield _place(shard, number), line


def _place(shard: Shard, number: int) -> str:
    return f"line {number}" + (f" behind byte {shard.begin:,}" if shard.begin else "")


def _lines(shard: Shard) -> Iterator[bytes]:
    """Lines without their ends, as `Corpus` has them: those that begin between `begin` and `end`."""
    lines = _raw_lines(shard)
    if shard.begin == 0 and (first := next(lines, None)) is not None and first != BOM:
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
        place = max(shard.begin - 1, 0)
        file.seek(place)
        skipped = shard.begin > 0  # the line before, or its end alone
        for lines in _line_blocks(file, shard, end - place, 0 if skipped else 1):
            for line in lines:
                if place >= end:
                    return
                place += len(line)
                if not skipped:
                    yield line
                skipped = False


def _line_blocks(file: Any, shard: Shard, wanted: int | None, number: int) -> Iterator[list[bytes]]:
    """Lines with their ends, those of some megabytes at a time, and no more memory than one line may take.

    Args:
        file: What is read.
        shard: Whose lines these are, for errors.
        wanted: How many bytes there are lines of. None: all.
        number: That of the first line.

    Raises:
        FormatError: If a line is longer than `LINE_BYTES`.
    """
    rest = b""
    while True:
        block = file.read(_BLOCK if wanted is None else min(_BLOCK, max(wanted, _REST)))
        lines = io.BytesIO(rest + block).readlines()
        if wanted is not None:
            wanted -= len(block)
        rest = lines.pop() if block and lines and not lines[-1].endswith(b"\n") else b""
        for i, line in enumerate([*lines[:1], rest] if lines else [rest]):  # those between are in one block
            if len(_bare(line)) > LINE_BYTES:
                raise FormatError(_too_long(shard, number + (len(lines) if i else 0)))
        yield lines
        number += len(lines)
        if not block:
            return


def _too_long(shard: Shard, number: int) -> str:
    where = _place(shard, number) if number else f"the line before byte {shard.begin:,}"
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
        except (ValueError, RecursionError) as error:  # the second of lists in lists in lists
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
    held = (
        0  # characters of the row that is being read: all that follows a quote that is not closed is one cell
    )

    def lines(text: io.TextIOWrapper) -> Iterator[str]:
        nonlocal held
        while line := text.readline(LINE_BYTES + 3):
            held += len(line)
            if held > LINE_BYTES and held - len(line) + len(line.rstrip("\r\n")) > LINE_BYTES:
                where = f"{path}: line {table.line_num + 1}"
                raise FormatError(f"{where}: the row is longer than {LINE_BYTES:,} characters")
            yield line

    with opened(shard.input.path) as raw:
        text = io.TextIOWrapper(_unpacked(raw, shard.input.packed), encoding="utf-8-sig", newline="")
        table = csv.reader(lines(text), delimiter="\t" if shard.input.format == "tsv" else ",")
        try:
            names = next(table, [])
            _check_names(path, names, columns)
            places = [names.index(name) for name in (columns.text, columns.id) if name is not None]
            held = 0
            for row in table:
                held = 0
                if not row and len(names) > 1:
                    continue
                # Of one column, an empty line is a row with an empty cell. Short rows lack their last cells.
                cells = [row[i] if i < len(row) else None for i in places] if row else [""] * len(places)
                yield _row(columns, str, cells[0], cells[-1], f"{path}: line {table.line_num}")
        except UnicodeDecodeError as error:
            raise FormatError(f"{path}: behind line {table.line_num}: not UTF-8: {error.reason}") from error
        except csv.Error as error:
            raise FormatError(f"{path}: line {table.line_num}: {error}") from error
