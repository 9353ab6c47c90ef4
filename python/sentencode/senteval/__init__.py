"""Adapter for the original SentEval, Facebook's evaluation toolkit with about thirty tasks.

`plugin` makes the two functions that SentEval calls; `patch` makes SentEval, last changed in 2020, run on
today's Python, NumPy, SciPy, scikit-learn and PyTorch, with or without CUDA. SentEval is not part of
Sentencode, and is imported only by `patch`.
"""

from __future__ import annotations

from .adapter import plugin
from .patch import patch

__all__ = ["patch", "plugin"]


def __dir__() -> list[str]:
    return sorted(__all__)
