"""Training: examples as ids, reproducible batches, and the trainer.

Only `Trainer` needs torch; it is imported when it is used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from .batcher import Batch, Batcher
from .callbacks import Callback, CsvLog, TensorBoardLog
from .examples import Examples
from .history import History, Step, Validation, plot_loss
from .options import TrainingOptions

if TYPE_CHECKING:
    from .trainer import Loss, TensorBatch, Trainer

__all__ = [
    "Batch",
    "Batcher",
    "Callback",
    "CsvLog",
    "Examples",
    "History",
    "Loss",
    "Step",
    "TensorBatch",
    "TensorBoardLog",
    "Trainer",
    "TrainingOptions",
    "Validation",
    "plot_loss",
]


def __getattr__(name: str) -> Any:
    if name not in {"Loss", "TensorBatch", "Trainer"}:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.trainer"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
