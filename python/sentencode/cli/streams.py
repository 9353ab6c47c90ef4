"""Standard streams: those that are closed, and what cannot be written to them."""

from __future__ import annotations

import os
import sys
from contextlib import suppress

__all__ = ["closed", "drop_output", "flush_output", "open_closed", "say"]

closed: set[str] = set()  # of "stdin", "stdout" and "stderr", those that the process was started without


def open_closed() -> None:
    """Opens closed standard streams on the null device.

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


def say(text: str) -> None:
    """Prints a line to standard error; what cannot be written there does not change how a command ends."""
    with suppress(OSError):
        print(text, file=sys.stderr, flush=True)


def flush_output() -> None:
    """Writes what standard output still holds, or raises once: Python itself would try again at its end."""
    try:
        sys.stdout.flush()
    except OSError as error:
        drop_output()
        if error.filename is None:
            error.filename = "standard output"
        raise


def drop_output() -> None:
    """Has what standard output still holds written nowhere."""
    with suppress(OSError, ValueError):  # it may be no file
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, sys.stdout.fileno())
        os.close(null)
