"""Saved encoders."""

from __future__ import annotations

import os
from typing import Any

from . import _core

__all__ = ["load"]


def load(path: str | os.PathLike[str], *, tokenizer: Any = None) -> Any:
    """Reads an encoder from the file that its `save` wrote.

    Everything is checked before anything is believed. Word vectors in the file are mapped, not read: this
    takes milliseconds.

    Args:
        path: The file.
        tokenizer: For an encoder whose tokenizer was a callable that its name does not lead to: the callable.

    Returns:
        An object of the class that was saved, fitted.

    Raises:
        OSError: If the file cannot be read.
        FormatError: If it is no encoder, is damaged, or comes from a later version.

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
    from . import linear

    model = _core.load_encoder(os.fspath(path))
    return getattr(linear, model.kind)._from_model(model, tokenizer)
