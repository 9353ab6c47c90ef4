"""Standard streams that are closed, or cannot be written."""

from __future__ import annotations

import io
import os
import sys
from contextlib import suppress
from typing import Any

__all__ = ["closed", "flush_output", "prepare", "say"]

closed: set[str] = set()  # those of "stdin", "stdout" and "stderr" that the process was started without


def prepare() -> None:
    """Opens closed standard streams on the null device, and adds names to errors of the others.

    Otherwise the next opened file would get the descriptor of a closed stream and receive what libraries
    print, and Python would print messages for a closed standard error to standard output.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            null = os.open(os.devnull, os.O_RDWR)
            if null != number:
                os.dup2(null, number)
                os.close(null)
        if getattr(sys, name) is None:
            closed.add(name)
            setattr(sys, name, open(os.devnull, "w" if number else "r"))  # noqa: SIM115, open until the process ends
        elif number and getattr(sys, name) is getattr(sys, f"__{name}__"):  # not a caller's replacement
            setattr(sys, name, _rewrapped(getattr(sys, name)))


class _Output(io.FileIO):
    """Standard output with its name in errors; or standard error, which drops what it cannot write.

    A message or a progress bar that cannot be written must not end the work.
    """

    def write(self, data: Any) -> int:
        try:
            return super().write(data)
        except OSError as error:
            if self.fileno() == 2:
                return len(data)
            error.filename = "standard output"
            raise


def _rewrapped(stream: Any) -> io.TextIOWrapper:
    """The same text stream on an `_Output`."""
    stream.flush()
    raw: Any = _Output(stream.fileno(), "w", closefd=False)
    unbuffered = isinstance(stream.buffer, io.RawIOBase)
    return io.TextIOWrapper(
        raw if unbuffered else io.BufferedWriter(raw),
        encoding=stream.encoding,
        errors=stream.errors,
        newline="\n",
        line_buffering=stream.line_buffering,
        write_through=unbuffered,
    )


def say(text: str) -> None:
    """Prints a line to standard error."""
    print(text, file=sys.stderr, flush=True)


def flush_output() -> None:
    """Flushes standard output; after an error, drops its buffer, which Python would flush again at exit."""
    try:
        sys.stdout.flush()
    except OSError:
        with suppress(OSError, ValueError):  # it may be no file
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, sys.stdout.fileno())
            os.close(null)
        raise
