"""Compares two reports of `sentencode evaluate`, example by example.

Accuracies: McNemar's test, Student's paired t-test and the paired bootstrap. Correlations: Williams' test and
the paired bootstrap. Averages: a bootstrap that resamples examples shared by several tasks jointly.
The column "p, Holm" is corrected for the number of tests. The table is Markdown.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from .options import add_interval_options

__all__ = ["EXAMPLE", "HELP", "NAME", "add_arguments", "run"]

NAME = "compare"
HELP = "compare two reports of evaluate"
EXAMPLE = """
sentencode compare sif.json laes.json
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("a", type=Path, metavar="A", help="a report that evaluate --out has written")
    parser.add_argument("b", type=Path, metavar="B", help="another report on the same tasks")
    add_interval_options(parser, resamples=2000)


def run(options: argparse.Namespace) -> None:
    from ..evaluation import Report, compare

    a, b = Report.load(options.a), Report.load(options.b)
    comparison = compare(a, b, confidence=options.confidence, resamples=options.resamples)
    print(comparison.to_markdown(), end="")
