"""Tables of the core from words and vectors in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from .. import _core
from ..checks import checked_int, checked_str
from .words import Words

__all__ = [
    *("OutOfVocabulary", "Storage", "is_gensim"),
    *("reduced_table", "table_of", "table_of_dict", "table_of_gensim"),
]

Storage = Literal["float32", "float16", "int8"]
OutOfVocabulary = Literal["skip", "zero", "mean", "random", "subwords"]
_MOST_COUNT = 2**53  # floats represent all integers up to it


def table_of(
    words: Sequence[str],
    matrix: npt.ArrayLike,
    counts: npt.ArrayLike | None = None,
    *,
    storage: Storage | None = None,
    oov: OutOfVocabulary = "skip",
) -> _core.WordVectors:
    """`WordVectors.from_array`, which describes the arguments."""
    rows = np.asarray(matrix)
    if storage is None:
        storage = "float16" if rows.dtype == np.float16 else "float32"
    if rows.ndim != 2 or rows.dtype.kind not in "fiu":
        raise ValueError(
            f"matrix must contain numbers [words, dim], got {rows.dtype} of shape {list(rows.shape)}"
        )
    with np.errstate(over="ignore"):  # overflow becomes infinity, which the core refuses
        rows = np.ascontiguousarray(rows, dtype=np.float32)
    if counts is not None:
        counts = np.ascontiguousarray(counts)
        if counts.dtype.kind not in "iu" or counts.ndim != 1:
            raise ValueError(f"counts must be integers [words], got {counts.dtype}")
        if np.any(counts < 0) or np.any(counts > _MOST_COUNT):
            raise ValueError(f"counts must be from 0 to {_MOST_COUNT}, got {counts.min()} to {counts.max()}")
        counts = counts.astype(np.int64)
    words = words if isinstance(words, (list, tuple)) else list(words)
    return _core.WordVectors.from_array(
        words, rows, counts, checked_str("storage", storage), checked_str("oov", oov)
    )


def table_of_dict(
    mapping: Mapping[str, npt.ArrayLike], *, storage: Storage | None = None, oov: OutOfVocabulary = "skip"
) -> _core.WordVectors:
    """`WordVectors.from_dict`, which describes the arguments."""
    words = list(mapping)
    rows = [np.asarray(mapping[word]) for word in words]
    for word, row in zip(words, rows, strict=True):
        if row.ndim != 1:
            raise ValueError(
                f"the vector of {word!r} must be numbers [dim], got an array of shape {list(row.shape)}"
            )
        if row.shape != rows[0].shape:
            raise ValueError(
                f"the vector of {word!r} has shape {list(row.shape)}, "
                f"that of {words[0]!r} {list(rows[0].shape)}"
            )
    if not rows:
        raise ValueError("the dict is empty, so the dimension is unknown")
    return table_of(words, np.stack(rows), storage=storage, oov=oov)


def table_of_gensim(
    keyed_vectors: Any, *, storage: Storage | None = None, oov: OutOfVocabulary | None = None
) -> _core.WordVectors:
    """`WordVectors.from_keyed_vectors`, which describes the arguments."""
    source = getattr(keyed_vectors, "wv", keyed_vectors)
    if not is_gensim(source):
        raise TypeError(f"expected gensim's KeyedVectors of version 4, got {type(keyed_vectors).__name__}")
    counts = getattr(source, "expandos", {}).get("count")
    words = list(source.index_to_key)
    table = table_of(words, source.vectors, counts, storage=storage, oov="skip")
    if getattr(source, "vectors_ngrams", None) is not None and source.max_n > 0:
        rows = np.ascontiguousarray(source.vectors_ngrams, dtype=np.float32)
        table = table.with_subwords([source.min_n, source.max_n], rows)
        oov = oov or "subwords"
    return table if oov in (None, "skip") else table.with_oov(checked_str("oov", oov))


def is_gensim(source: Any) -> bool:
    """Whether this is gensim's `KeyedVectors` of version 4, or a model that has one."""
    source = getattr(source, "wv", source)
    return hasattr(source, "index_to_key") and hasattr(source, "vectors")


def reduced_table(table: _core.WordVectors, dim: int) -> _core.WordVectors:
    """`WordVectors.reduced`, which describes the arguments."""
    checked_int("dim", dim, 1, table.dim)
    x = table.matrix()  # [V, D]
    _, axes = np.linalg.eigh(x.T.astype(np.float64) @ x)  # [D, D], ascending
    axes = axes[:, ::-1][:, :dim]  # [D, d]
    axes *= np.sign(axes[np.abs(axes).argmax(0), np.arange(dim)])  # the same signs on every machine
    policy = "skip" if table.oov == "subwords" else table.oov
    return _core.WordVectors.from_array(
        list(Words(table)), x @ axes.astype(np.float32), table.counts, table.storage, policy
    )
