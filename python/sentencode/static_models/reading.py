"""Reads static embedding models."""

from __future__ import annotations

import codecs
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import _core
from ..errors import FormatError
from ..files import decoded, read_json, read_text
from ..linear.average import Average
from ..text import hugging_face
from ..text.tokenizer import Tokenizer
from ..vectors import WordVectors
from .folders import StaticFolder, checked_count, recognised
from .splitters import split_of

__all__ = ["read_static"]

_ATTEMPTS = 5


def read_static(path: Path, *, trust: bool = False) -> Average:
    """The encoder of a folder, or of WordLlama's weights.

    Args:
        path: Folder, or file of weights.
        trust: Whether a tokenizer that only the package `tokenizers` can run may take unbounded time.

    Raises:
        OSError: A file is missing or cannot be read.
        FormatError: A file is damaged, contradicts another one, or has a part that is not supported.
    """
    # `export` may replace the folder between two files.
    for attempt in range(_ATTEMPTS):
        before = _version(path)
        try:
            encoder = _read(path, trust)
        except (FormatError, OSError):
            if attempt == _ATTEMPTS - 1 or _version(path) == before:
                raise
        else:
            if _version(path) == before:
                return encoder
    raise FormatError(f"{path}: was replaced {_ATTEMPTS} times while it was read")


def _version(path: Path) -> tuple[int, int, int]:
    status = os.stat(path)
    return status.st_dev, status.st_ino, status.st_ctime_ns


def _read(path: Path, trust: bool) -> Average:
    model = recognised(path)
    tokenizer, tokens = _tokenizer(model, trust)
    file = _core.SafeTensors(model.weights)
    if unknown := set(file.shapes) - {model.tensor, *model.other_tensors}:
        raise FormatError(f"{model.weights}: unknown tensor {min(unknown)!r}")
    mapping = _vector(file, model, "mapping", "iu", len(tokens))
    if mapping is not None:
        mapping = mapping.astype(np.int64)
    weights = _vector(file, model, "weights", "f", len(tokens))
    # Without a norm, only these columns matter.
    columns = 0 if model.normalize else model.truncate_dim or 0
    table = _core.WordVectors.from_matrix(file, model.tensor, tokens, mapping, columns)
    return Average(
        WordVectors(table),
        tokenizer=tokenizer,
        normalize=model.normalize,
        truncate_dim=model.truncate_dim if model.normalize else None,
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
    with np.errstate(over="ignore"):
        finite = np.isfinite(values.astype(np.float32))
    if not finite.all():
        wrong = f"{name}[{finite.argmin()}] = {values[finite.argmin()]:g}"
        raise FormatError(f"{model.weights}: tensor {name!r} holds NaN or infinity in float32: {wrong}")
    return values


def _tokenizer(model: StaticFolder, trust: bool) -> tuple[Tokenizer, list[str] | _core.SubwordTokenizer]:
    """The tokenizer, and what has its tokens in the order of their ids."""
    try:
        core = _core.SubwordTokenizer.open(model.tokenizer)
    except ValueError as error:
        decoded(model.tokenizer.read_bytes().removeprefix(codecs.BOM_UTF8), model.tokenizer)
        raise FormatError(f"{model.tokenizer}: {str(error).removeprefix('tokenizer.json: ')}") from None
    except NotImplementedError as error:
        written = read_json(model.tokenizer)
        length = _max_length(model, written.get("truncation"))
        ours = split_of({**written, "truncation": None, "padding": None})
        if ours is not None and length is None and not (ours.unknown and model.keep_unknown):
            return ours.tokenizer, ours.words
        # Our own patterns are matched in linear time.
        return _external(model, length, str(error), trust=trust or ours is not None)
    if core.missing_id >= 0:
        raise FormatError(f"{model.tokenizer}: no token has the id {core.missing_id}")
    length = _max_length(model, json.loads(core.truncation)) or 0
    characters = length * core.median_characters if model.limits_characters else 0
    core = core.with_options(keep_unknown=model.keep_unknown, max_tokens=length, max_characters=characters)
    return Tokenizer.from_config({"split": "subwords", "lowercase": False}, subwords=core), core


def _max_length(model: StaticFolder, truncation: Any) -> int | None:
    """Maximum of tokens of a text, which may be that of the tokenizer's truncation. None: no limit."""
    if not model.truncates or truncation is None:
        return model.max_length
    length = truncation.get("max_length") if isinstance(truncation, dict) else None
    length = checked_count(model.tokenizer, "truncation.max_length", length, "a positive integer")
    if truncation.get("direction", "Right") != "Right":
        raise FormatError(
            f"{model.tokenizer}: truncation.direction is {truncation['direction']!r:.40}, expected 'Right'"
        )
    return length


def _external(
    model: StaticFolder, length: int | None, why: str, *, trust: bool
) -> tuple[Tokenizer, list[str]]:
    """A tokenizer that the core cannot reproduce, by the package `tokenizers`, and its tokens."""
    content = read_text(model.tokenizer)
    try:
        inner = hugging_face.bounded_tokenizer(content, f"{model.tokenizer}: {why}", trust=trust)
    except ValueError as error:
        raise FormatError(f"{model.tokenizer}: {why}; {error}") from None
    ids = inner.get_vocab()
    tokens = sorted(ids, key=lambda token: (ids[token], token))
    wrong = next((token for i, token in enumerate(tokens) if ids[token] != i), None)
    if wrong is not None:
        raise FormatError(
            f"{model.tokenizer}: the id of token {wrong!r:.40} is {ids[wrong]}; expected each of 0 to "
            f"{len(ids) - 1} once"
        )
    characters = int(np.median([len(token) for token in tokens])) if model.limits_characters else 0
    limited = hugging_face.LimitedTokenizer(
        inner,
        keep_unknown=model.keep_unknown,
        max_tokens=length or 0,
        max_characters=(length or 0) * characters,
    )
    return Tokenizer(limited, lowercase=False), tokens
