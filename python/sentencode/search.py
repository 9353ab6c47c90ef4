"""Similarity of embeddings: all pairs, row by row, and nearest-neighbour search in a stream."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from . import _core
from .checks import array_of, checked_int, checked_rows, is_column_of_rows, is_one_row, tensor_in
from .quantization import checked_ranges

__all__ = ["Hits", "semantic_search", "similarity", "similarity_pairwise"]

Measure = Literal["cosine", "dot"]
_BLOCK_BYTES = 1 << 26  # embeddings of the corpus per block


class Hits(NamedTuple):
    """Nearest embeddings of each query, best first: [q, top_k], or [top_k] for a single query.

    Attributes:
        indices: Indices in the corpus, int64.
        scores: Similarities, float32.
    """

    indices: npt.NDArray[np.int64]
    scores: npt.NDArray[np.float32]

    def to_dicts(self) -> list[list[dict[str, Any]]]:
        """Hits in the format of `sentence_transformers.util.semantic_search`.

        Returns:
            For each query a list of dictionaries with "corpus_id" and "score".

        Example:
            >>> import numpy as np, sentencode as se
            >>> se.semantic_search(np.array([1.0, 0.0]), np.eye(2), top_k=1).to_dicts()
            [[{'corpus_id': 0, 'score': 1.0}]]
        """
        rows = zip(np.atleast_2d(self.indices).tolist(), np.atleast_2d(self.scores).tolist(), strict=True)
        return [
            [{"corpus_id": i, "score": s} for i, s in zip(indices, scores, strict=True)]
            for indices, scores in rows
        ]


def similarity(a: Any, b: Any, measure: Measure = "cosine") -> Any:
    """Similarity of every embedding of `a` with every one of `b`.

    Args:
        a: Embeddings [n, dim], or one [dim]: an array, a tensor, or a list of either.
        b: Embeddings [m, dim], or one.
        measure: "cosine" (0 for zero vectors) or "dot", the inner product.

    Returns:
        An array, float32 [n, m]. If `a` or `b` is a tensor, a tensor on its device, without a gradient.

    Raises:
        ValueError: If the dimensions differ, or `measure` is invalid.

    Example:
        >>> import numpy as np, sentencode as se
        >>> se.similarity(np.array([[2.0, 0.0], [1.0, 1.0]]), np.array([0.0, 3.0])).round(3)
        array([[0.   ],
               [0.707]], dtype=float32)
    """
    return _like((a, b), _core.similarities(checked_rows("a", a), checked_rows("b", b), _checked(measure)))


def similarity_pairwise(a: Any, b: Any, measure: Measure = "cosine") -> Any:
    """Similarity of each row of `a` with the same row of `b`.

    Args:
        a: Embeddings [n, dim], or one [dim]: an array, a tensor, or a list of either.
        b: Embeddings of the same shape.
        measure: "cosine" (0 for zero vectors) or "dot", the inner product.

    Returns:
        An array, float32 [n]. If `a` or `b` is a tensor, a tensor on its device, without a gradient.

    Raises:
        ValueError: If the shapes differ, or `measure` is invalid.

    Example:
        >>> import numpy as np, sentencode as se
        >>> se.similarity_pairwise(np.eye(2), np.array([[3.0, 0.0], [1.0, 0.0]]))
        array([1., 0.], dtype=float32)
    """
    left, right = checked_rows("a", a), checked_rows("b", b)
    if left.shape != right.shape:
        raise ValueError(f"similarity_pairwise: a is {list(left.shape)} and b {list(right.shape)}")
    if _checked(measure) == "dot":
        return _like((a, b), np.einsum("ij,ij->i", left, right))
    return _like((a, b), _core.cosine_of_pairs(left, right).astype(np.float32))


def semantic_search(
    queries: Any,
    corpus: Any,
    top_k: int = 10,
    *,
    measure: Measure = "cosine",
    ranges: npt.ArrayLike | None = None,
    rescore: Any = None,
    rescore_multiplier: int = 4,
) -> Hits:
    """Find the embeddings of a corpus that are most similar to each query.

    The corpus is searched block by block: neither a memory map nor all similarities are held in memory. Every
    score is exact for the embeddings as they are stored, and does not depend on other queries, blocks or the
    number of threads.

    Args:
        queries: Embeddings [q, dim], or one [dim]: an array or a tensor, not quantized.
        corpus: Embeddings [n, dim]: an array of any number type, a memory map, a tensor; or an iterable of
            such blocks, which are numbered consecutively. int8 and uint8 are numbers, or steps of `ranges`.
            int8 and uint8 of [n, ceil(dim / 8)] are packed bits ("binary" and "ubinary"): signs, which are
            compared with the signs of the queries by their Hamming distance h. The cosine of two signs is
            1 - 2 h / dim, and their inner product dim - 2 h.
        top_k: Number of hits; all, if the corpus has fewer.
        measure: "cosine" (0 for zero vectors) or "dot", the inner product.
        ranges: Ranges [2, dim] that an int8 or uint8 corpus was quantized with.
        rescore: Embeddings [n, dim] of the same corpus in float32 or float16: an array, a memory map or a
            tensor. The `rescore_multiplier * top_k` best hits of the corpus are sorted by their similarity
            with these, computed in float64, and the `top_k` best are returned. So these embeddings alone
            decide the order of the hits; one is lost only if it is not among those candidates.
        rescore_multiplier: Candidates per hit.

    Returns:
        Indices and scores [q, top_k], or [top_k] for one query, best first; ties in the order of the corpus.
        NaN has the score -infinity. Packed bits have no NaN, and refuse queries with it.

    Raises:
        ValueError: If the dimensions differ, or another argument is invalid.

    Example:
        >>> import numpy as np, sentencode as se
        >>> corpus = np.array([[0.0, 1.0], [2.0, 0.1], [1.0, 1.0]])
        >>> hits = se.semantic_search(np.array([[1.0, 0.0]]), corpus, top_k=2)
        >>> hits.indices
        array([[1, 2]])

        One bit for each dimension, and float32 for the candidates:

        >>> bits = se.quantize_embeddings(corpus, "ubinary")
        >>> se.semantic_search(np.array([1.0, 0.2]), bits, top_k=2, rescore=corpus).indices
        array([1, 2])
    """
    rows = checked_rows("queries", queries)
    if str(getattr(queries, "dtype", "")).removeprefix("torch.") in ("int8", "uint8"):
        raise ValueError("queries must not be quantized: give their float32 embeddings")
    top_k = checked_int("top_k", top_k, 1)
    factor = 1 if rescore is None else checked_int("rescore_multiplier", rescore_multiplier, 1)
    nearest = _core.NearestRows(rows, min(top_k * factor, 2**63 - 1), _checked(measure))
    checked = None if ranges is None else checked_ranges("ranges", ranges, rows.shape[1])
    for block in _blocks(corpus, rows.shape[1]):
        _add(nearest, block, checked)
    indices, scores = nearest.result()
    if rescore is not None:
        rescore = rescore.to_numpy() if hasattr(rescore, "iloc") else rescore  # whose [] are columns
        expected = [nearest.rows, rows.shape[1]]
        if list(getattr(rescore, "shape", ())) != expected:
            shape = list(getattr(rescore, "shape", ())) or type(rescore).__name__
            raise ValueError(f"rescore must be an array of the corpus, {expected}, got {shape}")
        indices, scores = _rescored(rows, rescore, indices, top_k, measure)
    return Hits(indices[0], scores[0]) if is_one_row(queries) else Hits(indices, scores)


def _blocks(corpus: Any, dim: int) -> Iterator[Any]:
    if is_column_of_rows(corpus):
        yield corpus
    elif not hasattr(corpus, "shape"):
        if not isinstance(corpus, Iterable):
            raise TypeError(f"corpus must be embeddings or blocks of them, got a {type(corpus).__name__}")
        yield from corpus
    elif len(corpus.shape) != 2:
        yield corpus
    else:
        size = max(1, _BLOCK_BYTES // (4 * max(1, dim)))
        for first in range(0, corpus.shape[0], size):
            yield corpus[first : first + size]


def _add(nearest: _core.NearestRows, block: Any, ranges: _core.Ranges | None) -> None:
    """Searches a block in the precision of its type, or as float32."""
    if hasattr(block, "detach"):  # a tensor
        block = array_of(block)
    name = block.dtype.name if isinstance(block, np.ndarray) and block.ndim == 2 else ""
    precision = {"float16": "float16", "int8": "binary", "uint8": "ubinary"}.get(name, "float32")
    packed = precision in ("binary", "ubinary") and block.shape[1] == -(-nearest.dim // 8) != nearest.dim
    if ranges is not None:
        if name not in ("int8", "uint8") or packed:
            kind = "packed bits" if packed else name or type(block).__name__
            raise ValueError(f"ranges are of a corpus of int8 or uint8, got one of {kind}")
        nearest.add(np.ascontiguousarray(block, name), name, ranges)
    elif packed or precision == "float16":
        nearest.add(np.ascontiguousarray(block, name), precision)
    else:
        nearest.add(checked_rows("corpus", block))


def _rescored(
    queries: npt.NDArray[np.float32],
    rows: Any,
    candidates: npt.NDArray[np.int64],
    top_k: int,
    measure: Measure,
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]:
    """The `top_k` best candidates [q, c] of each query by rows [n, dim], which are read once a block."""
    indices = np.empty((len(queries), min(top_k, candidates.shape[1])), np.int64)
    scores = np.empty(indices.shape, np.float32)
    size = max(1, _BLOCK_BYTES // (4 * max(1, queries.shape[1] * candidates.shape[1])))
    for first in range(0, len(queries), size):
        block = slice(first, first + size)
        chosen, positions = np.unique(candidates[block], return_inverse=True)
        some, positions = checked_rows("rescore", rows[chosen]), positions.reshape(candidates[block].shape)
        exact = _core.exact_similarities(queries[block], some, positions, measure)
        order = np.lexsort((candidates[block], -exact), axis=-1)[:, :top_k]
        indices[block] = np.take_along_axis(candidates[block], order, axis=1)
        scores[block] = np.take_along_axis(exact, order, axis=1)
    return indices, scores


def lengths_of(rows: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Norm of each row [..., d] in float64: squares of numbers below 1e-19 underflow in float32.

    Example:
        >>> lengths_of(np.array([[3e-30, 4e-30]], dtype=np.float32)).tolist()
        [5.0000000...e-30]
    """
    lengths: npt.NDArray[np.float64] = np.sqrt(np.einsum("...i,...i->...", rows, rows, dtype=np.float64))
    return lengths


def _like(inputs: tuple[Any, ...], similarities: npt.NDArray[np.float32]) -> Any:
    """The similarities as a tensor, if one of the inputs is a tensor."""
    for values in inputs:
        if (tensor := tensor_in(values)) is not None:
            import torch

            return torch.from_numpy(similarities).to(tensor.device)
    return similarities


def _checked(measure: str) -> str:
    if measure not in ("cosine", "dot"):
        raise ValueError(f"measure must be 'cosine' or 'dot', got {measure!r}")
    return measure
