"""Files of safetensors with checksums, as the core writes them."""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _core
from .errors import FormatError
from .files import as_name, whole_file

__all__ = ["read_tensors", "tensor_pieces", "write_tensors"]

Tensors = dict[str, npt.NDArray[Any]]
_TYPES = {"f4": "F32", "f2": "F16", "i1": "I8", "i8": "I64", "u1": "U8"}


def tensor_pieces(
    tensors: Tensors, metadata: Mapping[str, str], *, checksums: bool = False
) -> list[bytes | memoryview]:
    """The content of a file: the length of the header, the header as JSON, the arrays.

    Args:
        tensors: Arrays by name.
        metadata: Text by name.
        checksums: Whether to add checksums of the header and of each array.
    """
    ordered = dict(sorted(tensors.items(), key=lambda item: (-item[1].itemsize, item[0])))  # aligned
    arrays = {name: np.ascontiguousarray(values) for name, values in ordered.items()}
    header: dict[str, Any] = {}
    end = 0
    for name, values in arrays.items():
        begin, end = end, end + values.nbytes
        dtype = _TYPES[values.dtype.str[1:]]
        header[name] = {"dtype": dtype, "shape": list(values.shape), "data_offsets": [begin, end]}
    metadata = dict(metadata)
    if checksums:
        sums = {f"checksum.tensor.{name}": _checksum(values.data) for name, values in arrays.items()}
        metadata = metadata | sums
        metadata["checksum.header"] = _header_checksum(header, metadata)
    text = json.dumps({"__metadata__": metadata, **header}).encode()
    text += b" " * (-(8 + len(text)) % 64)
    # Empty arrays have views that cannot be cast.
    bodies = [values.data.cast("B") if values.size else b"" for values in arrays.values()]
    return [len(text).to_bytes(8, "little"), text, *bodies]


def write_tensors(path: str | os.PathLike[str], tensors: Tensors, metadata: Mapping[str, str]) -> None:
    """Write arrays and metadata with checksums, atomically; a link is followed."""
    with whole_file(path, follow_link=True) as file:
        file.writelines(tensor_pieces(tensors, metadata, checksums=True))


def read_tensors(path: str | os.PathLike[str]) -> Tensors:
    """The arrays of a file that `write_tensors` wrote.

    Raises:
        FormatError: A checksum differs, or a value is not finite.
    """
    file, name = _core.SafeTensors(path), as_name(path)  # which verifies the header
    with open(name, "rb") as content:
        header = content.read(int.from_bytes(content.read(8), "little"))
    try:
        metadata = json.loads(header)["__metadata__"]
    except (ValueError, KeyError) as error:
        raise FormatError(f"{name}: is damaged: bad header: {error}") from None
    tensors = {}
    for tensor in file.shapes:
        values = tensors[tensor] = file.values(tensor)
        if metadata.get(f"checksum.tensor.{tensor}") != _checksum(values.data):
            raise FormatError(f"{name}: is damaged: the checksum of tensor {tensor!r} differs")
        if values.dtype.kind == "f" and not np.isfinite(values).all():
            raise FormatError(f"{name}: tensor {tensor!r} must be finite")
    return tensors


def _checksum(content: Any) -> str:
    return f"{zlib.crc32(content):08x}"


def _header_checksum(header: Mapping[str, Any], metadata: Mapping[str, str]) -> str:
    texts = [text for item in sorted(metadata.items()) for text in item]
    for name, entry in sorted(header.items()):
        texts += [name, entry["dtype"], *map(str, (*entry["shape"], *entry["data_offsets"]))]
    return _checksum(b"".join(text.encode() + b"\0" for text in texts))
