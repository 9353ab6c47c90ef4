"""Converts, describes and trains word vectors."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from ..files import read_text
from . import sources

__all__ = ["EXAMPLE", "HELP", "NAME", "STORAGES", "add_arguments", "words_of"]

NAME = "vectors"
HELP = "convert, describe or train word vectors"
EXAMPLE = """
sentencode vectors convert glove.840B.300d.txt glove.sentencode
sentencode vectors info glove.sentencode
sentencode vectors train books/ books.sentencode --dim 200
"""
STORAGES = ("float32", "float16", "int8")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the commands of this one."""
    from . import add_command

    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in (Convert, Info, Train):
        add_command(commands, command)


class Convert:
    """Writes vectors of any format in Sentencode's own.

    It opens in milliseconds, and processes that use it share its memory.
    Formats read: GloVe's text, word2vec's text and binary, fastText's .vec and .bin, plain or packed by gzip,
    xz, zstd or zip; gensim's .kv; NumPy archives; Sentencode's own.
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
        """Adds the command's arguments."""
        parser.add_argument("input", type=Path, metavar="INPUT", help="the vectors")
        parser.add_argument("output", type=Path, metavar="OUTPUT", help="the file to write")
        parser.add_argument(
            "--storage", choices=STORAGES, help="number format (default: as in the file; float32 for text)"
        )
        parser.add_argument("--member", metavar="NAME", help="the file of a zip archive, if it has several")
        parser.add_argument("--limit", type=int, metavar="N", help="the first N words only")
        parser.add_argument("--words", type=Path, metavar="FILE", help="these words only, one a line")
        parser.add_argument("--dim", type=int, metavar="N", help="dimension, where the file does not say")
        parser.add_argument("--overwrite", action="store_true", help="replace OUTPUT")
        parser.add_argument("--quiet", action="store_true", help="no progress bar")

    @staticmethod
    def run(options: argparse.Namespace) -> None:
        """Runs the command."""
        from ..vectors import WordVectors

        sources.check_output(options.output, [options.input, options.words], options.overwrite)
        words = None if options.words is None else words_of(options.words)
        vectors = WordVectors.load(
            options.input,
            limit=options.limit,
            words=words,
            storage=options.storage,
            dim=options.dim,
            member=options.member,
            cache=False,
            progress=not options.quiet,
        )
        vectors.save(options.output)
        print(f"{options.output}: {len(vectors):,} words of {vectors.dim} numbers, {vectors.storage}")


def words_of(path: Path) -> list[str]:
    """The words in a file, one a line, however it was written."""
    lines = (line.strip(" \t\r") for line in read_text(path).split("\n"))  # words may hold other white space
    return [line for line in lines if line]


class Info:
    """Says what a file of word vectors holds."""

    NAME = "info"
    HELP = "show what a file holds"
    EXAMPLE = """
sentencode vectors info glove.6B.50d.txt --json
"""

    @staticmethod
    def add_arguments(parser: argparse.ArgumentParser) -> None:
        """Adds the command's arguments."""
        parser.add_argument("input", type=Path, metavar="INPUT", help="the vectors, of any format")
        parser.add_argument("--json", action="store_true", help="as JSON")

    @staticmethod
    def run(options: argparse.Namespace) -> None:
        """Runs the command."""
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
            shown = (
                " ".join(value) if isinstance(value, list) else f"{value:,}" if type(value) is int else value
            )
            print(f"{name:<15} {shown}")


class Train:
    """Trains word vectors on text: one sentence a line, empty lines between documents.

    "ppmi" counts which words stand near each other and decomposes the table of these counts; "word2vec" is
    gensim's skip-gram.
    """

    NAME = "train"
    HELP = "train on your own text"
    EXAMPLE = """
sentencode vectors train books.txt.xz books.sentencode --dim 200 --min-count 10
"""

    @staticmethod
    def add_arguments(parser: argparse.ArgumentParser) -> None:
        """Adds the command's arguments."""
        parser.add_argument("input", metavar="INPUT", help="a file, a folder or a glob; may be compressed")
        parser.add_argument("output", type=Path, metavar="OUTPUT", help="the file to write")
        parser.add_argument("--dim", type=int, default=200, metavar="N", help="dimension (default: 200)")
        parser.add_argument("--method", choices=("ppmi", "word2vec"), default="ppmi", help="(default: ppmi)")
        parser.add_argument("--window", type=int, metavar="N", help="context words on each side")
        parser.add_argument("--min-count", type=int, metavar="N", help="leave out rarer words")
        parser.add_argument("--max-words", type=int, metavar="N", help="only the most frequent words")
        parser.add_argument("--tokenizer", choices=("words", "whitespace"), help="tokenizer (default: words)")
        parser.add_argument("--keep-case", action="store_true", help="do not lower-case")
        parser.add_argument("--storage", choices=STORAGES, help="number format")
        parser.add_argument("--seed", type=int, metavar="N")
        parser.add_argument("--overwrite", action="store_true", help="replace OUTPUT")
        parser.add_argument("--quiet", action="store_true", help="no progress bar")

    @staticmethod
    def run(options: argparse.Namespace) -> None:
        """Runs the command."""
        from ..vectors import WordVectors

        sources.check_output(options.output, sources.files_of(options.input), options.overwrite)
        names = ("window", "min_count", "max_words", "tokenizer", "storage", "seed")
        chosen = {name: getattr(options, name) for name in names if getattr(options, name) is not None}
        if options.keep_case:
            chosen["lowercase"] = False
        vectors = WordVectors.train(
            options.input, dim=options.dim, method=options.method, progress=not options.quiet, **chosen
        )
        vectors.save(options.output)
        print(f"{options.output}: {len(vectors):,} words of {vectors.dim} numbers, {vectors.storage}")
