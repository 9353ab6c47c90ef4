"""A small replacement of SentEval for tests, with the same modules, calls and data shapes.

It breaks on today's Python, NumPy, SciPy and PyTorch, and without CUDA, wherever the original does.
"""

from __future__ import annotations

from . import engine  # noqa: F401
