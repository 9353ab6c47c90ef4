"""Evaluates encoders on SentEval's tasks, and shows their results side by side.

Metrics, splits and protocols are SentEval's; every score has its bootstrap interval. A report is written to
--out after each task, and the same command resumes a stopped run. --html writes one file with all encoders
and the published results, --mteb the results that mteb defines in the same way.
"""

from __future__ import annotations

import argparse
import re
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from . import sources
from .errors import UsageError, one_line
from .options import (
    TRUST,
    add_assignments,
    add_interval_options,
    add_options,
    add_output_options,
    assignment,
)

if TYPE_CHECKING:
    from ..evaluation import Report

__all__ = ["EXAMPLE", "HELP", "NAME", "add_arguments", "run"]

_UNTRAINED = ("clustering", "neighbours", "few_shot", "duplicates", "search")
_KINDS = ("classification", "pair_classification", "similarity", *_UNTRAINED)
_BASELINES = ("random", "random-words", "bow", "majority", "bm25")
NAME = "evaluate"
HELP = "evaluate encoders on SentEval's tasks"
EXAMPLE = """
sentencode evaluate --encoder sif.sentencode --tasks MR CR SST2 --data SentEval/data
sentencode evaluate --encoder sif.sentencode --encoder laes.sentencode --tasks all \\
    --data SentEval/data --out report.json --html report.html
sentencode evaluate --encoder sif.sentencode --tsv similarity=mine.tsv --groups captions.tsv
sentencode evaluate --rows rows.npy --sentences sentences.txt --tasks STS14 --data SentEval/data
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:

    def several(name: str, metavar: str, text: str, **more: Any) -> None:
        text = f"{text}; may be repeated"
        parser.add_argument(name, action="append", default=[], metavar=metavar, help=text, **more)

    several("--encoder", "FILE", "a saved encoder, or the folder or name of a static model", type=Path)
    several("--rows", "FILE", "embeddings instead of an encoder, a .npy file", type=Path)
    several("--sentences", "FILE", "their sentences, one per line: once, or once per --rows", type=Path)
    several("--baseline", "NAME", "a baseline: random, random-words, bow, majority or bm25")
    parser.add_argument(
        "--name",
        action="append",
        metavar="NAME",
        help="name in reports; once for each --encoder, then --rows, then --baseline (default: the file's)",
    )
    parser.add_argument(
        "--tasks",
        nargs="+",
        default=[],
        metavar="NAME",
        help="as in MR STSBenchmark; all: every task whose files exist (default: all, or only those of --tsv "
        "and --groups)",
    )
    several(
        "--tsv",
        "KIND=FILE",
        "a task of your own, tab-separated: classification (label, sentence), pair_classification "
        "(label, two sentences) or similarity (score, two sentences); or its folder with train.tsv, "
        "test.tsv and perhaps dev.tsv. With little training or none: clustering, neighbours or few_shot "
        "(class, sentence), duplicates (0 or 1, two sentences) or search (label, sentence: a folder with "
        "queries.tsv and documents.tsv)",
    )
    several("--groups", "FILE", "groups of paraphrases: name of the group, tab, sentence", type=Path)
    several("--curve", "NAME", "add a learning curve of this task: score against training examples")
    add_assignments(parser, "NAME=VALUE", "an option of the protocol, as in folds=5")
    protocols = "optimum, fast, senteval-sklearn, liblinear or senteval-torch"
    out = "the report as JSON, from which a stopped run resumes; with several encoders, one file each"
    add_options(
        parser,
        {
            "--data FOLDER": (Path, "SentEval's data, or a folder that has it as senteval"),
            "--protocol NAME": ("optimum", protocols),
            "--partial": (False, "accept files whose size is not the published one"),
            "--limit N": (
                int,
                "largest number of examples of each split, or of labels of searches and groups",
            ),
            **TRUST,
            "--no-cache": (False, "encode every time, which also measures the speed"),
            "--out FILE": (Path, out),
            "--html FILE": (Path, "all reports as one HTML file"),
            "--mteb FOLDER": (Path, "write STSBenchmark, SICK and the STS years as mteb's cache has results"),
            "--markdown": (False, "print Markdown"),
        },
    )
    add_interval_options(parser, resamples=2000)
    add_output_options(parser, "replace --out and --html, and start over")


class _Candidate(NamedTuple):
    """An encoder to evaluate: its names in errors and in reports, and the function that loads it."""

    label: str
    name: str
    load: Callable[[], Any]


def run(options: argparse.Namespace) -> None:
    from ..evaluation import evaluate

    candidates = _candidates(options)
    inputs = [*options.encoder, *options.rows, *options.sentences, *options.groups]
    inputs += [file for text in options.tsv for file in _tsv_files(text)[1].values()]
    names = _names(options, [candidate.name for candidate in candidates])
    outs = _outs(options.out, names)
    for out in outs:
        if out is not None:  # an existing report is resumed
            sources.check_output(out, inputs, overwrite=True)
            if options.html is not None and out.absolute() == options.html.absolute():
                raise UsageError("--out and --html are the same file")
    if options.html is not None:
        sources.check_output(options.html, inputs, options.overwrite)
    tasks = _tasks(options)
    _check_mteb(options, tasks)
    _check_curves(options)
    keywords = _keywords(options)
    reports: list[Report] = []
    written: list[Path] = []
    failures: list[str] = []
    for candidate, name, out in zip(candidates, names, outs, strict=True):
        try:
            encoder = candidate.load()
            report = evaluate(
                encoder,
                tasks,
                options.data,
                name=name,
                out=out,
                overwrite=options.overwrite,
                limit=options.limit,
                **keywords,
            )
        except Exception as error:  # evaluate the others all the same
            if len(candidates) == 1 or options.debug:
                raise
            failures.append(f"{candidate.label}: {one_line(error)}")
            continue
        reports.append(report)
        written += [] if out is None else [out]
        for task in options.curve:
            try:
                _add_curve(options, encoder, report, task, out, keywords)
            except Exception as error:
                failures.append(f"{candidate.label}: --curve {task}: {one_line(error)}")
        if options.mteb is not None:
            try:
                written += report.to_mteb(options.mteb)
            except Exception as error:
                failures.append(f"{candidate.label}: --mteb: {one_line(error)}")
        print(report.to_markdown() if options.markdown else _text(report))
        if all(result.error is not None for result in report.values()):
            failures.append(f"{candidate.label}: no task has a score: {next(iter(report.values())).error}")
    if options.html is not None and reports:
        reports[0].to_html(options.html, reports[1:])
        written.append(options.html)
    for path in written:
        print(f"written: {path}")
    if failures:
        raise ValueError("; ".join(failures))


def _candidates(options: argparse.Namespace) -> list[_Candidate]:
    from .. import load
    from ..evaluation import Precomputed, baseline

    candidates = [
        _Candidate(
            str(path),
            path.name.removesuffix(".sentencode"),
            partial(load, path, trust_tokenizer=options.trust_tokenizer),
        )
        for path in options.encoder
    ]
    sentences = options.sentences * (max(1, len(options.rows)) if len(options.sentences) == 1 else 1)
    if len(sentences) != len(options.rows):
        raise UsageError(
            "--sentences: give the sentences of --rows, once or once per --rows; got "
            f"{len(options.sentences)} for {len(options.rows)}"
        )
    candidates += [
        _Candidate(str(rows), rows.stem, partial(Precomputed, text, rows))
        for rows, text in zip(options.rows, sentences, strict=True)
    ]
    for name in options.baseline:
        if name not in _BASELINES:
            raise UsageError(f"--baseline: expected one of {', '.join(_BASELINES)}, got {name!r}")
        candidates.append(_Candidate(f"--baseline {name}", name, partial(baseline, name)))
    if options.trust_tokenizer and not options.encoder:
        raise UsageError("--trust-tokenizer requires --encoder")
    if not candidates:
        raise UsageError("nothing to evaluate: give --encoder, --rows with --sentences, or --baseline")
    return candidates


def _names(options: argparse.Namespace, defaults: list[str]) -> list[str]:
    names = defaults if options.name is None else options.name
    if len(names) != len(defaults):
        raise UsageError(
            "--name: give one for each --encoder, --rows and --baseline or none, got "
            f"{len(names)} for {len(defaults)}"
        )
    for name, count in Counter(map(_slug, names)).items():
        if count > 1:
            raise UsageError(f"{count} encoders are called {name}: give each another --name")
    return names


def _outs(out: Path | None, names: list[str]) -> list[Path | None]:
    if out is None or len(names) == 1:
        return [out for _ in names]
    return [out.with_name(f"{out.stem}-{_slug(name)}{out.suffix}") for name in names]


def _slug(name: str) -> str:
    """A name as a part of a file name."""
    return re.sub(r"[^\w.+-]+", "-", name).strip("-") or "encoder"


def _tasks(options: argparse.Namespace) -> str | list[Any]:
    """Names of tasks, and the user's own tasks."""
    from ..evaluation import load_groups, load_tsv_task

    user_tasks: list[Any] = []
    for text in options.tsv:
        kind, files = _tsv_files(text)
        user_tasks.append(load_tsv_task(kind, files.get("", files)))
    user_tasks += map(load_groups, options.groups)
    names = options.tasks or ([] if user_tasks else ["all"])
    for name in names:
        if "," in name:
            raise UsageError(f"--tasks: put spaces between names, not commas, got {name!r}")
    if names and options.data is None:
        raise UsageError("--data: the folder of SentEval's data is missing")
    if "all" not in names:
        return [*names, *user_tasks]
    if len(names) > 1 or user_tasks:
        raise UsageError("--tasks: all excludes other tasks")
    return "all"


def _tsv_files(text: str) -> tuple[Any, dict[str, Path]]:
    """The kind of task and the files of --tsv, those of a folder by their names."""
    kind, equals, file = text.partition("=")
    if not equals or kind not in _KINDS:
        raise UsageError(f"--tsv: expected KIND=FILE, KIND one of {', '.join(_KINDS)}; got {text!r}")
    folder = Path(file)
    if not folder.is_dir():
        return kind, {"": folder}
    splits = {path.stem: path for path in sorted(folder.glob("*.tsv"))}
    if not splits:
        raise FileNotFoundError(f"--tsv: {folder} has no file *.tsv")
    return kind, splits


def _check_mteb(options: argparse.Namespace, tasks: str | list[Any]) -> None:
    from ..evaluation.evaluate import COSINES
    from ..evaluation.report.mteb import MTEB_TASKS

    names = {COSINES.get(task, task) if isinstance(task, str) else task.name for task in tasks}
    if options.mteb is not None and options.limit is not None:
        raise UsageError("--mteb excludes --limit: its results are those of all examples")
    if options.mteb is not None and tasks != "all" and not names & set(MTEB_TASKS):
        raise UsageError(f"--mteb requires one of these --tasks: {', '.join([*COSINES, *MTEB_TASKS])}")


def _check_curves(options: argparse.Namespace) -> None:
    from ..evaluation import task_kind

    for name in options.curve:
        if task_kind(name).validation is None:
            raise UsageError(f"--curve: {name} has nothing to learn")
        if options.data is None:
            raise UsageError("--data: the folder of SentEval's data is missing")


def _keywords(options: argparse.Namespace) -> dict[str, Any]:
    """The keywords that `evaluate` and `learning_curve` share."""
    return {
        "protocol": options.protocol,
        "options": dict(map(assignment, options.set)),
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
    keywords: dict[str, Any],
) -> None:
    """Adds a learning curve to a report, unless it has one of the same examples."""
    from ..evaluation import learning_curve, load_task
    from ..evaluation.data import digest_of
    from ..evaluation.report import add_curve

    task = load_task(name, options.data, partial=options.partial)
    if options.limit is not None:
        task = task.sample(options.limit)
    if name in report.curves and report.curves[name].data == digest_of(task):
        return
    report.curves.pop(name, None)
    report.curves[name] = learning_curve(encoder, task, **keywords)
    if out is not None:  # the file may have more tasks than this report
        add_curve(out, name, report.curves[name])


def _text(report: Report) -> str:
    from ..reproduce.tables import text_table

    head = (report.encoder, "figure", "value", f"{report.level} interval")
    return "\n".join([text_table(head, list(report.shown())), *report.notes()])
