"""Vocabulary expansion: learnt rows for words that were not trained with."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..text.vocabulary import Vocabulary
from ..vectors import WordVectors

__all__ = ["expanded"]

Doubles = npt.NDArray[np.float64]
_ROWS = 1 << 16  # that are mapped together


def linear_map(x: Doubles, y: Doubles, ridge: float) -> tuple[Doubles, Doubles]:
    """min_A,b |x A + b - y|^2 + ridge |A|^2; of several without ridge the one of the least A.

    Args:
        x: [n, E].
        y: [n, F].
        ridge: Not negative.

    Returns:
        A [E, F] and b [F].
    """
    mean_x, mean_y = x.mean(0), y.mean(0)
    x, y = x - mean_x, y - mean_y
    if ridge > 0:
        a = np.linalg.solve(x.T @ x + ridge * np.eye(x.shape[1]), x.T @ y)
    else:
        a = np.linalg.lstsq(x, y, rcond=None)[0]
    return a, mean_y - mean_x @ a


def expanded(vocabulary: Vocabulary, learnt: Doubles, vectors: WordVectors, ridge: float) -> WordVectors:
    """A table of all words of `vectors`, in the space of the learnt rows.

    Args:
        vocabulary: The words that have learnt rows.
        learnt: Their rows [words, F].
        vectors: Of words.
        ridge: As for `linear_map`.

    Returns:
        Float32 rows; those of words that are learnt are the learnt ones.

    Raises:
        ValueError: If no word has both.
    """
    places = [(i, word) for i, word in enumerate(vocabulary.words) if word in vectors]
    if not places:
        raise ValueError("vectors: none of the words that are learnt has one, so that nothing can be mapped")
    ids = np.array([i for i, _ in places])
    a, b = linear_map(vectors.matrix([word for _, word in places]).astype(np.float64), learnt[ids], ridge)
    rows = np.empty((len(vectors), learnt.shape[1]), np.float32)
    for begin in range(0, len(rows), _ROWS):
        some = np.arange(begin, min(begin + _ROWS, len(rows)))
        rows[some] = vectors._core.rows(some).astype(np.float64) @ a + b
    rows[[vectors._core.find(word) for _, word in places]] = learnt[ids]
    made = WordVectors.from_array(list(vectors.words), rows, vectors.counts)
    return made if vectors.oov == "subwords" else made.with_oov(vectors.oov)  # type: ignore[arg-type]
