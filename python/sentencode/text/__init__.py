"""Text: tokenizers, corpora, vocabularies, and the forms in which sentences are accepted."""

from __future__ import annotations
