"""Spark: runs tasks on its cluster, and encodes its data frames."""

from __future__ import annotations

import queue
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any

from .._extras import require
from .arrow import pyarrow
from .batch_encoder import BatchEncoder
from .engines import attempt, warn_ignored

__all__ = ["SparkEngine", "encode", "udf"]

_POLL = 0.2  # seconds


def encode(frame: Any, encoder: Any, **options: Any) -> Any:
    """Adds a column of embeddings to a data frame of Spark, by `mapInArrow`.

    The column is `array<float>`, or `array<tinyint>` for int8 and binary: Spark has no fixed-size lists, no
    float16 and no unsigned bytes.

    Args:
        frame: A `pyspark.sql.DataFrame`.
        encoder: A `BatchEncoder`, or its first argument.
        **options: Keywords of `BatchEncoder`: `column`, `output`, `normalize` and so on.

    Returns:
        A lazy data frame.

    Example:
        ::

            frame = spark.read.parquet("s3://bucket/in")
            se.scale.spark.encode(frame, "s3://bucket/sif.sentencode").write.parquet("s3://bucket/out")
    """
    types = require("pyspark.sql.types", "spark")
    encoder = _encoder(encoder, options)
    fields = [field for field in frame.schema.fields if field.name != encoder.output]
    added = types.StructField(encoder.output, types.ArrayType(_number(encoder), False))
    return frame.mapInArrow(_Batches(encoder), types.StructType([*fields, added]))


def udf(encoder: Any, *, batch_size: int = 1024, **options: Any) -> Any:
    """A function from a column of text to one of embeddings, as of `encode`, for Spark's expressions and SQL.

    Args:
        encoder: A `BatchEncoder`, or its first argument.
        batch_size: Rows per batch.
        **options: Keywords of `BatchEncoder`.

    Example:
        ::

            embed = se.scale.spark.udf("sif.sentencode")
            frame.withColumn("embedding", embed("text"))
    """
    functions = require("pyspark.ml.functions", "spark")
    types = require("pyspark.sql.types", "spark")
    batches = _encoder(encoder, options)
    return functions.predict_batch_udf(
        _Predictor(batches),
        return_type=types.ArrayType(_number(batches)),
        batch_size=batch_size,
    )


def _encoder(encoder: Any, options: dict[str, Any]) -> BatchEncoder:
    batches = BatchEncoder.of(encoder, options)
    if batches.dtype.name not in ("float32", "int8"):
        raise ValueError(f"Spark has no {batches.dtype}: precision must be 'float32', 'int8' or 'binary'")
    return batches


def _number(encoder: BatchEncoder) -> Any:
    """Spark's type of the numbers of an embedding."""
    types = require("pyspark.sql.types", "spark")
    return types.FloatType() if encoder.dtype == "float32" else types.ByteType()


class _Batches:
    """Encodes record batches, for `mapInArrow`; the column of embeddings is the last one."""

    def __init__(self, encoder: BatchEncoder) -> None:
        self.encoder = encoder

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        arrow = pyarrow()
        kind = arrow.list_(self.encoder.arrow_type.value_type)
        for batch in batches:
            encoded = self.encoder(batch)
            columns, names = list(encoded.columns), list(encoded.schema.names)
            i = names.index(self.encoder.output)
            columns.append(columns.pop(i).cast(kind))
            names.append(names.pop(i))
            yield arrow.RecordBatch.from_arrays(columns, names)


class _Predictor:
    """Returns the function of batches; `predict_batch_udf` calls it once in each worker."""

    def __init__(self, encoder: BatchEncoder) -> None:
        self.encoder = encoder

    def __call__(self) -> Callable[[Any], Any]:
        return lambda texts: self.encoder({self.encoder.column: texts})[self.encoder.output]


class SparkEngine:
    """Runs tasks on Spark: with the session of this process, or else on this machine.

    Args:
        workers: Number of simultaneous tasks, if there is no session. None: the number of processors.
        threads: Threads of each task. None: `spark.task.cpus`.
        address: Master of a new session, such as "spark://host:7077".
    """

    def __init__(
        self, workers: int | None = None, threads: int | None = None, address: str | None = None
    ) -> None:
        sql = require("pyspark.sql", "spark")
        session = sql.SparkSession.getActiveSession()
        if session is None:
            session = _new_session(sql, workers, threads, address)
        self._context = session.sparkContext
        self.threads = threads  # None: the worker decides
        warn_ignored("Spark's session", workers=(workers, self.workers))

    @property
    def workers(self) -> int:
        """Number of simultaneous tasks."""
        return max(1, int(self._context.defaultParallelism))

    def run(self, work: Callable[[Any], Any], tasks: Sequence[Any]) -> Iterator[tuple[int, Any]]:
        """As `Engine.run`."""
        if not tasks:
            return
        results = self._context.accumulator([], _listing()())
        broadcast = self._context.broadcast(work)
        group = f"sentencode-{id(results)}"
        ended: queue.Queue[Exception | None] = queue.Queue()

        def run() -> None:
            try:
                self._context.setJobGroup(group, "sentencode", interruptOnCancel=True)
                numbered = self._context.parallelize(list(enumerate(tasks)), len(tasks))
                numbered.foreach(_Task(broadcast, results))
                ended.put(None)
            except Exception as error:
                ended.put(error)

        thread = _thread()(target=run, daemon=True)
        thread.start()
        seen: set[int] = set()
        is_done = False
        try:
            while not is_done:
                error = None
                with suppress(queue.Empty):
                    error = ended.get(timeout=_POLL)
                    is_done = True
                for i, result in list(results.value)[len(seen) :]:
                    if i in seen:  # Spark promises to add each result once
                        raise RuntimeError(f"{tasks[i]}: Spark returned its result twice")
                    seen.add(i)
                    yield i, result
                if error is not None:
                    raise RuntimeError(f"Spark gave up: {_first_line(error)}") from error
        finally:
            if not is_done:
                self._context.cancelJobGroup(group)
            thread.join()


class _Task:
    """Runs one numbered task in a worker, and adds its result to an accumulator."""

    def __init__(self, work: Any, results: Any) -> None:
        self.work, self.results = work, results

    def __call__(self, numbered: tuple[int, Any]) -> None:
        i, task = numbered
        self.results.add([(i, attempt(self.work.value, task))])


def _listing() -> Any:
    """The class of accumulators of lists: each finished task appends its result once."""
    accumulators = require("pyspark.accumulators", "spark")

    class Listing(accumulators.AccumulatorParam):  # type: ignore[misc, name-defined, unused-ignore]
        def zero(self, value: Any) -> list[Any]:
            return []

        def addInPlace(self, one: list[Any], other: list[Any]) -> list[Any]:  # noqa: N802
            one += other
            return one

    return Listing


def _thread() -> Any:
    """The class of threads with thread-local Spark properties."""
    try:
        return require("pyspark", "spark").InheritableThread
    except AttributeError:
        return threading.Thread


def _new_session(sql: Any, workers: int | None, threads: int | None, address: str | None) -> Any:
    builder = sql.SparkSession.builder.appName("sentencode").master(address or f"local[{workers or '*'}, 4]")
    builder = builder.config("spark.ui.enabled", "false")
    if address is None or address.startswith("local"):  # otherwise workers of other machines call the driver
        for name in ("spark.driver.bindAddress", "spark.driver.host"):
            builder = builder.config(name, "127.0.0.1")
    if threads is not None:
        builder = builder.config("spark.task.cpus", str(threads))
    session = builder.getOrCreate()
    if address is None:
        session.sparkContext.pythonExec = sys.executable  # not the python3 of PATH
    return session


def _first_line(error: Exception) -> str:
    return next(iter(str(error).strip().splitlines()), type(error).__name__)


def __dir__() -> list[str]:
    return sorted(__all__)
