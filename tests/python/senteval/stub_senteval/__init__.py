"""Stands in for SentEval in the tests: the same modules, calls and data shapes in few lines of our own.

It breaks on today's Python, NumPy, SciPy and PyTorch, and without CUDA, wherever the original does.
"""

from __future__ import annotations

from . import engine  # noqa: F401
