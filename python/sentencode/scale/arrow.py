"""Columns of embeddings as Arrow arrays, and the import of pyarrow."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from .._extras import require

__all__ = [
    "embedding_column",
    "embedding_encoding",
    "embedding_rows",
    "embedding_type",
    "plain_column",
    "plain_type",
    "pyarrow",
]


def pyarrow(part: str = "") -> Any:
    """The module pyarrow, or one of its submodules such as "parquet"."""
    return require(f"pyarrow.{part}" if part else "pyarrow", "scale")


def embedding_type(width: int, dtype: str) -> Any:
    """The Arrow type of an embedding: a fixed-size list of `width` numbers."""
    arrow = pyarrow()
    return arrow.list_(arrow.from_numpy_dtype(np.dtype(dtype)), width)


def embedding_encoding(name: str, dtype: str) -> dict[str, Any]:
    """Keywords of `ParquetWriter` for a column of embeddings.

    Parquet stores an int8 in four bytes, but the index of one of 256 values in one byte. Compression and
    statistics would not make embeddings smaller.

    Example:
        >>> embedding_encoding("embedding", "float32")["use_dictionary"]
        []
    """
    path = f"{name}.list.element"
    dictionary = [path] if np.dtype(dtype).kind in "iu" else []
    return {"use_dictionary": dictionary, "write_statistics": [], "compression": {path: "none"}}


def embedding_column(rows: npt.NDArray[Any], absent: npt.NDArray[np.bool_] | None = None) -> Any:
    """A `pyarrow.FixedSizeListArray` of embeddings, without a copy.

    Args:
        rows: Embeddings [n, width].
        absent: Mask [n] of the nulls. None: no nulls.

    Example:
        >>> embedding_column(np.eye(2, dtype=np.float32)).type
        FixedSizeListType(fixed_size_list<item: float>[2])
    """
    arrow = pyarrow()
    flat = arrow.array(np.ascontiguousarray(rows).reshape(-1))
    mask = None if absent is None or not absent.any() else arrow.array(absent)
    return arrow.FixedSizeListArray.from_arrays(flat, rows.shape[1], mask=mask)


def embedding_rows(column: Any) -> npt.NDArray[Any]:
    """The embeddings of a column of fixed-size lists [n, dim]; nulls become NaN.

    It is a view if the column has one chunk and no nulls.
    """
    dim = column.type.list_size
    blocks = []
    for chunk in column.chunks if hasattr(column, "chunks") else [column]:
        # `values` of a slice are those of the whole array.
        values = chunk.values.slice(chunk.offset * dim, len(chunk) * dim)
        rows = values.to_numpy(zero_copy_only=False).reshape(-1, dim)
        if chunk.null_count:
            rows = rows.copy()
            rows[~chunk.is_valid().to_numpy(zero_copy_only=False)] = np.nan
        blocks.append(rows)
    if not blocks:
        return np.empty((0, dim), dtype=column.type.value_type.to_pandas_dtype())
    return blocks[0] if len(blocks) == 1 else np.concatenate(blocks)


def plain_type(kind: Any) -> Any:
    """The Arrow type of the same values without dictionary, view, extension or null types.

    All functions of Arrow accept it.

    Example:
        >>> import pyarrow
        >>> plain_type(pyarrow.dictionary(pyarrow.int32(), pyarrow.string()))
        DataType(string)
    """
    arrow = pyarrow()
    types = arrow.types
    if isinstance(kind, arrow.BaseExtensionType):
        return plain_type(kind.storage_type)
    if types.is_dictionary(kind):
        return plain_type(kind.value_type)
    if types.is_list(kind) or types.is_large_list(kind):
        inner = plain_type(kind.value_type)
        return kind if inner == kind.value_type else arrow.large_list(inner)
    # By name, since old versions of pyarrow have no views.
    names = {"string_view": "large_string", "null": "large_string", "binary_view": "large_binary"}
    return arrow.type_for_alias(names[str(kind)]) if str(kind) in names else kind


def plain_column(column: Any) -> Any:
    """A column cast to its `plain_type`, without a copy if it has that type already."""
    kind = plain_type(column.type)
    return column if kind == column.type else column.cast(kind)
