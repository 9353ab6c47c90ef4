"""Encodes a text file into a NumPy array, or any number of files into a folder of Parquet files.

Row i holds line i, an empty line a row of zeros. The text may be compressed (.gz, .xz, .zst), or a column of
a table (--column). It is streamed: neither text nor array has to fit into memory. After an interruption, the
same command resumes where it stopped; from a pipe it starts over. With --output, files (text, .csv, .tsv,
.jsonl, .parquet; folders; URLs) are encoded shard by shard, by several processes, or on Ray, Spark or Dask.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from collections.abc import Iterator
from functools import partial
from io import FileIO
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from ..encoder import Encoder
from ..progress import progress as bar_of
from ..text.corpus import Corpus
from ..text.inputs import TEXT_AT_ONCE, unit_of
from . import UsageError, sources, streams, tables
from .part_file import check_places, part_file

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
_LINES = 1 << 14  # at a time
_FIRST_LINES = 256  # of the first batch: a slow encoder is not long without a state


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
        options.input = sources.standard_input()
    if piped:
        out = sources.standard_output()
        with tempfile.TemporaryDirectory(prefix="sentencode-") as folder:
            options.output = Path(folder, "rows.npy")
            text = _encode(options)
            with open(options.output, "rb") as file:
                shutil.copyfileobj(file, out, _COPIED)
        streams.flush_output()
        streams.say(text.replace(str(options.output), "-"))
    else:
        print(_encode(options))


def _encode(options: argparse.Namespace) -> str:
    """Encodes into a file, and says what it is."""
    inputs = [options.input, options.encoder, options.vectors, *sources.files_of(options.fit)]
    check_places(options.output, inputs, options.overwrite)
    if options.save is not None:
        sources.check_output(options.save, inputs, options.overwrite)
    if options.save is not None and options.save.absolute() == options.output.absolute():
        raise UsageError("--save and OUTPUT are the same file")
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

    Rows go to a `part_file`; at the end it gets its name, or is made into the table that its name asks for.

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

    def whole(_file: FileIO, rows: int, size: int) -> tuple[int, int]:
        there = max(0, min(rows, (size - _HEADER) // row_bytes))
        return there, _HEADER + there * row_bytes

    with part_file(target, made_from, whole, restart=restart) as part:
        done = part.rows
        for rows in _encoded(encoder, source, column, precision, normalize, batch_size, progress, skip=done):
            part.append(rows.tobytes(), len(rows))
        header = _header(precision, part.rows, encoder.dim)
        part.finish(header, None if writer is None else partial(_write_table, writer))
        return part.rows


def _write_table(writer: tables.Writer, rows: Path, file: BinaryIO) -> None:
    writer(np.load(rows, mmap_mode="r"), file)


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
    text = source if column is None else tables.column(source, column)
    shown, done = bar_of(progress, source.name, unit_of(text)), 0
    with shown as bar:
        size, most = (_LINES, TEXT_AT_ONCE) if batch_size is None else (batch_size, None)
        for batch in Corpus(text, keep_empty=True)._growing(_FIRST_LINES, size, most, bar):
            if skip >= len(batch):
                skip -= len(batch)
                continue
            rows = encoder.encode(batch, precision=precision, normalize_embeddings=normalize)
            yield rows[skip:]
            skip = 0
            done += len(rows)
            shown.encoded(done)


def _header(precision: str, rows: int, dim: int) -> bytes:
    """The header of version 1.0 of NumPy's format, padded to a fixed length."""
    descr = np.lib.format.dtype_to_descr(np.dtype(precision))
    text = repr({"descr": descr, "fortran_order": False, "shape": (rows, dim)})
    magic = np.lib.format.magic(1, 0)
    length = _HEADER - len(magic) - 2
    return magic + length.to_bytes(2, "little") + text.ljust(length - 1).encode("ascii") + b"\n"
