"""Dask: tasks of its cluster, and columns of its data frames."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from .._extras import require
from ..threads import num_threads
from .batch_encoder import BatchEncoder
from .engines import attempt, warn_ignored

__all__ = ["DaskEngine", "encode", "new_cluster"]

_LOOPBACK = "127.0.0.1"
_LEAVE, _LOOK = 30.0, 0.1  # seconds that running tasks are waited for at most, and between two looks at them


def encode(frame: Any, encoder: Any, **options: Any) -> Any:
    """Adds a column of embeddings to a data frame of Dask, partition by partition.

    Args:
        frame: A `dask.dataframe.DataFrame`.
        encoder: A `BatchEncoder`, or what one is made of.
        **options: Of `BatchEncoder`: `column`, `output`, `precision` and so on.

    Returns:
        A data frame, which is computed when it is asked for.

    Example:
        ::

            frame = dask.dataframe.read_parquet("s3://bucket/in")
            se.scale.dask.encode(frame, "s3://bucket/sif.sentencode").to_parquet("s3://bucket/out")
    """
    import pandas

    made = encoder if isinstance(encoder, BatchEncoder) else BatchEncoder(encoder, **options)
    column = pandas.Series([], dtype=pandas.ArrowDtype(made.arrow_type))
    return frame.map_partitions(made, meta=frame._meta.assign(**{made.output: column}))


class DaskEngine:
    """Runs tasks on Dask: by the client of this process, else on workers of this machine.

    Args:
        workers: Of this machine, where there is no client. None: Dask's choice.
        threads: Of each of them. None: one.
        address: Of a scheduler, where there is no client.
    """

    def __init__(
        self, workers: int | None = None, threads: int | None = None, address: str | None = None
    ) -> None:
        distributed = require("distributed", "dask")
        self.threads = None  # a worker knows how many it has
        try:
            self._client = distributed.get_client()
        except ValueError:
            cluster: Any = address or new_cluster(workers, threads)
            self._client = distributed.Client(cluster)
            self._client.wait_for_workers(1 if address else len(cluster.worker_spec))
        has = list(self._client.nthreads().values())
        warn_ignored("Dask's cluster", workers=(workers, len(has)), threads=(threads, max(has, default=None)))

    @property
    def workers(self) -> int:
        """How many tasks run at a time."""
        return max(1, sum(map(int, self._client.nthreads().values())))

    def run(self, work: Callable[[Any], Any], tasks: Sequence[Any]) -> Iterator[tuple[int, Any]]:
        """As `Engine.run`."""
        distributed = require("distributed", "dask")
        futures = self._client.map(partial(attempt, work), list(tasks), pure=False, retries=3)
        # Futures that are done are let go of: else Dask keeps their results, and does them all again when the
        # worker is lost that has them.
        left = {future.key: (place, future) for place, future in enumerate(futures)}
        finished = distributed.as_completed(futures)
        del futures
        try:
            for done in finished:
                place, _ = left.pop(done.key)
                try:
                    result = done.result()
                except Exception as error:  # of Dask: a task's own is a result
                    raise RuntimeError(f"{tasks[place]}: its workers were lost: {error}") from error
                done.release()
                yield place, result
        finally:
            if left:
                with suppress(Exception):  # of a cluster that is gone: why the job ended matters more
                    self._leave(left)

    def _leave(self, left: dict[str, tuple[int, Any]]) -> None:
        """Cancels tasks, and waits for those that run, which Dask cannot stop: they write files yet."""
        self._client.cancel([future for _, future in left.values()])
        deadline = time.monotonic() + _LEAVE
        while time.monotonic() < deadline:
            if not any(left.keys() & stacks.keys() for stacks in self._client.call_stack().values()):
                return
            time.sleep(_LOOK)


def new_cluster(workers: int | None = None, threads: int | None = None) -> Any:
    """Workers of this machine that import nothing of the program: it needs no `if __name__ == "__main__"`.

    Scheduler and workers listen on the loopback address alone, and have no dashboard: whoever reaches their
    ports can run code.

    Args:
        workers: How many. None: as many as `num_threads()` allows.
        threads: Of each. None: one.

    Returns:
        A `distributed.SpecCluster`, for a `distributed.Client`.
    """
    distributed = require("distributed", "dask")
    process = require("distributed.deploy.subprocess", "dask").SubprocessWorker
    threads = threads or 1
    # The port for a dashboard serves a few pages without one, too: by default 8787, here any.
    private = {"host": _LOOPBACK, "dashboard": False, "dashboard_address": f"{_LOOPBACK}:0"}
    options = {"worker_kwargs": {"nthreads": threads, "silence_logs": logging.WARNING, **private}}
    # Not its SubprocessCluster, which waits for ever where the scheduler needs more than 30 s to start.
    return distributed.SpecCluster(
        workers={
            i: {"cls": process, "options": options}
            for i in range(workers or max(1, num_threads() // threads))
        },
        silence_logs=logging.WARNING,
        scheduler={"cls": distributed.Scheduler, "options": {"port": 0, **private}},
    )


def __dir__() -> list[str]:
    return sorted(__all__)
