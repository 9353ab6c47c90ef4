"""Reads static embedding models."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import _core
from ..errors import FormatError
from ..files import read_json
from ..linear.average import Average
from ..text.tokenizer import Tokenizer
from ..text.tokenizer_json import rust_errors
from ..vectors import WordVectors
from .folders import StaticFolder, recognised, tokens_of
from .splitters import split_of

__all__ = ["read_static"]


def read_static(path: Path) -> Average:
    """The encoder of a folder, or of WordLlama's weights.

    Raises:
        OSError: A file is missing or cannot be read.
        FormatError: A file is damaged, contradicts another one, or has a part that is not supported.
    """
    model = recognised(path)
    ours = split_of(read_json(model.tokenizer)) if model.max_length is None else None
    if ours is not None and ours.unknown and model.keep_unknown:
        ours = None  # unknown words have a row
    tokens = tokens_of(model.tokenizer) if ours is None else ours.words
    file = _core.SafeTensors(model.weights)
    if unknown := set(file.shapes) - {model.tensor, *model.other_tensors}:
        raise FormatError(f"{model.weights}: unknown tensor {min(unknown)!r}")
    mapping = _vector(file, model, "mapping", "iu", len(tokens))
    if mapping is not None:
        mapping = mapping.astype(np.int64)
    weights = _vector(file, model, "weights", "f", len(tokens))
    table = _core.WordVectors.from_matrix(file, model.tensor, tokens, mapping, model.columns or 0)
    return Average(
        WordVectors(table),
        tokenizer=_tokenizer(model, tokens) if ours is None else ours.tokenizer,
        normalize=model.normalize,
        weights=None if weights is None else weights.astype(np.float32),
    )


def _vector(
    file: _core.SafeTensors, model: StaticFolder, name: str, kinds: str, count: int
) -> npt.NDArray[Any] | None:
    """A tensor with a value for each token; None if there is none."""
    if name not in model.other_tensors or name not in file.shapes:
        return None
    values = file.values(name)
    if values.ndim != 1 or len(values) < count or values.dtype.kind not in kinds:
        raise FormatError(
            f"{model.weights}: tensor {name!r} must have {'integers' if kinds == 'iu' else 'numbers'}, "
            f"one for each of {count} tokens, got {values.dtype} of shape {list(values.shape)}"
        )
    values = values[:count]
    if not np.isfinite(values).all():
        raise FormatError(f"{model.weights}: tensor {name!r} holds NaN or infinity")
    return values


def _tokenizer(model: StaticFolder, tokens: list[str]) -> Tokenizer:
    characters = None
    if model.limits_characters and model.max_length is not None:
        characters = model.max_length * int(np.median([len(token) for token in tokens]))
    return Tokenizer(_Limited(model, characters), lowercase=False)


class _Limited:
    """A tokenizer of the package `tokenizers` that truncates as model2vec does."""

    def __init__(self, model: StaticFolder, characters: int | None) -> None:
        import tokenizers

        with rust_errors(FormatError, f"{model.tokenizer}: tokenizers cannot read it"):
            self._inner = tokenizers.Tokenizer.from_file(str(model.tokenizer))
        self._inner.no_padding()
        self._inner.no_truncation()
        if model.max_length is not None:
            self._inner.enable_truncation(model.max_length)
        self._characters = characters
        self._unknown = None if model.keep_unknown else getattr(self._inner.model, "unk_token", None)

    def tokenize(self, text: str) -> list[str]:
        tokens = self._inner.encode(text[: self._characters], add_special_tokens=False).tokens
        return [token for token in tokens if token != self._unknown]
