"""Spark: tasks of its cluster, and columns of its data frames."""

from __future__ import annotations

import queue
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from .._extras import require
from .arrow import pyarrow
from .batch_encoder import BatchEncoder
from .engines import attempt, warn_ignored

__all__ = ["SparkEngine", "encode", "udf"]

_LOOK = 0.2  # seconds between two looks at what is done


def encode(frame: Any, encoder: Any, **options: Any) -> Any:
    """Adds a column of embeddings to a data frame of Spark, by `mapInArrow`.

    The column is `array<float>`: Spark has no lists of a fixed length, and no float16.

    Args:
        frame: A `pyspark.sql.DataFrame`.
        encoder: A `BatchEncoder`, or what one is made of.
        **options: Of `BatchEncoder`: `column`, `output`, `normalize` and so on.

    Returns:
        A data frame, which is computed when it is asked for.

    Example:
        ::

            frame = spark.read.parquet("s3://bucket/in")
            se.scale.spark.encode(frame, "s3://bucket/sif.sentencode").write.parquet("s3://bucket/out")
    """
    types = require("pyspark.sql.types", "spark")
    made = _encoder(encoder, options)
    fields = [field for field in frame.schema.fields if field.name != made.output]
    added = types.StructField(made.output, types.ArrayType(types.FloatType(), False))
    return frame.mapInArrow(_Batches(made), types.StructType([*fields, added]))


def udf(encoder: Any, *, batch_size: int = 1024, **options: Any) -> Any:
    """A function of a column for Spark's expressions and SQL, by `predict_batch_udf`.

    Args:
        encoder: A `BatchEncoder`, or what one is made of.
        batch_size: Rows that are encoded at a time.
        **options: Of `BatchEncoder`.

    Returns:
        A function from a column of text to a column of `array<float>`.

    Example:
        ::

            embed = se.scale.spark.udf("sif.sentencode")
            frame.withColumn("embedding", embed("text"))
    """
    functions = require("pyspark.ml.functions", "spark")
    types = require("pyspark.sql.types", "spark")
    made = _encoder(encoder, options)
    return functions.predict_batch_udf(
        _Predictor(made), return_type=types.ArrayType(types.FloatType()), batch_size=batch_size
    )


def _encoder(encoder: Any, options: dict[str, Any]) -> BatchEncoder:
    made = encoder if isinstance(encoder, BatchEncoder) else BatchEncoder(encoder, **options)
    if made.precision != "float32":
        raise ValueError(f"Spark has no {made.precision}: leave precision at 'float32'")
    return made


class _Batches:
    """What `mapInArrow` calls."""

    def __init__(self, encoder: BatchEncoder) -> None:
        self.encoder = encoder

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        arrow = pyarrow()
        kind = arrow.list_(arrow.float32())
        for batch in batches:
            made = self.encoder(batch)
            place = made.schema.names.index(self.encoder.output)
            columns = [made.column(i) for i in range(made.num_columns)]
            names = made.schema.names
            column = columns.pop(place).cast(kind)
            name = names.pop(place)
            yield arrow.RecordBatch.from_arrays([*columns, column], [*names, name])


class _Predictor:
    """What `predict_batch_udf` calls once in each worker, for what it calls with each batch."""

    def __init__(self, encoder: BatchEncoder) -> None:
        self.encoder = encoder

    def __call__(self) -> Callable[[Any], Any]:
        return lambda texts: self.encoder({self.encoder.column: texts})[self.encoder.output]


class SparkEngine:
    """Runs tasks on Spark: by the session of this process, else on this machine.

    Args:
        workers: How many tasks at a time, where there is no session. None: as many as there are processors.
        threads: Of each task. None: `spark.task.cpus`.
        address: The master of a new session, such as "spark://host:7077".
    """

    def __init__(
        self, workers: int | None = None, threads: int | None = None, address: str | None = None
    ) -> None:
        sql = require("pyspark.sql", "spark")
        session = sql.SparkSession.getActiveSession()
        if session is None:
            session = _new_session(sql, workers, threads, address)
        self._context = session.sparkContext
        self.threads = threads  # None: a worker asks Spark
        warn_ignored("Spark's session", workers=(workers, self.workers))

    @property
    def workers(self) -> int:
        """How many tasks run at a time."""
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
        given: set[int] = set()
        over = False
        try:
            while True:
                failed = None
                if not over:
                    try:
                        failed = ended.get(timeout=_LOOK)
                        over = True
                    except queue.Empty:
                        pass
                for place, result in list(results.value)[len(given) :]:
                    if place in given:  # Spark counts what a task adds once; this is to be seen, not hoped
                        raise RuntimeError(f"{tasks[place]}: Spark gave its result twice")
                    given.add(place)
                    yield place, result
                if failed is not None:
                    raise RuntimeError(f"Spark gave up: {_first_line(failed)}") from failed
                if over:
                    return
        finally:
            if not over:
                self._context.cancelJobGroup(group)
            thread.join()


class _Task:
    """What Spark calls for each task."""

    def __init__(self, work: Any, results: Any) -> None:
        self.work, self.results = work, results

    def __call__(self, numbered: tuple[int, Any]) -> None:
        place, task = numbered
        self.results.add([(place, attempt(self.work.value, task))])


def _listing() -> Any:
    """An accumulator of lists: what tasks add is there when they are done, each once."""
    accumulators = require("pyspark.accumulators", "spark")

    class Listing(accumulators.AccumulatorParam):  # type: ignore[misc, name-defined, unused-ignore]
        def zero(self, value: Any) -> list[Any]:
            return []

        def addInPlace(self, one: list[Any], other: list[Any]) -> list[Any]:  # noqa: N802
            one += other
            return one

    return Listing


def _thread() -> Any:
    """A thread that keeps Spark's settings of its own."""
    try:
        return require("pyspark", "spark").InheritableThread
    except AttributeError:
        return threading.Thread


def _new_session(sql: Any, workers: int | None, threads: int | None, address: str | None) -> Any:
    builder = sql.SparkSession.builder.appName("sentencode").master(address or f"local[{workers or '*'}, 4]")
    builder = builder.config("spark.ui.enabled", "false")
    if address is None or address.startswith("local"):  # else workers of other machines call the driver
        for name in ("spark.driver.bindAddress", "spark.driver.host"):
            builder = builder.config(name, "127.0.0.1")
    if threads is not None:
        builder = builder.config("spark.task.cpus", str(threads))
    session = builder.getOrCreate()
    if address is None:
        session.sparkContext.pythonExec = sys.executable  # and not whichever python3 the path has
    return session


def _first_line(error: Exception) -> str:
    return next(iter(str(error).strip().splitlines()), type(error).__name__)


def __dir__() -> list[str]:
    return sorted(__all__)
