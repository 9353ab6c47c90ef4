"""Inputs and outputs of commands: encoders, files and their identity."""

from __future__ import annotations

import argparse
import errno
import hashlib
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from . import streams
from .errors import UsageError
from .options import TRUST, add_assignments, add_options, assignment
from .parameter_types import check_type, types_of

__all__ = [
    *("add_encoder_arguments", "check_encoder_arguments", "encoder"),
    *("check_output", "files_of", "identity", "is_pipe", "opened_input", "standard_output", "words_of"),
]

_KINDS = {"average": "Average", "laes": "LAES", "sif": "SIF", "usif": "USIF"}
_BLOCK, _BLOCKS = 1 << 20, 64  # bytes; blocks of a large file that its hash covers


def add_encoder_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds --encoder, and the options that fit an encoder instead."""
    group = parser.add_argument_group("the encoder: a saved one, or one that is fitted first")
    group.add_argument(
        "--encoder", metavar="FILE", help="a saved encoder, or the folder or name of a static model"
    )
    add_options(group, TRUST)
    group.add_argument("--kind", choices=sorted(_KINDS), help="fit an encoder of this class")
    group.add_argument("--vectors", metavar="FILE", help="its word vectors (default: the built-in ones)")
    group.add_argument("--fit", type=Path, metavar="FILE", help="its training sentences, one per line")
    add_assignments(group, "NAME=VALUE", "one of its parameters, as in components=15")
    group.add_argument("--save", type=Path, metavar="FILE", help="save the fitted encoder here")


def check_encoder_arguments(options: argparse.Namespace) -> None:
    """Raises `UsageError` unless exactly one of --encoder and --kind is given, and the others fit it."""
    if (options.encoder is None) == (options.kind is None):
        raise UsageError("give either --encoder FILE or --kind")
    if options.encoder is None and options.trust_tokenizer:
        raise UsageError("--trust-tokenizer requires --encoder")
    for name in ("vectors", "fit", "set", "save"):
        if options.encoder is not None and getattr(options, name):
            raise UsageError(f"--{name} requires --kind and excludes --encoder")


def encoder(options: argparse.Namespace) -> Any:
    """The encoder that the options describe: loaded, or fitted."""
    import sentencode

    check_encoder_arguments(options)
    if options.encoder is not None:
        return sentencode.load(options.encoder, trust_tokenizer=options.trust_tokenizer)
    kind, parameters = getattr(sentencode, _KINDS[options.kind]), dict(map(assignment, options.set))
    names = sorted(set(kind._defaults()) - {"vectors"})
    types = types_of(kind.__mro__, kind._defaults())
    for name, value in parameters.items():
        if name not in names:
            raise UsageError(f"--set: {options.kind} has no parameter {name!r}; it has {', '.join(names)}")
        if value is False and "None" in types.get(name, "") and "bool" not in types[name]:
            parameters[name] = value = None  # as in TOML files
        try:
            check_type(name, value, types.get(name, ""))
        except ValueError as error:
            raise UsageError(f"--set: {error}") from None
    vectors: Any = sentencode.WordVectors
    table = vectors.default() if options.vectors is None else vectors.load(options.vectors)
    fitted = kind(table, **parameters)
    if options.fit is not None:
        fitted.fit(options.fit)
    elif not fitted.fitted:
        raise UsageError(f"--kind {options.kind} must be fitted: give its training sentences with --fit FILE")
    return fitted


def check_output(
    output: Path,
    inputs: Iterable[str | Path | None],
    overwrite: bool,
    *,
    texts: Iterable[str | Path | None] = (),
) -> None:
    """Checks that an output can be written, before any work.

    Args:
        output: File to write.
        inputs: Files and folders that are read; None and missing ones are skipped.
        overwrite: Whether an existing file may be replaced.
        texts: More of them, of which all files of a folder are read, new ones too.

    Raises:
        UsageError: The output is an input or in one, or would be read as text.
        OSError: The output exists, or its folder does not.
    """
    exists = output.exists()
    if not exists and not output.parent.is_dir():
        raise FileNotFoundError(2, "there is no such folder", str(output.parent))
    texts = list(texts)
    for path in (*texts, *(inputs if exists else ())):
        if path is None or not os.path.exists(path):
            continue
        if exists and os.path.samefile(path, output):
            raise UsageError(f"{output} is an input: give another output file")
        if os.path.isdir(path) and output.resolve().is_relative_to(Path(path).resolve()):
            raise UsageError(f"{output} is in the folder {path}, which is read: give another output file")
    if exists and not overwrite:
        raise FileExistsError(17, "exists already; --overwrite replaces it", str(output))


def opened_input(path: Path) -> Path:
    """The file to read for an argument; "-" is standard input.

    Raises:
        OSError: Standard input is closed.
    """
    if path != Path("-"):
        return path
    _check_open("stdin", "standard input")
    return Path("/dev/stdin")


def standard_output() -> Any:
    """Standard output, for bytes; an error if it is closed."""
    _check_open("stdout", "standard output")
    return sys.stdout.buffer


def _check_open(name: str, shown: str) -> None:
    if name in streams.closed:
        raise OSError(errno.EBADF, "is closed", shown)


def is_pipe(path: Path) -> bool:
    """Whether a path is a pipe or a device, whose content cannot be identified."""
    return path.exists() and not path.is_file()


def files_of(corpus: str | Path | None) -> list[str]:
    """The files of a corpus: a file, or all files of a folder or a glob."""
    from ..text.corpus import Corpus

    return [] if corpus is None else Corpus(corpus).files


def words_of(path: Path | None) -> list[str] | None:
    """The words of a file, one per line; None without a file."""
    from ..files import read_text

    if path is None:
        return None
    lines = (line.strip(" \t\r") for line in read_text(path).split("\n"))  # words may hold other white space
    return [line for line in lines if line]


def identity(path: Path) -> dict[str, Any]:
    """Size and hash of a file. Of a larger one, the hash covers 64 blocks of 1 MiB, spread evenly."""
    status = path.stat()
    size = status.st_size
    digest = hashlib.sha256()
    spread = [i * (size - _BLOCK) // (_BLOCKS - 1) for i in range(_BLOCKS)]
    with open(path, "rb") as file:
        for offset in range(0, size, _BLOCK) if size <= _BLOCKS * _BLOCK else spread:
            file.seek(offset)
            digest.update(file.read(_BLOCK))
    whole = {} if size <= _BLOCKS * _BLOCK else {"modified": status.st_mtime_ns}
    return {"bytes": size, "sha256": digest.hexdigest(), **whole}
