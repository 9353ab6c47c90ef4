"""Encoding files into a folder of Parquet files, on any engine."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import PurePath
from typing import Any

import numpy as np

from ..checks import checked_bool, checked_str
from ..errors import FormatError
from ..files import as_name
from ..progress import progress as progress_bar
from ..text.inputs import counted_from
from . import manifest as manifests
from .arrow import embedding_column, pyarrow
from .batch_encoder import BatchEncoder, Missing, Precision
from .engines import Engine, engine_of, running
from .folders import Folder, real_path
from .inputs import inputs_of
from .manifest import Manifest, Part
from .shards import Columns, Shard, read, shards_of
from .sizes import bytes_of

__all__ = ["encode"]

_SAVE_EVERY = 1.0  # seconds between two manifests
_ROWS, _ROW_GROUP = 1 << 14, 1 << 24  # rows, and bytes of embeddings, that are encoded and written together


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
    missing: Missing = "zero",
    device: str | None = None,
    shard_size: int | str = "64MB",
    overwrite: bool = False,
    show_progress_bar: bool | None = None,
    **options: Any,
) -> int:
    r"""Encodes files into a folder of Parquet files, shard by shard, on this machine or on a cluster.

    Part i of the folder has a row for each row of shard i, in order: its id, if there is one, and its
    embedding. `manifest.json` says what was encoded by what, and which parts are finished. If the job is
    stopped, in whatever way, the same call does the parts that are missing, and ends with the same files.

    Args:
        encoder: The path or URL of a saved encoder, or a fitted encoder.
        inputs: Files, folders, globs, or URLs that fsspec knows: .parquet, .jsonl, .csv, .tsv; all else is
            text, a sentence a line. Text, JSON and csv may be packed by gzip, xz or zstd.
        output: The folder, or its URL. With several machines it must be one that all of them write to.
        engine: "local" (processes of this machine), "ray", "spark" or "dask"; or one of
            `sentencode.scale.engines`, to say more about it.
        workers: How many tasks at a time. None: as many as the engine has processors for.
        threads: How many threads a task computes with. None: 1.
        column: The column of tables that holds the sentences.
        id: The column of tables that names rows, and is copied. None: rows are told by their order.
        embedding: What the column of embeddings is called.
        normalize: As for `BatchEncoder`.
        precision: Likewise.
        missing: Likewise.
        device: Likewise.
        shard_size: How much of a file makes a shard: bytes, or as in "64MB".
        overwrite: Whether to start over where there is other work in the folder, which is then removed.
        show_progress_bar: Whether to show one. None: if the logger "sentencode" shows information.
        **options: Of `sentencode.load`.

    Returns:
        The number of rows in the folder.

    Raises:
        FileExistsError: If the folder holds something else than such work.
        FormatError: If an input cannot be read; the message says where. If the folder's manifest is damaged,
            or not of embeddings.
        ValueError: If the folder holds the embeddings of other inputs, by another encoder, or made with other
            options; the message says which. If it is in a folder that is read, or holds an input.
        OSError: If a file cannot be read or written.
        RuntimeError: If a worker is lost again and again on one shard.

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
    pyarrow("parquet")  # said before any work
    columns = Columns(checked_str("column", column), None if id is None else checked_str("id", id))
    if columns.id == checked_str("embedding", embedding):
        raise ValueError(f"id and embedding are both {embedding!r}")
    size = bytes_of("shard_size", shard_size)
    checked_bool("overwrite", overwrite)
    made = BatchEncoder(
        encoder,
        column,
        embedding,
        normalize=normalize,
        precision=precision,
        missing=missing,
        threads=threads,
        device=device,
        **options,
    )
    given = [inputs] if isinstance(inputs, (str, bytes, os.PathLike)) else list(inputs)
    folder = Folder(output)
    _check_not_read(folder, given)
    files = inputs_of(given)
    _check_apart(folder, [*(one.path for one in files), made.saved.path])
    shards, columns = shards_of(files, columns, size)
    id_type = None if columns.id is None else str(columns.id_type)
    runner = engine_of(engine, workers=workers, threads=threads, device=device)
    made.threads = runner.threads
    made_from = {
        "encoder": {"kind": made.saved.kind, "fingerprint": made.fingerprint, "dim": made.dim},
        "columns": {"text": column, "id": id, "id_type": id_type, "embedding": embedding},
        "options": {"normalize": made.normalize, "precision": precision, "missing": missing},
        "shard_size": size,
        "inputs": [
            {"path": one.path, "format": one.format, "bytes": one.bytes, "identity": one.identity}
            for one in files
        ],
    }
    folder.make()
    with folder.locked():
        folder.remove_leftovers()  # first: a job that was killed at its first manifest leaves nothing else
        before = _before(folder)
        job = Manifest(made_from, shards)
        if before is not None and not overwrite:
            _check_same(folder, before, made_from)
            _take_up(job, before, folder)
        job.save(folder)
        _clean(job, before, folder)
        left = [shard for shard in shards if shard.number not in job.parts]
        with progress_bar(show_progress_bar, "encode", "B") as bar:
            _run(job, left, runner, _EncodeShard(made, columns, folder, len(shards), job.tag), bar)
        return job.rows


def _clean(job: Manifest, before: dict[str, Any] | None, folder: Folder) -> None:
    """Removes parts that the manifest does not call finished: this job's, and those of one before it."""
    named = {line["file"] for line in (before or {"parts": []})["parts"]}
    finished = {job.file_of(number) for number in job.parts}
    for name in folder.names():
        if (name in named or manifests.is_part(name)) and name not in finished:
            folder.remove(name)


def _run(job: Manifest, left: list[Shard], engine: Engine, work: _EncodeShard, bar: Any) -> None:
    """Has the shards that are left done, and keeps the manifest."""
    total = sum(shard.size for shard in job.shards)
    done = total - sum(shard.size for shard in left)
    saved = time.monotonic()
    try:
        with running(engine, work, left) as results:
            for place, part in results:
                job.parts[left[place].number] = part
                done += left[place].size
                if bar is not None:
                    bar(done, total)
                if time.monotonic() - saved > _SAVE_EVERY:
                    job.save(work.folder)
                    saved = time.monotonic()
    except BaseException:
        with suppress(OSError):  # the disk may be full: what was saved before still holds
            job.save(work.folder)
        raise
    job.save(work.folder)


def _check_not_read(folder: Folder, given: list[Any]) -> None:
    """Refuses a folder that the inputs hold: what this job writes there, the next one would read."""
    output = PurePath(real_path(folder.path))
    above, part = [output, *output.parents], output / manifests.file_of(0, 1, "")
    for path in map(as_name, given):
        real = real_path(path)
        # A glob reads what it matches, and all that is in the folders that it matches.
        if PurePath(real) in above or any(place.match(real) for place in [part, *above]):
            raise ValueError(f"{folder.path} is in {path}, which is read: give another folder to write to")


def _check_apart(folder: Folder, read: list[str]) -> None:
    """Refuses a folder that holds an input, or the encoder."""
    output = real_path(folder.path)
    for path in read:
        if real_path(path).startswith(f"{output}/"):
            raise ValueError(f"{folder.path} holds {path}, which is read: give another folder to write to")


def _before(folder: Folder) -> dict[str, Any] | None:
    """The manifest of earlier work, if there is any; refuses a folder of something else."""
    try:
        before = manifests.load(folder)
    except FormatError as error:
        raise FormatError(f"{error}; give another folder, or remove this one") from error
    if before is None and any(not name.startswith(".") for name in folder.names()):
        raise FileExistsError(17, "there are files, and no manifest: give another folder", folder.path)
    return before


def _take_up(job: Manifest, before: dict[str, Any], folder: Folder) -> None:
    """Gives a job the parts that earlier work has finished, if its files were cut as they are now."""
    job.tag = before.get("job", "")  # names had none in earlier versions
    lines = before["parts"]
    for i, (then, shard) in enumerate(zip_longest(lines, job.shards)):
        now = None if shard is None else job.line_of(shard)
        if then is None or now is None or any(then[key] != value for key, value in now.items()):
            raise ValueError(
                f"{folder.path} was made of shards that were cut in another way: part {i} was "
                f"{_cut(then)}, now {_cut(now)}; overwriting starts over"
            )
        if "rows" in then and folder.size(then["file"]) == then["bytes"]:
            job.parts[i] = Part(then["rows"], then["bytes"], then["crc32"])


def _cut(line: dict[str, Any] | None) -> str:
    if line is None:
        return "none"
    return f"{line['file']}, made of {line['input']}, {line['begin']:,} to {line['end']:,}"


def _check_same(folder: Folder, before: dict[str, Any], now: dict[str, Any]) -> None:
    """Refuses to go on with what was made from something else, and says from what."""
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
    old = {one["path"]: one for one in before["inputs"]}
    new = {one["path"]: one for one in now["inputs"]}
    for path in [*new, *old]:
        if path not in old:
            raise ValueError(f"{where} without the input {path}{again}")
        if path not in new:
            raise ValueError(f"{where} with the input {path}, too{again}")
        if old[path] != new[path]:
            raise ValueError(
                f"{where} from another {path}: it had {old[path]['bytes']:,} bytes, now "
                f"{new[path]['bytes']:,}, and has changed since{again}"
            )
    old_paths, new_paths = ([one["path"] for one in each["inputs"]] for each in (before, now))
    for i, (one, other) in enumerate(zip_longest(old_paths, new_paths)):  # some may be there twice
        if one != other:
            raise ValueError(
                f"{where} with its inputs in another order or number: inputs[{i}] was {one}, now {other}"
                f"{again}"
            )


@dataclass
class _EncodeShard:
    """What a worker does with a shard: reads, encodes and writes it, and says what it has written."""

    encoder: BatchEncoder
    columns: Columns
    folder: Folder
    count: int
    tag: str

    def __call__(self, shard: Shard) -> Part:
        arrow, parquet = pyarrow(), pyarrow("parquet")
        made, columns = self.encoder, self.columns
        ids_too = [] if columns.id is None else [(columns.id, columns.id_type)]
        schema = arrow.schema([*ids_too, (made.output, made.arrow_type)])
        # Numbers of embeddings do not repeat: dictionaries, statistics and packing would save nothing.
        packing = {f"{made.output}.list.element": "none"} | {name: "zstd" for name, _ in ids_too}
        rows = max(1, min(_ROWS, _ROW_GROUP // (made.dim * np.dtype(made.precision).itemsize)))
        written = 0
        with self.folder.writing(manifests.file_of(shard.number, self.count, self.tag)) as file:
            named = [name for name, _ in ids_too]
            writer = parquet.ParquetWriter(
                file, schema, use_dictionary=named, write_statistics=named, compression=packing
            )
            with writer:
                for texts, ids in read(shard, columns, rows):
                    try:
                        with counted_from(written):
                            embeddings = embedding_column(*made.rows(texts))
                    except (TypeError, ValueError) as error:
                        raise FormatError(f"{shard}: {error}") from error
                    arrays = [] if ids is None else [_id_column(ids, schema.field(0), shard, written)]
                    writer.write_batch(arrow.record_batch([*arrays, embeddings], schema=schema))
                    written += len(embeddings)
        return Part(written, file.bytes, file.checksum)


def _id_column(ids: Any, field: Any, shard: Shard, first: int) -> Any:
    """Ids as a column of Arrow; `first` is how many of the shard were before, for errors."""
    arrow = pyarrow()
    if isinstance(ids, arrow.Array):
        return ids
    try:
        return arrow.array(ids, type=field.type)
    except (OverflowError, TypeError, ValueError):  # it does not say which
        for i, one in enumerate(ids, first):
            try:
                arrow.array([one], type=field.type)
            except (OverflowError, TypeError, ValueError) as error:
                raise FormatError(
                    f"{shard}: {field.name}[{i}]: expected {field.type}, got {one!r:.60}"
                ) from error
        raise
