"""Saved encoders."""

from __future__ import annotations

import importlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from . import _core, linear
from .core_encoder import NEURAL_KINDS
from .errors import FormatError
from .families import FAMILIES
from .files import as_name
from .text.tokenizer import Tokenizer
from .vectors import WordVectors

__all__ = ["load"]


def load(
    path: str | os.PathLike[str],
    *,
    tokenizer: Any = None,
    trust_tokenizer: bool = False,
    vectors: str | os.PathLike[str] | WordVectors | None = None,
    trust_vectors: bool = False,
    verify: bool = True,
) -> Any:
    """Reads an encoder from the file that its `save` wrote.

    Everything is checked before anything is believed, and nothing in the file is executed. Checksums tell
    whether the file is as it was written, unless it was before files had any. Word vectors are mapped:
    processes share their memory.

    Args:
        path: The file.
        tokenizer: For an encoder whose tokenizer is not a built-in one: that tokenizer, of which the file has
            only the name.
        trust_tokenizer: Whether to import the tokenizer by that name, or to get it from the hub, instead. The
            name can be that of any function: only for files of those you trust. A tokenizer of the package
            `tokenizers` that the file holds whole needs it, too, if nothing bounds its work or its output:
            other regular expressions than the published ones, or text that becomes over 100 times as long.
        vectors: For an encoder that was saved without its word vectors: these vectors, or their file now.
        trust_vectors: Whether the word vectors of such an encoder may be any file that it names. Otherwise
            they must lie in its folder, or below.
        verify: Whether to read the rows of all word vectors to see that they are as they were written, and
            finite: about a third of a second for a gigabyte in memory. All else is always checked.

    Returns:
        An object of the class that was saved, fitted.

    Raises:
        OSError: If the file cannot be read.
        FormatError: If it is no encoder, is damaged, contradicts itself, or comes from a later version; or if
            it is of a class of your own that is not there yet: import its module first.
        ValueError: If the tokenizer is neither built in, nor given, nor trusted, nor of bounded work.

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
    if vectors is not None and not isinstance(vectors, WordVectors):
        vectors = WordVectors.load(vectors, verify=verify)
    core = None if vectors is None else vectors._core
    options = _core.LoadOptions(vectors=core, trust_vectors=trust_vectors, verify=verify)
    with _reading(name):
        kind, model = _opened(name, options)
        params = kind._read_params(model)
        config = params["tokenizer"]
        external = config.get("split") == "external"
        Tokenizer.from_config(config, str.split if external else None)  # checks all but where it leads
    try:
        cut = Tokenizer.from_config(config, tokenizer, trust=trust_tokenizer)
    except FormatError as error:
        raise FormatError(f"{name}: {error}") from error
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from error
    with _reading(name):
        return kind._from_model(model, params, cut, trust=trust_tokenizer)


def _opened(name: str, options: _core.LoadOptions) -> tuple[Any, Any]:
    """The class that was saved, and what the core made of the file."""
    kind = json.loads(_core.encoder_config(name))["kind"]
    if kind in FAMILIES:  # those that need torch
        importlib.import_module("sentencode.models")
    if kind in NEURAL_KINDS:
        found: Any = NEURAL_KINDS[kind]
        return found, found._open(name, options)
    model = _core.load_encoder(name, options)
    return getattr(linear, model.kind), model


@contextmanager
def _reading(name: str) -> Iterator[None]:
    """Whatever is wrong with the file is a FormatError that names it."""
    try:
        yield
    except (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError) as error:
        if isinstance(error, FormatError) and name in str(error):
            raise
        raise FormatError(f"{name}: {error}") from error
