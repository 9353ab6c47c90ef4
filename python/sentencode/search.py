"""Similarity of embeddings: all pairs, row by row, and nearest-neighbour search in a stream."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from . import _core

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
    return _like((a, b), _core.similarities(_rows(a, "a"), _rows(b, "b"), _checked(measure)))


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
    left, right = _rows(a, "a"), _rows(b, "b")
    if left.shape != right.shape:
        raise ValueError(f"similarity_pairwise: a is {list(left.shape)} and b {list(right.shape)}")
    if _checked(measure) == "dot":
        return _like((a, b), np.einsum("ij,ij->i", left, right))
    return _like((a, b), _core.cosine_of_pairs(left, right).astype(np.float32))


def semantic_search(queries: Any, corpus: Any, top_k: int = 10, *, measure: Measure = "cosine") -> Hits:
    """Find the embeddings of a corpus that are most similar to each query.

    The corpus is searched block by block: neither a memory map nor all similarities are held in memory.

    Args:
        queries: Embeddings [q, dim], or one [dim]: an array or a tensor.
        corpus: Embeddings [n, dim]: an array of any floating type, a memory map, a tensor; or an iterable of
            such blocks, which are numbered consecutively.
        top_k: Number of hits; all, if the corpus has fewer.
        measure: "cosine" (0 for zero vectors) or "dot", the inner product.

    Returns:
        Indices and scores [q, top_k], or [top_k] for one query, best first; ties in the order of the corpus.

    Raises:
        ValueError: If the dimensions differ, `top_k` is less than 1, or `measure` is invalid.

    Example:
        >>> import numpy as np, sentencode as se
        >>> corpus = np.array([[0.0, 1.0], [2.0, 0.1], [1.0, 1.0]])
        >>> hits = se.semantic_search(np.array([[1.0, 0.0]]), corpus, top_k=2)
        >>> hits.indices
        array([[1, 2]])
    """
    nearest = _core.NearestRows(_rows(queries, "queries"), top_k, _checked(measure))
    for block in _blocks(corpus):
        nearest.add(block)
    indices, scores = nearest.result()
    return Hits(indices[0], scores[0]) if np.ndim(queries) == 1 else Hits(indices, scores)


def _blocks(corpus: Any) -> Iterator[npt.NDArray[np.float32]]:
    if not hasattr(corpus, "shape"):
        if not isinstance(corpus, Iterable):
            raise TypeError(f"corpus must be embeddings or blocks of them, got a {type(corpus).__name__}")
        for block in corpus:
            yield _rows(block, "corpus")
    elif len(corpus.shape) != 2:
        yield _rows(corpus, "corpus")
    else:
        size = max(1, _BLOCK_BYTES // (4 * max(1, corpus.shape[1])))
        for first in range(0, corpus.shape[0], size):
            yield _rows(corpus[first : first + size], "corpus")


def lengths_of(rows: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Norm of each row [..., d] in float64: squares of numbers below 1e-19 underflow in float32.

    Example:
        >>> lengths_of(np.array([[3e-30, 4e-30]], dtype=np.float32)).tolist()
        [5.0000000...e-30]
    """
    lengths: npt.NDArray[np.float64] = np.sqrt(np.einsum("...i,...i->...", rows, rows, dtype=np.float64))
    return lengths


def _rows(values: Any, name: str) -> npt.NDArray[np.float32]:
    """Embeddings as a contiguous float32 matrix, copied only if necessary."""
    if hasattr(values, "detach"):  # a tensor
        values = values.detach().cpu()
    elif _a_tensor(values) is not None:
        values = [value.detach().cpu().numpy() for value in values]
    array = np.asarray(values)
    if array.dtype.kind not in "fiub":
        raise TypeError(f"{name} must hold numbers, got an array of {array.dtype}")
    if array.ndim not in (1, 2):
        raise ValueError(f"{name} must have one or two dimensions, got shape {list(array.shape)}")
    return np.atleast_2d(np.ascontiguousarray(array, dtype=np.float32))


def _a_tensor(values: Any) -> Any:
    """The tensor itself, or the first one of a list of tensors; None for anything else."""
    if isinstance(values, (list, tuple)) and values:
        values = values[0]
    return values if hasattr(values, "detach") else None


def _like(inputs: tuple[Any, ...], similarities: npt.NDArray[np.float32]) -> Any:
    """The similarities as a tensor, if one of the inputs is a tensor."""
    for values in inputs:
        if (tensor := _a_tensor(values)) is not None:
            import torch

            return torch.from_numpy(similarities).to(tensor.device)
    return similarities


def _checked(measure: str) -> str:
    if measure not in ("cosine", "dot"):
        raise ValueError(f"measure must be 'cosine' or 'dot', got {measure!r}")
    return measure
