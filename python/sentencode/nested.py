"""Files of encoders that are made of other encoders: each one's own file is a tensor of bytes."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from . import _core
from .checks import check_independent
from .encoder import Encoder
from .errors import FormatError
from .tensor_file import Tensors, read_tensors, write_tensors

__all__ = ["check_inner", "read_nested", "write_nested"]


def check_inner(encoder: Any, name: str) -> None:
    """Checks an encoder that another one calls.

    Args:
        encoder: The encoder.
        name: Its name in messages.

    Raises:
        TypeError: It is not an encoder of this package.
        ValueError: Its embeddings depend on the other sentences of a call.
    """
    if not isinstance(encoder, Encoder):
        raise TypeError(f"{name} must be an encoder of sentencode, got a {type(encoder).__name__}")
    check_independent(name, encoder)


def write_nested(
    path: str | os.PathLike[str],
    kind: str,
    encoders: Sequence[Any],
    config: Mapping[str, Any],
    tensors: Mapping[str, Any] | None = None,
) -> None:
    """Writes encoders, the values of `config` and further tensors atomically."""
    with tempfile.TemporaryDirectory(prefix="sentencode-") as folder:
        files: Tensors = dict(tensors or {})
        for i, encoder in enumerate(encoders):
            encoder.save(Path(folder, str(i)))
            files[str(i)] = np.memmap(Path(folder, str(i)), np.uint8, mode="r")
        metadata = {"format": "sentencode", "format_version": "2", "kind": kind, "params": "{}"}
        write_tensors(path, files, {**metadata, "config": json.dumps(config)})


def read_nested(
    path: str, load: Callable[[Path], Encoder], name: Callable[[int], str]
) -> tuple[Any, list[Any], Tensors]:
    """The config, the encoders and the further tensors of a file.

    Args:
        path: File.
        load: Reads an encoder.
        name: The name in messages of the encoder with a number.

    Raises:
        FormatError: The file is damaged, or holds no encoder.
    """
    config, tensors = json.loads(_core.encoder_config(path))["config"], read_tensors(path)
    files = {key: tensors.pop(key) for key in sorted(tensors) if key.isdigit()}
    if not files or set(files) != set(map(str, range(len(files)))):
        raise FormatError(f"{path}: expected tensors 0, 1, ..., got {sorted(files)!r:.60}")
    encoders = []
    with tempfile.TemporaryDirectory(prefix="sentencode-") as folder:  # mapped files outlive their names
        for i in range(len(files)):
            file = Path(folder, str(i))
            files.pop(str(i)).tofile(file)
            try:
                encoders.append(load(file))
            except ValueError as error:
                raise type(error)(str(error).replace(str(file), f"{path}: {name(i)}")) from error
    return config, encoders, tensors
