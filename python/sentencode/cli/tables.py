"""Columns of tables as sentences, and rows of numbers as tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from ..scale.arrow import embedding_column, embedding_type, pyarrow
from ..scale.inputs import inputs_of
from ..scale.shards import Columns, Shard, read
from . import UsageError

__all__ = ["WRITERS", "Writer", "column", "writer"]

Writer = Callable[[npt.NDArray[Any], BinaryIO], None]
_ROWS = 4096  # that are read, or turned into text, at a time
_READ = (".csv", ".tsv", ".jsonl", ".parquet")


# --- reading


def column(path: Path, name: str) -> Iterator[Any]:
    """The texts of one column; that of a missing value is empty.

    Args:
        path: A .csv, .tsv, .jsonl or .parquet file.
        name: The column, by its name in the first line, or the key of the JSON objects.

    Yields:
        One text a row.

    Raises:
        FormatError: If a row has no such text.
        UsageError: If the file is none of these by its name.
    """
    if path.suffix.lower() not in _READ:
        raise UsageError(f"--column: {path} is none of {', '.join(_READ)} by its name")
    (table,) = inputs_of(path)
    return _texts(read(Shard(0, table, 0, -1, table.bytes), Columns(name), _ROWS))


def _texts(batches: Iterator[Any]) -> Iterator[Any]:
    for texts, _ in batches:
        for text in texts.to_pylist() if hasattr(texts, "to_pylist") else texts:
            yield "" if text is None else text


# --- writing


def writer(path: Path) -> Writer | None:
    """What makes a table of rows by the name of its file; None: it is the .npy itself.

    Raises:
        ImportError: If what it needs is not there.
    """
    suffix = path.suffix.lower().removeprefix(".")
    if suffix == "parquet":
        pyarrow("parquet")
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
    arrow = pyarrow()
    schema = arrow.schema([("embedding", embedding_type(rows.shape[1], rows.dtype.name))])
    with pyarrow("parquet").ParquetWriter(file, schema) as made:
        for begin in range(0, len(rows), _ROWS):
            made.write_table(arrow.table([embedding_column(rows[begin : begin + _ROWS])], schema=schema))


WRITERS: dict[str, Writer | None] = {
    "npy": None,
    "npz": _write_npz,
    "csv": _write_csv,
    "parquet": _write_parquet,
}
