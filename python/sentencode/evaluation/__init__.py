"""Tasks, and how well scores agree with them."""

from __future__ import annotations

from .data import Split, Task, load_task, task_names
from .metrics import (
    Interval,
    bootstrap_difference,
    bootstrap_interval,
    cosine_of_pairs,
    pearson,
    spearman,
)

__all__ = [
    "Interval",
    "Split",
    "Task",
    "bootstrap_difference",
    "bootstrap_interval",
    "cosine_of_pairs",
    "load_task",
    "pearson",
    "spearman",
    "task_names",
]
