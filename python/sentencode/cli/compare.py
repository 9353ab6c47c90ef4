"""Compares reports of `sentencode evaluate`, example by example.

Two reports: all tests of each task, then the ranking. Three or more: the ranking, which has the encoders next
to each other, and marks those that the test examples cannot separate from the best.

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
HELP = "compare reports of evaluate"
EXAMPLE = """
sentencode compare sif.json laes.json
sentencode compare sif.json usif.json laes.json
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("a", type=Path, metavar="A", help="a report that evaluate --out has written")
    parser.add_argument("others", type=Path, nargs="+", metavar="B", help="others on the same tasks")
    add_interval_options(parser, resamples=2000)


def run(options: argparse.Namespace) -> None:
    from ..evaluation import Report, compare, rank

    reports = [Report.load(path) for path in (options.a, *options.others)]
    settings = {"confidence": options.confidence, "resamples": options.resamples}
    if len(reports) == 2:
        print(compare(*reports, **settings).to_markdown(), end="")
        if reports[0].encoder == reports[1].encoder:
            return  # a ranking requires names
        print()
    print(rank(reports, **settings).to_markdown(), end="")
