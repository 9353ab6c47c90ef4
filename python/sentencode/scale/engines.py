"""What runs tasks: processes of this machine, or an engine that the user runs already."""

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

_PAUSES = (1.0, 4.0, 16.0)  # seconds before a task is tried again
# Errors that trying again does not mend; all else that storage and networks raise may pass.
_STAY = (FileExistsError, FileNotFoundError, IsADirectoryError, NotADirectoryError, PermissionError)
_STAY_NUMBERS = (errno.EDQUOT, errno.EFBIG, errno.ENOSPC, errno.EROFS)


class Failure:
    """Stands for the result of a task that raised an error.

    It is a result, so that no engine tries the task again: a file that is damaged stays so. Tasks are tried
    again where their worker was lost, and by `attempt`.

    Args:
        error: The error.
    """

    def __init__(self, error: Exception) -> None:
        try:
            pickle.loads(pickle.dumps(error))
        except Exception:  # errors of libraries need not cross to another process
            error = RuntimeError(f"{type(error).__name__}: {error}")
        self.error = error


def attempt(work: Callable[[Any], Any], task: Any) -> Any:
    """The result of a task, or the `Failure` that it is; storage that did not answer is asked again."""
    pauses = iter(_PAUSES)
    while True:
        try:
            return work(task)
        except Exception as error:
            pause = next(pauses, None) if _may_pass(error) else None
            if pause is None:
                return Failure(error)
        time.sleep(pause)


def _may_pass(error: Exception) -> bool:
    """Whether the same task may well succeed a little later."""
    if isinstance(error, asyncio.TimeoutError):  # fsspec's, which is no OSError before Python 3.11
        return True
    return isinstance(error, OSError) and not isinstance(error, _STAY) and error.errno not in _STAY_NUMBERS


def warn_ignored(there: str, **settings: tuple[Any, Any]) -> None:
    """Warns where an engine that runs already is another one than was asked for.

    Args:
        there: What runs.
        **settings: Of each setting what was asked for, or None, and what runs has.
    """
    for name, (given, found) in settings.items():
        if given is not None and given != found:
            warnings.warn(f"{name}={given} is ignored: {there} has {found}", UserWarning, stacklevel=5)


class Engine(Protocol):
    """Runs tasks on workers.

    Attributes:
        threads: How many threads a task may compute with; None: the worker's share.
    """

    threads: int | None

    @property
    def workers(self) -> int:
        """How many tasks run at a time."""
        ...

    def run(self, work: Callable[[Any], Any], tasks: Sequence[Any]) -> Iterator[tuple[int, Any]]:
        """Runs tasks in any order; one whose worker is lost is run again.

        Args:
            work: A function of a task; it is pickled once.
            tasks: What it is called with; they are pickled.

        Yields:
            The place of each task once, with its result or the `Failure` that it is, as soon as it is known.

        Raises:
            RuntimeError: If workers are lost on one task again and again.
        """
        ...


@contextmanager
def running(
    engine: Engine, work: Callable[[Any], Any], tasks: Sequence[Any]
) -> Iterator[Iterator[tuple[int, Any]]]:
    """Results of tasks, the first error of which is raised. At the end of the block nothing runs any more.

    Without it, an engine would notice that nobody takes its results when the error has been handled: until
    then its workers would write into a folder that is no longer theirs.

    Args:
        engine: What runs them.
        work: As for `Engine.run`.
        tasks: Likewise.

    Yields:
        The place of each task, with its result.
    """
    results = engine.run(work, tasks)
    try:
        yield _successful(results)
    finally:
        if hasattr(results, "close"):
            results.close()


def _successful(results: Iterator[tuple[int, Any]]) -> Iterator[tuple[int, Any]]:
    for place, result in results:
        if isinstance(result, Failure):
            raise result.error
        yield place, result


def engine_of(
    engine: str | Engine,
    *,
    workers: int | None = None,
    threads: int | None = None,
    device: str | None = None,
    address: str | None = None,
) -> Engine:
    """The engine by a name, or as it is.

    Args:
        engine: One of `ENGINES`, or an engine.
        workers: How many tasks at a time.
        threads: How many threads a task computes with.
        device: Where it computes; for Ray, which counts GPUs.
        address: Of the engine's cluster, where this process is connected to none.

    Returns:
        The engine.

    Raises:
        ImportError: If it is not installed.
        ValueError: If there is none of that name, or one that is given is to have other workers.
    """
    workers = None if workers is None else checked_int("workers", workers, 1)
    threads = None if threads is None else checked_int("threads", threads, 1)
    if not isinstance(engine, str):
        if workers is not None or threads is not None:
            raise ValueError("workers and threads are the engine's own, where one is given: leave them out")
        return engine
    if engine not in ENGINES:
        raise ValueError(f"engine must be {', '.join(map(repr, ENGINES))} or an engine, got {engine!r}")
    more: dict[str, Any] = {} if address is None else {"address": address}
    if engine == "ray" and str(device).startswith("cuda"):
        more["num_gpus"] = 1
    module = importlib.import_module(f"{__package__}.{engine}")
    made: Engine = getattr(module, f"{engine.capitalize()}Engine")(workers=workers, threads=threads, **more)
    return made


def __dir__() -> list[str]:
    return sorted(__all__)
