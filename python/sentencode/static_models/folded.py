"""An encoder as an average of rows, which other libraries can compute."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import numpy.typing as npt

from ..text.tokenizer import Tokenizer

__all__ = ["Floats", "Folded", "Format"]

Format = Literal["model2vec", "sentence-transformers"]
Floats = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Folded:
    """An encoder as an average of rows.

    Attributes:
        name: Class of the encoder.
        words: Words of the rows.
        rows: All that is linear, applied to the vectors [words, dim].
        unknown: Row of unknown words [dim]; None: they are skipped.
        tokenizer: Its tokenizer.
        lowercase: Whether that lower-cases.
        normalize: Whether embeddings are divided by their norms.
        truncate_dim: Number of dimensions that are kept after that. None: all.
        notes: How the average differs from the encoder.
        facts: What is known of the word vectors, for the model card.
    """

    name: str
    words: list[str]
    rows: Floats
    unknown: Floats | None
    tokenizer: Tokenizer
    lowercase: bool
    normalize: bool
    truncate_dim: int | None = None
    notes: tuple[str, ...] = ()
    facts: Mapping[str, str] = field(default_factory=dict)
