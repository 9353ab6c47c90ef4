"""Text: tokenizers, corpora, vocabularies, and conversion of sentences."""

from __future__ import annotations

from .moses import Moses
from .ngram_model import NgramModel
from .subwords import learn_bpe

__all__ = ["Moses", "NgramModel", "learn_bpe"]


def __dir__() -> list[str]:
    return sorted(__all__)
