"""Evaluates an encoder on many tasks."""

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
from .progress import ProgressBar
from .report.file import ReportFile
from .report.report import Report
from .runner import check_installed, run_task, splits_in_order
from .statistics.joint_bootstrap import keys_of

__all__ = ["evaluate"]

_LOG = logging.getLogger("sentencode")
_RUN = uuid.uuid4().hex  # identifies this process: speeds are comparable within one run


# Learnt tasks, and the same pairs scored by the cosine.
COSINES = {"STSBenchmark": "STSBenchmarkCosine", "SICKRelatedness": "SICKCosine"}


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
    overwrite: bool = False,
    partial: bool = False,
    limit: int | None = None,
    confidence: float = 0.95,
    resamples: int = 2000,
    show_progress_bar: bool | None = None,
) -> Report:
    """Evaluate an encoder on SentEval's tasks, on others from plain text, or on tasks of your own.

    Tasks, splits, scores and their names are SentEval's; the guide describes the protocols.

    Args:
        encoder: A fitted encoder of Sentencode; an object with `encode` or `transform`; a function from a
            list of sentences to an array; `Precomputed` embeddings; or a `baseline`.
        tasks: Names of tasks, or loaded tasks. `"all"`: all tasks with files in `data`. `"STSBenchmark"` and
            `"SICKRelatedness"` are learnt, as in SentEval; the cosine of the same pairs is reported first.
        data: SentEval's `data` folder, or one that has it as `senteval`; required for names.
        protocol: `"optimum"`, `"fast"`, `"senteval-sklearn"`, `"liblinear"` or `"senteval-torch"`.
        options: Options of the protocol's classifier or ranking, `folds`, `seeds` or `similarity`.
        name: Name of the encoder in the report. None: its class.
        key: Identifies an encoder without a fingerprint, so that its embeddings can be cached.
        tokens: Pass lists of tokens, as SentEval does, instead of strings. None: for Sentencode's encoders,
            unless their tokenizer is one of subwords or of another library.
        cache: Cache of embeddings: a folder, or (True) Sentencode's cache. An encoder without a fingerprint
            or a `key` is not cached.
        out: A JSON file of the report, written after each task. Results that it has for the same encoder,
            protocol and examples are reused. The file keeps other tasks, and those that other runs add
            meanwhile; the returned report has only the requested ones. An existing file is refused if the
            encoder has no fingerprint or `key`, or a function of the protocol cannot be compared.
        overwrite: Replace `out` instead, when the first task has a result.
        partial: Accept files with fewer or more examples than were published.
        limit: Largest number of examples of each split; see `Task.sample`.
        confidence: Confidence level of the intervals.
        resamples: Number of bootstrap resamples.
        show_progress_bar: Whether to show a progress bar. None: if the log shows information.

    Returns:
        The report. A task that failed, because of the encoder, its examples or anything else, has an `error`
        instead of scores; the log has a warning.

    Raises:
        ValueError: A task or protocol does not exist, no task is requested or has files, two tasks have the
            same name, an option is out of range, or `out` is, or becomes, the report of another encoder or
            protocol.
        OSError: `out` cannot be written.
        FileNotFoundError: Files of a named task are missing.
        FormatError: A file has an invalid format.
        ImportError: A required package is not installed; the message says which extra installs it.
        TypeError: `encoder` is not an encoder.

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
    if limit is not None:
        checked_int("limit", limit, 1)
    requested, skipped = _tasks(tasks, data)
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
    file = ReportFile(out, report, overwrite=overwrite)
    before = file.before
    done = {name: result for name, result in before.results.items() if result.error is None}
    report.facts = before.facts | report.facts
    report.curves = before.curves  # outdated ones are deleted below
    digests: dict[str, str] = {}
    results: dict[str, TaskResult] = {}
    with ProgressBar(show_progress_bar, len(requested), "evaluate", "task") as bar:
        todo: dict[str, Task] = {}
        for entry in requested:
            label = entry if isinstance(entry, str) else entry.name
            task = entry if isinstance(entry, Task) else _loaded(entry, data, partial, tasks, report)
            if task is None:
                bar.finish()
                continue
            task = task if limit is None else task.sample(limit)
            chosen.seeded(task.kind.question)  # raises before anything is encoded
            digests[label] = digest_of(task)
            if label in report.curves and report.curves[label].data not in ("", digests[label]):
                del report.curves[label]
            if label in done and done[label].details.get("data") == digests[label]:
                done[label].splits = splits_in_order(task)
                _add_keys(done[label])
                results[label] = done[label]
                bar.finish()
            else:
                check_installed(task.kind, chosen)
                todo[label] = task
        embedder.expect(todo.values())
        for label, task in todo.items():
            result = _result(label, task, embedder, chosen, bar, confidence=confidence, resamples=resamples)
            result.details["data"] = digests[label]
            _add_keys(result)
            results[label] = result
            report.results = {name: results[name] for name in digests if name in results}
            report.facts["dim"] = embedder.dim
            if embedder.seconds > 0:
                report.facts["sentences_per_second"] = round(embedder.sentences / embedder.seconds, 1)
                report.facts["run"] = _RUN
                if speeds := embedder.speeds():
                    report.facts["speed_of_tasks"] = speeds
            file.write(report)
            bar.finish()
    report.results = {name: results[name] for name in digests}
    if not report.results:
        raise ValueError(f"evaluate: none of the tasks has its files in {os.fsdecode(data or '.')}")
    file.write(report)
    return report


def _tasks(
    tasks: str | Task | Iterable[str | Task], data: str | os.PathLike[str] | None
) -> tuple[list[str | Task], dict[str, str]]:
    if isinstance(tasks, Task):
        return [tasks], {}
    skipped: dict[str, str] = {}
    if tasks == "all":
        requested: list[str | Task] = list(task_names())
    else:
        requested = [tasks] if isinstance(tasks, str) else _listed(tasks)
    for entry in requested:
        if isinstance(entry, str):
            task_kind(entry)  # raises if there is no such task
            if data is None:
                raise ValueError(f"evaluate: data is missing: the folder that the files of {entry} are in")
    names = {entry if isinstance(entry, str) else entry.name for entry in requested}
    cosines = [COSINES[entry] for entry in requested if isinstance(entry, str) and entry in COSINES]
    return [*(cosine for cosine in cosines if cosine not in names), *requested], skipped


def _listed(tasks: Any) -> list[str | Task]:
    """Several tasks with distinct names."""
    try:
        requested = list(tasks)
    except TypeError:
        requested = [tasks]
    for entry in requested:
        if not isinstance(entry, (str, Task)):
            raise TypeError(
                f"tasks must be names or tasks, or 'all'; got {entry!r:.40} ({type(entry).__name__})"
            )
    if not requested:
        raise ValueError("evaluate: tasks is empty: name some, or 'all'")
    names = Counter(entry if isinstance(entry, str) else entry.name for entry in requested)
    name, count = names.most_common(1)[0]
    if count > 1:
        raise ValueError(f"evaluate: {count} tasks are called {name!r}: names must differ")
    return requested


def _loaded(name: str, data: Any, partial: bool, tasks: Any, report: Report) -> Task | None:
    try:
        return load_task(name, data, partial=partial)
    except FileNotFoundError as error:
        if tasks != "all":
            raise
        report.skipped[name] = f"files are missing: {error}"
        return None


def _versions() -> dict[str, str]:
    """Versions of the packages that affect scores."""
    versions = {"sentencode": sentencode_version}
    for name in ("numpy", "scipy", "scikit-learn", "torch"):
        with suppress(metadata.PackageNotFoundError):
            versions[name] = metadata.version(name)
    return versions


def _result(
    label: str, task: Task, embedder: Embedder, protocol: Protocol, bar: ProgressBar, **options: Any
) -> TaskResult:
    """The result of a task, or an error: other tasks go on."""
    bar.show(label)
    try:
        return run_task(task, embedder, protocol, on_progress=functools.partial(bar.show, label), **options)
    except ImportError:  # the next task would fail, too
        raise
    except Exception as error:
        return _failed(label, error)


def _add_keys(result: TaskResult) -> None:
    """Add keys of the examples, so that averages know which ones tasks share."""
    for name, predictions in result.predictions.items():
        if result.splits is not None and predictions.keys is None:
            keys = keys_of(result.splits[name])[predictions.indices]
            result.predictions[name] = replace(predictions, keys=keys)


def _failed(label: str, error: Exception) -> TaskResult:
    why = str(error).removeprefix(f"{label}: ")
    expected = isinstance(error, (ValueError, MemoryError)) and why
    if not expected:
        why = f"{type(error).__name__}: {why}".removesuffix(": ")
    # A traceback for errors of the encoder and unexpected ones; the message of others suffices.
    traceback = error.__cause__ if isinstance(error, DegenerateEncoderError) else None if expected else error
    _LOG.warning("%s: %s", label, why, exc_info=traceback)
    return TaskResult(label, error=why)
