"""What models are trained on: examples as ids in a mapped file, and batches in a reproducible order."""

from __future__ import annotations

from .batcher import Batch, Batcher
from .examples import Examples

__all__ = ["Batch", "Batcher", "Examples"]
