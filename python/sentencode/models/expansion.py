"""Vocabulary expansion: rows of a trained word table for words that were not trained."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..text.vocabulary import Vocabulary
from ..vectors import Vectors, WordVectors
from .linear_map import linear_map

__all__ = ["expanded", "expanded_words"]

Doubles = npt.NDArray[np.float64]
_ROWS = 1 << 16  # mapped together


def expanded(vocabulary: Vocabulary, trained: Doubles, vectors: WordVectors, ridge: float) -> WordVectors:
    """Return vectors of all words of `vectors`, mapped into the space of a trained word table.

    The words of the vocabulary keep their rows `trained` [words, F]. ValueError if none has a vector.
    """
    shared = [(i, word) for i, word in enumerate(vocabulary.words) if word in vectors]
    if not shared:
        raise ValueError("vectors: none of the trained words has one, so that nothing can be mapped")
    ids = np.array([i for i, _ in shared])
    a, b = linear_map(vectors.matrix([word for _, word in shared]).astype(np.float64), trained[ids], ridge)
    rows = np.empty((len(vectors), trained.shape[1]), np.float32)
    for begin in range(0, len(rows), _ROWS):
        block = np.arange(begin, min(begin + _ROWS, len(rows)))
        rows[block] = vectors._core.rows(block).astype(np.float64) @ a + b
    rows[[vectors._core.find(word) for _, word in shared]] = trained[ids]
    mapped = WordVectors.from_array(list(vectors.words), rows, vectors.counts)
    return mapped if vectors.oov == "subwords" else mapped.with_oov(vectors.oov)  # type: ignore[arg-type]


def expanded_words(encoder: Any, vectors: Vectors, ridge: float) -> WordVectors:
    """Return the vectors that an encoder reads after `expand_vocabulary`.

    Raises:
        ValueError: If its network has no trained word table, or no word has both a vector and a row.
    """
    rows = getattr(encoder.network, "learnt_words", lambda: None)()
    if rows is None:
        raise ValueError(
            f"{type(encoder).__name__}.expand_vocabulary: its network has no trained word table, and reads "
            "the vectors themselves"
        )
    trained = rows.detach()[: len(encoder.vocabulary_)].double().cpu().numpy()
    return expanded(encoder.vocabulary_, trained, WordVectors.of(vectors), ridge)
