"""Word vectors, and how frequent words are."""

from __future__ import annotations

from .frequencies import Frequencies, resolve_frequencies
from .word_vectors import Vectors, WordVectors

__all__ = ["Frequencies", "Vectors", "WordVectors", "resolve_frequencies"]


def __dir__() -> list[str]:
    return sorted(__all__)
