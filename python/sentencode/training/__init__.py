"""Training: examples as ids, reproducible batches, and the trainer.

`Trainer`, `Loss` and `TensorBatch` require torch, and are imported at their first use.
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
    from .python_model import Loss, TensorBatch
    from .trainer import Trainer

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

_NEED_TORCH = {"Loss": "python_model", "TensorBatch": "python_model", "Trainer": "trainer"}


def __getattr__(name: str) -> Any:
    if name not in _NEED_TORCH:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_NEED_TORCH[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
