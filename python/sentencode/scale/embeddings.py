"""Reads folders of embeddings."""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import FormatError
from ..quantization import DTYPES
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
        folder: Path or URL.

    Attributes:
        dim: Dimensions of an embedding.
        width: Numbers of an embedding: `dim`, or ceil(dim / 8) of "binary" and "ubinary".
        ranges: Ranges [2, dim] of int8 and uint8, for `semantic_search`; None for other precisions.
        precision: Precision of the embeddings.
        fingerprint: Fingerprint of the encoder.

    Raises:
        FileNotFoundError: It has no manifest.
        FormatError: The manifest, or the file of ranges, is damaged.
        ValueError: The job is not finished.

    Example:
        >>> import pathlib, tempfile, sentencode as se
        >>> encoder = se.Average(se.WordVectors.from_dict({"cat": [1, 0], "dog": [0, 1]}))
        >>> folder = pathlib.Path(tempfile.mkdtemp())
        >>> _ = (folder / "in.jsonl").write_text('{"id": 7, "text": "dog"}\n{"id": 9, "text": null}\n')
        >>> _ = se.scale.encode(encoder, folder / "in.jsonl", folder / "out", id="id", workers=1)
        >>> embeddings = se.scale.Embeddings(folder / "out")
        >>> len(embeddings), embeddings.dim
        (2, 2)
        >>> for ids, rows in embeddings.batches():
        ...     print(ids, rows.tolist())
        [7 9] [[0.0, 1.0], [0.0, 0.0]]
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self._folder = Folder(folder)
        manifest = manifests.load(self._folder)
        if manifest is None:
            raise FileNotFoundError(2, "there is no manifest", self._folder.name_of(manifests.FILE))
        if not manifest["complete"]:
            missing = sum("rows" not in part for part in manifest["parts"])
            raise ValueError(
                f"{self._folder.path}: {missing} of {len(manifest['parts'])} parts are missing: run the same "
                "job again"
            )
        self.manifest = manifest
        options = manifest["options"]
        self.precision = str(options["precision"])
        if self.precision not in DTYPES:
            raise FormatError(f"{self._folder.name_of(manifests.FILE)}: unknown precision {self.precision!r}")
        self.dim = int(options["truncate_dim"] or manifest["encoder"]["dim"])
        self.width = -(-self.dim // 8) if self.precision in ("binary", "ubinary") else self.dim
        self.ranges: npt.NDArray[np.float32] | None = None
        if options["ranges"] is not None:
            self.ranges = manifests.load_ranges(self._folder, options["ranges"])
        self.fingerprint = str(manifest["encoder"]["fingerprint"])
        self._column = str(manifest["columns"]["embedding"])
        self._id: str | None = manifest["columns"]["id"]

    @property
    def files(self) -> list[str]:
        """The paths or URLs of the Parquet files, in order."""
        return [self._folder.name_of(part["file"]) for part in self.manifest["parts"]]

    def __len__(self) -> int:
        return int(self.manifest["rows"])

    def batches(self, size: int = _ROWS) -> Iterator[tuple[npt.NDArray[Any], npt.NDArray[Any]]]:
        """Ids and embeddings, in order.

        Args:
            size: Maximum number of rows.

        Yields:
            Ids [n], or indices from 0 if the job copied none; integers with nulls are objects. Embeddings
            [n, width]; nulls are NaN.
        """
        begin = 0
        columns = [self._column] if self._id is None else [self._id, self._column]
        for part, path in zip(self.manifest["parts"], self.files, strict=True):
            with opened(path) as file:
                table = pyarrow("parquet").ParquetFile(file)
                if table.metadata.num_rows != part["rows"]:
                    raise FormatError(
                        f"{path}: has {table.metadata.num_rows} rows, in the manifest {part['rows']}"
                    )
                for batch in table.iter_batches(batch_size=size, columns=columns):
                    rows = embedding_rows(batch[self._column])
                    indices = np.arange(begin, begin + len(rows))
                    begin += len(rows)
                    yield indices if self._id is None else _ids(batch[self._id]), rows

    def to_numpy(self, out: npt.NDArray[Any] | None = None) -> npt.NDArray[Any]:
        """All embeddings.

        Args:
            out: Array or memory map [n, width] to fill. None: a new array.

        Returns:
            [n, width], in the precision of the files.
        """
        if out is None:
            out = np.empty((len(self), self.width), DTYPES[self.precision])
        elif out.shape != (len(self), self.width):
            raise ValueError(f"out must have the shape [{len(self)}, {self.width}], got {list(out.shape)}")
        elif not np.can_cast(DTYPES[self.precision], out.dtype, "same_kind"):
            raise ValueError(f"out must have the type of {self.precision}, got {out.dtype}")
        begin = 0
        for _, rows in self.batches():
            out[begin : begin + len(rows)] = rows
            begin += len(rows)
        return out

    def verify(self) -> None:
        """Checks the checksums of all files.

        Raises:
            FormatError: A file is damaged.
            OSError: A file is missing.
        """
        for part, path in zip(self.manifest["parts"], self.files, strict=True):
            checksum = 0
            with opened(path) as file:
                while block := file.read(_READ):
                    checksum = zlib.crc32(block, checksum)
            if checksum != part["crc32"]:
                raise FormatError(
                    f"{path}: is damaged: its checksum is not that of the manifest; remove it, and run the "
                    "same job again"
                )

    def __repr__(self) -> str:
        return f"Embeddings({self._folder.path!r}, rows={len(self):,}, dim={self.dim})"


def _ids(column: Any) -> npt.NDArray[Any]:
    if column.null_count and pyarrow("types").is_integer(
        column.type
    ):  # NumPy would make floats, which are not exact
        return np.array(column.to_pylist(), dtype=object)
    ids: npt.NDArray[Any] = column.to_numpy(zero_copy_only=False)
    return ids
