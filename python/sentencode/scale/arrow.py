"""What Arrow is needed for: columns of embeddings, and pyarrow itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from .._extras import require

__all__ = ["embedding_column", "embedding_rows", "embedding_type", "plain_column", "plain_type", "pyarrow"]


def pyarrow(part: str = "") -> Any:
    """Imports pyarrow, or one of its modules such as "parquet"."""
    return require(f"pyarrow.{part}" if part else "pyarrow", "scale")


def embedding_type(dim: int, precision: str) -> Any:
    """Arrow's type of an embedding: a list of as many numbers as it has.

    Args:
        dim: How many.
        precision: "float32" or "float16".

    Returns:
        A `pyarrow.DataType`.
    """
    arrow = pyarrow()
    return arrow.list_(arrow.from_numpy_dtype(np.dtype(precision)), dim)


def embedding_column(rows: npt.NDArray[Any], absent: npt.NDArray[np.bool_] | None = None) -> Any:
    """Embeddings as a column of Arrow; the numbers are not copied.

    Args:
        rows: [n, dim], float32 or float16.
        absent: Which of them are null. None: none.

    Returns:
        A `pyarrow.FixedSizeListArray`.

    Example:
        >>> embedding_column(np.eye(2, dtype=np.float32)).type
        FixedSizeListType(fixed_size_list<item: float>[2])
    """
    arrow = pyarrow()
    flat = arrow.array(np.ascontiguousarray(rows).reshape(-1))
    mask = None if absent is None or not absent.any() else arrow.array(absent)
    return arrow.FixedSizeListArray.from_arrays(flat, rows.shape[1], mask=mask)


def embedding_rows(column: Any) -> npt.NDArray[Any]:
    """The numbers of such a column [n, dim]; those of a null are NaN.

    Args:
        column: A `pyarrow.Array` or `ChunkedArray` of lists of a fixed length.

    Returns:
        An array of the column's precision; a view where nothing is null and there is one piece.
    """
    dim = column.type.list_size
    pieces = column.chunks if hasattr(column, "chunks") else [column]
    blocks = []
    for piece in pieces:
        # Of a slice, `values` would be those of the whole.
        values = piece.values.slice(piece.offset * dim, len(piece) * dim)
        rows = values.to_numpy(zero_copy_only=False).reshape(-1, dim)
        if piece.null_count:
            rows = rows.copy()
            rows[~piece.is_valid().to_numpy(zero_copy_only=False)] = np.nan
        blocks.append(rows)
    if not blocks:
        return np.empty((0, dim), dtype=column.type.value_type.to_pandas_dtype())
    return blocks[0] if len(blocks) == 1 else np.concatenate(blocks)


def plain_type(kind: Any) -> Any:
    """The type for the same values that all functions of Arrow know: no dictionary, view, extension or null.

    Args:
        kind: A `pyarrow.DataType`.

    Returns:
        Another one, or the same.

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
    # By name: earlier versions of pyarrow have no views.
    names = {"string_view": "large_string", "null": "large_string", "binary_view": "large_binary"}
    return arrow.type_for_alias(names[str(kind)]) if str(kind) in names else kind


def plain_column(column: Any) -> Any:
    """A column as one of its `plain_type`.

    Args:
        column: A `pyarrow.Array` or `ChunkedArray`.

    Returns:
        The same values; the column itself where its type is plain.
    """
    kind = plain_type(column.type)
    return column if kind == column.type else column.cast(kind)
