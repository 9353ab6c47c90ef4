"""What commands are given: encoders, and files and their identity."""

from __future__ import annotations

import argparse
import ast
import errno
import hashlib
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from . import UsageError, streams
from .parameter_types import check_type, types_of

__all__ = [
    "add_encoder_arguments",
    "check_encoder_arguments",
    "check_output",
    "encoder",
    "files_of",
    "identity",
    "parameter",
    "standard_input",
    "standard_output",
]

_KINDS = {"average": "Average", "laes": "LAES", "sif": "SIF", "usif": "USIF"}
_BLOCK = 1 << 20


def add_encoder_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds --encoder, and what makes one when there is none."""
    group = parser.add_argument_group("the encoder, saved or made on the way")
    group.add_argument("--encoder", metavar="FILE", help="a saved encoder")
    group.add_argument("--kind", choices=sorted(_KINDS), help="or make an encoder of this kind")
    group.add_argument("--vectors", metavar="FILE", help="its word vectors (default: the built-in ones)")
    group.add_argument("--fit", type=Path, metavar="FILE", help="the sentences to fit it to, one a line")
    group.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="one of its parameters, as in components=15; may be repeated",
    )
    group.add_argument("--save", type=Path, metavar="FILE", help="save the fitted encoder here")


def encoder(options: argparse.Namespace) -> Any:
    """The encoder that the arguments ask for."""
    import sentencode

    check_encoder_arguments(options)
    if options.encoder is not None:
        return sentencode.load(options.encoder)
    kind, parameters = getattr(sentencode, _KINDS[options.kind]), dict(map(parameter, options.set))
    known = sorted(set(kind._defaults()) - {"vectors"})
    types = types_of(kind.__mro__, kind._defaults())
    for name, value in parameters.items():
        if name not in known:
            raise UsageError(f"--set: {options.kind} has no parameter {name!r}; it has {', '.join(known)}")
        try:
            check_type(name, value, types.get(name, ""))
        except ValueError as error:
            raise UsageError(f"--set: {error}") from None
    vectors: Any = sentencode.WordVectors
    table = vectors.default() if options.vectors is None else vectors.load(options.vectors)
    made = kind(table, **parameters)
    if options.fit is not None:
        made.fit(options.fit)
    elif not made.fitted:
        raise UsageError(f"--kind {options.kind} learns from sentences: give them with --fit FILE")
    return made


def check_encoder_arguments(options: argparse.Namespace) -> None:
    """Refuses arguments of which one must be given, or that do not go together."""
    made_here = {
        "--vectors": options.vectors,
        "--fit": options.fit,
        "--set": options.set,
        "--save": options.save,
    }
    if (options.encoder is None) == (options.kind is None):
        raise UsageError("give either --encoder FILE or --kind")
    for name, value in made_here.items():
        if options.encoder is not None and value:
            raise UsageError(f"{name} goes with --kind, not with --encoder")


def check_output(output: Path, inputs: Iterable[str | Path | None], overwrite: bool) -> None:
    """Refuses an output that cannot be written, before any work.

    Args:
        output: The file to write.
        inputs: The files that are read. What is None or not there is passed over.
        overwrite: Whether a file that is there may be replaced, if it is none of those.

    Raises:
        UsageError: If it is one of the inputs.
        OSError: If it is there already, or its folder is not.
    """
    if not output.exists():
        if not output.parent.is_dir():
            raise FileNotFoundError(2, "there is no such folder", str(output.parent))
        return
    for path in inputs:
        if path is not None and os.path.exists(path) and os.path.samefile(path, output):
            raise UsageError(f"{output} is read as well: give another file to write")
    if not overwrite:
        raise FileExistsError(17, "is there already; --overwrite replaces it", str(output))


def standard_input() -> Path:
    """The file that stands for standard input; an error if it is closed."""
    _check_open("stdin", "standard input")
    return Path("/dev/stdin")


def standard_output() -> Any:
    """Standard output, for bytes; an error if it is closed."""
    _check_open("stdout", "standard output")
    return sys.stdout.buffer


def _check_open(name: str, shown: str) -> None:
    if name in streams.closed:
        raise OSError(errno.EBADF, "is closed", shown)


def files_of(corpus: str | Path | None) -> list[str]:
    """The files of a corpus: itself, or those of a folder or a glob."""
    from ..text.corpus import Corpus

    return [] if corpus is None else Corpus(corpus).files


def parameter(text: str) -> tuple[str, Any]:
    """NAME=VALUE; a value that is no Python literal is a word."""
    name, equals, value = text.partition("=")
    if not (name.isidentifier() and equals):
        raise UsageError(f"--set: expected NAME=VALUE, got {text!r}")
    try:
        return name, ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return name, value  # a word, such as residual


def identity(path: Path) -> dict[str, Any]:
    """What tells a file from others: its size, and a hash.

    Of a file larger than 64 MiB only 64 blocks of a MiB are read, spread over it.
    """
    size = path.stat().st_size
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        spread = [i * (size - _BLOCK) // 63 for i in range(64)]
        places = range(0, size, _BLOCK) if size <= 64 * _BLOCK else spread
        for place in places:
            file.seek(place)
            digest.update(file.read(_BLOCK))
    return {"bytes": size, "sha256": digest.hexdigest()}
