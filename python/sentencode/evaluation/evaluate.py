"""`evaluate`: an encoder on many tasks."""

from __future__ import annotations

import functools
import logging
import os
import uuid
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from importlib import metadata
from typing import Any

from .._core import __version__ as sentencode_version
from ..checks import checked_float, checked_int
from ..code_digest import code_digest
from ..encoder_rows import cache_folder
from .data import Task, digest_of, load_task, task_kind, task_names
from .embeddings import DegenerateEncoderError, Embedder
from .metrics.protocols import Protocol, protocol_named
from .metrics.results import TaskResult
from .progress import Bars
from .report.file import ReportFile
from .report.report import Report
from .runner import check_installed, run_task, splits_in_order
from .statistics.joint_bootstrap import keys_of

__all__ = ["evaluate"]

_LOG = logging.getLogger("sentencode")
_RUN = uuid.uuid4().hex  # of this process: speeds of one run compare with each other


def evaluate(
    encoder: Any,
    tasks: str | Task | Iterable[str | Task] = "all",
    data: str | os.PathLike[str] | None = None,
    *,
    protocol: str | Protocol = "optimum",
    options: dict[str, Any] | None = None,
    name: str | None = None,
    key: str | None = None,
    tokens: bool | None = None,
    cache: str | os.PathLike[str] | bool = True,
    out: str | os.PathLike[str] | None = None,
    partial: bool = False,
    confidence: float = 0.95,
    resamples: int = 2000,
    show_progress_bar: bool | None = None,
) -> Report:
    """Judges an encoder on SentEval's tasks, and on one's own.

    Tasks, splits, figures and their names are SentEval's; see the guide for what protocols differ in.

    Args:
        encoder: One of ours, fitted; anything with `encode` or `transform`; a function from a list of
            sentences to an array; rows that are `Precomputed`; or a `baseline`.
        tasks: Names of tasks, or tasks that were loaded. `"all"`: those whose files are there.
        data: SentEval's `data` folder; needed for names.
        protocol: `"optimum"`, `"fast"`, `"senteval-sklearn"`, `"liblinear"` or `"senteval-torch"`.
        options: Options of the protocol's classifier or ranking, `folds`, `seeds` or `similarity`.
        name: What the encoder is called in the report. None: its class.
        key: What tells an encoder without a fingerprint from all others, so that its rows can be kept.
        tokens: Give the encoder lists of tokens, as SentEval does, and not strings. None: if it is ours.
        cache: Keep rows on disk: in this folder, or (True) in Sentencode's cache. Without a fingerprint or a
            `key`, nothing is kept.
        out: A JSON file of the report, written after each task; what it holds already, for the same encoder,
            protocol and examples, is not computed again. Tasks in it that are not asked for stay in it, as do
            those that other runs add in the meantime; the report that is returned has only those that are
            asked for. Without a fingerprint or a `key` nothing tells whether it is the same encoder: a file
            that is there is refused, as it is where a function of the protocol cannot be compared.
        partial: Accept files with fewer or more examples than were published.
        confidence: Of the intervals.
        resamples: Of the bootstrap.
        show_progress_bar: None: where the log shows information.

    Returns:
        The report. A task that cannot be judged, by what the encoder gave, what its examples are or whatever
        else fails, has an `error` in place of figures; the log warns of it.

    Raises:
        ValueError: A task or protocol does not exist, no task is asked for or has its files there, two are
            of one name, an option is out of range, or `out` is, or becomes, the report of something else.
        OSError: `out` cannot be written.
        FileNotFoundError: Files of a task that was named are missing.
        FormatError: A file is not what it should be.
        ImportError: A package that judging uses is not installed; the message says what installs it.
        TypeError: The encoder is none.

    Example:
        >>> import numpy as np, sentencode as se
        >>> from sentencode.evaluation import Kind, Split, Task
        >>> vectors = se.WordVectors.from_array(["cat", "dog", "sun"], np.eye(3, dtype=np.float32))
        >>> pairs = Split((["cat", "dog", "sun"], ["cat dog", "sun", "sun"]), np.array([3.0, 0.0, 5.0]))
        >>> task = Task("mine", {"test": pairs}, Kind("similarity"))
        >>> report = se.evaluate(se.Average(vectors), task)
        >>> round(report["mine"]["test"]["pearson"][0], 2)
        0.99
    """
    chosen = protocol_named(protocol, **(options or {}))
    checked_int("resamples", resamples, 1)
    checked_float("confidence", confidence, 0, 1, above=True, below=True)
    wanted, skipped = _tasks(tasks, data)
    embedder = Embedder(encoder, name, cache_folder(cache), key, tokens)
    assert embedder.name is not None
    report = Report(embedder.name, skipped=skipped)
    report.facts = {
        "protocol": chosen.name,
        "judging": code_digest(chosen),
        "folds": chosen.folds,
        "fingerprint": embedder.key,
        "tokens": embedder.tokens,
        "confidence": confidence,
        "resamples": resamples,
        "versions": _versions(),
    }
    kept = ReportFile(out, report)
    before = kept.before
    done = {name: result for name, result in before.results.items() if result.error is None}
    report.facts = before.facts | report.facts
    report.curves = before.curves  # of which stale ones are dropped below
    digests: dict[str, str] = {}
    judged: dict[str, TaskResult] = {}
    with Bars(show_progress_bar, len(wanted), "evaluate", "task") as bars:
        todo: dict[str, Task] = {}
        for given in wanted:
            label = given if isinstance(given, str) else given.name
            task = given if isinstance(given, Task) else _loaded(given, data, partial, tasks, report)
            if task is None:
                bars.finish()
                continue
            chosen.seeded(task.kind.question)  # before anything is encoded
            digests[label] = digest_of(task)
            if label in report.curves and report.curves[label].data not in ("", digests[label]):
                del report.curves[label]
            if label in done and done[label].details.get("data") == digests[label]:
                done[label].splits = splits_in_order(task)
                _give_keys(done[label])
                judged[label] = done[label]
                bars.finish()
            else:
                check_installed(task.kind, chosen)
                todo[label] = task
        embedder.expect(todo.values())
        for label, task in todo.items():
            result = _result(label, task, embedder, chosen, bars, confidence=confidence, resamples=resamples)
            result.details["data"] = digests[label]
            _give_keys(result)
            judged[label] = result
            report.results = {name: judged[name] for name in digests if name in judged}
            report.facts["dim"] = embedder.dim
            if embedder.seconds > 0:
                report.facts["sentences_per_second"] = round(embedder.sentences / embedder.seconds, 1)
                report.facts["run"] = _RUN
                if speeds := embedder.speeds():
                    report.facts["speed_of_tasks"] = speeds
            kept.write(report)
            bars.finish()
    report.results = {name: judged[name] for name in digests}
    if not report.results:
        raise ValueError(f"evaluate: none of the tasks has its files in {os.fsdecode(data or '.')}")
    kept.write(report)
    return report


def _tasks(
    tasks: str | Task | Iterable[str | Task], data: str | os.PathLike[str] | None
) -> tuple[list[str | Task], dict[str, str]]:
    if isinstance(tasks, Task):
        return [tasks], {}
    skipped: dict[str, str] = {}
    if tasks == "all":
        wanted: list[str | Task] = list(task_names())
    else:
        wanted = [tasks] if isinstance(tasks, str) else _listed(tasks)
    for given in wanted:
        if isinstance(given, str):
            task_kind(given)  # says which there are
            if data is None:
                raise ValueError(f"evaluate: data is missing: the folder that the files of {given} are in")
    return wanted, skipped


def _listed(tasks: Any) -> list[str | Task]:
    """Several tasks, each of another name."""
    try:
        wanted = list(tasks)
    except TypeError:
        wanted = [tasks]
    for given in wanted:
        if not isinstance(given, (str, Task)):
            raise TypeError(
                f"tasks must be names or tasks, or 'all'; got {given!r:.40} ({type(given).__name__})"
            )
    if not wanted:
        raise ValueError("evaluate: tasks is empty: name some, or 'all'")
    names = Counter(given if isinstance(given, str) else given.name for given in wanted)
    name, count = names.most_common(1)[0]
    if count > 1:
        raise ValueError(f"evaluate: {count} tasks are called {name!r}: give each a name of its own")
    return wanted


def _loaded(name: str, data: Any, partial: bool, tasks: Any, report: Report) -> Task | None:
    try:
        return load_task(name, data, partial=partial)
    except FileNotFoundError as error:
        if tasks != "all":
            raise
        report.skipped[name] = f"files are missing: {error}"
        return None


def _versions() -> dict[str, str]:
    """Of what figures depend on."""
    found = {"sentencode": sentencode_version}
    for name in ("numpy", "scipy", "scikit-learn", "torch"):
        with suppress(metadata.PackageNotFoundError):
            found[name] = metadata.version(name)
    return found


def _result(
    label: str, task: Task, embedder: Embedder, protocol: Protocol, bars: Bars, **judging: Any
) -> TaskResult:
    """What is found of a task, or why nothing is: those that are done are kept, and the next may do."""
    bars.show(label)
    try:
        return run_task(task, embedder, protocol, on_progress=functools.partial(bars.show, label), **judging)
    except ImportError:  # so would the next task fail
        raise
    except Exception as error:
        return _without_figure(label, error)


def _give_keys(result: TaskResult) -> None:
    """Says which examples were judged, so that averages know which ones tasks share."""
    for name, judged in result.judged.items():
        if result.splits is not None and judged.keys is None:
            keys = keys_of(result.splits[name])[judged.places]
            result.judged[name] = replace(judged, keys=keys)


def _without_figure(label: str, error: Exception) -> TaskResult:
    why = str(error).removeprefix(f"{label}: ")
    foreseen = isinstance(error, (ValueError, MemoryError)) and why
    if not foreseen:
        why = f"{type(error).__name__}: {why}".removesuffix(": ")
    # Of an encoder that failed, and of what nobody foresaw, where; all else is said in full.
    where = error.__cause__ if isinstance(error, DegenerateEncoderError) else None if foreseen else error
    _LOG.warning("%s: %s", label, why, exc_info=where)
    return TaskResult(label, error=why)
