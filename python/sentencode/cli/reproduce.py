"""Computes the tables and figures of a paper again, with the published figures beside ours.

Every row is kept in the folder of results (--out) as soon as it is there: --resume goes on where a run was
stopped.
"""

from __future__ import annotations

import argparse
from pathlib import Path

__all__ = ["EXAMPLE", "HELP", "NAME", "add_arguments"]

NAME = "reproduce"
HELP = "the tables and figures of a paper, beside what it printed"
EXAMPLE = """
sentencode reproduce laes --data SentEval/data --vectors glove.840B.300d.txt --out laes
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the commands of this one."""
    from . import add_command

    families = parser.add_subparsers(title="families", metavar="FAMILY", required=True)
    for family in (Laes,):
        add_command(families, family)


class Laes:
    """Paper 004: averages, SIF, uSIF and the linear autoencoder on SICK and STSBenchmark.

    Every encoder is fitted to the training sentences; hidden sizes and numbers of components are chosen on
    the development set. Prints tables I and II; --out gets them too, figure 2, and one JSON file a row.
    """

    NAME = "laes"
    HELP = "tables I and II and figure 2 of the linear autoencoder's paper"
    EXAMPLE = """
sentencode reproduce laes --data SentEval/data --vectors glove.840B.300d.txt --out laes
sentencode reproduce laes --data SentEval/data --vectors glove.6B.50d.txt --table I --rows sif laes-res
"""

    @staticmethod
    def add_arguments(parser: argparse.ArgumentParser) -> None:
        """Adds the command's arguments."""
        parser.add_argument(
            "--data", type=Path, required=True, metavar="FOLDER", help="SentEval's data, or its downstream"
        )
        parser.add_argument("--vectors", type=Path, required=True, metavar="FILE", help="word vectors")
        parser.add_argument(
            "--frequencies",
            metavar="FILE",
            help="`word count` lines, or zipf (default: the vectors' own counts, else their order)",
        )
        parser.add_argument("--table", nargs="+", metavar="NAME", help="I, II, figure-2 (default: all)")
        parser.add_argument("--rows", nargs="+", metavar="NAME", help="as in laes-bres (default: all)")
        parser.add_argument(
            "--out",
            type=Path,
            default=Path("laes-results"),
            metavar="FOLDER",
            help="where results go (default: laes-results)",
        )
        parser.add_argument("--resume", action="store_true", help="keep the rows that --out already holds")
        parser.add_argument(
            "--tokenizer", choices=("words", "whitespace"), default="words", help="(default: words)"
        )
        parser.add_argument(
            "--max-length", type=int, default=64, metavar="N", help="fit to N words of a sentence at most"
        )
        parser.add_argument("--resamples", type=int, default=2000, metavar="N", help="of the bootstrap")
        parser.add_argument("--seed", type=int, default=1111, metavar="N", help="of the bootstrap")
        parser.add_argument("--partial", action="store_true", help="accept files cut short")
        parser.add_argument("--quiet", action="store_true", help="no progress bar")

    @staticmethod
    def run(options: argparse.Namespace) -> None:
        """Runs the command."""
        from ..reproduce import laes

        report = laes.reproduce(
            options.data,
            options.vectors,
            frequencies=options.frequencies,
            tables=options.table,
            rows=options.rows,
            out=options.out,
            resume=options.resume,
            tokenizer=options.tokenizer,
            max_length=options.max_length,
            resamples=options.resamples,
            seed=options.seed,
            partial=options.partial,
            show_progress_bar=not options.quiet,
        )
        if text := report.text():
            print(text)
        if report.drawn:
            print(f"figure 2: {options.out / 'figure-2.png'}")
        print(f"kept in {options.out}: {', '.join(sorted(p.name for p in options.out.iterdir()))}")
