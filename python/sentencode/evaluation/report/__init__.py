"""Reports of encoders: averages, published scores, tables, charts, HTML and JSON files."""

from __future__ import annotations

from ..metrics.results import Curve, SplitPredictions, TaskResult, Wrong
from ..metrics.results import Judged as Judged  # the old name
from . import plots
from .averages import PAPER_TASKS, macro_and_micro
from .file import add_curve
from .html import write_html
from .published import ANOTHER_PROTOCOL, Paper, PublishedFigure, published, published_for
from .report import Report

__all__ = [
    "ANOTHER_PROTOCOL",
    "PAPER_TASKS",
    "Curve",
    "Paper",
    "PublishedFigure",
    "Report",
    "SplitPredictions",
    "TaskResult",
    "Wrong",
    "add_curve",
    "macro_and_micro",
    "plots",
    "published",
    "published_for",
    "write_html",
]
