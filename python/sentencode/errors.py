"""The exceptions of Sentencode, importable without the compiled half, which raises them too.

Wrong arguments raise Python's own classes: `ValueError`, `OSError`, `NotImplementedError`.
"""

from __future__ import annotations

import functools
import sys
from typing import Any

__all__ = ["DivergedError", "FormatError", "NotFittedError", "ZeroRowsWarning"]


class DivergedError(FloatingPointError):
    """What a training or a model computes is not finite: it diverged, or its weights are damaged."""


class FormatError(ValueError):
    """A file does not have the format that it should; the message names the file and the place."""


class ZeroRowsWarning(UserWarning):
    """Many sentences have no word that the encoder knows, so that their rows are zero."""


class NotFittedError(ValueError, AttributeError):
    """An encoder was used before `fit`.

    Where scikit-learn is loaded, what is raised is a `sklearn.exceptions.NotFittedError` as well.
    """

    def __new__(cls, *args: Any, **kwargs: Any) -> NotFittedError:
        """An error; where scikit-learn is loaded, one that its class catches, too."""
        # Who catches scikit-learn's class has loaded it; nobody else pays for the import.
        theirs = getattr(sys.modules.get("sklearn.exceptions"), "NotFittedError", None)
        if cls is NotFittedError and theirs is not None:
            cls = _which_is_also(theirs)
        return super().__new__(cls, *args, **kwargs)

    def __reduce__(self) -> Any:
        made: Any = super().__reduce__()
        kind, *rest = made
        return NotFittedError if kind.__qualname__ == NotFittedError.__qualname__ else kind, *rest


@functools.cache
def _which_is_also(theirs: type) -> type[NotFittedError]:
    names = {"__module__": __name__, "__doc__": NotFittedError.__doc__}
    return type(NotFittedError.__qualname__, (NotFittedError, theirs), names)


def __dir__() -> list[str]:
    return sorted(__all__)
