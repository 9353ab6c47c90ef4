"""The exceptions of Sentencode, also those of its C++ half.

Invalid arguments raise Python's classes: `ValueError`, `OSError`, `NotImplementedError`.
"""

from __future__ import annotations

import functools
import sys
from typing import Any, cast

__all__ = [
    "DivergedError",
    "FormatError",
    "LearningRateWarning",
    "MajorityWarning",
    "NotFittedError",
    "StillImprovingWarning",
    "TrainingWarning",
    "ZeroRowsWarning",
]


class DivergedError(FloatingPointError):
    """A loss or an embedding is not finite: training diverged, or weights are damaged."""


class FormatError(ValueError):
    """A file has a wrong format or is damaged; the message has the file and the position."""


class TrainingWarning(UserWarning):
    """A training ended, and there are signs that its result could be better."""


class MajorityWarning(TrainingWarning):
    """A classifier is no better on validation data than always predicting the most frequent class."""


class StillImprovingWarning(TrainingWarning):
    """A training reached its limit of steps, epochs or minutes while it was still improving."""


class LearningRateWarning(TrainingWarning):
    """The training loss is higher than it was at the start, or no validation was better than there."""


class ZeroRowsWarning(UserWarning):
    """Many sentences have no known word, so that their embeddings are zero."""


class NotFittedError(ValueError, AttributeError):
    """An encoder was used before `fit`.

    If scikit-learn is loaded, the error is also a `sklearn.exceptions.NotFittedError`.
    """

    def __new__(cls, *args: Any, **kwargs: Any) -> NotFittedError:
        """An error that is also scikit-learn's, if that is loaded."""
        # Code that catches scikit-learn's class has imported it; nobody else pays for the import.
        sklearn_class = getattr(sys.modules.get("sklearn.exceptions"), "NotFittedError", None)
        if cls is NotFittedError and sklearn_class is not None:
            cls = _subclass_of_both(sklearn_class)
        return super().__new__(cls, *args, **kwargs)

    def __reduce__(self) -> Any:
        kind, *rest = cast("tuple[Any, ...]", super().__reduce__())
        return NotFittedError if kind.__qualname__ == NotFittedError.__qualname__ else kind, *rest


@functools.cache
def _subclass_of_both(sklearn_class: type) -> type[NotFittedError]:
    names = {"__module__": __name__, "__doc__": NotFittedError.__doc__}
    return type(NotFittedError.__qualname__, (NotFittedError, sklearn_class), names)


def __dir__() -> list[str]:
    return sorted(__all__)
