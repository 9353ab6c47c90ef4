"""Trains a fast encoder that imitates another one.

TEACHER is an encoder saved by Sentencode, or the folder or name of a sentence-transformers model. Its
embeddings of the sentences are cached below the cache folder: the same command resumes a stopped run.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from . import sources
from .options import TRUST, add_options, add_output_options, add_storage

__all__ = ["EXAMPLE", "HELP", "NAME", "add_arguments", "run"]

NAME = "distill"
HELP = "train a fast encoder that imitates another"
EXAMPLE = """
sentencode distill sentence-transformers/all-MiniLM-L6-v2 --sentences wiki.txt.xz --out student.sentencode
sentencode distill teacher.sentencode --sentences corpus/ --words words.txt --out student.sentencode
sentencode encode --encoder student.sentencode new.txt new.npy
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "teacher", metavar="TEACHER", help="a saved encoder, or a sentence-transformers model"
    )
    parser.add_argument(
        "--sentences",
        nargs="+",
        required=True,
        metavar="FILE",
        help="sentences, one per line: files, folders or globs; may be compressed",
    )
    parser.add_argument("--out", type=Path, required=True, metavar="FILE", help="output file of the encoder")
    add_options(
        parser,
        {
            "--bfloat16": (
                False,
                "the teacher computes in bfloat16: 2 to 3 times as fast on some processors",
            ),
            "--words FILE": (
                Path,
                "the student's vocabulary, one per line; or words: those of the sentences, of the teacher's "
                "tokenizer, and frequent English ones; or wordpieces: the teacher's; or both (default: both, "
                "or words if the teacher has no WordPiece tokenizer)",
            ),
            "--max-words N": (int, "at most N words, unless they are in a file (default: 60000)"),
            "--max-sentences N": (int, "the teacher encodes N sentences, sampled at random"),
            "--limit N": (int, "the first N sentences only"),
            "--dim N": (int, "dimensions (default: the teacher's)"),
            "--penalty LAMBDA": (float, "(default: chosen on held-out sentences)"),
            "--keep-case": (False, "do not lower-case"),
            "--cache FOLDER": (str, "cache folder of the teacher's embeddings"),
            **TRUST,
        },
    )
    add_storage(parser, "float32", "float32")
    add_output_options(parser, "replace FILE")


def run(options: argparse.Namespace) -> None:
    from itertools import islice

    from ..checks import checked_int
    from ..distill import Student, hub_name, teacher_named
    from ..text.corpus import Corpus
    from ..vectors.distillation import distill

    inputs = [file for corpus in options.sentences for file in sources.files_of(corpus)]
    words: Any = str(options.words) if options.words in map(Path, ("words", "wordpieces", "both")) else None
    if words is None:
        words = sources.words_of(options.words)
        inputs.append(options.words)
    sources.check_output(options.out, [*inputs, options.teacher], options.overwrite, texts=options.sentences)
    corpus: Any = Corpus.from_files(options.sentences)
    if options.limit is not None:
        corpus = list(islice(corpus, checked_int("--limit", options.limit, 1)))
    teacher = teacher_named(
        options.teacher, bfloat16=options.bfloat16, trust_tokenizer=options.trust_tokenizer
    )
    distilled = distill(
        teacher,
        corpus,
        words,
        max_sentences=options.max_sentences,
        dim=options.dim,
        penalty=options.penalty,
        lowercase=not options.keep_case,
        storage=options.storage,
        cache=True if options.cache is None else options.cache,
        progress=not options.quiet,
        **({} if options.max_words is None else {"max_words": options.max_words}),
    )
    name = None if Path(options.teacher).exists() else options.teacher
    student = Student.of(distilled, hub_name(teacher) or name)
    student.encoder.save(options.out)
    print(f"{options.out}: {student.summary}")
    print(
        f"Evaluate it: sentencode evaluate --encoder {options.out} --tasks STSBenchmark --data SentEval/data"
    )
