"""Compares two reports of `sentencode evaluate`, example by example.

Accuracies: McNemar's test, Student's paired t-test and the paired bootstrap. Correlations: Williams' test and
the paired bootstrap. Averages: a bootstrap that draws an example of several tasks once for all of them.
The column "p, Holm" is corrected for the number of tests. The table is Markdown.
"""

from __future__ import annotations

import argparse
from pathlib import Path

__all__ = ["EXAMPLE", "HELP", "NAME", "add_arguments", "run"]

NAME = "compare"
HELP = "compare two reports of evaluate"
EXAMPLE = """
sentencode compare sif.json laes.json
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the command's arguments."""
    parser.add_argument("a", type=Path, metavar="A", help="a report, as evaluate's --out writes it")
    parser.add_argument("b", type=Path, metavar="B", help="another report on the same tasks")
    parser.add_argument(
        "--resamples", type=int, default=2000, metavar="N", help="bootstrap resamples (default: 2000)"
    )
    parser.add_argument(
        "--confidence",
        type=float,
        default=0.95,
        metavar="LEVEL",
        help="confidence level of the intervals (default: 0.95)",
    )


def run(options: argparse.Namespace) -> None:
    """Runs the command."""
    from ..evaluation import Report, compare

    a, b = Report.load(options.a), Report.load(options.b)
    found = compare(a, b, confidence=options.confidence, resamples=options.resamples)
    print(found.to_markdown(), end="")
