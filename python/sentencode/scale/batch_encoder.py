"""A picklable callable that encodes batches of tables, for every engine."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from ..checks import checked_bool, checked_int, checked_str
from ..quantization import Output, Precision
from ..text.inputs import filled, is_blank, to_batch
from .arrow import embedding_column, embedding_type, plain_column, pyarrow
from .opened import SavedEncoder, computing

__all__ = ["BatchEncoder"]

Missing = Literal["zero", "null"]


class BatchEncoder:
    """Adds a column of embeddings to batches of a table.

    Pass it to Ray's `map_batches`, Spark's `mapInArrow` or Dask's `map_partitions`, or use `encode` of
    `sentencode.scale.ray`, `spark` or `dask`. Its pickle is small: each process reads the encoder from its
    file once, and the processes of a machine share its word vectors. Rows keep their order.

    Args:
        encoder: Path or URL of a saved encoder that every machine can read; or an encoder, which is saved
            below `cache_dir()`, for engines on this machine.
        column: Column with the sentences: text, bytes or lists of tokens.
        output: Column of the embeddings; an existing one is replaced.
        normalize: Whether to normalize each embedding to length 1.
        precision: As for `Encoder.encode`.
        truncate_dim: Likewise.
        ranges: Likewise: the ranges of int8 and uint8.
        missing: Embedding of a sentence that is null or empty: "zero" or "null" (NaN in NumPy arrays), which
            requires floats. A sentence of unknown words is zero in both cases.
        threads: Number of threads. None: the worker's share (Ray's `num_cpus`, Spark's `spark.task.cpus`,
            the threads of Dask's worker); outside of engines, `num_threads()`.
        device: Device of a neural encoder, such as "cuda". None: as it was saved.
        **options: Keywords of `sentencode.load`: `tokenizer`, `trust_tokenizer`, `vectors`, `trust_vectors`.

    Attributes:
        dim: Dimensions of an embedding.
        width: Numbers of an embedding: `dim`, or ceil(dim / 8) for "binary" and "ubinary".
        dtype: Their type.

    Raises:
        ValueError: An option is invalid, or the precision requires ranges.

    Example:
        >>> import pyarrow, sentencode as se
        >>> encoder = se.Average(se.WordVectors.from_dict({"cat": [1, 0], "dog": [0, 1]}))
        >>> encode = se.scale.BatchEncoder(encoder)
        >>> batch = pyarrow.table({"id": [1, 2], "text": ["cat dog", None]})
        >>> encode(batch)["embedding"].to_pylist()
        [[0.5, 0.5], [0.0, 0.0]]
        >>> encode({"text": ["dog"]})["embedding"]
        array([[0., 1.]], dtype=float32)
    """

    def __init__(
        self,
        encoder: Any,
        column: str = "text",
        output: str = "embedding",
        *,
        normalize: bool = False,
        precision: Precision = "float32",
        truncate_dim: int | None = None,
        ranges: npt.ArrayLike | None = None,
        missing: Missing = "zero",
        threads: int | None = None,
        device: str | None = None,
        **options: Any,
    ) -> None:
        self.column = checked_str("column", column)
        self.output = checked_str("output", output)
        self.normalize = checked_bool("normalize", normalize)
        if missing not in ("zero", "null"):
            raise ValueError(f"missing must be 'zero' or 'null', got {missing!r}")
        self.missing = missing
        self.ranges = None if ranges is None else np.array(ranges, dtype=np.float32)
        self.threads = None if threads is None else checked_int("threads", threads, 1)
        self.saved = (
            encoder if isinstance(encoder, SavedEncoder) else SavedEncoder.of(encoder, options, device)
        )
        stored = Output("BatchEncoder", self.saved.dim, precision, truncate_dim=truncate_dim, ranges=ranges)
        self.precision = stored.precision
        self.dim, self.width, self.dtype = stored.dim, stored.width, stored.dtype
        self.truncate_dim = None if truncate_dim is None else stored.dim
        if missing == "null" and self.dtype.kind != "f":
            raise ValueError(f"precision={precision!r} has no NaN; use missing='zero'")

    @classmethod
    def of(cls, encoder: Any, options: dict[str, Any]) -> BatchEncoder:
        """A `BatchEncoder` unchanged, or a new one of an encoder and keywords."""
        return encoder if isinstance(encoder, BatchEncoder) else cls(encoder, **options)

    @property
    def fingerprint(self) -> str:
        """Fingerprint of the encoder."""
        return self.saved.fingerprint

    @property
    def arrow_type(self) -> Any:
        """Arrow type of the column of embeddings."""
        return embedding_type(self.width, self.dtype.name)

    def rows(self, sentences: Any) -> tuple[npt.NDArray[Any], npt.NDArray[np.bool_] | None]:
        """The embeddings [n, width] of a column of any library, and the mask [n] of nulls or None."""
        texts = _texts(sentences)
        encoder: Any = self.saved.open()
        with computing(self.threads):
            rows = encoder.encode(
                texts,
                normalize_embeddings=self.normalize,
                precision=self.precision,
                truncate_dim=self.truncate_dim,
                ranges=self.ranges,
                show_progress_bar=False,
            )
        if self.missing == "zero":
            return rows, None
        absent = np.zeros(len(rows), dtype=bool)
        for i in np.flatnonzero(~rows.any(axis=1)):  # empty sentences are zero, but so are unknown words
            absent[i] = is_blank(texts[i])
        return rows, absent

    def __call__(self, batch: Any) -> Any:
        """Adds the column.

        Args:
            batch: Arrow table or record batch, pandas data frame, or dict of arrays.

        Returns:
            The same kind of batch. The column is a `fixed_size_list` in Arrow, an `ArrowDtype` of it in
            pandas, and an array [n, width] in a dict.

        Raises:
            TypeError: `batch` is something else.
            KeyError: It lacks the column.
        """
        if hasattr(batch, "schema") and hasattr(batch, "num_rows"):
            return self._arrow(batch)
        if hasattr(batch, "columns") and hasattr(batch, "assign"):
            return self._pandas(batch)
        if isinstance(batch, dict):
            rows, absent = self.rows(self._column(batch, list(batch)))
            if absent is not None:
                rows[absent] = np.nan
            return {**batch, self.output: rows}
        raise TypeError(
            "batch must be an Arrow table, a pandas data frame or a dict of arrays, "
            f"got a {type(batch).__name__}"
        )

    def _arrow(self, batch: Any) -> Any:
        column = embedding_column(*self.rows(self._column(batch, batch.schema.names)))
        names = batch.schema.names
        if self.output in names:
            return batch.set_column(names.index(self.output), self.output, column)
        return batch.append_column(self.output, column)

    def _pandas(self, frame: Any) -> Any:
        import pandas

        column = embedding_column(*self.rows(self._column(frame, list(frame.columns))))
        values = pandas.array(column, dtype=pandas.ArrowDtype(self.arrow_type))
        return frame.assign(**{self.output: pandas.Series(values, index=frame.index)})

    def _column(self, batch: Any, names: list[str]) -> Any:
        if self.column not in names:
            raise KeyError(f"there is no column {self.column!r}; there are {', '.join(map(str, names))}")
        return batch[self.column]

    def __repr__(self) -> str:
        return (
            f"BatchEncoder({self.saved.path!r}, column={self.column!r}, output={self.output!r}, "
            f"kind={self.saved.kind}, dim={self.dim})"
        )


def _texts(sentences: Any) -> Any:
    """The sentences as a list or plain column, with empty texts instead of nulls."""
    if not hasattr(sentences, "type") or not hasattr(sentences, "null_count"):
        return filled(sentences)[0]
    sentences = plain_column(sentences)
    if sentences.null_count == 0:
        return to_batch(sentences)
    kind = str(sentences.type)
    if kind not in ("string", "large_string", "binary", "large_binary"):
        return filled(sentences.to_pylist())[0]
    return to_batch(pyarrow("compute").fill_null(sentences, b"" if kind.endswith("binary") else ""))
