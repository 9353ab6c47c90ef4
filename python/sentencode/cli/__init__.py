"""The command `sentencode`."""

from __future__ import annotations

import argparse
import textwrap
import traceback
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from . import streams

__all__ = ["UsageError", "add_command", "main"]

_PACKAGE = Path(__file__).parents[1]


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command.

    Args:
        arguments: What stands behind `sentencode` on the command line. None: that of this process.

    Returns:
        The process's exit status: 0, 1 after an error, 2 after wrong usage, 130 after Ctrl-C.
    """
    streams.prepare()
    options: argparse.Namespace | None = None
    try:
        try:
            options = _parser().parse_args(arguments)
        finally:
            streams.flush_output()  # --help and --version print and exit
        if options.threads is not None:
            from ..threads import set_num_threads

            set_num_threads(options.threads)
        options.run(options)
        streams.flush_output()
        return 0
    except KeyboardInterrupt:
        streams.say("sentencode: interrupted")
        status = 130
    except BrokenPipeError:  # as in `sentencode ... | head`: nobody is there to read an error
        status = 1
    except Exception as error:
        if options is not None and options.debug:
            streams.say(traceback.format_exc().rstrip())
        streams.say(f"sentencode: error: {one_line(error)}")
        status = 2 if isinstance(error, UsageError) else 1
    with suppress(OSError):  # how it ended is reported already
        streams.flush_output()
    return status


class UsageError(ValueError):
    """Arguments that do not go together."""


def _parser() -> argparse.ArgumentParser:
    from . import bleu, compare, demo, distill, encode, evaluate, reproduce, train, translate, vectors

    parser = argparse.ArgumentParser(
        prog="sentencode", description="Train, run and evaluate sentence encoders."
    )
    parser.add_argument(
        "--version", action=_Version, nargs=0, help="show the version and how it was built, and exit"
    )
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for module in (encode, train, translate, bleu, distill, evaluate, compare, vectors, reproduce, demo):
        add_command(commands, module)
    return parser


def add_command(commands: argparse._SubParsersAction[argparse.ArgumentParser], module: Any) -> None:
    """Adds the command that a module is.

    Args:
        commands: Where to.
        module: With NAME, HELP, EXAMPLE, `add_arguments(parser)` and, unless it has commands of its own,
            `run(options)`. Its docstring describes the command.
    """
    parser = commands.add_parser(
        module.NAME,
        help=module.HELP,
        description=textwrap.fill(" ".join((module.__doc__ or "").split()), 90),
        epilog=f"example:\n{textwrap.indent(module.EXAMPLE.strip(), '  ')}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    module.add_arguments(parser)
    if hasattr(module, "run"):
        parser.add_argument(
            "--threads", type=int, metavar="N", help="number of threads (default: one for each processor)"
        )
        parser.add_argument("--debug", action="store_true", help="show the traceback of an error")
        parser.set_defaults(run=module.run)


def one_line(error: Exception) -> str:
    """What an error says, as the command line does."""
    if isinstance(error, OSError) and error.strerror and error.filename:
        text = f"{error.filename}: {error.strerror}"
    else:
        text = str(error)
    expected = isinstance(error, ValueError | OSError | ImportError | NotImplementedError)
    if (expected or _raised_by_us(error)) and text:
        return " ".join(text.split())
    return f"{type(error).__name__}: {' '.join(text.split())} (--debug shows where)"


def _raised_by_us(error: Exception) -> bool:
    """Whether a `raise` statement of this package raised an error: then its message says all."""
    frames = traceback.extract_tb(error.__traceback__)
    if not frames or not Path(frames[-1].filename).is_relative_to(_PACKAGE):
        return False
    return (frames[-1].line or "").startswith("raise ")


class _Version(argparse.Action):
    """Shows what a bug report and a measurement should say."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from .._core import build_info

        built = build_info()
        slow = "none: built with SENTENCODE_BLAS=eigen, which is several times slower"
        blas = {"eigen": slow, "scipy": "OpenBLAS of scipy-openblas32", "system": "OpenBLAS of the system"}
        kernel = f", kernel {built['blas_kernel']}" if built["blas_kernel"] else ""
        print(f"sentencode {built['version']}")
        print(f"  blas      {blas[built['blas']]}{kernel}")
        print(f"  simd      {built['simd']}")
        print(f"  torch     {built['torch'] or 'built without'}")
        print(f"  compiler  {built['compiler']}")
        parser.exit()


def __dir__() -> list[str]:
    return sorted(__all__)
