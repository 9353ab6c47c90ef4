"""The exceptions of Sentencode, importable without the compiled half.

Wrong arguments raise Python's own classes: `ValueError`, `OSError`, `NotImplementedError`.
"""

from __future__ import annotations

import contextlib

__all__ = ["DivergedError", "FormatError", "NotFittedError", "ZeroRowsWarning"]


class DivergedError(FloatingPointError):
    """What a training or a model computes is not finite: it diverged, or its weights are damaged."""


class FormatError(ValueError):
    """A file does not have the format that it should; the message names the file and the place."""


class ZeroRowsWarning(UserWarning):
    """Many sentences have no word that the encoder knows, so that their rows are zero."""


class NotFittedError(ValueError, AttributeError):
    """An encoder was used before `fit`."""


# Where the compiled half is there, its own classes of these names are what it raises, and all catch them.
with contextlib.suppress(ImportError):
    from ._core import DivergedError, FormatError, NotFittedError
