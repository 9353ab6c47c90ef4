"""The command `sentencode`."""

from __future__ import annotations

import argparse
import traceback
from collections.abc import Sequence
from contextlib import suppress

from . import streams
from .errors import UsageError, one_line, warnings_like_errors
from .options import add_command

__all__ = ["UsageError", "main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command.

    Args:
        arguments: Command-line arguments after `sentencode`. None: those of this process.

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
        with warnings_like_errors():
            options.run(options)
        streams.flush_output()
        return 0
    except KeyboardInterrupt:
        streams.say("sentencode: interrupted")
        status = 130
    except BrokenPipeError:  # as in `sentencode ... | head`: nobody reads an error
        status = 1
    except Exception as error:
        if options is not None and options.debug:
            streams.say(traceback.format_exc().rstrip())
        streams.say(f"sentencode: error: {one_line(error)}")
        status = 2 if isinstance(error, UsageError) else 1
    with suppress(OSError):  # the error is reported already
        streams.flush_output()
    return status


def _parser() -> argparse.ArgumentParser:
    from . import bleu, compare, decontaminate, demo, distill, encode, evaluate, export  # isort: split
    from . import reproduce, serve, train, translate
    from . import vectors as vectors_

    parser = argparse.ArgumentParser(
        prog="sentencode", description="Train, run and evaluate sentence encoders."
    )
    parser.add_argument(
        "--version", action=_Version, nargs=0, help="show the version and how it was built, and exit"
    )
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    text = (decontaminate, vectors_, bleu)
    for module in (
        encode,
        serve,
        train,
        translate,
        distill,
        export,
        evaluate,
        compare,
        *text,
        reproduce,
        demo,
    ):
        add_command(commands, module)
    return parser


class _Version(argparse.Action):
    """Shows the version, and the parts of the build that bug reports and measurements need."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from .._core import build_info

        build = build_info()
        slow = "none: built with SENTENCODE_BLAS=eigen, which is several times slower"
        blas = {"eigen": slow, "scipy": "OpenBLAS of scipy-openblas32", "system": "OpenBLAS of the system"}
        kernel = f", kernel {build['blas_kernel']}" if build["blas_kernel"] else ""
        print(f"sentencode {build['version']}")
        print(f"  blas      {blas[build['blas']]}{kernel}")
        print(f"  simd      {build['simd']}")
        print(f"  torch     {build['torch'] or 'built without'}")
        print(f"  compiler  {build['compiler']}")
        parser.exit()


def __dir__() -> list[str]:
    return sorted(__all__)
