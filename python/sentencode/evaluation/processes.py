"""Tasks judged by several processes, each with its share of the threads."""

from __future__ import annotations

import signal
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._extras import require
from ..threads import num_threads, set_num_threads
from .data import Task
from .protocols import Protocol
from .report import TaskResult
from .runner import Encoded, judge_task

__all__ = ["HandedOver", "judge_in_processes", "longest_first"]

_LOOK = 0.2  # seconds between two looks at how far the processes are

# Libraries read these when they are loaded, some of them (torch) only in the middle of a task.
_POOLS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


@dataclass(frozen=True, eq=False)
class HandedOver:
    """A task whose rows lie in files, which a process maps: they are neither copied nor held twice.

    Attributes:
        encoded: The task without its sentences, its rows and its images.
        rows: The .npy file of the rows.
        images: Of each split that has images, that of their features.
    """

    encoded: Encoded
    rows: Path
    images: dict[str, Path]

    @classmethod
    def of(cls, encoded: Encoded, kept: Path | None, folder: Path) -> HandedOver:
        """What another process needs of a task. What is in no file already is written to the folder."""
        splits = encoded.task.splits
        images = {
            name: _written(split.images, folder) for name, split in splits.items() if split.images is not None
        }
        bare = {
            name: replace(split, sentences=tuple([""] * len(split) for _ in split.sentences), images=None)
            for name, split in splits.items()
        }
        task, nothing = replace(encoded.task, splits=bare), np.empty((0, 0), dtype=np.float32)
        rows = kept or _written(encoded.rows, folder)
        return cls(replace(encoded, task=task, sentences=[], rows=nothing), rows, images)

    def mapped(self) -> Encoded:
        """The task with its rows and images."""
        task = self.encoded.task
        splits = dict(task.splits)
        for name, file in self.images.items():
            splits[name] = replace(splits[name], images=_mapped(file))
        return replace(self.encoded, task=replace(task, splits=splits), rows=_mapped(self.rows))


def _written(rows: NDArray[np.float32], folder: Path) -> Path:
    path = folder / f"{len(list(folder.iterdir()))}.npy"
    np.save(path, rows)
    return path


def _mapped(file: Path) -> NDArray[np.float32]:
    return np.asarray(np.load(file, mmap_mode="r"))


def judge_in_processes(
    tasks: Mapping[str, HandedOver],
    jobs: int,
    protocol: Protocol,
    folder: Path,
    *,
    on_progress: Callable[[dict[str, tuple[int, int]]], None],
    **options: Any,
) -> Generator[tuple[str, TaskResult | Exception], None, None]:
    """Judges tasks by processes of their own, in the order in which they are given.

    The processes are new ones, no forks: OpenMP's threads would not survive one. They have as many threads
    together as this process may use.

    Args:
        tasks: By name.
        jobs: How many processes.
        protocol: How classifiers are trained.
        folder: Where the processes say how far they are; they are the only ones to write in it.
        on_progress: Called now and then with how many classifiers are trained and of how many, for each task
            that is being judged.
        **options: `judge_task`'s.

    Yields:
        Names and results, as soon as they are there; what a task raised in its result's place. When a process
        is ended from outside, all tasks that are not done have that for an error.
    """
    if not tasks:
        return
    from concurrent.futures import FIRST_COMPLETED, wait

    loky = require("joblib.externals.loky", "eval")
    jobs = min(jobs, len(tasks))
    threads = max(1, num_threads() // jobs)
    board = folder / "progress"
    progress = np.memmap(board, dtype=np.int64, mode="w+", shape=(len(tasks), 2))
    pool = loky.ProcessPoolExecutor(
        jobs, initializer=_begin, initargs=(threads,), env={name: str(threads) for name in _POOLS}
    )
    try:
        running = {
            pool.submit(_judge, task, protocol, board, i, len(tasks), options): name
            for i, (name, task) in enumerate(tasks.items())
        }
        number = {name: i for i, name in enumerate(tasks)}
        while running:
            done, _ = wait(running, timeout=_LOOK, return_when=FIRST_COMPLETED)
            # Results first: a task that failed must not take with it what was done at the same time.
            for future in sorted(done, key=lambda future: future.exception() is not None):
                name = running.pop(future)
                result: TaskResult | Exception
                try:
                    result = future.result()
                except loky.process_executor.BrokenProcessPool:
                    result = MemoryError(
                        "a worker process was killed, perhaps because memory ran out; "
                        f"take fewer jobs than {jobs}, or run again to resume"
                    )
                except Exception as error:
                    result = error
                yield name, result
            begun = {name: progress[number[name]] for name in running.values()}
            on_progress({name: (int(n), int(all_)) for name, (n, all_) in begun.items() if all_})
    finally:
        pool.shutdown(kill_workers=True)  # at the end, they have nothing to do any more


def longest_first(task: Task, protocol: Protocol) -> float:
    """A key that sorts tasks by about how long they are to be judged, those that take longest first.

    Example:
        >>> import numpy as np
        >>> from sentencode.evaluation import PROTOCOLS, Kind, Split, Task
        >>> split = Split((["a", "b"],), np.array([0, 1]))
        >>> nested = Task("nested", {"all": split}, Kind("classification", "nested", features=("u",)))
        >>> alike = Task("alike", {"test": split}, Kind("similarity", pairs=True))
        >>> longest_first(nested, PROTOCOLS["fast"]) < longest_first(alike, PROTOCOLS["fast"])
        True
    """
    kind, examples = task.kind, sum(map(len, task.splits.values()))
    if kind.question == "retrieval":
        ranking = protocol.ranking
        return -examples * ranking.max_epoch * (1 if ranking.shared else ranking.ncontrast)
    fits = {"nested": protocol.folds * (protocol.folds + 1), "folds": protocol.folds + 1, "dev": 1}
    features, outputs = max(1, len(kind.features)), max(1, len(task.classes) - 1)
    return -examples * (1 + 6 * fits[kind.validation] * features * outputs if kind.validation else 1)


def _begin(threads: int) -> None:
    """What each process does first."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all; the first process ends the others
    set_num_threads(threads)


def _judge(
    task: HandedOver, protocol: Protocol, board: Path, row: int, rows: int, options: dict[str, Any]
) -> TaskResult:
    progress = np.memmap(board, dtype=np.int64, mode="r+", shape=(rows, 2))
    progress[row] = 0, 1  # begun

    def on_progress(done: int, total: int) -> None:
        progress[row] = done, total

    return judge_task(task.mapped(), protocol, on_progress=on_progress, **options)
