"""Ray: tasks of its cluster, and columns of its data sets."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from .._extras import require
from .batch_encoder import BatchEncoder
from .engines import attempt

__all__ = ["RayEngine", "encode"]

_IN_FLIGHT = 2  # tasks for each that can run, so that no worker waits for one


def encode(
    dataset: Any,
    encoder: Any,
    *,
    workers: int | tuple[int, int] | None = None,
    num_cpus: float = 1,
    num_gpus: float = 0,
    batch_size: int | None = 4096,
    **options: Any,
) -> Any:
    """Adds a column of embeddings to a data set of Ray.

    Args:
        dataset: A `ray.data.Dataset`.
        encoder: A `BatchEncoder`, or what one is made of.
        workers: How many actors encode, or the least and the most. They must leave a processor for what reads
            and writes, or Ray waits for one for ever. None: as many as the cluster has processors for, but
            one.
        num_cpus: The processors of each, which are its threads.
        num_gpus: Its GPUs; the encoder then needs `device="cuda"`.
        batch_size: Rows that are encoded at a time. None: a block.
        **options: Of `BatchEncoder`: `column`, `output`, `precision` and so on.

    Returns:
        A data set, which is computed when it is consumed.

    Example:
        ::

            dataset = ray.data.read_parquet("s3://bucket/in")
            se.scale.ray.encode(dataset, "s3://bucket/sif.sentencode").write_parquet("s3://bucket/out")
    """
    data = require("ray.data", "ray")
    made = encoder if isinstance(encoder, BatchEncoder) else BatchEncoder(encoder, **options)
    if workers is None:
        workers = (1, max(1, RayEngine(threads=max(1, int(num_cpus))).workers - 1))
    least, most = workers if isinstance(workers, tuple) else (workers, workers)
    return dataset.map_batches(
        _Actor,
        fn_constructor_args=(made,),
        batch_format="pyarrow",
        batch_size=batch_size,
        compute=data.ActorPoolStrategy(min_size=least, max_size=most),
        num_cpus=num_cpus,
        num_gpus=num_gpus or None,
    )


class _Actor:
    """What `map_batches` makes once in each actor."""

    def __init__(self, encoder: BatchEncoder) -> None:
        self.encoder = encoder
        encoder.saved.open()

    def __call__(self, batch: Any) -> Any:
        return self.encoder(batch)


def _connect(ray: Any, address: str | None) -> None:
    """Connects to a cluster, or starts one on this machine, whose ports are bound to the loopback address.

    A cluster that another program has started for itself is left alone: it ends with that program. Ray's
    `address="auto"` joins any that it sees.
    """
    options = {"include_dashboard": False, "log_to_driver": True, "logging_level": "warning"}
    if address is not None or "RAY_ADDRESS" in os.environ:
        ray.init(address=address, **options)
        return
    if require("ray._private.services", "ray").find_bootstrap_address(None):  # `ray start` wrote it down
        with suppress(ConnectionError):  # or is no longer there
            ray.init(address=None, **options)
            return
    with _loopback():
        ray.init(address="local", **options)


@contextmanager
def _loopback() -> Iterator[None]:
    """Has a cluster that Ray starts listen on the loopback address alone.

    Ray does so where it is not meant for several machines, by default on Windows and macOS. Elsewhere it
    listens on all addresses, and replaces a loopback address that it is given.
    """
    constants: Any = require("ray._private.ray_constants", "ray")
    name = "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"
    before = os.environ.get(name), constants.ENABLE_RAY_CLUSTER
    os.environ[name], constants.ENABLE_RAY_CLUSTER = (
        "0",
        False,
    )  # of the processes that it starts; of this one
    try:
        yield
    finally:
        constants.ENABLE_RAY_CLUSTER = before[1]
        if before[0] is None:
            del os.environ[name]
        else:
            os.environ[name] = before[0]


class RayEngine:
    """Runs tasks on Ray: on the cluster that this process is connected to, else on this machine.

    A cluster that is started here listens on the loopback address alone, and wants Ray's token from whoever
    calls it where Ray has one (2.52 and later; `RAY_AUTH_MODE=disabled` turns it off).

    Args:
        workers: How many tasks at a time. None: as many as the cluster has processors for.
        threads: The processors of each (`num_cpus`). None: one.
        num_gpus: The GPUs of each.
        address: Of a cluster, for `ray.init`, where this process is not connected to one.
    """

    def __init__(
        self,
        workers: int | None = None,
        threads: int | None = None,
        num_gpus: float = 0,
        address: str | None = None,
    ) -> None:
        if "ray" not in sys.modules:
            os.environ.setdefault(
                "RAY_AUTH_MODE", "token"
            )  # Ray looks when it is imported; before 2.52 never
        ray = require("ray", "ray")
        if not ray.is_initialized():
            _connect(ray, address)
        self._workers = workers
        self._cpus = threads or 1
        self._gpus = num_gpus
        self.threads = None  # a worker asks Ray

    @property
    def workers(self) -> int:
        """How many tasks run at a time."""
        if self._workers is not None:
            return self._workers
        there = require("ray", "ray").cluster_resources()
        fitting = there.get("CPU", 1) // self._cpus
        if self._gpus:
            fitting = min(fitting, there.get("GPU", 0) // self._gpus)
        return max(1, int(fitting))

    def run(self, work: Callable[[Any], Any], tasks: Sequence[Any]) -> Iterator[tuple[int, Any]]:
        """As `Engine.run`."""
        ray = require("ray", "ray")
        remote = ray.remote(num_cpus=self._cpus, num_gpus=self._gpus, max_retries=3)(attempt)
        function = ray.put(work)
        most = self._workers or _IN_FLIGHT * self.workers
        running: dict[Any, int] = {}
        waiting = iter(enumerate(tasks))
        try:
            while True:
                while len(running) < most and (item := next(waiting, None)) is not None:
                    running[remote.remote(function, item[1])] = item[0]
                if not running:
                    return
                for done in ray.wait(list(running), num_returns=1)[0]:
                    place = running.pop(done)
                    try:
                        result = ray.get(done)
                    except ray.exceptions.RayError as error:
                        raise RuntimeError(f"{tasks[place]}: its workers were lost: {error}") from error
                    yield place, result
        finally:
            for reference in running:
                ray.cancel(reference, force=True)


def __dir__() -> list[str]:
    return sorted(__all__)
