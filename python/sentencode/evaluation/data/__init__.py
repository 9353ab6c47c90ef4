"""Tasks: their examples and kinds, and readers of their files."""

from __future__ import annotations

from .custom import load_groups, load_tsv_task
from .images import convert_coco_pickles
from .labelled import Labelled, read_labelled
from .nli import load_nli_task
from .senteval import load_task, task_kind, task_names
from .task import Kind, Split, Task, digest_of

__all__ = [
    "Kind",
    "Labelled",
    "Split",
    "Task",
    "convert_coco_pickles",
    "digest_of",
    "load_groups",
    "load_nli_task",
    "load_task",
    "load_tsv_task",
    "read_labelled",
    "task_kind",
    "task_names",
]
