"""Writes encoders as static models of model2vec and sentence-transformers."""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import stat
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from ..files import StrPath, as_path, whole_file
from ..tensor_file import tensor_pieces
from .card import checked_facts, model_card
from .folded import Floats, Folded, Format
from .splitters import tokenizer_json, with_variants
from .subwords import subword_rows

__all__ = ["WRITTEN", "Dtype", "write_folded"]

Dtype = Literal["float32", "float16", "int8"]

_MODULE = "sentence_transformers.models."


def write_folded(
    encoder: Folded,
    path: StrPath,
    form: Format,
    dtype: Dtype,
    card: Mapping[str, Any] | None,
    overwrite: bool,
) -> None:
    """Writes the folder of an encoder, completely or not at all; `LinearEncoder.export` has the arguments."""
    if form not in ("model2vec", "sentence-transformers"):
        raise ValueError(f"format must be 'model2vec' or 'sentence-transformers', got {form!r:.40}")
    if dtype not in ("float32", "float16", "int8"):
        raise ValueError(f"dtype must be 'float32', 'float16' or 'int8', got {dtype!r:.40}")
    if dtype == "float16" and form == "sentence-transformers" and encoder.normalize:
        raise ValueError(
            "dtype: in float16, Normalize of sentence-transformers divides zero by zero for a sentence "
            "without known words; use 'float32' or 'int8'"
        )
    if form == "model2vec" and encoder.truncate_dim is not None:
        raise NotImplementedError(
            f"{encoder.name}: model2vec cannot truncate normalised embeddings; use "
            "format='sentence-transformers', or set truncate_dim or normalize to its default"
        )
    target = Path(os.path.abspath(as_path(path)))  # "." has no name
    name = os.fsencode(target.name).decode("utf-8", "replace")
    facts = {"name": name, **encoder.facts, **checked_facts(card or {})}
    subwords = encoder.tokenizer.subwords is not None
    tokenizer, rows = (subword_rows if subwords else _word_rows)(encoder, form)
    table = {
        "encoder": encoder.name,
        "rows": f"{len(rows):,} of {rows.shape[1]} dimensions, {dtype}",
        "tokenizer": f"{encoder.tokenizer.split}{', lower-cased' * encoder.lowercase}",
        "embeddings": ("of length 1" if encoder.normalize else "not normalised")
        + ("" if encoder.truncate_dim is None else f", then the first {encoder.truncate_dim} dimensions"),
        "unknown words": "skipped" if encoder.unknown is None else "have a row of their own",
    }
    readme = model_card(facts, form, table, encoder.notes)
    with _whole_folder(target, overwrite) as folder:
        _write_json(folder / "tokenizer.json", tokenizer, indent=None)
        _write(folder / "model.safetensors", *tensor_pieces(_tensors(rows, form, dtype), {"format": "pt"}))
        _write_json(folder / "modules.json", _modules(encoder.normalize))
        if form == "model2vec":
            _write_json(folder / "config.json", _config(encoder, dtype))
        else:
            truncated = {} if encoder.truncate_dim is None else {"truncate_dim": encoder.truncate_dim}
            _write_json(folder / "config_sentence_transformers.json", _TRANSFORMERS | truncated)
        _write(folder / "README.md", readme.encode())


def _word_rows(encoder: Folded, form: Format) -> tuple[dict[str, Any], Floats]:
    """The tokenizer.json of a tokenizer of words, and the rows of its ids."""
    # model2vec drops the unknown token, sentence-transformers counts it.
    if form == "model2vec" and encoder.unknown is not None:
        raise NotImplementedError(
            f"{encoder.name}: model2vec skips unknown words, this encoder does not: use vectors with "
            "oov='skip', or format='sentence-transformers'"
        )
    unknown = form == "model2vec" or encoder.unknown is not None
    split = encoder.tokenizer.split
    words, rows = with_variants(split, encoder.words, encoder.rows)
    tokenizer = tokenizer_json(split, encoder.lowercase, words, unknown=unknown)
    if not unknown:
        return tokenizer, rows
    last = np.zeros_like(rows[:1]) if encoder.unknown is None else encoder.unknown[None]
    return tokenizer, np.concatenate([rows, last])


def _tensors(rows: Floats, form: Format, dtype: Dtype) -> dict[str, npt.NDArray[Any]]:
    if dtype == "int8":  # with a scale for each row, which both libraries read as a weight
        scales = np.abs(rows).max(axis=1, initial=0) / 127
        quantised = np.rint(rows / np.where(scales > 0, scales, 1)[:, None]).astype(np.int8)
        return {"embeddings": quantised, "weights": scales.astype(np.float32)}
    name = "embeddings" if form == "model2vec" else "embedding.weight"
    with np.errstate(over="ignore"):
        values = rows.astype(dtype)
    if not np.isfinite(values).all():
        raise ValueError(f"dtype: {np.abs(rows).max():g}, the largest number of the table, exceeds float16")
    return {name: values}


def _modules(normalize: bool) -> list[dict[str, Any]]:
    modules = [{"idx": 0, "name": "0", "path": "", "type": f"{_MODULE}StaticEmbedding"}]
    if normalize:
        modules.append({"idx": 1, "name": "1", "path": "1_Normalize", "type": f"{_MODULE}Normalize"})
    return modules


def _config(encoder: Folded, dtype: Dtype) -> dict[str, Any]:
    return {
        "model_type": "model2vec",
        "architectures": ["StaticModel"],
        "hidden_dim": encoder.rows.shape[1],
        "normalize": encoder.normalize,
        "max_length": getattr(encoder.tokenizer.subwords, "max_tokens", 0) or None,
        "embedding_dtype": dtype,
    }


# What folders of static models hold; others are not replaced.
WRITTEN = {
    *("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "model.safetensors", "README.md"),
    *("config.json", "config_sentence_transformers.json", "modules.json", "0_StaticEmbedding", "1_Normalize"),
}
_TRANSFORMERS: dict[str, Any] = {
    "model_type": "SentenceTransformer",
    "prompts": {},
    "default_prompt_name": None,
    "similarity_fn_name": "cosine",
}


@contextmanager
def _whole_folder(target: Path, overwrite: bool) -> Iterator[Path]:
    """A new folder, which gets the name `target` after the block, or is removed after an error."""
    occupied = target.exists() or target.is_symlink()
    if occupied and not overwrite:
        raise FileExistsError(17, "exists already; overwrite=True replaces it", str(target))
    if occupied and (target.is_symlink() or not target.is_dir()):
        raise NotADirectoryError(20, "is not a folder, and is not replaced", str(target))
    if occupied and (foreign := next((path for path in target.rglob("*") if path.name not in WRITTEN), None)):
        raise FileExistsError(17, "is no file of a static model; give another folder", str(foreign))
    temporary = target.parent / f".{target.name}-{uuid.uuid4().hex}"
    if not target.parent.is_dir():
        raise FileNotFoundError(2, "there is no such folder", str(target.parent))
    temporary.mkdir()
    try:
        if occupied:
            temporary.chmod(stat.S_IMODE(target.stat().st_mode))
        yield temporary
        if not occupied:
            os.rename(temporary, target)
        elif not _exchanged(temporary, target):
            old = temporary.with_name(f"{temporary.name}-old")
            try:
                os.rename(target, old)
                os.rename(temporary, target)
            except BaseException:  # also Ctrl-C: the old folder keeps its name
                if old.exists() and not target.exists():
                    os.rename(old, target)
                raise
            shutil.rmtree(old)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _exchanged(a: Path, b: Path) -> bool:
    """Exchanges two names, so that none is missing at any time; False if the system cannot (not Linux)."""
    here, exchange = -100, 2  # AT_FDCWD, RENAME_EXCHANGE
    try:
        rename = ctypes.CDLL(None).renameat2
    except (AttributeError, OSError):
        return False
    return bool(rename(here, os.fsencode(a), here, os.fsencode(b), exchange) == 0)


def _write(path: Path, *content: bytes | memoryview) -> None:
    with whole_file(path) as file:
        file.writelines(content)


def _write_json(path: Path, content: Any, indent: int | None = 2) -> None:
    _write(path, json.dumps(content, indent=indent, ensure_ascii=False).encode())
