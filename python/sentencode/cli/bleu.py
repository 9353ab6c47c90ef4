"""Prints BLEU of translations, with its bootstrap interval and the signature of sacrebleu.

Both files have one sentence per line, detokenized and with capitals. Give several files for several
references of each line.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from . import sources
from .errors import UsageError
from .options import add_interval_options, add_options

__all__ = ["EXAMPLE", "HELP", "NAME", "add_arguments", "run"]

NAME = "bleu"
HELP = "BLEU of translations"
EXAMPLE = """
sentencode bleu out.de test.de
sentencode translate nmt.sentencode --moses en.moses de.moses test.en - | sentencode bleu - test.de
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "translations", type=Path, metavar="OUT", help="translations, or - for standard input"
    )
    parser.add_argument("references", type=Path, nargs="+", metavar="REF", help="reference translations")
    add_options(
        parser, {"--lowercase": (False, "ignore case"), "--tokenize NAME": ("13a", "sacrebleu's tokenizer")}
    )
    add_interval_options(parser, resamples=1000)


def run(options: argparse.Namespace) -> None:
    from ..evaluation import bleu

    files = [options.translations, *options.references]
    if files.count(Path("-")) > 1:
        raise UsageError("only one file can be -, standard input")
    score = bleu(
        *map(sources.opened_input, files),
        lowercase=options.lowercase,
        tokenize=options.tokenize,
        confidence=options.confidence,
        resamples=options.resamples,
    )
    print(score)
