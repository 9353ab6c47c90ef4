"""Dask: runs tasks on its cluster, and encodes its data frames."""

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
_CANCEL_TIMEOUT, _POLL = 30.0, 0.1  # seconds


def encode(frame: Any, encoder: Any, **options: Any) -> Any:
    """Adds a column of embeddings to a data frame of Dask, partition by partition.

    Args:
        frame: A `dask.dataframe.DataFrame`.
        encoder: A `BatchEncoder`, or its first argument.
        **options: Keywords of `BatchEncoder`: `column`, `output`, `precision` and so on.

    Returns:
        A lazy data frame.

    Example:
        ::

            frame = dask.dataframe.read_parquet("s3://bucket/in")
            se.scale.dask.encode(frame, "s3://bucket/sif.sentencode").to_parquet("s3://bucket/out")
    """
    import pandas

    encoder = BatchEncoder.of(encoder, options)
    column = pandas.Series([], dtype=pandas.ArrowDtype(encoder.arrow_type))
    return frame.map_partitions(encoder, meta=frame._meta.assign(**{encoder.output: column}))


class DaskEngine:
    """Runs tasks on Dask: with the client of this process, or else on workers of this machine.

    Args:
        workers: Number of workers, if there is no client. None: as many as `num_threads()` allows.
        threads: Threads of each worker. None: one.
        address: Address of a scheduler, if there is no client.
    """

    def __init__(
        self, workers: int | None = None, threads: int | None = None, address: str | None = None
    ) -> None:
        distributed = require("distributed", "dask")
        self.threads = None  # the worker decides
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
        """Number of simultaneous tasks."""
        return max(1, sum(map(int, self._client.nthreads().values())))

    def run(self, work: Callable[[Any], Any], tasks: Sequence[Any]) -> Iterator[tuple[int, Any]]:
        """As `Engine.run`."""
        distributed = require("distributed", "dask")
        futures = self._client.map(partial(attempt, work), list(tasks), pure=False, retries=3)
        # Finished futures are released: otherwise Dask keeps their results on a worker, and computes them
        # again when it loses that worker.
        unfinished = {future.key: (i, future) for i, future in enumerate(futures)}
        finished = distributed.as_completed(futures)
        del futures
        try:
            for done in finished:
                i, _ = unfinished.pop(done.key)
                try:
                    result = done.result()
                except Exception as error:  # Dask's: errors of tasks are results
                    raise RuntimeError(f"{tasks[i]}: its workers were lost: {error}") from error
                done.release()
                yield i, result
        finally:
            if unfinished:
                with suppress(Exception):  # the cluster may be gone; why the job ended matters more
                    self._cancel(unfinished)

    def _cancel(self, unfinished: dict[str, tuple[int, Any]]) -> None:
        """Cancels tasks, and waits for running ones: Dask cannot stop them, and they still write files."""
        self._client.cancel([future for _, future in unfinished.values()])
        deadline = time.monotonic() + _CANCEL_TIMEOUT
        while time.monotonic() < deadline:
            if not any(unfinished.keys() & stacks.keys() for stacks in self._client.call_stack().values()):
                return
            time.sleep(_POLL)


def new_cluster(workers: int | None = None, threads: int | None = None) -> Any:
    """A `distributed.SpecCluster` of this machine, for a `distributed.Client`.

    Workers do not import the main module, so it needs no `if __name__ == "__main__"`. Scheduler and workers
    listen on the loopback address only and have no dashboard, because whoever reaches their ports can run
    code.

    Args:
        workers: Number of workers. None: as many as `num_threads()` allows.
        threads: Threads of each worker. None: one.
    """
    distributed = require("distributed", "dask")
    process = require("distributed.deploy.subprocess", "dask").SubprocessWorker
    threads = threads or 1
    # The dashboard's port, by default 8787, serves some pages even without a dashboard: use any free port.
    private = {"host": _LOOPBACK, "dashboard": False, "dashboard_address": f"{_LOOPBACK}:0"}
    options = {"worker_kwargs": {"nthreads": threads, "silence_logs": logging.WARNING, **private}}
    # SubprocessCluster would wait for ever if the scheduler takes more than 30 s to start.
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
