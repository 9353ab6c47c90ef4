"""The evaluation of rows: tasks, protocol, and the scores that tables show."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..checks import checked_int
from ..evaluation import Report as Evaluated
from ..evaluation import Task, TaskResult, compare, evaluate, load_task
from ..evaluation.metrics.protocols import protocol_named
from ..files import make_folder, without_link
from .results_folder import Result

__all__ = [
    "Adapted",
    "Evaluator",
    "headlines",
    "paired",
    "scores_of",
    "speed_of",
    "tasks_there",
]

_TIMED = 1.5  # seconds of encoding at least, each time
_TIMES = 7


@dataclass(frozen=True)
class Evaluator:
    """Tasks and a protocol.

    Attributes:
        tasks: Tasks that rows are evaluated on.
        protocol: Protocol of `evaluate`.
        options: Options of the protocol.
        resamples: Number of bootstrap resamples.
        show: Show progress bars.

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
        """The settings that the scores depend on."""
        sizes = {task.name: sum(len(split) for split in task.splits.values()) for task in self.tasks}
        return {
            "tasks": sizes,
            "protocol": self.protocol,
            "options": dict(self.options),
            "resamples": self.resamples,
        }

    def __call__(
        self, encoder: Any, name: str, tasks: Sequence[Task], out: Path, *, tokens: bool | None = None
    ) -> Evaluated:
        """The evaluation report of an encoder, which is also written.

        Args:
            encoder: The encoder.
            name: Name of the encoder in the report.
            tasks: Tasks of the evaluation.
            out: File of the report.
            tokens: As for `evaluate`.

        Raises:
            ValueError: A task failed.
        """
        make_folder(out.parent)
        out = without_link(out)
        if not tasks:
            report = Evaluated(name, facts={"confidence": 0.95, "resamples": self.resamples})
            report.to_json(out)
            return report
        report = evaluate(
            encoder,
            tasks,
            name=name,
            protocol=self.protocol,
            options=dict(self.options),
            resamples=self.resamples,
            cache=False,
            show_progress_bar=self.show,
            out=out,
            tokens=tokens,
        )
        if failed := {task: result.error for task, result in report.items() if result.error is not None}:
            raise ValueError(f"{name}: {'; '.join(f'{task}: {error}' for task, error in failed.items())}")
        return report


class Adapted:
    """An encoder that is evaluated by another function than its `encode`.

    Args:
        encode: Sentences -> embeddings.
        fingerprint: Identity of the encoder and the function.
        encoder: The encoder, if it has word vectors: reports count the words that they lack.
    """

    def __init__(self, encode: Callable[[Any], Any], fingerprint: str, encoder: Any = None) -> None:
        self.encode = encode
        self.fingerprint = lambda: fingerprint
        if encoder is not None:
            self.vectors, self.tokenizer = encoder.vectors, encoder.tokenizer
            self.lowercase = encoder.lowercase


def speed_of(encoder: Any, sentences: Sequence[str]) -> dict[str, float]:
    """Sentences per second, raw text in: median, lowest and highest of seven runs."""
    encode = encoder.encode
    count = min(256, len(sentences))
    encode(sentences[:count])
    while True:  # until the sentences take long enough
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


def tasks_there(
    names: Iterable[str],
    data: str | os.PathLike[str],
    *,
    partial: bool = False,
    splits: Mapping[str, Sequence[str]] | None = None,
) -> list[Task]:
    """The tasks whose files are in SentEval's folder.

    Args:
        names: Names of the tasks.
        data: SentEval's folder.
        partial: Accept files whose size is not the published one.
        splits: Task -> its splits that are read; all splits of other tasks.

    Raises:
        FileNotFoundError: There are none.
    """
    tasks, missing = [], None
    for name in names:
        try:
            tasks.append(load_task(name, data, partial=partial, splits=(splits or {}).get(name)))
        except FileNotFoundError as error:
            missing = error
    if not tasks:
        raise FileNotFoundError(f"{os.fsdecode(data)}: there are no files of a task; the last one: {missing}")
    return tasks


def headlines(report: Evaluated) -> Result:
    """Task -> its main score and the interval: accuracies in percent, correlations x 100."""
    scores: Result = {}
    for task, result in report.items():
        key = result.headline
        scale = 1 if key == "acc" else 100  # accuracies are in percent already
        scores[task] = {"value": round(scale * result.figure(key), 4)}
        if (interval := result.intervals.get(key)) is not None:
            scores[task] |= {"low": round(scale * interval[0], 4), "high": round(scale * interval[1], 4)}
    return scores


def scores_of(report: Evaluated) -> Result:
    """Column, as in `"MRPC f1"` -> value and interval."""
    return {
        f"{task} {metric}": score
        for task, result in report.items()
        for metric, score in _scores(result).items()
    }


def _scores(result: TaskResult) -> Result:
    """Metric, by the papers' names -> value and interval."""
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
    scores: Result = {}
    for metric, key in keys.items():
        try:
            value = result.figure(key)
        except (KeyError, ValueError):
            continue
        interval = result.intervals.get(key)
        scores[metric] = {
            "value": value,
            **({} if interval is None else {"low": interval.low, "high": interval.high}),
        }
    return scores


_METRICS = {"acc": "accuracy", "f1": "f1", "pearson": "pearson", "spearman": "spearman"}


def paired(report: Path, baseline: Path, resamples: int) -> Result:
    """The differences between two rows, over the same resampled examples.

    Args:
        report: File of the evaluation report of the row.
        baseline: File of the report of the other row.
        resamples: Number of bootstrap resamples.

    Returns:
        Column, as in `"MRPC f1"`, or for averages `"macro of MR CR average"` -> the difference, in percent or
        correlation times 100, with its interval.
    """
    differences: Result = {}
    for row in compare(Evaluated.load(report), Evaluated.load(baseline), resamples=resamples):
        averaged = row.part == "average"
        whole = averaged or row.part in ("test", "all", "weighted mean")
        if not row.test.startswith("paired bootstrap") or not whole:
            continue
        low, high = row.interval
        score = {"value": round(row.difference, 4), "low": round(low, 4), "high": round(high, 4)}
        metric = "average" if averaged else _METRICS.get(row.figure, row.figure)
        differences[f"{row.task} {metric}"] = score
    return differences
