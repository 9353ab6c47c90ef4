"""What a folder of embeddings says of itself."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import asdict, dataclass
from typing import Any

from ..errors import FormatError
from .folders import Folder
from .shards import Shard

__all__ = ["FILE", "Manifest", "Part", "file_of", "is_part", "load"]

FILE = "manifest.json"
_FORMAT, _VERSION = "sentencode embeddings", 1
_SHAPE: dict[str, Any] = {
    "version": int,
    "complete": bool,
    "rows": int,
    "encoder": {"kind": str, "fingerprint": str, "dim": int},
    "columns": {"text": str, "id": (str, type(None)), "embedding": str},
    "options": {"normalize": bool, "precision": str, "missing": str},
    "shard_size": int,
    "inputs": [{"path": str, "bytes": int}],
    "parts": [{"file": str, "input": str, "begin": int, "end": int}],
}
_FINISHED = {"rows": int, "bytes": int, "crc32": int}  # what a part has besides


@dataclass(frozen=True)
class Part:
    """A finished file.

    Args:
        rows: How many it has.
        bytes: Its size.
        crc32: Its checksum.
    """

    rows: int
    bytes: int
    crc32: int


class Manifest:
    """The inputs of a job, what they are encoded by, and which parts are finished.

    It is written before the first part, and after some more are finished: what it says is true whenever the
    job is stopped, for a part is there before it is said to be.

    Args:
        made_from: What all rows depend on: the encoder, options, inputs.
        shards: In order; part i is made of shard i.

    Attributes:
        parts: The finished ones, by their numbers.
        tag: A hash of what is encoded by what. Parts have it in their names: a worker that nobody could stop
            may write a part of another job yet, which must not take the place of one of this job.
    """

    def __init__(self, made_from: dict[str, Any], shards: list[Shard]) -> None:
        self.made_from, self.shards = made_from, shards
        self.parts: dict[int, Part] = {}
        all_of_it = [made_from, [[shard.input.path, shard.begin, shard.end] for shard in shards]]
        self.tag = hashlib.sha256(json.dumps(all_of_it).encode()).hexdigest()[:8]

    @property
    def complete(self) -> bool:
        """Whether all parts are finished."""
        return len(self.parts) == len(self.shards)

    @property
    def rows(self) -> int:
        """Of the finished parts."""
        return sum(part.rows for part in self.parts.values())

    def file_of(self, number: int) -> str:
        """The name of a part's file."""
        return file_of(number, len(self.shards), self.tag)

    def line_of(self, shard: Shard) -> dict[str, Any]:
        """What the manifest says of a part before it is finished."""
        file = self.file_of(shard.number)
        return {"file": file, "input": shard.input.path, "begin": shard.begin, "end": shard.end}

    def save(self, folder: Folder) -> None:
        """Writes it."""
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
    """The name of a part among so many of a job: by their names they are in order."""
    place = f"{number:0{max(5, len(str(count - 1)))}}"
    return f"part-{place}-{tag}.parquet" if tag else f"part-{place}.parquet"


def is_part(name: str) -> bool:
    """Whether a file has a name that only parts have, of whichever job."""
    return re.fullmatch(r"part-\d{5,}-[0-9a-f]{8}\.parquet", name) is not None


def load(folder: Folder) -> dict[str, Any] | None:
    """What the manifest of a folder says; None where there is none.

    Raises:
        FormatError: If it is damaged, of a later version, or of something else.
    """
    try:
        content = folder.read(FILE)
    except FileNotFoundError:
        return None
    name = folder.name_of(FILE)
    try:
        found = json.loads(content)
    except ValueError as error:
        raise FormatError(f"{name}: is damaged: {error}") from error
    kind = found.get("format") if isinstance(found, dict) else None
    if kind != _FORMAT:
        raise FormatError(f"{name}: is no manifest of embeddings: its format is {kind!r}, not {_FORMAT!r}")
    version = found.get("version")
    if isinstance(version, int) and version > _VERSION:
        raise FormatError(f"{name}: is of version {version}, and {_VERSION} is the last that is known here")
    try:
        _check_shape(found, _SHAPE)
        for i, line in enumerate(found["parts"]):
            if "rows" in line:
                _check_shape(line, _FINISHED, f"parts[{i}]")
            elif found["complete"]:
                raise ValueError(f"all is said to be finished, and parts[{i}] has no 'rows'")
    except ValueError as error:
        raise FormatError(f"{name}: is damaged: {error}") from None
    return dict(found)


def _check_shape(value: Any, shape: Any, where: str = "it") -> None:
    """Refuses a value that lacks a key, or has something else where a reader expects a number, say."""
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
        wanted = " or ".join(one.__name__ for one in (kind if isinstance(kind, tuple) else (kind,)))
        raise ValueError(f"{where}: expected {wanted}, got {value!r:.60}")
