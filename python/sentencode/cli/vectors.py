"""Converts, describes and trains word vectors."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from . import sources
from .options import add_command, add_options, add_output_options, add_storage

__all__ = ["EXAMPLE", "HELP", "NAME", "add_arguments", "save"]

NAME = "vectors"
HELP = "convert, describe or train word vectors"
EXAMPLE = """
sentencode vectors convert glove.840B.300d.txt glove.sentencode
sentencode vectors info glove.sentencode
sentencode vectors train books/ books.sentencode --dim 200
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in (Convert, Info, Train):
        add_command(commands, command)


def save(vectors: Any, output: Path) -> None:
    """Saves word vectors and prints their size."""
    vectors.save(output)
    print(f"{output}: {len(vectors):,} words, {vectors.dim} dimensions, {vectors.storage}")


class Convert:
    """Converts word vectors of any format to Sentencode's own.

    Its files open in milliseconds, and processes that use a file share its memory.
    Input formats: GloVe's text, word2vec's text and binary, fastText's .vec and .bin, plain or compressed
    (gzip, xz, zstd, zip); gensim's .kv; NumPy archives; Sentencode's own.
    """

    NAME = "convert"
    HELP = "convert any format to Sentencode's own"
    EXAMPLE = """
sentencode vectors convert glove.840B.300d.txt glove.sentencode --storage float16
sentencode vectors convert crawl-300d-2M.vec.gz small.sentencode --limit 200000
sentencode vectors convert glove.6B.zip glove.sentencode --member glove.6B.300d.txt
"""

    @staticmethod
    def add_arguments(parser: argparse.ArgumentParser) -> None:
        parser.add_argument("input", type=Path, metavar="INPUT", help="word vectors")
        parser.add_argument("output", type=Path, metavar="OUTPUT", help="output file")
        add_storage(parser, None, "as in the file; float32 for text")
        options = {
            "--member NAME": (str, "the file of a zip archive, if it has several"),
            "--limit N": (int, "only the first N words"),
            "--words FILE": (Path, "only the words of this file"),
            "--dim N": (int, "dimensions, if the file does not say"),
        }
        add_options(parser, options)
        add_output_options(parser, "replace OUTPUT")

    @staticmethod
    def run(options: argparse.Namespace) -> None:
        from ..vectors import WordVectors

        sources.check_output(options.output, [options.input, options.words], options.overwrite)
        vectors = WordVectors.load(
            options.input,
            limit=options.limit,
            words=sources.words_of(options.words),
            storage=options.storage,
            dim=options.dim,
            member=options.member,
            cache=False,
            progress=not options.quiet,
        )
        save(vectors, options.output)


class Info:
    """Describes a file of word vectors."""

    NAME = "info"
    HELP = "describe a file"
    EXAMPLE = """
sentencode vectors info glove.6B.50d.txt --json
"""

    @staticmethod
    def add_arguments(parser: argparse.ArgumentParser) -> None:
        parser.add_argument("input", type=Path, metavar="INPUT", help="word vectors of any format")
        parser.add_argument("--json", action="store_true", help="print JSON")

    @staticmethod
    def run(options: argparse.Namespace) -> None:
        from ..vectors import WordVectors

        vectors = WordVectors.load(options.input)
        facts: dict[str, Any] = {
            "words": len(vectors),
            "dim": vectors.dim,
            "storage": vectors.storage,
            "cased": vectors.cased,
            "tokens counted": None if vectors.counts is None else int(vectors.counts.sum()),
            "fingerprint": vectors.fingerprint,
            "first words": vectors.words[:10],
        }
        if options.json:
            print(json.dumps(facts, ensure_ascii=False))
            return
        for name, value in facts.items():
            if isinstance(value, list):
                value = " ".join(value)
            elif type(value) is int:
                value = f"{value:,}"
            print(f"{name:<15} {value}")


class Train:
    """Trains word vectors on text: one sentence per line, empty lines between documents.

    "ppmi" counts co-occurrences of words and factorizes their PPMI matrix; "word2vec" is gensim's skip-gram.
    """

    NAME = "train"
    HELP = "train on your own text"
    EXAMPLE = """
sentencode vectors train books.txt.xz books.sentencode --dim 200 --min-count 10
"""

    @staticmethod
    def add_arguments(parser: argparse.ArgumentParser) -> None:
        parser.add_argument("input", metavar="INPUT", help="a file, a folder or a glob; may be compressed")
        parser.add_argument("output", type=Path, metavar="OUTPUT", help="output file")
        parser.add_argument("--method", choices=("ppmi", "word2vec"), default="ppmi", help="(default: ppmi)")
        parser.add_argument("--tokenizer", choices=("words", "whitespace"), help="(default: words)")
        add_storage(parser, None, "float32")
        options = {
            "--dim N": (200, "dimensions"),
            "--window N": (int, "context words on each side"),
            "--min-count N": (int, "ignore rarer words"),
            "--max-words N": (int, "only the most frequent words"),
            "--keep-case": (False, "do not lower-case"),
            "--seed N": (int, "seed of the random numbers"),
        }
        add_options(parser, options)
        add_output_options(parser, "replace OUTPUT")

    @staticmethod
    def run(options: argparse.Namespace) -> None:
        from ..vectors import WordVectors

        files = sources.files_of(options.input)
        sources.check_output(options.output, files, options.overwrite, texts=[options.input])
        names = ("window", "min_count", "max_words", "tokenizer", "storage", "seed")
        parameters = {name: getattr(options, name) for name in names if getattr(options, name) is not None}
        if options.keep_case:
            parameters["lowercase"] = False
        vectors = WordVectors.train(
            options.input, dim=options.dim, method=options.method, progress=not options.quiet, **parameters
        )
        save(vectors, options.output)
