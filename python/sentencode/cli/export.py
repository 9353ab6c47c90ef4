"""Exports an encoder as a folder that model2vec or sentence-transformers loads.

The encoder is an average of word vectors: a student, Average, SIF or uSIF. Weights and common directions are
multiplied into the table, and the other library gives the same embeddings.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from . import sources
from .errors import UsageError
from .options import add_options

__all__ = ["EXAMPLE", "HELP", "NAME", "add_arguments", "run"]

NAME = "export"
HELP = "export an encoder for model2vec or sentence-transformers"
EXAMPLE = """
sentencode export student.sentencode student/ --dtype int8 --license mit --teacher all-MiniLM-L6-v2
sentencode export sif.sentencode sif/ --format sentence-transformers --scores sif.json
"""

_CARD = {
    "--name NAME": (str, "name of the model on the Hub, for the model card (default: the folder's)"),
    "--license NAME": (str, "its licence"),
    "--language CODE": (str, "its language"),
    "--teacher NAME": (str, "the teacher that it was distilled from (default: as the encoder says)"),
    "--sentences TEXT": (str, "the sentences that it was fitted to (default: as the encoder says)"),
    "--limits TEXT": (str, "what it should not be used for"),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", metavar="MODEL", help="a saved encoder, or the folder of a static model")
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="folder to write")
    options: dict[str, tuple[Any, str]] = {
        "--format {model2vec,sentence-transformers}": ("model2vec", "the library that loads the folder"),
        "--dtype {float32,float16,int8}": ("float32", "numbers of the table"),
        **_CARD,
        "--scores REPORT": (
            Path,
            "report of MODEL by `sentencode evaluate --out`; its scores are in the model card",
        ),
        "--overwrite": (False, "replace FOLDER"),
    }
    add_options(parser, options)


def run(options: argparse.Namespace) -> None:
    from ..saved import load

    sources.check_output(options.folder, [options.model], options.overwrite)
    card = {name: getattr(options, name) for name in (form.split()[0].lstrip("-") for form in _CARD)}
    encoder = load(options.model)
    if not hasattr(encoder, "export"):
        raise UsageError(f"{options.model}: {type(encoder).__name__} is not an average of word vectors")
    if options.scores is not None:
        card["scores"] = _scores(options.scores, encoder.fingerprint())
    encoder.export(
        options.folder, format=options.format, dtype=options.dtype, card=card, overwrite=options.overwrite
    )
    print(f"{options.folder}: {type(encoder).__name__} of {encoder.dim} dimensions for {options.format}")


def _scores(path: Path, fingerprint: str) -> dict[str, Any]:
    """The scores in the report of an encoder, with their intervals."""
    from ..evaluation import Report

    report = Report.load(path)
    if report.facts.get("fingerprint") != fingerprint:
        raise UsageError(f"{path}: the report of another encoder, {report.encoder}")
    if report.level != "95 %":
        raise UsageError(f"{path}: intervals of {report.level}; model cards have those of 95 %")
    return {
        f"{task}, {key}": round(score, 2)
        if interval is None
        else [round(value, 2) for value in (score, interval.low, interval.high)]
        for task, key, score, interval in report.rows()
    }
