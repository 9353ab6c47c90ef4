"""The papers' tables and figures, computed again."""

from __future__ import annotations

from .frame import published

__all__ = ["published"]
