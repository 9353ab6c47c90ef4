"""The manifest of a folder of embeddings."""

from __future__ import annotations

import hashlib
import io
import json
import re
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import FormatError
from .folders import Folder
from .shards import Shard

__all__ = ["FILE", "RANGES", "Manifest", "Part", "file_of", "is_part", "load", "load_ranges"]

FILE = "manifest.json"
RANGES = "ranges.npy"  # of int8 and uint8
_FORMAT, _VERSION = "sentencode embeddings", 1
_SHAPE: dict[str, Any] = {
    "version": int,
    "complete": bool,
    "rows": int,
    "encoder": {"kind": str, "fingerprint": str, "dim": int},
    "columns": {"text": str, "id": (str, type(None)), "embedding": str},
    "options": {
        "normalize": bool,
        "precision": str,
        "missing": str,
        "truncate_dim": (int, type(None)),
        "ranges": (str, type(None)),
    },
    "shard_size": int,
    "inputs": [{"path": str, "bytes": int}],
    "parts": [{"file": str, "input": str, "begin": int, "end": int}],
}
_FINISHED = {"rows": int, "bytes": int, "crc32": int}  # more keys of a finished part


@dataclass(frozen=True)
class Part:
    """A finished file: its number of rows, its size and its checksum."""

    rows: int
    bytes: int
    crc32: int


class Manifest:
    """Encoder, options and inputs of a job, and its finished parts.

    It is saved before the first part and repeatedly later, and lists a part only once its file is complete.

    Args:
        made_from: Everything that embeddings depend on: encoder, options, inputs.
        shards: Shards in order; part i has the embeddings of shard i.

    Attributes:
        parts: Finished parts by number.
        tag: Hash of `made_from` and the shards, in the names of the parts: a worker of another job that could
            not be stopped must not replace a part of this one.
    """

    def __init__(self, made_from: dict[str, Any], shards: list[Shard]) -> None:
        self.made_from, self.shards = made_from, shards
        self.parts: dict[int, Part] = {}
        content = [made_from, [[shard.input.path, shard.begin, shard.end] for shard in shards]]
        self.tag = hashlib.sha256(json.dumps(content).encode()).hexdigest()[:8]

    @property
    def complete(self) -> bool:
        """Whether all parts are finished."""
        return len(self.parts) == len(self.shards)

    @property
    def rows(self) -> int:
        """Number of rows of the finished parts."""
        return sum(part.rows for part in self.parts.values())

    def file_of(self, number: int) -> str:
        """File name of a part."""
        return file_of(number, len(self.shards), self.tag)

    def line_of(self, shard: Shard) -> dict[str, Any]:
        """The manifest's entry of a part before it is finished."""
        file = self.file_of(shard.number)
        return {"file": file, "input": shard.input.path, "begin": shard.begin, "end": shard.end}

    def save(self, folder: Folder) -> None:
        """Writes the manifest to a folder."""
        parts = []
        for shard in self.shards:
            part = self.parts.get(shard.number)
            parts.append(json.dumps(self.line_of(shard) | ({} if part is None else asdict(part))))
        head = {"format": _FORMAT, "version": _VERSION, "job": self.tag}
        head |= {"complete": self.complete, "rows": self.rows}
        text = json.dumps(head | self.made_from, indent=1)[:-2]  # without the brace
        text += ',\n "parts": [' + ",".join(f"\n  {line}" for line in parts) + "\n ]\n}\n"
        folder.write(FILE, text.encode())


def file_of(number: int, count: int, tag: str) -> str:
    """File name of part `number` of `count`; names sort in order of the parts."""
    digits = f"{number:0{max(5, len(str(count - 1)))}}"
    return f"part-{digits}-{tag}.parquet" if tag else f"part-{digits}.parquet"


def is_part(name: str) -> bool:
    """Whether a file name is that of a part of any job."""
    return re.fullmatch(r"part-\d{5,}-[0-9a-f]{8}\.parquet", name) is not None


def load(folder: Folder) -> dict[str, Any] | None:
    """The content of a folder's manifest; None without one.

    Raises:
        FormatError: It is damaged, of a later version, or another file.
    """
    try:
        content = folder.read(FILE)
    except FileNotFoundError:
        return None
    name = folder.name_of(FILE)
    try:
        manifest = json.loads(content)
    except ValueError as error:
        raise FormatError(f"{name}: is damaged: {error}") from error
    kind = manifest.get("format") if isinstance(manifest, dict) else None
    if kind != _FORMAT:
        raise FormatError(f"{name}: is not a manifest of embeddings: its format is {kind!r}, not {_FORMAT!r}")
    version = manifest.get("version")
    if isinstance(version, int) and version > _VERSION:
        raise FormatError(f"{name}: is of version {version}; this Sentencode reads up to {_VERSION}")
    try:
        if isinstance(options := manifest.get("options"), dict):  # earlier versions had no such options
            manifest["options"] = {"truncate_dim": None, "ranges": None} | options
        _check_shape(manifest, _SHAPE)
        for i, line in enumerate(manifest["parts"]):
            if "rows" in line:
                _check_shape(line, _FINISHED, f"parts[{i}]")
            elif manifest["complete"]:
                raise ValueError(f"complete is true, but parts[{i}] has no 'rows'")
    except ValueError as error:
        raise FormatError(f"{name}: is damaged: {error}") from None
    return dict(manifest)


def load_ranges(folder: Folder, checksum: str) -> npt.NDArray[np.float32]:
    """The ranges [2, dim] in a folder.

    Raises:
        FileNotFoundError: There are none.
        FormatError: They are not those of the checksum.
    """
    content = folder.read(RANGES)
    if hashlib.sha256(content).hexdigest() != checksum:
        name = folder.name_of(RANGES)
        raise FormatError(f"{name}: is damaged: its checksum is not that of the manifest")
    ranges: npt.NDArray[np.float32] = np.load(io.BytesIO(content))
    return ranges


def _check_shape(value: Any, shape: Any, where: str = "it") -> None:
    """Raises ValueError if a value lacks a key, or has a value of another type."""
    if isinstance(shape, list):
        _check_type(value, list, where)
        for i, one in enumerate(value):
            _check_shape(one, shape[0], f"{where}[{i}]")
    elif isinstance(shape, dict):
        _check_type(value, dict, where)
        for key, inner in shape.items():
            if key not in value:
                raise ValueError(f"{where} has no {key!r}")
            _check_shape(value[key], inner, key if where == "it" else f"{where}.{key}")
    else:
        _check_type(value, shape, where)


def _check_type(value: Any, kind: Any, where: str) -> None:
    if not isinstance(value, kind):
        expected = " or ".join(cls.__name__ for cls in (kind if isinstance(kind, tuple) else (kind,)))
        raise ValueError(f"{where}: expected {expected}, got {value!r:.60}")
