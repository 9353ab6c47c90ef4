"""How rows are judged: on which tasks, by which protocol, and what of it the tables show."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..checks import checked_int
from ..evaluation import Report as Judged
from ..evaluation import Task, TaskResult, compare, evaluate, load_task
from ..evaluation.metrics.protocols import protocol_named
from .results_folder import Result

__all__ = [
    "Imitating",
    "Judge",
    "Keyed",
    "Normalized",
    "Prepared",
    "paired",
    "scores_of",
    "speed_of",
    "tasks_there",
]

_TIMED = 1.5  # seconds of encoding at least, each time
_TIMES = 7


@dataclass(frozen=True)
class Judge:
    """Tasks and a protocol.

    Attributes:
        tasks: On which rows are judged.
        protocol: Of `evaluate`.
        options: Of the protocol.
        resamples: Of the bootstrap.
        show: Whether to show progress bars.

    Raises:
        ValueError: There is no such protocol or option, or `resamples` is out of range.
    """

    tasks: Sequence[Task] = ()
    protocol: str = "optimum"
    options: Mapping[str, Any] = field(default_factory=dict)
    resamples: int = 2000
    show: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "resamples", checked_int("resamples", self.resamples, 1))
        protocol_named(self.protocol, **self.options)

    def settings(self) -> dict[str, Any]:
        """What of it decides the figures."""
        sizes = {task.name: sum(len(split) for split in task.splits.values()) for task in self.tasks}
        return {
            "tasks": sizes,
            "protocol": self.protocol,
            "options": dict(self.options),
            "resamples": self.resamples,
        }

    def __call__(self, encoder: Any, name: str, tasks: Sequence[Task], **more: Any) -> Judged:
        """What `evaluate` says of an encoder.

        Args:
            encoder: The encoder.
            name: What it is called in the report.
            tasks: On which it is judged.
            **more: Of `evaluate`.

        Raises:
            ValueError: A task failed.
        """
        if not tasks:
            return Judged(name, facts={"confidence": 0.95, "resamples": self.resamples})
        report = evaluate(
            encoder,
            tasks,
            name=name,
            protocol=self.protocol,
            options=dict(self.options),
            resamples=self.resamples,
            cache=False,
            show_progress_bar=self.show,
            **more,
        )
        if failed := {task: result.error for task, result in report.items() if result.error is not None}:
            raise ValueError(f"{name}: {'; '.join(f'{task}: {error}' for task, error in failed.items())}")
        return report


class Normalized:
    """An encoder that is judged with `encode(..., normalize=how)`."""

    def __init__(self, encoder: Any, how: str) -> None:
        self.encoder = encoder
        self.how = how
        # What reports tell of words that the encoder does not know is told by these.
        self.vectors, self.tokenizer, self.lowercase = encoder.vectors, encoder.tokenizer, encoder.lowercase

    def fingerprint(self) -> str:
        """What tells it from others, and from the encoder itself."""
        return f"{self.encoder.fingerprint()}, normalize={self.how}"

    def encode(self, sentences: Any) -> Any:
        """Rows of sentences."""
        return self.encoder.encode(sentences, normalize=self.how, show_progress_bar=False)


class Imitating:
    """An encoder that is judged by the rows that it has learnt to imitate: those that its head makes."""

    def __init__(self, encoder: Any) -> None:
        self.encoder = encoder

    def fingerprint(self) -> str:
        """What tells it from others, and from the encoder itself."""
        return f"{self.encoder.fingerprint()}, predict"

    def encode(self, sentences: Any) -> Any:
        """Rows of sentences."""
        return self.encoder.predict(list(sentences))


class Prepared:
    """An encoder that is judged on texts which are prepared as those that it learnt from."""

    def __init__(self, encoder: Any, prepare: Callable[[Sequence[str]], list[str]]) -> None:
        self.encoder, self.prepare = encoder, prepare

    def fingerprint(self) -> str:
        """What tells it from others, and from the encoder itself."""
        return f"{self.encoder.fingerprint()}, prepared"

    def encode(self, sentences: Any) -> Any:
        """Rows of sentences."""
        return self.encoder.encode(self.prepare(list(sentences)), show_progress_bar=False)


class Keyed:
    """An encoder that is told from others by a key, as one of another package."""

    def __init__(self, encoder: Any, key: str) -> None:
        self.encoder, self.key = encoder, key

    def fingerprint(self) -> str:
        """The key."""
        return self.key

    def encode(self, sentences: Any) -> Any:
        """Rows of sentences."""
        return self.encoder.encode(sentences)


def speed_of(encoder: Any, sentences: Sequence[str]) -> dict[str, float]:
    """Sentences a second, raw text in: the median of seven, and the ends."""
    encode = encoder.encode
    count = min(256, len(sentences))
    encode(sentences[:count])
    while True:  # as many as take long enough
        some = [sentences[i % len(sentences)] for i in range(count)]
        begin = time.perf_counter()
        encode(some)
        seconds = time.perf_counter() - begin
        if seconds > _TIMED:
            break
        count = int(count * min(16, max(2, 1.3 * _TIMED / max(seconds, 1e-6))))
    speeds = [count / seconds]
    for _ in range(_TIMES - 1):
        begin = time.perf_counter()
        encode(some)
        speeds.append(count / (time.perf_counter() - begin))
    return {
        "median": round(statistics.median(speeds), 1),
        "low": round(min(speeds), 1),
        "high": round(max(speeds), 1),
    }


def tasks_there(names: Sequence[str], data: str | os.PathLike[str], *, partial: bool = False) -> list[Task]:
    """Those of the tasks whose files are in SentEval's folder.

    Raises:
        FileNotFoundError: None are.
    """
    found, missing = [], None
    for name in names:
        try:
            found.append(load_task(name, data, partial=partial))
        except FileNotFoundError as error:
            missing = error
    if not found:
        raise FileNotFoundError(f"{os.fsdecode(data)}: no task's files are there; of the last one: {missing}")
    return found


def scores_of(report: Judged) -> Result:
    """Column, as in `"MRPC f1"` -> its value and its interval."""
    return {
        f"{task} {metric}": score
        for task, result in report.items()
        for metric, score in _scores(result).items()
    }


def _scores(result: TaskResult) -> Result:
    """The figures that tables show, by the papers' names."""
    subsets, cosines = "all" in result.figures, "test" in result.figures
    correlation = "all.{}.wmean" if subsets else "test.{}" if cosines else "{}"
    keys = {
        "accuracy": "acc",
        "f1": "f1",
        "cluster_accuracy": "cl_one",
        "neighbour_accuracy": "nn_cosine",
        "inverse_davies_bouldin": "idb",
        **{name: correlation.format(name) for name in ("pearson", "spearman")},
    }
    found: Result = {}
    for metric, key in keys.items():
        try:
            value = result.figure(key)
        except (KeyError, ValueError):
            continue
        interval = result.intervals.get(key)
        found[metric] = {
            "value": value,
            **({} if interval is None else {"low": interval.low, "high": interval.high}),
        }
    return found


_METRICS = {"acc": "accuracy", "f1": "f1", "pearson": "pearson", "spearman": "spearman"}


def paired(report: Path, baseline: Path, resamples: int) -> Result:
    """What a row has more than another one, by resamples of the same examples.

    Args:
        report: The file of what `evaluate` said of the row.
        baseline: That of the other one.
        resamples: Of the bootstrap.

    Returns:
        Column, as in `"MRPC f1"`, or for averages `"macro of MR CR average"` -> the difference, in percent or
        correlation times 100, with its interval.
    """
    found: Result = {}
    for row in compare(Judged.load(report), Judged.load(baseline), resamples=resamples):
        averaged = row.part == "average"
        whole = averaged or row.part in ("test", "all", "weighted mean")
        if not row.test.startswith("paired bootstrap") or not whole:
            continue
        low, high = row.interval
        score = {"value": round(row.difference, 4), "low": round(low, 4), "high": round(high, 4)}
        metric = "average" if averaged else _METRICS.get(row.figure, row.figure)
        found[f"{row.task} {metric}"] = score
    return found
