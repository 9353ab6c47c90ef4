"""What a folder of embeddings says of itself."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

from ..errors import FormatError
from .folders import Folder
from .shards import Shard

__all__ = ["FILE", "Manifest", "Part"]

FILE = "manifest.json"
_FORMAT, _VERSION = "sentencode embeddings", 1


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
        parts: The finished ones, by their numbers.
    """

    def __init__(self, made_from: dict[str, Any], shards: list[Shard], parts: dict[int, Part]) -> None:
        self.made_from, self.shards, self.parts = made_from, shards, parts

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
        return file_of(number, len(self.shards))

    def save(self, folder: Folder) -> None:
        """Writes it."""
        parts = []
        for shard in self.shards:
            line: dict[str, Any] = {"file": self.file_of(shard.number), "input": shard.input.path}
            line |= {"begin": shard.begin, "end": shard.end}
            if (part := self.parts.get(shard.number)) is not None:
                line |= asdict(part)
            parts.append(json.dumps(line))
        head = {"format": _FORMAT, "version": _VERSION, "complete": self.complete, "rows": self.rows}
        text = json.dumps(head | self.made_from, indent=1)[:-2]  # without the brace
        text += ',\n "parts": [' + ",".join(f"\n  {line}" for line in parts) + "\n ]\n}\n"
        folder.write(FILE, text.encode())


def file_of(number: int, count: int) -> str:
    """The name of a part among so many: by their names they are in order."""
    return f"part-{number:0{max(5, len(str(count - 1)))}}.parquet"


def load(folder: Folder) -> dict[str, Any] | None:
    """What the manifest of a folder says; None where there is none.

    Raises:
        FormatError: If it is damaged, or of a later version.
    """
    try:
        content = folder.read(FILE)
    except FileNotFoundError:
        return None
    name = folder.name_of(FILE)
    try:
        found = json.loads(content)
        if found["format"] != _FORMAT:
            raise ValueError(f"is no manifest of embeddings, but of {found['format']!r}")
        if found["version"] > _VERSION:
            raise ValueError(f"version {found['version']}, and {_VERSION} is the last that is known here")
        if not all(isinstance(line["file"], str) for line in found["parts"]):
            raise TypeError("a part without a file")
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise FormatError(f"{name}: is damaged: {type(error).__name__}: {error}") from error
    return dict(found)
