"""Columns of tables as sentences, and rows of numbers as tables."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from ..errors import FormatError
from . import UsageError

__all__ = ["WRITERS", "column", "writer"]

Writer = Callable[[npt.NDArray[Any], BinaryIO], None]
_ROWS = 4096  # that are turned into text at a time


# --- reading


def column(path: Path, name: str) -> Iterator[str]:
    """The texts of one column; that of a missing value is empty.

    Args:
        path: A .csv, .tsv, .jsonl or .parquet file.
        name: The column, by its name in the first line, or the key of the JSON objects.

    Yields:
        One text a row.

    Raises:
        FormatError: If a row has no such text.
        UsageError: If there is no such column, or the file is none of these by its name.
    """
    readers = {".csv": _csv, ".tsv": _csv, ".jsonl": _json_lines, ".parquet": _parquet}
    reader = readers.get(path.suffix.lower())
    if reader is None:
        raise UsageError(f"--column: {path} is none of {', '.join(readers)} by its name")
    return reader(path, name)


def _no_column(path: Path, name: str, known: Any) -> UsageError:
    return UsageError(f"--column: {path} has no column {name!r}; it has {', '.join(map(str, known or ()))}")


def _checked(path: Path, where: str, value: Any) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        raise FormatError(f"{path}: {where}: expected text, got {value!r:.60}")
    return value


def _csv(path: Path, name: str) -> Iterator[str]:
    with open(path, encoding="utf-8-sig", newline="") as file:
        table = csv.DictReader(file, delimiter="\t" if path.suffix.lower() == ".tsv" else ",")
        try:
            if name not in (table.fieldnames or ()):
                raise _no_column(path, name, table.fieldnames)
            for row in table:
                yield _checked(path, f"line {table.line_num}", row[name])
        except UnicodeDecodeError as error:
            raise FormatError(f"{path}: behind line {table.line_num}: not UTF-8: {error.reason}") from error
        except csv.Error as error:
            raise FormatError(f"{path}: line {table.line_num}: {error}") from error


def _json_lines(path: Path, name: str) -> Iterator[str]:
    with open(path, "rb") as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
            except ValueError as error:
                raise FormatError(f"{path}: line {number}: {error}") from error
            if not isinstance(row, dict):
                raise FormatError(f"{path}: line {number}: expected a JSON object, got {row!r:.60}")
            if name not in row:
                raise FormatError(f"{path}: line {number}: has no {name!r}; it has {', '.join(row)}")
            yield _checked(path, f"line {number}", row[name])


def _parquet(path: Path, name: str) -> Iterator[str]:
    arrow = _pyarrow()
    with arrow.ParquetFile(path) as file:
        if name not in file.schema_arrow.names:
            raise _no_column(path, name, file.schema_arrow.names)
        number = 0
        for batch in file.iter_batches(columns=[name]):
            for value in batch.column(0).to_pylist():
                yield _checked(path, f"row {number}", value)
                number += 1


def _pyarrow() -> Any:
    try:
        import pyarrow.parquet  # type: ignore[import-untyped, unused-ignore]
    except ImportError:
        raise ImportError("parquet needs pyarrow: pip install pyarrow") from None
    return pyarrow.parquet


# --- writing


def writer(path: Path) -> Writer | None:
    """What makes a table of rows by the name of its file; None: it is the .npy itself.

    Raises:
        ImportError: If what it needs is not there.
    """
    suffix = path.suffix.lower().removeprefix(".")
    if suffix == "parquet":
        _pyarrow()
    return WRITERS.get(suffix)


def _write_npz(rows: npt.NDArray[Any], file: BinaryIO) -> None:
    np.savez(file, embeddings=rows)


def _write_csv(rows: npt.NDArray[Any], file: BinaryIO) -> None:
    """A line with the names of the columns, then each number with as many digits as bring it back."""
    file.write((",".join(map(str, range(rows.shape[1]))) + "\r\n").encode())
    for begin in range(0, len(rows), _ROWS):
        lines = (",".join(map(str, row)) + "\r\n" for row in rows[begin : begin + _ROWS])
        file.write("".join(lines).encode())


def _write_parquet(rows: npt.NDArray[Any], file: BinaryIO) -> None:
    """One column, `embedding`, of lists of a fixed length."""
    parquet = _pyarrow()
    import pyarrow  # type: ignore[import-untyped, unused-ignore]

    numbers = pyarrow.from_numpy_dtype(rows.dtype)
    schema = pyarrow.schema([("embedding", pyarrow.list_(numbers, rows.shape[1]))])
    with parquet.ParquetWriter(file, schema) as made:
        for begin in range(0, len(rows), _ROWS):
            flat = pyarrow.array(np.ascontiguousarray(rows[begin : begin + _ROWS]).reshape(-1))
            lists = pyarrow.FixedSizeListArray.from_arrays(flat, rows.shape[1])
            made.write_table(pyarrow.table([lists], schema=schema))


WRITERS: dict[str, Writer | None] = {
    "npy": None,
    "npz": _write_npz,
    "csv": _write_csv,
    "parquet": _write_parquet,
}
