"""What was encoded, read again."""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import FormatError
from . import manifest as manifests
from .arrow import embedding_rows, pyarrow
from .folders import Folder
from .inputs import opened

__all__ = ["Embeddings"]

_READ = 1 << 22  # bytes at a time
_ROWS = 1 << 14


class Embeddings:
    r"""A folder that `sentencode.scale.encode` or `sentencode encode --output` has written.

    Args:
        folder: Its path or URL.

    Attributes:
        dim: The length of a row.
        fingerprint: That of the encoder.

    Raises:
        FileNotFoundError: If it has no manifest.
        FormatError: If the manifest is damaged.
        ValueError: If the job is not finished.

    Example:
        >>> import pathlib, tempfile, sentencode as se
        >>> encoder = se.Average(se.WordVectors.from_dict({"cat": [1, 0], "dog": [0, 1]}))
        >>> folder = pathlib.Path(tempfile.mkdtemp())
        >>> _ = (folder / "in.jsonl").write_text('{"id": 7, "text": "dog"}\n{"id": 9, "text": null}\n')
        >>> _ = se.scale.encode(encoder, folder / "in.jsonl", folder / "out", id="id", workers=1)
        >>> found = se.scale.Embeddings(folder / "out")
        >>> len(found), found.dim
        (2, 2)
        >>> for ids, rows in found.batches():
        ...     print(ids, rows.tolist())
        [7 9] [[0.0, 1.0], [0.0, 0.0]]
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self._folder = Folder(folder)
        found = manifests.load(self._folder)
        if found is None:
            raise FileNotFoundError(2, "there is no manifest", self._folder.name_of(manifests.FILE))
        if not found["complete"]:
            missing = sum("rows" not in part for part in found["parts"])
            raise ValueError(
                f"{self._folder.path}: {missing} of {len(found['parts'])} parts are missing: give the "
                "command that makes it again"
            )
        self.manifest = found
        self.dim = int(found["encoder"]["dim"])
        self.fingerprint = str(found["encoder"]["fingerprint"])
        self._column = str(found["columns"]["embedding"])
        self._id: str | None = found["columns"]["id"]
        self._precision = str(found["options"]["precision"])

    @property
    def files(self) -> list[str]:
        """The paths or URLs of the Parquet files, in order."""
        return [self._folder.name_of(part["file"]) for part in self.manifest["parts"]]

    def __len__(self) -> int:
        return int(self.manifest["rows"])

    def batches(self, size: int = _ROWS) -> Iterator[tuple[npt.NDArray[Any], npt.NDArray[Any]]]:
        """Ids and embeddings, in order.

        Args:
            size: The most rows at a time.

        Yields:
            Ids [n], which are places from 0 where the job copied none, and objects where whole numbers are
            among nulls; and rows [n, dim], of NaN where an embedding is null.
        """
        place = 0
        wanted = [self._column] if self._id is None else [self._id, self._column]
        for path in self.files:
            with opened(path) as file:
                table = pyarrow("parquet").ParquetFile(file)
                for batch in table.iter_batches(batch_size=size, columns=wanted):
                    rows = embedding_rows(batch[self._column])
                    places = np.arange(place, place + len(rows))
                    place += len(rows)
                    yield places if self._id is None else _ids(batch[self._id]), rows

    def to_numpy(self, out: npt.NDArray[Any] | None = None) -> npt.NDArray[Any]:
        """All embeddings.

        Args:
            out: An array or memory map [n, dim] that is filled and returned. None: a new one.

        Returns:
            [n, dim], in the precision of the files.
        """
        if out is None:
            out = np.empty((len(self), self.dim), dtype=self._precision)
        elif out.shape != (len(self), self.dim):
            raise ValueError(f"out must have the shape [{len(self)}, {self.dim}], got {list(out.shape)}")
        place = 0
        for _, rows in self.batches():
            out[place : place + len(rows)] = rows
            place += len(rows)
        return out

    def verify(self) -> None:
        """Reads all files, to see that they are as they were written.

        Raises:
            FormatError: If one is not; names it.
            OSError: If one is not there.
        """
        for part, path in zip(self.manifest["parts"], self.files, strict=True):
            checksum = 0
            with opened(path) as file:
                while block := file.read(_READ):
                    checksum = zlib.crc32(block, checksum)
            if checksum != part["crc32"]:
                raise FormatError(f"{path}: is damaged: its checksum is not that of the manifest")

    def __repr__(self) -> str:
        return f"Embeddings({self._folder.path!r}, rows={len(self):,}, dim={self.dim})"


def _ids(column: Any) -> npt.NDArray[Any]:
    if column.null_count and pyarrow("types").is_integer(column.type):  # floats would not hold them all
        return np.array(column.to_pylist(), dtype=object)
    found: npt.NDArray[Any] = column.to_numpy(zero_copy_only=False)
    return found
