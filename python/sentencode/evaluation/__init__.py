"""Tasks, how well scores agree with them, and whether one system is better than another."""

from __future__ import annotations

from .data import Split, Task, load_task, task_names
from .metrics import (
    Interval,
    accuracy,
    bootstrap_difference,
    bootstrap_f1,
    bootstrap_interval,
    bootstrap_mean,
    cosine_of_pairs,
    f1,
    mean_squared_error,
    pearson,
    spearman,
)
from .significance import (
    Comparison,
    mcnemar_test,
    paired_bootstrap,
    paired_t_test,
    steiger_test,
    williams_test,
)

__all__ = [
    "Comparison",
    "Interval",
    "Split",
    "Task",
    "accuracy",
    "bootstrap_difference",
    "bootstrap_f1",
    "bootstrap_interval",
    "bootstrap_mean",
    "cosine_of_pairs",
    "f1",
    "load_task",
    "mcnemar_test",
    "mean_squared_error",
    "paired_bootstrap",
    "paired_t_test",
    "pearson",
    "spearman",
    "steiger_test",
    "task_names",
    "williams_test",
]
