"""Tasks, and how well scores agree with them."""

from __future__ import annotations

from .data import (
    Kind,
    Split,
    Task,
    convert_coco_pickles,
    load_groups,
    load_task,
    load_tsv_task,
    task_kind,
    task_names,
)
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
    "Kind",
    "Split",
    "Task",
    "bootstrap_difference",
    "bootstrap_interval",
    "convert_coco_pickles",
    "cosine_of_pairs",
    "load_groups",
    "load_task",
    "load_tsv_task",
    "pearson",
    "spearman",
    "task_kind",
    "task_names",
]
