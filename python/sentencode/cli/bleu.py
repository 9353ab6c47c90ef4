"""Tells BLEU of translations, one a line, with its bootstrap interval and the signature of sacrebleu.

Both files have text as it is printed: restored, with capitals and without tokens. Several references of each
line are several files.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from . import UsageError, sources

__all__ = ["EXAMPLE", "HELP", "NAME", "add_arguments", "run"]

NAME = "bleu"
HELP = "BLEU of translations"
EXAMPLE = """
sentencode bleu out.de test.de
sentencode translate nmt.sentencode --moses en.moses de.moses test.en - | sentencode bleu - test.de
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the command's arguments."""
    parser.add_argument(
        "translations", type=Path, metavar="OUT", help="translations, or - for standard input"
    )
    parser.add_argument("references", type=Path, nargs="+", metavar="REF", help="what is right")
    parser.add_argument("--lowercase", action="store_true", help="as if all letters were small")
    parser.add_argument(
        "--tokenize", default="13a", metavar="NAME", help="sacrebleu's tokenizer (default: 13a)"
    )
    parser.add_argument(
        "--resamples", type=int, default=1000, metavar="N", help="bootstrap resamples (default: 1000)"
    )
    parser.add_argument(
        "--confidence",
        type=float,
        default=0.95,
        metavar="LEVEL",
        help="confidence level of the interval (default: 0.95)",
    )


def run(options: argparse.Namespace) -> None:
    """Runs the command."""
    from ..evaluation import bleu

    files = [options.translations, *options.references]
    if files.count(Path("-")) > 1:
        raise UsageError("only one file can be -, standard input")
    found = bleu(
        *(sources.standard_input() if file == Path("-") else file for file in files),
        lowercase=options.lowercase,
        tokenize=options.tokenize,
        confidence=options.confidence,
        resamples=options.resamples,
    )
    print(found)
