"""The door to SentEval, Facebook's evaluation harness, which scores an encoder on some thirty tasks.

`plugin` makes the two functions that the harness calls; `patch` makes the harness, last touched in 2020, run
on today's Python, NumPy, SciPy, scikit-learn and PyTorch, with or without CUDA. The harness itself is not
part of Sentencode and is only imported when `patch` is called.
"""

from __future__ import annotations

from .adapter import plugin
from .patch import patch

__all__ = ["patch", "plugin"]


def __dir__() -> list[str]:
    return sorted(__all__)
