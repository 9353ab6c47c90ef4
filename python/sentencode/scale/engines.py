"""Engines: they run tasks in local processes, or on Ray, Spark or Dask."""

from __future__ import annotations

import asyncio
import errno
import importlib
import pickle
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

from ..checks import checked_int

__all__ = ["ENGINES", "Engine", "Failure", "attempt", "engine_of", "running", "warn_ignored"]

ENGINES = ("local", "ray", "spark", "dask")

_PAUSES = (1.0, 4.0, 16.0)  # seconds before retries
# Errors that a retry does not fix; all other errors of storage and networks may be transient.
_PERMANENT = (FileExistsError, FileNotFoundError, IsADirectoryError, NotADirectoryError, PermissionError)
_PERMANENT_NUMBERS = (
    *(errno.EDQUOT, errno.EFBIG, errno.ENOSPC, errno.EROFS, errno.ENAMETOOLONG, errno.ELOOP),
    *(errno.ENOTSUP, errno.ENODEV),
)


class Failure:
    """The result of a task that raised an error.

    Engines do not retry such tasks, since a damaged file stays damaged. They retry tasks of lost workers, and
    `attempt` retries transient errors.
    """

    def __init__(self, error: Exception) -> None:
        try:
            pickle.loads(pickle.dumps(error))
        except Exception:  # some errors of libraries cannot be pickled
            error = RuntimeError(f"{type(error).__name__}: {error}")
        self.error = error


def attempt(work: Callable[[Any], Any], task: Any) -> Any:
    """The result of a task or its `Failure`, after retries of transient errors."""
    pauses = iter(_PAUSES)
    while True:
        try:
            return work(task)
        except Exception as error:
            pause = next(pauses, None) if _is_transient(error) else None
            if pause is None:
                return Failure(error)
        time.sleep(pause)


def _is_transient(error: Exception) -> bool:
    if isinstance(error, asyncio.TimeoutError):  # fsspec's; not an OSError before Python 3.11
        return True
    return (
        isinstance(error, OSError)
        and not isinstance(error, _PERMANENT)
        and error.errno not in _PERMANENT_NUMBERS
    )


def warn_ignored(engine: str, **settings: tuple[Any, Any]) -> None:
    """Warns if a running engine has other settings than requested.

    Args:
        engine: Name of the engine.
        **settings: Requested value or None, and actual value, of each setting.
    """
    for name, (requested, actual) in settings.items():
        if requested is not None and requested != actual:
            warnings.warn(f"{name}={requested} is ignored: {engine} has {actual}", UserWarning, stacklevel=5)


class Engine(Protocol):
    """Runs tasks on workers.

    Attributes:
        threads: Threads of a task. None: the worker's share.
    """

    threads: int | None

    @property
    def workers(self) -> int:
        """Number of simultaneous tasks."""
        ...

    def run(self, work: Callable[[Any], Any], tasks: Sequence[Any]) -> Iterator[tuple[int, Any]]:
        """Runs tasks in any order, and those of lost workers again.

        Args:
            work: Function of a task; pickled once.
            tasks: Its arguments; pickled.

        Yields:
            Index of each task, and its result or `Failure`, as soon as it is known.

        Raises:
            RuntimeError: Workers are lost on one task again and again.
        """
        ...


@contextmanager
def running(
    engine: Engine, work: Callable[[Any], Any], tasks: Sequence[Any]
) -> Iterator[Iterator[tuple[int, Any]]]:
    """Runs tasks; yields an iterator over their indices and results, which raises the first error.

    No task runs after the block. Without it, workers would write to the job's folder until the generator is
    closed, that is after the error has been handled.
    """
    results = engine.run(work, tasks)
    try:
        yield _successful(results)
    finally:
        if hasattr(results, "close"):
            results.close()


def _successful(results: Iterator[tuple[int, Any]]) -> Iterator[tuple[int, Any]]:
    for i, result in results:
        if isinstance(result, Failure):
            raise result.error
        yield i, result


def engine_of(
    engine: str | Engine,
    *,
    workers: int | None = None,
    threads: int | None = None,
    device: str | None = None,
    address: str | None = None,
) -> Engine:
    """The engine of a name, or an engine unchanged.

    Args:
        engine: One of `ENGINES`, or an engine.
        workers: Number of simultaneous tasks.
        threads: Threads of a task.
        device: Device of a task: Ray counts GPUs, and the local engine has one worker on a GPU.
        address: Address of the engine's cluster, if this process is not connected to one.

    Raises:
        ImportError: It is not installed.
        ValueError: There is no such engine, or an engine is to have other workers.
    """
    workers = None if workers is None else checked_int("workers", workers, 1)
    threads = None if threads is None else checked_int("threads", threads, 1)
    if not isinstance(engine, str):
        if workers is not None or threads is not None:
            raise ValueError("workers and threads are set by the engine: leave them out")
        return engine
    if engine not in ENGINES:
        raise ValueError(f"engine must be {', '.join(map(repr, ENGINES))} or an engine, got {engine!r}")
    more: dict[str, Any] = {} if address is None else {"address": address}
    if str(device).startswith("cuda"):
        if engine == "ray":
            more["num_gpus"] = 1
        elif engine == "local" and workers is None:
            workers = 1  # more would share the memory of the GPU
    module = importlib.import_module(f"{__package__}.{engine}")
    kind = getattr(module, f"{engine.capitalize()}Engine")
    instance: Engine = kind(workers=workers, threads=threads, **more)
    return instance


def __dir__() -> list[str]:
    return sorted(__all__)
