"""Translates text, one sentence a line.

Line i of the output is the translation of line i, an empty line that of an empty one. With --best, each line
has so many translations, with tabs between them; with --scores, each has log p before it. With --moses, text
is prepared before it is translated, and restored afterwards. Output is written as it is made.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from ..files import whole_file
from ..text.corpus import Corpus
from . import UsageError, sources

__all__ = ["EXAMPLE", "HELP", "NAME", "add_arguments", "run"]

NAME = "translate"
HELP = "translate a text file"
EXAMPLE = """
sentencode translate nmt.sentencode test.en test.de
sentencode translate nmt.sentencode --beam 8 --best 3 --scores - - < test.en > test.de
sentencode translate nmt.sentencode --ensemble other.sentencode third.sentencode test.en test.de
sentencode translate nmt.sentencode --moses nmt.source.moses nmt.target.moses test.en test.de
sentencode translate nmt.sentencode --sample --temperature 0.8 --top-p 0.9 test.en -
"""
_LINES = 512  # that are translated before they are written


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the command's arguments."""
    parser.add_argument("encoder", type=Path, metavar="MODEL", help="a saved encoder that translates")
    for name, what in (("input", "text, one sentence a line"), ("output", "where to")):
        parser.add_argument(name, type=Path, metavar=name.upper(), help=f"{what}, or - for standard {name}")
    parser.add_argument("--beam", type=int, default=5, metavar="N", help="hypotheses (default: 5; 1: greedy)")
    parser.add_argument("--best", type=int, default=1, metavar="N", help="translations a line (default: 1)")
    parser.add_argument("--max-length", type=int, default=100, metavar="N", help="tokens (default: 100)")
    parser.add_argument(
        "--length-penalty", type=float, default=0.0, metavar="A", help="of longer ones (default: 0, none)"
    )
    parser.add_argument("--sample", action="store_true", help="draw words in the place of a beam")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of what is drawn (default: 0)")
    parser.add_argument("--temperature", type=float, default=1.0, metavar="T", help="of what is drawn")
    parser.add_argument("--top-k", type=int, default=0, metavar="K", help="words that can be drawn (0: all)")
    parser.add_argument(
        "--top-p", type=float, default=1.0, metavar="P", help="the likeliest that have this share (1: all)"
    )
    parser.add_argument(
        "--replace-unknown", action="store_true", help="copy the word of the source that is looked at"
    )
    parser.add_argument(
        "--ensemble", type=Path, nargs="+", default=[], metavar="MODEL", help="others that translate along"
    )
    parser.add_argument(
        "--moses",
        type=Path,
        nargs=2,
        metavar=("SOURCE", "TARGET"),
        help="files of Moses, as `train` saves them: cut and case the input, join and case the output",
    )
    parser.add_argument("--scores", action="store_true", help="write log p, too")
    parser.add_argument("--overwrite", action="store_true", help="replace the output, if it is there")


def run(options: argparse.Namespace) -> None:
    """Runs the command."""
    piped = options.output == Path("-")
    source = Path("/dev/stdin") if options.input == Path("-") else options.input
    if not piped:
        models = [options.encoder, *options.ensemble, *(options.moses or ())]
        sources.check_output(options.output, [options.input, *models], options.overwrite)
    nmt, *others = [_loaded(path) for path in (options.encoder, *options.ensemble)]
    moses = _moses(options.moses)
    with ExitStack() as stack:
        out: Any = (
            sys.stdout.buffer if piped else stack.enter_context(whole_file(options.output, follow_link=True))
        )
        lines: list[str] = []
        for line in Corpus(source, keep_empty=True):
            lines.append(line)
            if len(lines) == _LINES:
                out.write(_translated(nmt, others, moses, lines, options))
                lines.clear()
        out.write(_translated(nmt, others, moses, lines, options))


def _loaded(path: Path) -> Any:
    from ..saved import load

    nmt = load(path)
    if not hasattr(nmt, "translate"):
        raise UsageError(f"{path}: {type(nmt).__name__} does not translate")
    return nmt


def _moses(files: list[Path] | None) -> tuple[Callable[[Any], Any], Callable[[Any], Any]]:
    """What prepares lines, and what restores a translation."""
    if files is None:
        return lambda lines: lines, lambda words: words
    from ..text import Moses

    source, target = map(Moses.load, files)
    return source.prepare, target.restore


def _translated(
    nmt: Any, others: list[Any], moses: tuple[Any, Any], lines: list[str], options: argparse.Namespace
) -> bytes:
    names = ("beam", "best", "max_length", "length_penalty", "sample", "temperature", "top_k", "top_p")
    chosen = {name: getattr(options, name) for name in (*names, "replace_unknown")}
    if options.sample:
        chosen["seed"] = options.seed
        options.seed += 1  # the next lines draw other words
    prepare, restore = moses
    rows = nmt.translate(prepare(lines), **chosen, ensemble=others, scores=True) if lines else []
    text = []
    for row in rows:
        found = [row] if options.best == 1 else row
        texts = [(restore(words), score) for words, score in found]
        parts = [f"{score:.4f}\t{words}" if options.scores else words for words, score in texts]
        text.append("\t".join(parts) + "\n")
    return "".join(text).encode("utf-8", "surrogatepass")
