"""Rows of the tokens of a tokenizer of Hugging Face, for other libraries."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from .. import _core
from ..text.tokenizer import lowercased
from .folded import Floats, Folded, Format

__all__ = ["subword_rows"]


def subword_rows(encoder: Folded, form: Format) -> tuple[dict[str, Any], Floats]:
    """The tokenizer.json of an encoder of subwords, and the rows of its ids.

    Raises:
        NotImplementedError: The library would count other tokens than the encoder.
    """
    subwords = encoder.tokenizer.subwords
    assert subwords is not None
    tokens = subwords.tokens
    found = dict(zip(encoder.words, encoder.rows, strict=True))
    names = lowercased(tokens) if encoder.lowercase else tokens
    rows = np.zeros((len(tokens), encoder.rows.shape[1]), np.float32)
    skipped = []  # tokens that the encoder does not count
    for i, name in enumerate(names):
        row = found.get(name, encoder.unknown)
        if row is not None:
            rows[i] = row
        if row is None or (i == subwords.unknown_id and not subwords.keep_unknown):
            skipped.append(i)
    _check_counted(encoder, form, subwords, skipped)
    rows[skipped] = 0
    content = json.loads(subwords.json)
    content["truncation"] = content["padding"] = None
    if form == "sentence-transformers" and subwords.max_tokens > 0:
        limit = {"direction": "Right", "strategy": "LongestFirst", "stride": 0}
        content["truncation"] = {**limit, "max_length": subwords.max_tokens}
    _check_characters(encoder, form, subwords, tokens)
    return content, rows


def _check_counted(
    encoder: Folded, form: Format, subwords: _core.SubwordTokenizer, skipped: list[int]
) -> None:
    """Check that the library skips these tokens and no others, or that their number does not matter."""
    dropped = [subwords.unknown_id] if form == "model2vec" and subwords.unknown_id >= 0 else []
    if sorted(skipped) == dropped or (encoder.normalize and set(dropped) <= set(skipped)):
        return
    if different := sorted(set(skipped) - set(dropped)):
        token = subwords.token(different[0])
        other = "use vectors with oov='zero'"
        if different == [subwords.unknown_id]:
            other = "distil a student with words='words', which has no such token"
        raise NotImplementedError(
            f"{encoder.name}: {form} counts {len(different)} tokens that this encoder skips, such as "
            f"{token!r:.40}: normalize the embeddings, by set_params(normalize=True), or {other}"
        )
    raise NotImplementedError(
        f"{encoder.name}: model2vec skips the unknown token, which this encoder counts; use "
        "format='sentence-transformers'"
    )


def _check_characters(
    encoder: Folded, form: Format, subwords: _core.SubwordTokenizer, tokens: list[str]
) -> None:
    """Check the maximum of characters, which model2vec computes of the maximum of tokens."""
    limit = 0
    if form == "model2vec":
        limit = subwords.max_tokens * int(np.median([len(token) for token in tokens]))
    if subwords.max_characters != limit:
        raise NotImplementedError(
            f"{encoder.name}: {form} reads {_characters(limit)} of a text, "
            f"this encoder {_characters(subwords.max_characters)}"
        )


def _characters(limit: int) -> str:
    return f"at most {limit} characters" if limit else "all characters"
