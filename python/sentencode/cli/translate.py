"""Translates text, one sentence per line.

Line i of the output is the translation of line i, an empty line that of an empty line. With --best N, each
line has N translations, separated by tabs; with --scores, log p before each. With --moses, the input is
preprocessed and the output restored. Output is written every 512 lines. After an interruption, the same
command resumes where it stopped; from a pipe it starts over.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from ..text.corpus import Corpus
from . import sources
from .errors import UsageError
from .options import add_options
from .part_file import check_targets, part_file, whole_lines

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
_LINES = 512  # translated and written together
_SEARCH = {"beam": 5, "best": 1, "length_penalty": 0.0}  # defaults
_SAMPLING: dict[str, Any] = {"seed": 0, "temperature": 1.0, "top_k": 0, "top_p": 1.0}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("encoder", type=Path, metavar="MODEL", help="a saved translation model")
    for name in ("input", "output"):
        text = f"{name} file, one sentence per line, or - for standard {name}"
        parser.add_argument(name, type=Path, metavar=name.upper(), help=text)
    add_options(
        parser,
        {
            "--beam N": (_SEARCH["beam"], "beam size; 1: greedy search"),
            "--best N": (_SEARCH["best"], "translations per line"),
            "--max-length N": (100, "tokens"),
            "--length-penalty A": (_SEARCH["length_penalty"], "exponent of the length penalty"),
            "--sample": (False, "sample words instead of beam search"),
            "--seed N": (_SAMPLING["seed"], "seed of the samples"),
            "--temperature T": (_SAMPLING["temperature"], "temperature of the samples"),
            "--top-k K": (_SAMPLING["top_k"], "sample from the K likeliest words; 0: all"),
            "--top-p P": (_SAMPLING["top_p"], "sample from the nucleus of probability P"),
            "--replace-unknown": (False, "copy the source word with the most attention for an unknown word"),
            "--scores": (False, "write log p, too"),
            "--overwrite": (False, "replace OUTPUT, and do not continue earlier work"),
        },
    )
    parser.add_argument(
        "--ensemble", type=Path, nargs="+", default=[], metavar="MODEL", help="more models of an ensemble"
    )
    parser.add_argument(
        "--moses",
        type=Path,
        nargs=2,
        metavar=("SOURCE", "TARGET"),
        help="Moses files that `train` has saved: tokenize and truecase the input, restore the output",
    )


def run(options: argparse.Namespace) -> None:
    unused, why = (_SEARCH, "excludes") if options.sample else (_SAMPLING, "requires")
    for name, default in unused.items():
        if getattr(options, name) != default:
            raise UsageError(f"--{name.replace('_', '-')} {why} --sample")
    source = sources.opened_input(options.input)
    out = sources.standard_output() if options.output == Path("-") else None
    if out is None:
        models = [options.encoder, *options.ensemble, *(options.moses or ())]
        check_targets(options.output, models, options.overwrite, [options.input])
    model, *ensemble = map(_loaded, [options.encoder, *options.ensemble])
    moses = _moses(options.moses)
    if out is not None:
        for text, _ in _translations(model, ensemble, moses, source, options):
            out.write(text)
        return
    is_pipe = sources.is_pipe(source)
    made_from = {
        "input": None if is_pipe else sources.identity(source),
        "encoders": [each.fingerprint() for each in (model, *ensemble)],
        "moses": [sources.identity(path) for path in options.moses or ()],
        **_parameters(options),
        "scores": options.scores,
    }
    with part_file(options.output, made_from, whole_lines, restart=options.overwrite or is_pipe) as part:
        for text, lines in _translations(model, ensemble, moses, source, options, skip=part.rows):
            part.append(text, lines)
        part.finish()


def _loaded(path: Path) -> Any:
    from ..saved import load

    model = load(path)
    if not hasattr(model, "translate"):
        raise UsageError(f"{path}: {type(model).__name__} does not translate")
    return model


def _moses(files: list[Path] | None) -> tuple[Callable[[Any], Any], Callable[[Any], Any]]:
    """The functions that preprocess lines and restore translations."""
    if files is None:
        return lambda lines: lines, lambda words: words
    from ..text import Moses

    source, target = map(Moses.load, files)
    return source.prepare, target.restore


def _parameters(options: argparse.Namespace) -> dict[str, Any]:
    """The parameters of `translate`."""
    names = ["beam", "best", "max_length", "length_penalty", "sample", "temperature", "top_k", "top_p"]
    names += ["replace_unknown", *(["seed"] if options.sample else [])]
    return {name: getattr(options, name) for name in names}


def _translations(
    model: Any,
    ensemble: list[Any],
    moses: tuple[Any, Any],
    source: Path,
    options: argparse.Namespace,
    skip: int = 0,
) -> Iterator[tuple[bytes, int]]:
    """Yields blocks of output and their number of lines, without the first `skip` lines.

    Lines are grouped in the same way wherever the work continues, so that the output is the same.
    """
    prepare, restore = moses
    parameters = _parameters(options)
    lines = iter(Corpus(source, keep_empty=True))
    while group := list(islice(lines, _LINES)):
        if skip < len(group):
            translated = model.translate(prepare(group), **parameters, ensemble=ensemble, scores=True)
            text = [_line(translation, restore, options) for translation in translated[skip:]]
            yield "".join(text).encode("utf-8", "surrogatepass"), len(text)
        skip = max(0, skip - len(group))
        if options.sample:
            parameters["seed"] += 1  # independent samples for the next lines


def _line(translated: Any, restore: Callable[[Any], Any], options: argparse.Namespace) -> str:
    """One line of output: the translations of a sentence."""
    texts = [(restore(words), score) for words, score in ([translated] if options.best == 1 else translated)]
    parts = [f"{score:.4f}\t{words}" if options.scores else words for words, score in texts]
    return "\t".join(parts) + "\n"
