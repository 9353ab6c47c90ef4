"""Errors and warnings of the command line, and how they are shown."""

from __future__ import annotations

import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["UsageError", "one_line", "warnings_like_errors"]

_PACKAGE = Path(__file__).parents[1]


class UsageError(ValueError):
    """Invalid arguments, or arguments that exclude each other."""


def one_line(error: Exception) -> str:
    """The message of an error, on one line; its class is added if it may be a bug."""
    if isinstance(error, OSError) and error.strerror and error.filename:
        text = f"{error.filename}: {error.strerror}"
    else:
        text = str(error)
    text = " ".join(text.split())
    expected = isinstance(error, ValueError | OSError | ImportError | NotImplementedError)
    if text and (expected or _raised_by_package(error)):
        return text
    return f"{type(error).__name__}: {text} (--debug shows where)"


@contextmanager
def warnings_like_errors() -> Iterator[None]:
    """Shows warnings of this package without the line of the source."""
    default = warnings.formatwarning

    def shown(
        message: Warning | str, category: type[Warning], filename: str, lineno: int, line: str | None = None
    ) -> str:
        if not Path(filename).is_relative_to(_PACKAGE):
            return default(message, category, filename, lineno, line)
        return f"sentencode: warning: {' '.join(str(message).split())}\n"

    warnings.formatwarning = shown
    try:
        yield
    finally:
        warnings.formatwarning = default


def _raised_by_package(error: Exception) -> bool:
    """Whether a `raise` statement of this package raised the error."""
    frames = traceback.extract_tb(error.__traceback__)
    if not frames or not Path(frames[-1].filename).is_relative_to(_PACKAGE):
        return False
    return (frames[-1].line or "").startswith("raise ")
