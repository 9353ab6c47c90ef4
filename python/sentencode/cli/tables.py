"""Reads columns of tables, and writes arrays as tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from ..scale.arrow import embedding_column, embedding_encoding, embedding_type, pyarrow
from ..scale.inputs import inputs_of
from ..scale.shards import Columns, Shard, read
from .errors import UsageError

__all__ = ["WRITERS", "Writer", "column", "is_table", "writer"]

Writer = Callable[[Path, BinaryIO], None]  # writes the array of a .npy file
_ROWS = 4096  # read, or formatted, at a time
_READ = (".csv", ".tsv", ".jsonl", ".parquet")


def is_table(path: Path) -> bool:
    """Whether `column` reads such a file."""
    return path.suffix.lower() in _READ


def column(path: Path, name: str) -> Iterator[Any]:
    """Yields the texts of one column; a missing value is an empty text.

    Args:
        path: A .csv, .tsv, .jsonl or .parquet file.
        name: Name of the column, or key of the JSON objects.

    Raises:
        FormatError: A row has no such text.
        UsageError: The file has another suffix.
    """
    if not is_table(path):
        raise UsageError(f"--column: {path} is not a table: expected {', '.join(_READ)}")
    (table,) = inputs_of(path)
    return _texts(read(Shard(0, table, 0, -1, table.bytes), Columns(name), _ROWS))


def _texts(batches: Iterator[Any]) -> Iterator[Any]:
    for texts, _ in batches:
        for text in texts.to_pylist() if hasattr(texts, "to_pylist") else texts:
            yield "" if text is None else text


def writer(path: Path) -> Writer | None:
    """The function that converts a .npy file to the format of a file name; None for .npy."""
    suffix = path.suffix.lower().removeprefix(".")
    if suffix == "parquet":
        pyarrow("parquet")
    return WRITERS.get(suffix)


def _mapped(array: Path) -> npt.NDArray[Any]:
    rows: npt.NDArray[Any] = np.load(array, mmap_mode="r")
    return rows


def _write_npz(array: Path, file: BinaryIO) -> None:
    np.savez(file, embeddings=_mapped(array))


def _write_csv(array: Path, file: BinaryIO) -> None:
    """Writes a header line, then numbers with enough digits to restore them exactly."""
    rows = _mapped(array)
    file.write((",".join(map(str, range(rows.shape[1]))) + "\r\n").encode())
    for begin in range(0, len(rows), _ROWS):
        lines = (",".join(map(str, row)) + "\r\n" for row in rows[begin : begin + _ROWS])
        file.write("".join(lines).encode())


def _write_parquet(array: Path, file: BinaryIO) -> None:
    """Writes one column, `embedding`, of fixed-size lists."""
    rows = _mapped(array)
    arrow = pyarrow()
    schema = arrow.schema([("embedding", embedding_type(rows.shape[1], rows.dtype.name))])
    encoding = embedding_encoding("embedding", rows.dtype.name)
    with pyarrow("parquet").ParquetWriter(file, schema, **encoding) as parquet:
        for begin in range(0, len(rows), _ROWS):
            parquet.write_table(arrow.table([embedding_column(rows[begin : begin + _ROWS])], schema=schema))


WRITERS: dict[str, Writer | None] = {
    "npy": None,
    "npz": _write_npz,
    "csv": _write_csv,
    "parquet": _write_parquet,
}
