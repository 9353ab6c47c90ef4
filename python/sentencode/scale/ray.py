"""Ray: runs tasks on its cluster, and encodes its data sets."""

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

_IN_FLIGHT = 2  # submitted tasks per worker, so that no worker waits


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
        encoder: A `BatchEncoder`, or its first argument.
        workers: Number of actors, or its minimum and maximum. Leave one processor for reading and writing, or
            Ray waits for ever. None: one less than the cluster has processors for.
        num_cpus: Processors of each actor, and its threads.
        num_gpus: GPUs of each actor; the encoder then needs `device="cuda"`.
        batch_size: Rows per batch. None: a block.
        **options: Keywords of `BatchEncoder`: `column`, `output`, `precision` and so on.

    Returns:
        A lazy data set.

    Example:
        ::

            dataset = ray.data.read_parquet("s3://bucket/in")
            se.scale.ray.encode(dataset, "s3://bucket/sif.sentencode").write_parquet("s3://bucket/out")
    """
    data = require("ray.data", "ray")
    encoder = BatchEncoder.of(encoder, options)
    if workers is None:
        workers = (1, max(1, RayEngine(threads=max(1, int(num_cpus))).workers - 1))
    least, most = workers if isinstance(workers, tuple) else (workers, workers)
    return dataset.map_batches(
        _Actor,
        fn_constructor_args=(encoder,),
        batch_format="pyarrow",
        batch_size=batch_size,
        compute=data.ActorPoolStrategy(min_size=least, max_size=most),
        num_cpus=num_cpus,
        num_gpus=num_gpus or None,
    )


class _Actor:
    """Encodes batches; `map_batches` constructs it once in each actor."""

    def __init__(self, encoder: BatchEncoder) -> None:
        self.encoder = encoder
        encoder.saved.open()

    def __call__(self, batch: Any) -> Any:
        return self.encoder(batch)


def _connect(ray: Any, address: str | None) -> None:
    """Connects to a cluster, or starts one on this machine that listens on the loopback address only.

    Clusters that other programs have started for themselves are not joined, unlike with `address="auto"`:
    they end with those programs.
    """
    options = {"include_dashboard": False, "log_to_driver": True, "logging_level": "warning"}
    if address is not None or "RAY_ADDRESS" in os.environ:
        ray.init(address=address, **options)
        return
    services = require("ray._private.services", "ray")
    # Written by `ray start`, which may have crashed: Ray would wait minutes for a cluster that has ended.
    if services.find_bootstrap_address(None) and services.find_gcs_addresses():
        with suppress(ConnectionError):  # that cluster has ended
            ray.init(address=None, **options)
            return
    with _loopback():
        ray.init(address="local", **options)


@contextmanager
def _loopback() -> Iterator[None]:
    """Makes a cluster that Ray starts listen on the loopback address only, as it does on Windows and macOS.

    Elsewhere, Ray listens on all addresses and replaces a given loopback address.
    """
    constants: Any = require("ray._private.ray_constants", "ray")
    name = "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"
    before = os.environ.get(name), constants.ENABLE_RAY_CLUSTER
    os.environ[name] = "0"  # for the processes that Ray starts
    constants.ENABLE_RAY_CLUSTER = False  # for this process
    try:
        yield
    finally:
        constants.ENABLE_RAY_CLUSTER = before[1]
        if before[0] is None:
            del os.environ[name]
        else:
            os.environ[name] = before[0]


class RayEngine:
    """Runs tasks on Ray: on the cluster that this process is connected to, or else on this machine.

    A cluster that is started here listens on the loopback address only, and requires Ray's token (Ray 2.52
    and later; `RAY_AUTH_MODE=disabled` turns it off).

    Args:
        workers: Number of simultaneous tasks. None: as many as the cluster has processors for.
        threads: Processors of each task (`num_cpus`). None: one.
        num_gpus: GPUs of each task.
        address: Address of a cluster, for `ray.init`, if this process is not connected to one.
    """

    def __init__(
        self,
        workers: int | None = None,
        threads: int | None = None,
        num_gpus: float = 0,
        address: str | None = None,
    ) -> None:
        if "ray" not in sys.modules:
            os.environ.setdefault("RAY_AUTH_MODE", "token")  # read when Ray is imported
        ray = require("ray", "ray")
        if not ray.is_initialized():
            _connect(ray, address)
        self._workers = workers
        self._cpus = threads or 1
        self._gpus = num_gpus
        self.threads = None  # the worker decides

    @property
    def workers(self) -> int:
        """Number of simultaneous tasks."""
        if self._workers is not None:
            return self._workers
        resources = require("ray", "ray").cluster_resources()
        count = resources.get("CPU", 1) // self._cpus
        if self._gpus:
            count = min(count, resources.get("GPU", 0) // self._gpus)
        return max(1, int(count))

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
                    i = running.pop(done)
                    try:
                        result = ray.get(done)
                    except ray.exceptions.RayError as error:
                        raise RuntimeError(f"{tasks[i]}: its workers were lost: {error}") from error
                    yield i, result
        finally:
            for reference in running:
                ray.cancel(reference, force=True)


def __dir__() -> list[str]:
    return sorted(__all__)
