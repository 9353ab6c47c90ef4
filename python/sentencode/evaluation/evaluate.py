"""`evaluate`: an encoder on many tasks."""

from __future__ import annotations

import hashlib
import logging
import os
import uuid
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from ..cache import cache_dir
from ..checks import checked_int
from .data import Task, load_task, task_kind, task_names
from .embeddings import DegenerateEncoderError, Embedder
from .protocols import Protocol, protocol_named
from .report import Report, TaskResult
from .runner import run_task

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
        options: Options of the protocol's classifier, or `folds`.
        name: What the encoder is called in the report. None: its class.
        key: What tells an encoder without a fingerprint from all others, so that its rows can be kept.
        tokens: Give the encoder lists of tokens, as SentEval does, and not strings. None: if it is ours.
        cache: Keep rows on disk: in this folder, or (True) in Sentencode's cache. Without a fingerprint or a
            `key`, nothing is kept.
        out: A JSON file of the report, written after each task; what it holds already, for the same encoder,
            protocol and examples, is not computed again.
        partial: Accept files with fewer or more examples than were published.
        confidence: Of the intervals.
        resamples: Of the bootstrap.
        show_progress_bar: None: where the log shows information.

    Returns:
        The report.

    Raises:
        ValueError: A task or protocol does not exist, or no task has its files there.
        FileNotFoundError: Files of a task that was named are missing.
        FormatError: A file is not what it should be.
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
    wanted, skipped = _tasks(tasks, data)
    folder = None if cache is False else cache_dir() / "embeddings" if cache is True else Path(cache)
    embedder = Embedder(encoder, name, folder, key, tokens)
    assert embedder.name is not None
    report = Report(embedder.name, skipped=skipped)
    report.facts = {
        "protocol": chosen.name,
        "folds": chosen.folds,
        "fingerprint": embedder.key,
        "tokens": embedder.tokens,
        "confidence": confidence,
        "resamples": resamples,
    }
    before = _resumed(out, report)
    done = {name: result for name, result in before.results.items() if result.error is None}
    report.facts = before.facts | report.facts
    with _Bars(show_progress_bar, len(wanted)) as bars:
        for given in wanted:
            label = given if isinstance(given, str) else given.name
            bars.begin(label)
            task = given if isinstance(given, Task) else _loaded(given, data, partial, tasks, report)
            if task is None:
                continue
            digest = _digest(task)
            if label in done and done[label].details.get("data") == digest:
                report.results[label] = done[label]
                continue
            try:
                result = run_task(
                    task,
                    embedder,
                    chosen,
                    confidence=confidence,
                    resamples=resamples,
                    on_progress=bars.update,
                )
            except DegenerateEncoderError as error:
                _LOG.warning("%s: %s", label, error, exc_info=error.__cause__)
                result = TaskResult(label, error=str(error))
            result.details["data"] = digest
            report.results[label] = result
            report.facts["dim"] = embedder.dim
            if embedder.seconds > 0:
                report.facts["sentences_per_second"] = round(embedder.sentences / embedder.seconds, 1)
                report.facts["run"] = _RUN
            if out is not None:
                report.to_json(out)
    if not report.results:
        raise ValueError(f"evaluate: none of the tasks has its files in {os.fspath(data or '')}")
    if out is not None:
        report.to_json(out)
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
        wanted = [tasks] if isinstance(tasks, str) else list(tasks)
    for given in wanted:
        if isinstance(given, str):
            task_kind(given)  # says which there are
            if data is None:
                raise ValueError(f"evaluate: data is missing: the folder that the files of {given} are in")
    return wanted, skipped


def _loaded(name: str, data: Any, partial: bool, tasks: Any, report: Report) -> Task | None:
    try:
        return load_task(name, data, partial=partial)
    except FileNotFoundError as error:
        if tasks != "all":
            raise
        report.skipped[name] = f"files are missing: {error}"
        return None


def _digest(task: Task) -> str:
    """Tells a task's examples from all others."""
    digest = hashlib.sha256(repr((task.kind, task.classes)).encode())
    for name, split in task.splits.items():
        digest.update(f"\n{name} {split.labels.dtype} {len(split)}\n".encode())
        digest.update(np.ascontiguousarray(split.labels).tobytes())
        for side in split.sentences:
            digest.update("\n".join(side).encode("utf-8", "surrogatepass"))
        if split.images is not None:
            digest.update(np.ascontiguousarray(split.images).tobytes())
    return digest.hexdigest()


def _resumed(out: str | os.PathLike[str] | None, report: Report) -> Report:
    """The report on disk, if what it holds would be computed in the same way; else an empty one."""
    if out is None or not Path(out).exists() or report.facts["fingerprint"] is None:
        return Report(report.encoder)
    before = Report.load(out)
    same = all(before.facts.get(fact) == report.facts[fact] for fact in report.facts)
    if not same:
        raise ValueError(
            f"evaluate: {os.fspath(out)} is the report of another encoder or protocol; "
            "remove it or choose another file"
        )
    return before


class _Bars:
    """A bar of tasks, and one of the classifiers of a task."""

    def __init__(self, show: bool | None, tasks: int) -> None:
        self.show = _LOG.isEnabledFor(logging.INFO) if show is None else show
        self.total = tasks
        self.bar: Any = None

    def __enter__(self) -> _Bars:
        if self.show:
            from tqdm.auto import tqdm

            self.bar = tqdm(total=self.total, desc="evaluate", unit="task")
            self.done = -1
        return self

    def begin(self, task: str) -> None:
        if self.bar is not None:
            self.done += 1
            self.bar.update(self.done - self.bar.n)
            self.bar.set_postfix_str(task)

    def update(self, done: int, total: int) -> None:
        if self.bar is not None:
            self.bar.set_postfix_str(f"{self.bar.postfix.partition(' ')[0]} {done}/{total}")

    def __exit__(self, *error: object) -> None:
        if self.bar is not None:
            if error[0] is None:
                self.bar.update(self.total - self.bar.n)
            self.bar.close()
