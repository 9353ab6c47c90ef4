"""Encodes a text file into a NumPy array, or any number of files into a folder of Parquet files.

Row i holds line i, an empty line a row of zeros. The text may be compressed (.gz, .xz, .zst), or a column of
a table (--column). It is streamed: neither text nor array has to fit into memory. After an interruption, the
same command resumes where it stopped; from a pipe it starts over. With --output, files (text, .csv, .tsv,
.jsonl, .parquet; folders; URLs) are encoded shard by shard, by several processes, or on Ray, Spark or Dask.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import FileIO
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import _core
from ..encoder import Encoder
from ..files import read_json, refuse_link, whole_file
from ..text.corpus import Corpus
from ..text.inputs import TEXT_AT_ONCE
from . import UsageError, sources, tables

__all__ = ["EXAMPLE", "HELP", "NAME", "add_arguments", "encode_file", "run"]

NAME = "encode"
HELP = "encode a text file into a .npy array"
EXAMPLE = """
sentencode encode --encoder sif.sentencode books.txt.xz books.npy
sentencode encode --kind average --vectors glove.6B.300d.txt lines.txt lines.npy --precision float16
sentencode encode --kind laes --fit train.txt --set mode=residual --set hidden=84 in.txt out.npy
sentencode encode --encoder sif.sentencode --column text reviews.csv reviews.parquet
zcat lines.gz | sentencode encode --encoder sif.sentencode - - > rows.npy
sentencode encode --encoder sif.sentencode reviews/ --column text --id id --output rows/
sentencode encode --encoder sif.sentencode s3://bucket/in --output s3://bucket/rows --engine ray
"""

_HEADER = 128  # bytes before the rows: as long for any number of rows, which is only known at the end
_COPIED = 1 << 20  # bytes at a time
_SAVE_FIRST, _SAVE_EVERY = 0.1, 2.0  # seconds
_LINES = 1 << 14  # at a time
_FIRST_LINES = 256  # of the first batch: a slow encoder is not long without a state
_NOTE_ROOM = 1 << 13  # bytes; what the file with the state may take of a disk


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the command's arguments."""
    parser.add_argument(
        "files",
        nargs="+",
        metavar="FILE",
        help="INPUT OUTPUT: text, one sentence a line, or - for standard input; and the file to write, "
        f"{', '.join(f'.{name}' for name in tables.WRITERS)} by its name (default: npy), or - for standard "
        "output. With --output: INPUT..., files, folders, globs or URLs",
    )
    parser.add_argument(
        "--column",
        metavar="NAME",
        help="read this column of a .csv, .tsv, .jsonl or .parquet file (default with --output: text)",
    )
    sources.add_encoder_arguments(parser)
    parser.add_argument("--precision", choices=("float32", "float16"), default="float32")
    parser.add_argument("--normalize", action="store_true", help="divide each row by its length")
    parser.add_argument(
        "--batch-size",
        type=int,
        metavar="N",
        help="lines at a time (default: 16384, fewer where they are very long)",
    )
    parser.add_argument(
        "--overwrite", action="store_true", help="replace what is there, and do not continue earlier work"
    )
    parser.add_argument("--quiet", action="store_true", help="no progress bar")
    many = parser.add_argument_group("many files into a folder (needs pyarrow)")
    many.add_argument(
        "--output",
        metavar="DIR",
        help="write a Parquet file for each shard of the inputs into this folder or URL, and manifest.json; "
        "the same command does what is missing",
    )
    for name, (_, text) in _OF_FOLDERS.items():
        choices = {"engine": ("local", "ray", "spark", "dask"), "missing": ("zero", "null")}.get(name)
        kind = int if name == "workers" else str
        metavar = None if choices else {"id": "NAME", "workers": "N", "address": "URL"}.get(name, "BYTES")
        many.add_argument(
            f"--{name.replace('_', '-')}", choices=choices, type=kind, metavar=metavar, help=text
        )


# Options that go with --output alone: their defaults, and what they are.
_OF_FOLDERS: dict[str, tuple[Any, str]] = {
    "engine": ("local", "who encodes: processes of this machine (the default), or an engine"),
    "id": (None, "the column of tables whose values are copied beside the embeddings"),
    "workers": (None, "shards at a time (default: one for each processor)"),
    "address": (None, "of the engine's cluster (default: this machine, or what the engine finds)"),
    "shard_size": ("64MB", "how much of a file makes a shard (default: 64MB)"),
    "missing": ("zero", "the embedding of a row that is null or has no text: zeros (the default), or null"),
}


def run(options: argparse.Namespace) -> None:
    """Runs the command."""
    if options.output is not None:
        print(_encode_folder(options))
        return
    for name in _OF_FOLDERS:
        if getattr(options, name) is not None:
            raise UsageError(f"--{name.replace('_', '-')} goes with --output DIR")
    if len(options.files) != 2:
        raise UsageError("give INPUT and OUTPUT, or INPUT... and --output DIR")
    options.input, options.output = map(Path, options.files)
    piped = options.output == Path("-")
    if options.input == Path("-"):
        options.input = Path("/dev/stdin")
    if piped:
        with tempfile.TemporaryDirectory(prefix="sentencode-") as folder:
            options.output = Path(folder, "rows.npy")
            text = _encode(options)
            with open(options.output, "rb") as file:
                shutil.copyfileobj(file, sys.stdout.buffer, _COPIED)
        print(text.replace(str(options.output), "-"), file=sys.stderr)
    else:
        print(_encode(options))


def _encode(options: argparse.Namespace) -> str:
    """Encodes into a file, and says what it is."""
    inputs = [options.input, options.encoder, options.vectors, *sources.files_of(options.fit)]
    for output in filter(None, (options.output, options.save)):
        sources.check_output(output, inputs, options.overwrite)
    if options.save is not None and options.save.absolute() == options.output.absolute():
        raise UsageError("--save and OUTPUT are the same file")
    for work in (f"{options.output}.part", f"{options.output}.part.json"):
        sources.check_output(Path(work), inputs, overwrite=True)
    encoder = sources.encoder(options)
    rows = encode_file(
        encoder,
        options.input,
        options.output,
        precision=options.precision,
        normalize=options.normalize,
        batch_size=options.batch_size,
        restart=options.overwrite,
        progress=not options.quiet,
        column=options.column,
    )
    if options.save is not None:  # last, so that the same command goes on with what was interrupted
        encoder.save(options.save)
    return f"{options.output}: {rows} rows of {encoder.dim}"


def _encode_folder(options: argparse.Namespace) -> str:
    """Encodes files into a folder, and says what it is."""
    from .. import scale

    if options.batch_size is not None:
        raise UsageError("--batch-size does not go with --output DIR")
    given = {
        name: default if getattr(options, name) is None else getattr(options, name)
        for name, (default, _) in _OF_FOLDERS.items()
    }
    engine, workers, address = (given.pop(name) for name in ("engine", "workers", "address"))
    if address is not None:
        if engine == "local":
            raise UsageError("--address is an engine's: give --engine ray, spark or dask")
        engine = scale.engines.engine_of(engine, workers=workers, address=address)
        workers = None
    if options.save is not None:
        sources.check_output(options.save, sources.files_of(options.fit), options.overwrite)
    sources.check_encoder_arguments(options)
    encoder = options.encoder or sources.encoder(options)
    rows = scale.encode(
        encoder,
        options.files,
        options.output,
        engine=engine,
        workers=workers,
        column=options.column or "text",
        normalize=options.normalize,
        precision=options.precision,
        overwrite=options.overwrite,
        show_progress_bar=not options.quiet,
        **given,
    )
    if options.save is not None:
        encoder.save(options.save)
    return f"{options.output}: {rows} rows of {scale.Embeddings(options.output).dim}"


def encode_file(
    encoder: Encoder,
    source: Path,
    target: Path,
    *,
    precision: str = "float32",
    normalize: bool = False,
    batch_size: int | None = None,
    restart: bool = False,
    progress: bool = False,
    column: str | None = None,
) -> int:
    """Encodes a text file into a .npy file, or goes on with it.

    Rows go to `target` + ".part", and beside it stands in JSON what they were made from; at the end the file
    gets its name, or is made into the table that its name asks for. Whatever interrupts the work, no file of
    that name is ever incomplete.

    Args:
        encoder: A fitted encoder.
        source: The text, one sentence a line.
        target: The array.
        precision: "float32" or "float16".
        normalize: Whether to divide each row by its length.
        batch_size: How many lines are encoded at a time. None: 16,384, or fewer where they are very long.
        restart: Whether to begin anew rather than go on.
        progress: Whether to show a bar.
        column: The column of a table that is read, and not lines.

    Returns:
        The number of rows.

    Raises:
        ValueError: If there is earlier work that was done from another text, encoder or with other options.
    """
    if batch_size is not None and batch_size < 1:
        raise ValueError(f"--batch-size must be at least 1, got {batch_size}")
    target = Path(_core.link_target(target))
    part, state_file = Path(f"{target}.part"), Path(f"{target}.part.json")
    writer = tables.writer(target)
    is_pipe = source.exists() and not source.is_file()
    restart = restart or is_pipe  # its lines cannot be told from others'
    made_from = {
        "input": None if is_pipe else sources.identity(source),
        "encoder": encoder.fingerprint(),
        "dim": encoder.dim,
        "precision": precision,
        "normalize": normalize,
        **({} if column is None else {"column": column}),
    }
    row_bytes = encoder.dim * np.dtype(precision).itemsize
    with _locked(part) as file:
        _core.AtomicFile(state_file).discard()  # and what a process that was killed has left of one
        done = 0 if restart else _rows_done(state_file, part, made_from)
        _truncate(file, _HEADER + done * row_bytes)
        blocks = _encoded(encoder, source, column, precision, normalize, batch_size, progress, skip=done)
        saved, wait = time.monotonic(), _SAVE_FIRST
        try:
            for rows in blocks:
                _write(file, rows.tobytes())
                done += len(rows)
                if time.monotonic() - saved > wait:
                    _save_state(state_file, file, made_from, done)
                    saved, wait = time.monotonic(), min(2 * wait, _SAVE_EVERY)
        except BaseException as error:
            with suppress(OSError):  # what was saved before still holds
                if isinstance(error, OSError):  # the disk may be full: the last rows make room for the state
                    done = max(0, done - 1 - _NOTE_ROOM // row_bytes)
                    _truncate(file, _HEADER + done * row_bytes)
                _save_state(state_file, file, made_from, done)
            raise
        file.seek(0)
        _write(file, _header(precision, done, encoder.dim))
        _flush(file)
        # The file gets its name last: once it is there, nobody gives the command again that would remove
        # the rest.
        if writer is None:
            state_file.unlink(missing_ok=True)
            os.replace(part, target)  # before the lock is given back
        else:
            with whole_file(target) as made:
                writer(np.load(part, mmap_mode="r"), made)
                made.flush()
                os.fsync(made.fileno())  # a full disk is told of while there are rows to go on with
                part.unlink()
                state_file.unlink(missing_ok=True)
    return done


@contextmanager
def _locked(path: Path) -> Iterator[FileIO]:
    """Opens a file to be read and written, as it is, for this process alone.

    It is not buffered: a full disk is told by the write that it stops, not by a later one.
    """

    def create(name: str, flags: int) -> int:
        return os.open(name, flags | os.O_CREAT | os.O_NOFOLLOW, 0o666)

    refuse_link(path)
    with open(path, "r+b", buffering=0, opener=create) as file:
        busy = f"another process is writing {path}"
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BlockingIOError(busy) from None
        except OSError:
            pass  # a file system without locks
        try:
            ours = os.path.samestat(os.fstat(file.fileno()), path.stat())
        except FileNotFoundError:
            ours = False
        if not ours:  # the other process has ended since it was opened, and this is its finished file
            raise BlockingIOError(busy)
        yield file


def _encoded(
    encoder: Encoder,
    source: Path,
    column: str | None,
    precision: Any,
    normalize: bool,
    batch_size: int | None,
    progress: bool,
    skip: int,
) -> Iterator[npt.NDArray[Any]]:
    """The rows of all lines but the first `skip`."""
    with sources.byte_bar(progress, source.name) as bar:
        text = source if column is None else tables.column(source, column)
        size, most = (_LINES, TEXT_AT_ONCE) if batch_size is None else (batch_size, None)
        for batch in Corpus(text, keep_empty=True)._growing(_FIRST_LINES, size, most, bar):
            if skip >= len(batch):
                skip -= len(batch)
                continue
            rows = encoder.encode(batch, precision=precision, normalize_embeddings=normalize)
            yield rows[skip:]
            skip = 0


def _header(precision: str, rows: int, dim: int) -> bytes:
    """The header of version 1.0 of NumPy's format, padded to a fixed length."""
    descr = np.lib.format.dtype_to_descr(np.dtype(precision))
    text = repr({"descr": descr, "fortran_order": False, "shape": (rows, dim)})
    magic = np.lib.format.magic(1, 0)
    length = _HEADER - len(magic) - 2
    return magic + length.to_bytes(2, "little") + text.ljust(length - 1).encode("ascii") + b"\n"


def _rows_done(state_file: Path, part: Path, made_from: dict[str, Any]) -> int:
    """How many rows earlier work has left; 0 when there is none."""
    try:
        state = read_json(state_file)
        rows = int(state.pop("rows"))
        size = part.stat().st_size
    except FileNotFoundError:
        return 0
    except (ValueError, KeyError, AttributeError, TypeError):
        raise ValueError(f"{state_file}: is damaged; --overwrite starts over") from None
    for name, now in made_from.items():
        if state.get(name) != now:
            raise ValueError(
                f"{part}: was made with {name} = {state.get(name)}, now {now}; --overwrite starts over"
            )
    row_bytes = made_from["dim"] * np.dtype(made_from["precision"]).itemsize
    return int(max(0, min(rows, (size - _HEADER) // row_bytes)))


def _save_state(state_file: Path, file: FileIO, made_from: dict[str, Any], rows: int) -> None:
    """Only rows that lie on the disk are counted."""
    _flush(file)
    with whole_file(state_file) as new:
        new.write(json.dumps({**made_from, "rows": rows}, indent=1).encode())


def _write(file: FileIO, data: bytes) -> None:
    """Writes all of it; the system may take less at a time."""
    left = memoryview(data)
    with _named(file):
        while left:
            left = left[file.write(left) :]


def _truncate(file: FileIO, size: int) -> None:
    with _named(file):
        file.truncate(size)
        file.seek(size)


def _flush(file: FileIO) -> None:
    with _named(file):
        os.fsync(file.fileno())


@contextmanager
def _named(file: FileIO) -> Iterator[None]:
    """Gives errors the file's name, which the system leaves out once a file is open."""
    try:
        yield
    except OSError as error:
        error.filename = str(file.name)
        raise
