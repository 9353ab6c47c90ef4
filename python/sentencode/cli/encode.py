"""Encodes a text file into a NumPy array, or any number of files into a folder of Parquet files.

Row i of the array is the embedding of line i; that of an empty line is zero. The text may be compressed (.gz,
.xz, .zst), or a column of a table (--column). Text and array are streamed and may be larger than memory.
After an interruption, the same command resumes where it stopped; from a pipe it starts over. With --output,
files (text, .csv, .tsv, .jsonl, .parquet; folders; URLs) are encoded shard by shard, by several processes,
or on Ray, Spark or Dask.
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
from collections.abc import Iterator
from hashlib import sha256
from io import FileIO
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..encoder import Encoder
from ..files import read_array, whole_file
from ..progress import progress as progress_bar
from ..quantization import DTYPES, Output, Precision
from ..text.corpus import Corpus
from ..text.inputs import TEXT_AT_ONCE, unit_of
from . import sources, streams, tables
from .errors import UsageError
from .options import add_output_options
from .part_file import check_targets, part_file, work_files

__all__ = ["EXAMPLE", "HELP", "NAME", "add_arguments", "encode_file", "run"]

NAME = "encode"
HELP = "encode a text file into a .npy array"
EXAMPLE = """
sentencode encode --encoder sif.sentencode books.txt.xz books.npy
sentencode encode --kind average --vectors glove.6B.300d.txt lines.txt lines.npy --precision float16
sentencode encode --kind laes --fit train.txt --set mode=residual --set hidden=84 in.txt out.npy
sentencode encode --encoder sif.sentencode --column text reviews.csv reviews.parquet
sentencode encode --encoder minishlab/potion-base-8M lines.txt lines.npy
sentencode encode --encoder sif.sentencode in.txt out.npy --precision int8 --ranges r.npy --calibrate some.txt
zcat lines.gz | sentencode encode --encoder sif.sentencode - - > rows.npy
sentencode encode --encoder sif.sentencode reviews/ --column text --id id --output rows/
sentencode encode --encoder sif.sentencode reviews/ --output rows/ --precision int8 --calibrate some.txt
sentencode encode --encoder sif.sentencode s3://bucket/in --output s3://bucket/rows --engine ray
"""

_HEADER = 128  # bytes of the .npy header, enough for any number of rows, which is only known at the end
_COPY_BYTES = 1 << 20  # at a time
_LINES = 1 << 14  # per batch
_FIRST_LINES = 256  # of the first batch, so that a slow encoder saves its first rows early


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "files",
        nargs="+",
        metavar="FILE",
        help="INPUT OUTPUT: text, one sentence per line, or - for standard input; and the output file, "
        f"{', '.join(f'.{name}' for name in tables.WRITERS)} by its name (default: npy), or - for standard "
        "output. With --output: INPUT..., files, folders, globs or URLs",
    )
    parser.add_argument(
        "--column",
        metavar="NAME",
        help="read this column of a .csv, .tsv, .jsonl or .parquet file (default with --output: text)",
    )
    sources.add_encoder_arguments(parser)
    parser.add_argument(
        "--precision",
        choices=tuple(DTYPES),
        default="float32",
        help="type of the embeddings: int8 and uint8 require ranges; binary and ubinary pack one bit for "
        "each dimension into bytes",
    )
    parser.add_argument(
        "--truncate-dim", type=int, metavar="N", help="keep the first N dimensions of each embedding"
    )
    parser.add_argument(
        "--ranges",
        type=Path,
        metavar="FILE",
        help=".npy file of the range of each dimension [2, dim], which int8 and uint8 divide into 256 steps",
    )
    parser.add_argument(
        "--calibrate",
        type=Path,
        metavar="TEXT",
        help="if the file of --ranges does not exist, write the ranges of these sentences to it; with "
        "--output, ranges.npy in the folder is that file",
    )
    parser.add_argument("--normalize", action="store_true", help="normalize each embedding to length 1")
    parser.add_argument(
        "--batch-size",
        type=int,
        metavar="N",
        help="lines at a time (default: 16384, fewer if they are very long)",
    )
    add_output_options(parser, "replace existing output, and do not continue earlier work")
    group = parser.add_argument_group("many files into a folder (needs pyarrow)")
    group.add_argument(
        "--output",
        metavar="DIR",
        help="write a Parquet file for each shard of the inputs into this folder or URL, and manifest.json; "
        "the same command continues interrupted work",
    )
    for name, (_, keywords) in _FOLDER_OPTIONS.items():
        group.add_argument(f"--{name.replace('_', '-')}", **keywords)


# Options that require --output: their defaults, and keywords of `add_argument`.
_FOLDER_OPTIONS: dict[str, tuple[Any, dict[str, Any]]] = {
    "engine": (
        "local",
        {"choices": ("local", "ray", "spark", "dask"), "help": "local processes (the default), or an engine"},
    ),
    "id": (None, {"metavar": "NAME", "help": "column of tables that is copied next to the embeddings"}),
    "workers": (
        None,
        {"type": int, "metavar": "N", "help": "shards at a time (default: one per processor)"},
    ),
    "address": (
        None,
        {"metavar": "URL", "help": "address of the engine's cluster (default: chosen by the engine)"},
    ),
    "shard_size": ("64MB", {"metavar": "BYTES", "help": "size of a shard of a file (default: 64MB)"}),
    "missing": (
        "zero",
        {"choices": ("zero", "null"), "help": "embedding of a null or empty text (default: zero)"},
    ),
}


def run(options: argparse.Namespace) -> None:
    if options.output is not None:
        print(_encode_folder(options))
        return
    for name in _FOLDER_OPTIONS:
        if getattr(options, name) is not None:
            raise UsageError(f"--{name.replace('_', '-')} requires --output DIR")
    if len(options.files) != 2:
        raise UsageError("give INPUT and OUTPUT, or INPUT... and --output DIR")
    source, target = map(Path, options.files)
    source = sources.opened_input(source)
    if target != Path("-"):
        print(_encode(options, source, target))
        return
    out = sources.standard_output()
    with tempfile.TemporaryDirectory(prefix="sentencode-") as folder:
        target = Path(folder, "rows.npy")
        text = _encode(options, source, target)
        with open(target, "rb") as file:
            shutil.copyfileobj(file, out, _COPY_BYTES)
    streams.flush_output()
    streams.say(text.replace(str(target), "-"))


def _encode(options: argparse.Namespace, source: Path, target: Path) -> str:
    """Encodes into a file, and returns its description."""
    inputs = [options.encoder, options.vectors, options.ranges, *sources.files_of(options.fit)]
    texts = [source, options.fit, options.calibrate]
    if options.calibrate is not None and options.ranges is None:
        raise UsageError("--calibrate requires --ranges FILE, where it writes the ranges")
    if options.ranges is not None and options.precision not in ("int8", "uint8"):
        raise UsageError(f"--ranges requires --precision int8 or uint8, got {options.precision}")
    if options.column is None and tables.is_table(source):
        raise UsageError(f"{source} is a table: give the --column of its sentences")
    if options.precision in ("int8", "uint8") and options.ranges is None:
        raise UsageError(
            f"--precision {options.precision} requires --ranges FILE, and --calibrate TEXT to write it"
        )
    check_targets(target, inputs, options.overwrite, texts)
    if options.save is not None:
        sources.check_output(options.save, inputs, options.overwrite, texts=texts)
        if options.save.absolute() == target.absolute():
            raise UsageError("--save and OUTPUT are the same file")
    if options.ranges is not None:  # which --calibrate may write
        written = [path for path in (target, *work_files(target), options.save) if path is not None]
        if os.path.realpath(options.ranges) in map(os.path.realpath, written):
            raise UsageError(
                f"--ranges: {options.ranges} is also written; give the ranges a file of their own"
            )
    encoder = sources.encoder(options)
    rows = encode_file(
        encoder,
        source,
        target,
        precision=options.precision,
        truncate_dim=options.truncate_dim,
        ranges=_ranges(options, encoder),
        normalize=options.normalize,
        batch_size=options.batch_size,
        restart=options.overwrite,
        progress=not options.quiet,
        column=options.column,
    )
    if options.save is not None:  # last, so that the same command can resume
        encoder.save(options.save)
    bits = " bits" if options.precision in ("binary", "ubinary") else ""
    return f"{target}: {rows} rows of {options.truncate_dim or encoder.dim}{bits}"


def _ranges(options: argparse.Namespace, encoder: Encoder) -> npt.NDArray[np.float32] | None:
    """The ranges in the file of --ranges, which --calibrate writes if it does not exist."""
    if options.ranges is None:
        return None
    if options.calibrate is not None and not options.ranges.exists():
        sentences = Corpus(options.calibrate)
        keywords = {"normalize_embeddings": options.normalize, "truncate_dim": options.truncate_dim}
        with whole_file(options.ranges) as file:
            np.save(file, encoder.calibrate(sentences, **keywords))
    return read_array(options.ranges)


def _encode_folder(options: argparse.Namespace) -> str:
    """Encodes files into a folder, and returns its description."""
    from .. import scale

    if options.batch_size is not None:
        raise UsageError("--batch-size excludes --output DIR")
    if options.ranges is not None and options.calibrate is not None:
        raise UsageError("with --output DIR, give either --ranges FILE or --calibrate TEXT")
    chosen = {
        name: default if getattr(options, name) is None else getattr(options, name)
        for name, (default, _) in _FOLDER_OPTIONS.items()
    }
    engine, workers, address = (chosen.pop(name) for name in ("engine", "workers", "address"))
    if address is not None:
        if engine == "local":
            raise UsageError("--address requires --engine ray, spark or dask")
        engine = scale.engines.engine_of(engine, workers=workers, address=address)
        workers = None
    if options.save is not None:
        inputs = [options.vectors, options.ranges, *sources.files_of(options.fit)]
        texts = [*options.files, options.fit, options.calibrate]
        sources.check_output(options.save, inputs, options.overwrite, texts=texts)
    sources.check_encoder_arguments(options)
    encoder = options.encoder or sources.encoder(options)
    if options.trust_tokenizer:
        chosen["trust_tokenizer"] = True
    rows = scale.encode(
        encoder,
        options.files,
        options.output,
        engine=engine,
        workers=workers,
        column=options.column or "text",
        normalize=options.normalize,
        precision=options.precision,
        truncate_dim=options.truncate_dim,
        ranges=None if options.ranges is None else read_array(options.ranges),
        calibrate=options.calibrate,
        overwrite=options.overwrite,
        show_progress_bar=not options.quiet,
        **chosen,
    )
    if options.save is not None:
        encoder.save(options.save)
    return f"{options.output}: {rows} rows of {scale.Embeddings(options.output).dim}"


def encode_file(
    encoder: Encoder,
    source: Path,
    target: Path,
    *,
    precision: Precision = "float32",
    truncate_dim: int | None = None,
    ranges: npt.NDArray[np.float32] | None = None,
    normalize: bool = False,
    batch_size: int | None = None,
    restart: bool = False,
    progress: bool = False,
    column: str | None = None,
) -> int:
    """Encodes a text file into a .npy file or a table, or continues interrupted work.

    Args:
        encoder: Fitted encoder.
        source: Text, one sentence per line.
        target: Output file; its name chooses the format.
        precision: As for `Encoder.encode`.
        truncate_dim: Likewise.
        ranges: Likewise.
        normalize: Whether to normalize each embedding to length 1.
        batch_size: Lines per batch. None: 16,384, or fewer if they are very long.
        restart: Whether to discard earlier work.
        progress: Whether to show a progress bar.
        column: Column of a table with the sentences. None: the source is text.

    Returns:
        Number of rows.

    Raises:
        ValueError: Earlier work was made from another text or encoder, or with other options.
    """
    if batch_size is not None and batch_size < 1:
        raise ValueError(f"--batch-size must be at least 1, got {batch_size}")
    options: dict[str, Any] = {"truncate_dim": truncate_dim, "ranges": ranges}
    output = Output("encode", encoder.dim, precision, **options)
    options |= {"precision": precision, "normalize_embeddings": normalize}
    writer = tables.writer(target)
    is_pipe = sources.is_pipe(source)
    made_from = {
        "input": None if is_pipe else sources.identity(source),
        "encoder": encoder.fingerprint(),
        "dim": encoder.dim,
        "precision": precision,
        "normalize": normalize,
        **({} if column is None else {"column": column}),
        **({} if truncate_dim is None else {"truncate_dim": truncate_dim}),
        **({} if ranges is None else {"ranges": sha256(ranges.tobytes()).hexdigest()}),
    }
    row_bytes = output.width * output.dtype.itemsize

    def whole(_file: FileIO, rows: int, size: int) -> tuple[int, int]:
        complete = max(0, min(rows, (size - _HEADER) // row_bytes))
        return complete, _HEADER + complete * row_bytes

    with part_file(target, made_from, whole, restart=restart or is_pipe) as part:
        skip = part.rows
        for rows in _embeddings(encoder, source, column, options, batch_size, progress, skip):
            part.append(rows.tobytes(), len(rows))
        part.finish(_header(output, part.rows), writer)
        return part.rows


def _embeddings(
    encoder: Encoder,
    source: Path,
    column: str | None,
    options: dict[str, Any],
    batch_size: int | None,
    progress: bool,
    skip: int,
) -> Iterator[npt.NDArray[Any]]:
    """Yields the embeddings of all lines but the first `skip`."""
    text = source if column is None else tables.column(source, column)
    bar, done = progress_bar(progress, source.name, unit_of(text)), 0
    with bar as moved:
        size, most = (_LINES, TEXT_AT_ONCE) if batch_size is None else (batch_size, None)
        for batch in Corpus(text, keep_empty=True)._growing(_FIRST_LINES, size, most, moved):
            if skip >= len(batch):
                skip -= len(batch)
                continue
            rows = encoder.encode(batch, **options)
            yield rows[skip:]
            skip = 0
            done += len(rows)
            bar.encoded(done)


def _header(output: Output, rows: int) -> bytes:
    """The header of a .npy file, version 1.0, padded to `_HEADER` bytes."""
    descr = np.lib.format.dtype_to_descr(output.dtype)
    text = repr({"descr": descr, "fortran_order": False, "shape": (rows, output.width)})
    magic = np.lib.format.magic(1, 0)
    length = _HEADER - len(magic) - 2
    return magic + length.to_bytes(2, "little") + text.ljust(length - 1).encode("ascii") + b"\n"
