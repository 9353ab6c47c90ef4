"""Encodes files into a folder of Parquet files, on any engine."""

from __future__ import annotations

import hashlib
import io
import os
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import PurePath
from typing import Any

import numpy as np
import numpy.typing as npt

from ..checks import checked_bool, checked_str
from ..errors import FormatError
from ..files import as_name
from ..progress import progress as progress_bar
from ..quantization import Precision
from ..sizes import bytes_of
from ..text.corpus import Corpus
from ..text.inputs import counted_from
from . import manifest as manifests
from .arrow import embedding_column, embedding_encoding, pyarrow
from .batch_encoder import BatchEncoder, Missing
from .engines import Engine, engine_of, running
from .folders import Folder, real_path
from .inputs import inputs_of, listed
from .manifest import Manifest, Part
from .opened import SavedEncoder
from .shards import Columns, Shard, read, shards_of

__all__ = ["encode"]

_SAVE_EVERY = 1.0  # seconds between two manifests
_ROWS, _ROW_GROUP = 1 << 14, 1 << 24  # most rows, and bytes of embeddings, of a batch


def encode(
    encoder: Any,
    inputs: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    output: str | os.PathLike[str],
    *,
    engine: str | Engine = "local",
    workers: int | None = None,
    threads: int | None = None,
    column: str = "text",
    id: str | None = None,
    embedding: str = "embedding",
    normalize: bool = False,
    precision: Precision = "float32",
    truncate_dim: int | None = None,
    ranges: npt.ArrayLike | None = None,
    calibrate: Any = None,
    missing: Missing = "zero",
    device: str | None = None,
    shard_size: int | str = "64MB",
    overwrite: bool = False,
    show_progress_bar: bool | None = None,
    **options: Any,
) -> int:
    r"""Encodes files into a folder of Parquet files, shard by shard, on this machine or on a cluster.

    Part i of the folder has one row for each row of shard i, in order: its id, if there is one, and its
    embedding. `manifest.json` describes the job and lists finished parts. After any interruption, the same
    call makes the missing parts, and the files are the same as without one.

    Args:
        encoder: Path or URL of a saved encoder, or a fitted encoder.
        inputs: Files, folders, globs, or URLs of fsspec: .parquet, .jsonl, .csv, .tsv; all others are text,
            one sentence per line. Text, JSON and csv may be compressed by gzip, xz or zstd.
        output: Folder or URL that all machines can write.
        engine: "local" (processes of this machine), "ray", "spark" or "dask"; or an engine object for more
            options.
        workers: Number of simultaneous tasks. None: as many as the engine has processors for.
        threads: Threads of a task. None: 1.
        column: Column of tables with the sentences.
        id: Column of tables that is copied. None: rows are identified by their order.
        embedding: Name of the column of embeddings.
        normalize: As for `BatchEncoder`.
        precision: Likewise. int8 and uint8 require `ranges`, `calibrate`, or a folder that has ranges.
        truncate_dim: Likewise.
        ranges: Likewise. They are stored in the folder, as `ranges.npy`.
        calibrate: File of sentences, or sentences, whose ranges are stored; an earlier job's are used again.
        missing: Likewise.
        device: Likewise.
        shard_size: Size of a shard, in bytes or as in "64MB".
        overwrite: Whether to start over, and to replace all embeddings in the folder.
        show_progress_bar: Whether to show a progress bar. None: if the logger "sentencode" shows information.
        **options: Keywords of `sentencode.load`.

    Returns:
        Number of rows in the folder.

    Raises:
        FileExistsError: The folder holds other files.
        FormatError: An input cannot be read; the message says where. The folder's manifest is damaged or not
            one of embeddings.
        ValueError: The folder has embeddings of other inputs, of another encoder or with other options; the
            message says which. It is inside a folder that is read, or contains an input.
        OSError: A file cannot be read or written.
        RuntimeError: Workers are lost on one shard again and again.

    Example:
        >>> import pathlib, tempfile, sentencode as se
        >>> encoder = se.Average(se.WordVectors.from_dict({"cat": [1, 0], "dog": [0, 1]}))
        >>> folder = pathlib.Path(tempfile.mkdtemp())
        >>> _ = (folder / "in.txt").write_text("cat\n\ndog cat\n")
        >>> se.scale.encode(encoder, folder / "in.txt", folder / "out", workers=1)
        3
        >>> se.scale.Embeddings(folder / "out").to_numpy()
        array([[1. , 0. ],
               [0. , 0. ],
               [0.5, 0.5]], dtype=float32)
    """
    pyarrow("parquet")  # an error now, if it is missing
    columns = Columns(checked_str("column", column), None if id is None else checked_str("id", id))
    if columns.id == checked_str("embedding", embedding):
        raise ValueError(f"id and embedding are both {embedding!r}")
    size = bytes_of("shard_size", shard_size)
    checked_bool("overwrite", overwrite)
    folder = Folder(output)
    saved = SavedEncoder.of(encoder, options, device)
    quantized = precision in ("int8", "uint8")
    if calibrate is not None and (ranges is not None or not quantized):
        raise ValueError("calibrate is for precision='int8' and 'uint8' without ranges")
    if quantized and ranges is None:
        earlier = None if overwrite else _earlier_ranges(folder)
        if earlier is not None and earlier.shape[1] != (truncate_dim or saved.dim):
            earlier = None
        if earlier is None and calibrate is not None:
            sentences = Corpus(calibrate) if isinstance(calibrate, (str, os.PathLike)) else calibrate
            keywords = {"normalize_embeddings": normalize, "truncate_dim": truncate_dim}
            earlier = saved.open().calibrate(sentences, **keywords)
        if earlier is None:
            raise ValueError(f"precision={precision!r} requires ranges, or calibrate: text that they are of")
        ranges = earlier
    batches = BatchEncoder(
        saved,
        column,
        embedding,
        normalize=normalize,
        precision=precision,
        truncate_dim=truncate_dim,
        ranges=ranges,
        missing=missing,
        threads=threads,
    )
    stored = _npy(batches.ranges)
    paths = listed(inputs)
    _check_not_in(folder, paths)
    files = inputs_of(paths)
    _check_contains_none(folder, [*(file.path for file in files), saved.path])
    shards, columns = shards_of(files, columns, size)
    id_type = None if columns.id is None else str(columns.id_type)
    task_device = saved.computes_on if engine == "local" else device  # a cluster may have no GPU
    runner = engine_of(engine, workers=workers, threads=threads, device=task_device)
    batches.threads = runner.threads
    made_from: dict[str, Any] = {
        "encoder": {"kind": saved.kind, "fingerprint": saved.fingerprint, "dim": saved.dim},
        "columns": {"text": column, "id": id, "id_type": id_type, "embedding": embedding},
        "options": {
            "normalize": batches.normalize,
            "precision": batches.precision,
            "missing": missing,
            "truncate_dim": batches.truncate_dim,
            "ranges": None if stored is None else hashlib.sha256(stored).hexdigest(),
        },
        "shard_size": size,
        "inputs": [
            {"path": file.path, "format": file.format, "bytes": file.bytes, "identity": file.identity}
            for file in files
        ],
    }
    folder.make()
    with folder.locked():
        folder.remove_leftovers()  # first: a job killed at its first manifest leaves nothing else
        before = _before(folder)
        job = Manifest(made_from, shards)
        if before is not None and overwrite:
            saved.open()  # an error before anything is removed
        elif before is not None:
            _check_same(folder, before, made_from)
            _adopt_parts(job, before, folder)
        if before is not None and before["options"]["ranges"] != made_from["options"]["ranges"]:
            folder.remove(manifests.RANGES)
        job.save(folder)
        if stored is not None:
            folder.write(manifests.RANGES, stored)
        _clean(job, before, folder)
        remaining = [shard for shard in shards if shard.number not in job.parts]
        with progress_bar(show_progress_bar, "encode", "B") as bar:
            _run(job, remaining, runner, _EncodeShard(batches, columns, folder, len(shards), job.tag), bar)
        return job.rows


def _earlier_ranges(folder: Folder) -> npt.NDArray[np.float32] | None:
    """The ranges of the folder's earlier job, if any."""
    with suppress(FileNotFoundError):  # the job was killed before it wrote them
        before = manifests.load(folder)
        if before is not None and before["options"]["ranges"] is not None:
            return manifests.load_ranges(folder, before["options"]["ranges"])
    return None


def _npy(ranges: npt.NDArray[np.float32] | None) -> bytes | None:
    """The content of the file of ranges."""
    if ranges is None:
        return None
    file = io.BytesIO()
    np.save(file, ranges)
    return file.getvalue()


def _clean(job: Manifest, before: dict[str, Any] | None, folder: Folder) -> None:
    """Removes parts of this and earlier jobs that the manifest does not list as finished."""
    earlier = {part["file"] for part in (before or {"parts": []})["parts"]}
    finished = {job.file_of(number) for number in job.parts}
    for name in folder.names():
        if (name in earlier or manifests.is_part(name)) and name not in finished:
            folder.remove(name)


def _run(job: Manifest, remaining: list[Shard], engine: Engine, work: _EncodeShard, bar: Any) -> None:
    """Encodes the remaining shards, and saves the manifest repeatedly."""
    total = sum(shard.size for shard in job.shards)
    done = total - sum(shard.size for shard in remaining)
    saved = time.monotonic()
    try:
        with running(engine, work, remaining) as results:
            for i, part in results:
                job.parts[remaining[i].number] = part
                done += remaining[i].size
                if bar is not None:
                    bar(done, total)
                if time.monotonic() - saved > _SAVE_EVERY:
                    job.save(work.folder)
                    saved = time.monotonic()
    except BaseException:
        with suppress(OSError):  # the disk may be full; the last manifest still holds
            job.save(work.folder)
        raise
    job.save(work.folder)


def _check_not_in(folder: Folder, inputs: list[Any]) -> None:
    """Raises ValueError if a folder is inside an input, where the next job would read its parts."""
    output = PurePath(real_path(folder.path))
    parents, part = [output, *output.parents], output / manifests.file_of(0, 1, "")
    for path in map(as_name, inputs):
        real = real_path(path)
        # A glob reads the files that it matches, and all files of folders that it matches.
        if PurePath(real) in parents or any(parent.match(real) for parent in [part, *parents]):
            raise ValueError(f"{folder.path} is in {path}, which is read: give another folder to write to")


def _check_contains_none(folder: Folder, read: list[str]) -> None:
    """Raises ValueError if a folder contains an input or the encoder."""
    output = real_path(folder.path)
    for path in read:
        if real_path(path).startswith(f"{output}/"):
            raise ValueError(f"{folder.path} holds {path}, which is read: give another folder to write to")


def _before(folder: Folder) -> dict[str, Any] | None:
    """The manifest of earlier work, if any; an error if the folder has other files."""
    try:
        before = manifests.load(folder)
    except FormatError as error:
        raise FormatError(f"{error}; give another folder, or remove this one") from error
    if before is None and any(not name.startswith(".") for name in folder.names()):
        raise FileExistsError(17, "there are files, and no manifest: give another folder", folder.path)
    return before


def _adopt_parts(job: Manifest, before: dict[str, Any], folder: Folder) -> None:
    """Adds finished parts of earlier work to a job; an error if its shards were different."""
    job.tag = before.get("job", "")  # missing in earlier versions
    for i, (then, shard) in enumerate(zip_longest(before["parts"], job.shards)):
        now = None if shard is None else job.line_of(shard)
        if then is None or now is None or any(then[key] != value for key, value in now.items()):
            raise ValueError(
                f"{folder.path} was made of other shards: part {i} was {_shard_text(then)}, now "
                f"{_shard_text(now)}; overwriting starts over"
            )
        if "rows" in then and folder.size(then["file"]) == then["bytes"]:
            job.parts[i] = Part(then["rows"], then["bytes"], then["crc32"])


def _shard_text(part: dict[str, Any] | None) -> str:
    if part is None:
        return "none"
    return f"{part['file']}, made of {part['input']}, {part['begin']:,} to {part['end']:,}"


def _check_same(folder: Folder, before: dict[str, Any], now: dict[str, Any]) -> None:
    """Raises ValueError with the first difference if earlier work was made from something else."""
    where = f"{folder.path} was made"
    again = "; overwriting starts over"
    then = before["encoder"]
    if then["fingerprint"] != now["encoder"]["fingerprint"]:
        raise ValueError(
            f"{where} by another encoder: a {then['kind']} of fingerprint {then['fingerprint'][:12]}, "
            f"now a {now['encoder']['kind']} of {now['encoder']['fingerprint'][:12]}{again}"
        )
    for group in ("columns", "options"):
        for name, value in now[group].items():
            if before[group].get(name) != value:
                raise ValueError(f"{where} with {name} = {before[group].get(name)!r}, now {value!r}{again}")
    if before["shard_size"] != now["shard_size"]:
        raise ValueError(
            f"{where} with shards of {before['shard_size']} bytes, now {now['shard_size']}{again}"
        )
    old = {file["path"]: file for file in before["inputs"]}
    new = {file["path"]: file for file in now["inputs"]}
    for path in [*new, *old]:
        if path not in old:
            raise ValueError(f"{where} without the input {path}{again}")
        if path not in new:
            raise ValueError(f"{where} with another input, {path}{again}")
        if old[path] != new[path]:
            raise ValueError(
                f"{where} from another {path}: it had {old[path]['bytes']:,} bytes, now "
                f"{new[path]['bytes']:,}, and has changed since{again}"
            )
    old_paths, new_paths = ([file["path"] for file in run["inputs"]] for run in (before, now))
    for i, (old_path, new_path) in enumerate(zip_longest(old_paths, new_paths)):  # a path may occur twice
        if old_path != new_path:
            raise ValueError(
                f"{where} with its inputs in another order or number: inputs[{i}] was {old_path}, "
                f"now {new_path}{again}"
            )


@dataclass
class _EncodeShard:
    """Encodes a shard into a part, in a worker."""

    encoder: BatchEncoder
    columns: Columns
    folder: Folder
    count: int
    tag: str

    def __call__(self, shard: Shard) -> Part:
        arrow, parquet = pyarrow(), pyarrow("parquet")
        encoder, columns = self.encoder, self.columns
        id_fields = [] if columns.id is None else [(columns.id, columns.id_type)]
        schema = arrow.schema([*id_fields, (encoder.output, encoder.arrow_type)])
        encoding = embedding_encoding(encoder.output, encoder.dtype.name)
        for name, _ in id_fields:
            encoding["compression"][name] = "zstd"
            encoding["use_dictionary"].append(name)
            encoding["write_statistics"].append(name)
        rows = max(1, min(_ROWS, _ROW_GROUP // (encoder.width * encoder.dtype.itemsize)))
        written = 0
        with (
            self.folder.writing(manifests.file_of(shard.number, self.count, self.tag)) as file,
            parquet.ParquetWriter(file, schema, **encoding) as writer,
        ):
            for texts, ids in read(shard, columns, rows):
                try:
                    with counted_from(written):
                        embeddings = embedding_column(*encoder.rows(texts))
                except (TypeError, ValueError) as error:
                    raise FormatError(f"{shard}: {error}") from error
                arrays = [] if ids is None else [_id_column(ids, schema.field(0), shard, written)]
                writer.write_batch(arrow.record_batch([*arrays, embeddings], schema=schema))
                written += len(embeddings)
        return Part(written, file.bytes, file.checksum)


def _id_column(ids: Any, field: Any, shard: Shard, first: int) -> Any:
    """Ids as an Arrow array; `first` is the index of the first one in the shard, for errors."""
    arrow = pyarrow()
    if isinstance(ids, arrow.Array):
        return ids
    try:
        return arrow.array(ids, type=field.type)
    except (OverflowError, TypeError, ValueError):  # find the one that it is about
        for i, one in enumerate(ids, first):
            try:
                arrow.array([one], type=field.type)
            except (OverflowError, TypeError, ValueError) as error:
                raise FormatError(
                    f"{shard}: {field.name}[{i}]: expected {field.type}, got {one!r:.60}"
                ) from error
        raise
