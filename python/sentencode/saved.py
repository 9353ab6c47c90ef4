"""Loads saved encoders."""

from __future__ import annotations

import importlib
import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from . import _core, linear
from .core_encoder import NEURAL_KINDS, parsed_params
from .errors import FormatError
from .families import FAMILIES
from .files import as_name
from .static_models.hub import static_path
from .static_models.reading import read_static
from .text.tokenizer import Tokenizer
from .vectors import WordVectors

__all__ = ["load"]

_NESTED = ("Concatenation", "Whitening")


def load(
    path: str | os.PathLike[str],
    *,
    tokenizer: Any = None,
    trust_tokenizer: bool = False,
    vectors: str | os.PathLike[str] | WordVectors | None = None,
    trust_vectors: bool = False,
    verify: bool = True,
) -> Any:
    """Loads an encoder from the file that its `save` wrote, or a static model of another library.

    Static models are those of model2vec, `StaticEmbedding` of sentence-transformers, and WordLlama: see
    `docs/static_models.md`. They become an `Average` over a table that is mapped from the model's file.

    The file is validated, and nothing in it is executed. Checksums detect damage, except in files of early
    versions. Word vectors are memory-mapped, so that processes share them.

    Args:
        path: File of the encoder; or folder of a static model, or its name on the Hugging Face Hub
            ("user/name"), which is downloaded if `huggingface_hub` is installed. Of the other arguments only
            `trust_tokenizer` is for static models.
        tokenizer: Tokenizer of an encoder that was saved with the name of one that is not built in.
        trust_tokenizer: Whether to import that tokenizer by its name, or to download it from the hub. The
            name may be that of any function: only for files from sources that you trust. It is also required
            for a tokenizer that only the package `tokenizers` can run and that may take unbounded time or
            memory: with other regular expressions than the published ones, or output over 100 times as long
            as the text.
        vectors: Word vectors, or their file, of an encoder that was saved without them.
        trust_vectors: Whether the word vectors of such an encoder may be any file that it names, instead of
            one in its folder or below.
        verify: Whether to verify checksums of all word vectors, and that they are finite: about a third of a
            second per gigabyte in memory. Everything else is always verified.

    Returns:
        A fitted object of the saved class.

    Raises:
        OSError: The file cannot be read.
        FormatError: It is neither an encoder nor a static model, damaged, inconsistent or of a later version;
            or its class is your own and not defined yet: import its module first.
        ValueError: The tokenizer is neither built in, nor given, nor trusted, nor bounded.

    Example:
        >>> import tempfile, pathlib
        >>> import sentencode as se
        >>> vectors = se.WordVectors.from_dict({"the": [3, 1], "cat": [1, 2], "dog": [1, -2]})
        >>> sif = se.SIF(vectors, a=None).fit(["the cat", "the dog", "the"])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     sif.save(pathlib.Path(folder, "sif.sentencode"))
        ...     again = se.load(pathlib.Path(folder, "sif.sentencode"))
        >>> again.encode("the cat").round(2)
        array([-0.25,  0.76], dtype=float32)
    """
    name = as_name(path)
    static = static_path(name)
    if static is not None:
        if tokenizer is not None or vectors is not None:
            raise ValueError(f"{name}: a static model has its own tokenizer and vectors, and takes no others")
        with _reading(str(static)):
            return read_static(static, trust=trust_tokenizer)
    if vectors is not None and not isinstance(vectors, WordVectors):
        vectors = WordVectors.load(vectors, verify=verify)
    try:
        with _reading(name):
            saved_class = json.loads(_core.encoder_config(name))["kind"]
    except FormatError as error:
        if re.search("not (an encoder|a safetensors file)", str(error)):
            raise FormatError(f"{error}; WordVectors.load reads files of word vectors") from None
        raise
    if saved_class in _NESTED:
        options: dict[str, Any] = {"tokenizer": tokenizer, "trust_tokenizer": trust_tokenizer}
        options |= {"vectors": vectors, "trust_vectors": trust_vectors, "verify": verify}
        return _public(saved_class)._read(name, partial(load, **options))
    core = None if vectors is None else vectors._core
    core_options = _core.LoadOptions(vectors=core, trust_vectors=trust_vectors, verify=verify)
    with _reading(name):
        kind, model = _opened(saved_class, name, core_options)
        if saved_class == "ParagraphVec" and vectors is not None:
            raise ValueError("has its own word vectors, and takes no others")
        params = kind._read_params(model)
        config = params["tokenizer"]
        external = config.get("split") == "external"
        subwords = model.tokenizer.subwords
        # checks all but the name
        Tokenizer.from_config(config, str.split if external else None, subwords=subwords)
    try:
        loaded = Tokenizer.from_config(config, tokenizer, subwords=subwords, trust=trust_tokenizer)
    except FormatError as error:
        raise FormatError(f"{name}: {error}") from error
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from error
    with _reading(name):
        return kind._from_model(model, params, loaded, trust=trust_tokenizer)


def _public(kind: str) -> Any:
    """A class that is imported at its first use, because few files have it."""
    return getattr(importlib.import_module(__package__), kind)


def _opened(kind: str, name: str, options: _core.LoadOptions) -> tuple[Any, Any]:
    """The saved class, and the C++ encoder of the file."""
    if kind in FAMILIES:  # those that need torch
        importlib.import_module("sentencode.models")
    if kind in NEURAL_KINDS:
        neural: Any = NEURAL_KINDS[kind]
        return neural, neural._open(name, options)
    if kind == "ParagraphVec":
        return _public(kind), _public(kind)._open(name)
    model: Any = _core.load_encoder(name, options)
    name = parsed_params(model).get("class", model.kind) if model.kind == "Average" else model.kind
    return linear.DictRep if name == "DictRep" else getattr(linear, model.kind), model


@contextmanager
def _reading(name: str) -> Iterator[None]:
    """Turns errors about the content of a file into a FormatError with its name."""
    try:
        yield
    except (
        ValueError,
        TypeError,
        LookupError,
        AttributeError,
        ArithmeticError,
        RecursionError,
        NotImplementedError,  # a tokenizer of a later version
    ) as error:
        if isinstance(error, FormatError) and name in str(error):
            raise
        raise FormatError(f"{name}: {error}") from error
