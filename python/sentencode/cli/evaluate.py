"""Scores encoders on SentEval's tasks, and shows their results side by side.

Figures, splits and protocols are SentEval's; every figure has its bootstrap interval. A report is written to
--out after each task, and the same command resumes a stopped run. --html puts all encoders into one file,
beside the published figures.
"""

from __future__ import annotations

import argparse
import re
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from . import UsageError, one_line, sources

if TYPE_CHECKING:
    from ..evaluation import Report

__all__ = ["EXAMPLE", "HELP", "NAME", "add_arguments", "run"]

_KINDS = ("classification", "pair_classification", "similarity")
_BASELINES = ("random", "random-words", "bow", "majority")
NAME = "evaluate"
HELP = "score encoders on SentEval's tasks"
EXAMPLE = """
sentencode evaluate --encoder sif.sentencode --tasks MR CR SST2 --data SentEval/data
sentencode evaluate --encoder sif.sentencode --encoder laes.sentencode --tasks all \\
    --data SentEval/data --out report.json --html report.html
sentencode evaluate --encoder sif.sentencode --tsv similarity=mine.tsv --groups captions.tsv
sentencode evaluate --rows rows.npy --sentences sentences.txt --tasks STS14 --data SentEval/data
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the command's arguments."""

    def several(name: str, metavar: str, text: str, **more: Any) -> None:
        text = f"{text}; may be given again"
        parser.add_argument(name, action="append", default=[], metavar=metavar, help=text, **more)

    several("--encoder", "FILE", "a saved encoder", type=Path)
    several("--rows", "FILE", "rows in place of an encoder, a .npy file", type=Path)
    several("--sentences", "FILE", "their sentences, one a line: once, or once for each --rows", type=Path)
    several("--baseline", "NAME", "a baseline beside them: random, random-words, bow or majority")
    parser.add_argument(
        "--name",
        action="append",
        metavar="NAME",
        help="what it is called in reports; once for each --encoder, then --rows, then --baseline (default: "
        "its file's name)",
    )
    parser.add_argument("--data", type=Path, metavar="FOLDER", help="SentEval's data")
    parser.add_argument(
        "--tasks",
        nargs="+",
        default=[],
        metavar="NAME",
        help="as in MR STSBenchmark; all: those whose files are there (default: all, or those of --tsv and "
        "--groups alone)",
    )
    several(
        "--tsv",
        "KIND=FILE",
        "a task of your own, tab-separated: classification (label, sentence), pair_classification "
        "(label, two sentences) or similarity (score, two sentences); or its folder, of train.tsv and "
        "test.tsv, and dev.tsv where there is one",
    )
    several(
        "--groups",
        "FILE",
        "groups of paraphrases: a group's name, a tab and a sentence on each line",
        type=Path,
    )
    several(
        "--curve",
        "NAME",
        "a task whose learning curve is added to the report: its score against the number of training "
        "examples",
    )
    parser.add_argument(
        "--protocol",
        default="optimum",
        metavar="NAME",
        help="optimum, fast, senteval-sklearn, liblinear or senteval-torch (default: optimum)",
    )
    several("--set", "NAME=VALUE", "an option of the protocol, as in folds=5")
    parser.add_argument(
        "--partial", action="store_true", help="accept files whose size is not the published one"
    )
    parser.add_argument(
        "--no-cache", action="store_true", help="encode every time, which also measures the speed"
    )
    parser.add_argument(
        "--resamples", type=int, default=2000, metavar="N", help="bootstrap resamples (default: 2000)"
    )
    parser.add_argument(
        "--confidence",
        type=float,
        default=0.95,
        metavar="LEVEL",
        help="confidence level of the intervals (default: 0.95)",
    )
    parser.add_argument(
        "--out",
        type=Path,
        metavar="FILE",
        help="the report as JSON, from which a stopped run resumes; one file for each of several encoders, "
        "the encoder's name behind FILE's",
    )
    parser.add_argument("--html", type=Path, metavar="FILE", help="all reports as one HTML file")
    parser.add_argument("--markdown", action="store_true", help="print Markdown")
    parser.add_argument("--overwrite", action="store_true", help="replace --out and --html, and start over")
    parser.add_argument("--quiet", action="store_true", help="no progress bar")


def run(options: argparse.Namespace) -> None:
    """Runs the command."""
    judged = _judged(options)
    inputs = [*options.encoder, *options.rows, *options.sentences]
    names = _names(options, [one.name for one in judged])
    outs = _outs(options.out, names)
    for out in outs:
        if out is not None:  # what is there is gone on with
            sources.check_output(out, inputs, overwrite=True)
            if options.html is not None and out.absolute() == options.html.absolute():
                raise UsageError("--out and --html are the same file")
    if options.html is not None:
        sources.check_output(options.html, inputs, options.overwrite)
    tasks = _tasks(options)
    _check_curves(options)
    parameters = dict(map(sources.parameter, options.set))
    reports: list[Report] = []
    written: list[Path] = []
    failed: list[str] = []
    for one, name, out in zip(judged, names, outs, strict=True):
        try:
            if out is not None and options.overwrite:
                out.unlink(missing_ok=True)
            encoder = one.load()
            report = _report(options, encoder, name, out, tasks, parameters)
        except Exception as error:  # the others may do
            if len(judged) == 1 or options.debug:
                raise
            failed.append(f"{one.label}: {one_line(error)}")
            continue
        reports.append(report)
        written += [] if out is None else [out]
        for task in options.curve:
            try:
                _add_curve(options, encoder, report, task, out, parameters)
            except Exception as error:
                failed.append(f"{one.label}: --curve {task}: {one_line(error)}")
        print(report.to_markdown() if options.markdown else _text(report))
        if all(result.error is not None for result in report.values()):
            failed.append(f"{one.label}: no task has a figure: {next(iter(report.values())).error}")
    if options.html is not None and reports:
        reports[0].to_html(options.html, reports[1:])
        written.append(options.html)
    for path in written:
        print(f"written: {path}")
    if failed:
        raise ValueError("; ".join(failed))


def _tasks(options: argparse.Namespace) -> str | list[Any]:
    """What to judge by: names, and tasks of the user's own."""
    from ..evaluation import load_groups, load_tsv_task

    own: list[Any] = []
    for given in options.tsv:
        kind, equals, file = given.partition("=")
        if not equals or kind not in _KINDS:
            raise UsageError(f"--tsv: expected KIND=FILE, KIND one of {', '.join(_KINDS)}; got {given!r}")
        folder = Path(file)
        splits = {path.stem: path for path in sorted(folder.glob("*.tsv"))} if folder.is_dir() else file
        if not splits:
            raise FileNotFoundError(f"--tsv: {folder} has no file *.tsv")
        own.append(load_tsv_task(kind, splits))
    own += map(load_groups, options.groups)
    names = options.tasks or ([] if own else ["all"])
    for name in names:
        if "," in name:
            raise UsageError(f"--tasks: put spaces between names, not commas, got {name!r}")
    if names and options.data is None:
        raise UsageError("--data: the folder of SentEval's data is missing")
    if "all" not in names:
        return [*names, *own]
    if len(names) > 1 or own:
        raise UsageError("--tasks: all are all: give no other")
    return "all"


def _report(
    options: argparse.Namespace,
    encoder: Any,
    name: str,
    out: Path | None,
    tasks: str | list[Any],
    parameters: dict[str, Any],
) -> Report:
    import sentencode

    report: Report = sentencode.evaluate(
        encoder,
        tasks,
        options.data,
        name=name,
        out=out,
        **_judging(options, parameters),
    )
    return report


def _judging(options: argparse.Namespace, parameters: dict[str, Any]) -> dict[str, Any]:
    """What `evaluate` and `learning_curve` take alike."""
    return {
        "protocol": options.protocol,
        "options": parameters,
        "cache": not options.no_cache,
        "partial": options.partial,
        "confidence": options.confidence,
        "resamples": options.resamples,
        "show_progress_bar": not options.quiet,
    }


def _add_curve(
    options: argparse.Namespace,
    encoder: Any,
    report: Report,
    name: str,
    out: Path | None,
    parameters: dict[str, Any],
) -> None:
    """Adds a learning curve to a report, unless it has the one of these examples."""
    from ..evaluation import learning_curve, load_task
    from ..evaluation.data import digest_of
    from ..evaluation.report import add_curve

    task = load_task(name, options.data, partial=options.partial)
    if name in report.curves and report.curves[name].data == digest_of(task):
        return
    report.curves.pop(name, None)
    report.curves[name] = learning_curve(encoder, task, **_judging(options, parameters))
    if out is not None:  # which may hold more tasks than were asked for
        add_curve(out, name, report.curves[name])


def _check_curves(options: argparse.Namespace) -> None:
    from ..evaluation import task_kind

    for name in options.curve:
        if task_kind(name).validation is None:
            raise UsageError(f"--curve: nothing is learnt in {name}")
        if options.data is None:
            raise UsageError("--data: the folder of SentEval's data is missing")


class _Judged(NamedTuple):
    """What is judged: as errors call it, as reports do, and how it is had."""

    label: str
    name: str
    load: Callable[[], Any]


def _judged(options: argparse.Namespace) -> list[_Judged]:
    from .. import load

    found = [_Judged(str(path), path.stem, partial(load, path)) for path in options.encoder]
    sentences = options.sentences * (max(1, len(options.rows)) if len(options.sentences) == 1 else 1)
    if len(sentences) != len(options.rows):
        raise UsageError(
            f"--sentences: give the file of the sentences of --rows, once or once for each of them; got "
            f"{len(options.sentences)} for {len(options.rows)}"
        )
    found += [
        _Judged(str(rows), rows.stem, partial(_precomputed, text, rows))
        for rows, text in zip(options.rows, sentences, strict=True)
    ]
    for name in options.baseline:
        if name not in _BASELINES:
            raise UsageError(f"--baseline: expected one of {', '.join(_BASELINES)}, got {name!r}")
        found.append(_Judged(f"--baseline {name}", name, partial(_baseline, name)))
    if not found:
        raise UsageError("nothing to judge: give --encoder, --rows with --sentences, or --baseline")
    return found


def _baseline(name: str) -> Any:
    from ..evaluation import baseline

    return baseline(name)


def _precomputed(text: Path, rows: Path) -> Any:
    from ..evaluation import Precomputed

    return Precomputed(text, rows)


def _names(options: argparse.Namespace, defaults: list[str]) -> list[str]:
    if options.name is None:
        names = defaults
    elif len(options.name) != len(defaults):
        raise UsageError(
            "--name: give one for each --encoder, --rows and --baseline or none, got "
            f"{len(options.name)} for {len(defaults)}"
        )
    else:
        names = options.name
    for name, count in Counter(map(_slug, names)).items():
        if count > 1:
            raise UsageError(f"{count} encoders are called {name}: give each another --name")
    return names


def _outs(out: Path | None, names: list[str]) -> list[Path | None]:
    if out is None:
        return [None for _ in names]
    if len(names) == 1:
        return [out]
    return [out.with_name(f"{out.stem}-{_slug(name)}{out.suffix}") for name in names]


def _slug(name: str) -> str:
    """A name as a part of a file's."""
    return re.sub(r"[^\w.+-]+", "-", name).strip("-") or "encoder"


def _text(report: Report) -> str:
    from ..reproduce.tables import text_table

    head = (report.encoder, "figure", "value", f"{report.level} interval")
    return "\n".join([text_table(head, list(report.shown())), *report.notes()])
