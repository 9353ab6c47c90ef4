"""Translates text, one sentence a line.

Line i of the output is the translation of line i, an empty line that of an empty one. With --best, each line
has so many translations, with tabs between them; with --scores, each has log p before it. With --moses, text
is prepared before it is translated, and restored afterwards. Output is written as it is made, 512 lines at a
time. After an interruption, the same command resumes where it stopped; from a pipe it starts over.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from ..text.corpus import Corpus
from . import UsageError, sources
from .part_file import check_places, part_file, whole_lines

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
    parser.add_argument(
        "--overwrite", action="store_true", help="replace what is there, and do not continue earlier work"
    )


def run(options: argparse.Namespace) -> None:
    """Runs the command."""
    source = sources.standard_input() if options.input == Path("-") else options.input
    piped = options.output == Path("-")
    out = sources.standard_output() if piped else None
    if not piped:
        models = [options.encoder, *options.ensemble, *(options.moses or ())]
        check_places(options.output, [options.input, *models], options.overwrite)
    nmt, *others = [_loaded(path) for path in (options.encoder, *options.ensemble)]
    moses = _moses(options.moses)
    if out is not None:
        for text, _ in _translated(nmt, others, moses, source, options):
            out.write(text)
        return
    is_pipe = source.exists() and not source.is_file()
    made_from = {
        "input": None if is_pipe else sources.identity(source),
        "encoders": [each.fingerprint() for each in (nmt, *others)],
        "moses": [sources.identity(path) for path in options.moses or ()],
        **_options(options),
        "scores": options.scores,
    }
    restart = options.overwrite or is_pipe  # nothing identifies the lines of a pipe
    with part_file(options.output, made_from, whole_lines, restart=restart) as part:
        for text, lines in _translated(nmt, others, moses, source, options, skip=part.rows):
            part.append(text, lines)
        part.finish()


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


def _options(options: argparse.Namespace) -> dict[str, Any]:
    """The arguments of `translate`."""
    names = ("beam", "best", "max_length", "length_penalty", "sample", "temperature", "top_k", "top_p")
    chosen = {name: getattr(options, name) for name in (*names, "replace_unknown")}
    return {**chosen, "seed": options.seed} if options.sample else chosen


def _translated(
    nmt: Any,
    others: list[Any],
    moses: tuple[Any, Any],
    source: Path,
    options: argparse.Namespace,
    skip: int = 0,
) -> Iterator[tuple[bytes, int]]:
    """Translations of all lines but the first `skip`, and how many lines these are.

    Lines are translated in the same groups wherever the work continues, so that the text is the same.
    """
    prepare, restore = moses
    chosen = _options(options)
    lines = iter(Corpus(source, keep_empty=True))
    while group := list(islice(lines, _LINES)):
        if skip < len(group):
            rows = nmt.translate(prepare(group), **chosen, ensemble=others, scores=True)
            text = [_line(row, restore, options) for row in rows[skip:]]
            yield "".join(text).encode("utf-8", "surrogatepass"), len(text)
        skip = max(0, skip - len(group))
        if options.sample:
            chosen["seed"] += 1  # the next lines draw other words


def _line(row: Any, restore: Callable[[Any], Any], options: argparse.Namespace) -> str:
    """A line of the output: the translations of one sentence, with their scores if these are wanted."""
    texts = [(restore(words), score) for words, score in ([row] if options.best == 1 else row)]
    parts = [f"{score:.4f}\t{words}" if options.scores else words for words, score in texts]
    return "\t".join(parts) + "\n"
