"""Standard streams: those that are closed, and what cannot be written to them."""

from __future__ import annotations

import io
import os
import sys
from contextlib import suppress
from typing import Any

__all__ = ["closed", "drop_output", "flush_output", "prepare", "say"]

closed: set[str] = set()  # of "stdin", "stdout" and "stderr", those that the process was started without


def prepare() -> None:
    """Opens closed standard streams on the null device, and makes errors of the others useful.

    Else the next file that is opened gets the number of one, and receives what libraries print; and Python
    prints messages for a closed standard error into standard output.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            opened = os.open(os.devnull, os.O_RDWR)
            if opened != number:
                os.dup2(opened, number)
                os.close(opened)
        if getattr(sys, name) is None:
            closed.add(name)
            setattr(sys, name, open(os.devnull, "w" if number else "r"))  # noqa: SIM115, as long as we run
        elif number and getattr(sys, name) is getattr(sys, f"__{name}__"):  # not one that a caller put there
            setattr(sys, name, _rewrapped(getattr(sys, name)))


class _Output(io.FileIO):
    """Standard output, whose errors name it; or standard error, which drops what it cannot write.

    No message and no progress bar is worth the loss of the work that it reports.
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
    """Writes what standard output still holds, or raises once: Python itself would try again at its end."""
    try:
        sys.stdout.flush()
    except OSError:
        drop_output()
        raise


def drop_output() -> None:
    """Has what standard output still holds written nowhere."""
    with suppress(OSError, ValueError):  # it may be no file
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, sys.stdout.fileno())
        os.close(null)
