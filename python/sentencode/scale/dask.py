"""Dask: tasks of its cluster, and columns of its data frames."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from .._extras import require
from ..threads import num_threads
from .batch_encoder import BatchEncoder
from .engines import attempt

__all__ = ["DaskEngine", "encode", "new_cluster"]


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

    @property
    def workers(self) -> int:
        """How many tasks run at a time."""
        return max(1, sum(map(int, self._client.nthreads().values())))

    def run(self, work: Callable[[Any], Any], tasks: Sequence[Any]) -> Iterator[tuple[int, Any]]:
        """As `Engine.run`."""
        distributed = require("distributed", "dask")
        futures = self._client.map(partial(attempt, work), list(tasks), pure=False, retries=3)
        places = {future.key: place for place, future in enumerate(futures)}
        try:
            for done in distributed.as_completed(futures):
                place = places[done.key]
                try:
                    result = done.result()
                except Exception as error:  # of Dask: a task's own is a result
                    raise RuntimeError(f"{tasks[place]}: its workers were lost: {error}") from error
                yield place, result
        finally:
            self._client.cancel(futures)


def new_cluster(workers: int | None = None, threads: int | None = None) -> Any:
    """Workers of this machine that import nothing of the program: it needs no `if __name__ == "__main__"`.

    Args:
        workers: How many. None: as many as `num_threads()` allows.
        threads: Of each. None: one.

    Returns:
        A `distributed.SpecCluster`, for a `distributed.Client`.
    """
    distributed = require("distributed", "dask")
    process = require("distributed.deploy.subprocess", "dask").SubprocessWorker
    threads = threads or 1
    options = {"worker_kwargs": {"nthreads": threads, "silence_logs": logging.WARNING}}
    # Not its SubprocessCluster, which waits for ever where the scheduler needs more than 30 s to start.
    return distributed.SpecCluster(
        workers={
            i: {"cls": process, "options": options}
            for i in range(workers or max(1, num_threads() // threads))
        },
        silence_logs=logging.WARNING,
        scheduler={
            "cls": distributed.Scheduler,
            "options": {"host": "127.0.0.1", "port": 0, "dashboard": False, "dashboard_address": None},
        },
    )
