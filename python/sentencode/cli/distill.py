"""Makes an encoder that imitates another one, and encodes much faster.

TEACHER is an encoder saved by Sentencode, or the folder or name of a model of sentence-transformers. Its
embeddings of the sentences are kept below the cache folder: the same command goes on where it was stopped.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from . import sources
from .vectors import STORAGES, words_of

__all__ = ["EXAMPLE", "HELP", "NAME", "add_arguments", "run"]

NAME = "distill"
HELP = "make a fast encoder that imitates another"
EXAMPLE = """
sentencode distill sentence-transformers/all-MiniLM-L6-v2 --sentences wiki.txt.xz --out student.sentencode
sentencode distill teacher.sentencode --sentences corpus/ --words words.txt --out student.sentencode
sentencode encode --encoder student.sentencode new.txt new.npy
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the command's arguments."""
    parser.add_argument(
        "teacher", metavar="TEACHER", help="a saved encoder, or a sentence-transformers model"
    )
    parser.add_argument(
        "--sentences",
        nargs="+",
        required=True,
        metavar="FILE",
        help="sentences, one a line: files, folders or globs; may be compressed",
    )
    parser.add_argument("--out", type=Path, required=True, metavar="FILE", help="where to save the encoder")
    parser.add_argument(
        "--bfloat16",
        action="store_true",
        help="the teacher computes in bfloat16: twice as fast on some processors",
    )
    parser.add_argument("--words", type=Path, metavar="FILE", help="the words that get vectors, one a line")
    parser.add_argument("--max-words", type=int, metavar="N", help="else: so many of the sentences' words")
    parser.add_argument(
        "--max-sentences", type=int, metavar="N", help="the teacher reads so many, chosen by chance"
    )
    parser.add_argument("--limit", type=int, metavar="N", help="the first N sentences only")
    parser.add_argument("--dim", type=int, metavar="N", help="numbers in a vector (default: the teacher's)")
    parser.add_argument(
        "--penalty", type=float, metavar="LAMBDA", help="(default: chosen on held-out sentences)"
    )
    parser.add_argument("--keep-case", action="store_true", help="do not lower-case")
    parser.add_argument("--storage", choices=STORAGES, default="float32", help="(default: float32)")
    parser.add_argument("--cache", metavar="FOLDER", help="where the teacher's embeddings are kept")
    parser.add_argument("--overwrite", action="store_true", help="replace FILE")
    parser.add_argument("--quiet", action="store_true", help="no progress bar")


def run(options: argparse.Namespace) -> None:
    """Runs the command."""
    from itertools import islice

    from ..distill import distill, teacher_named
    from ..linear import Average
    from ..text.corpus import Corpus

    inputs = [file for given in options.sentences for file in sources.files_of(given)]
    sources.check_output(options.out, [*inputs, options.words], options.overwrite)
    corpus: Any = Corpus.from_files(options.sentences)
    if options.limit is not None:
        corpus = list(islice(corpus, options.limit))
    chosen = {} if options.max_words is None else {"max_words": options.max_words}
    student = distill(
        teacher_named(options.teacher, bfloat16=options.bfloat16),
        corpus,
        None if options.words is None else words_of(options.words),
        max_sentences=options.max_sentences,
        dim=options.dim,
        penalty=options.penalty,
        lowercase=not options.keep_case,
        storage=options.storage,
        cache=True if options.cache is None else options.cache,
        progress=not options.quiet,
        **chosen,
    )
    encoder = Average(student.vectors, tokenizer="punctuation", lowercase=not options.keep_case)
    encoder.save(options.out)
    print(
        f"{options.out}: {len(student.vectors):,} words of {student.vectors.dim} numbers, "
        f"from {student.sentences:,} sentences; {student.unseen:,} words are in none of them"
    )
    print(f"lambda {student.penalty:g}")
    if student.untold:
        told = {"told": student.untold[student.penalty], "by single words": student.words_alone}
        for name, untold in told.items():
            print(
                f"{name}: {100 * (1 - (untold or 0)):.1f} % of the teacher's embeddings of held-out sentences"
            )
