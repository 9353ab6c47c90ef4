"""Encodes and fits on Ray, Spark, Dask or local processes: batches, data frames and files.

Needs pyarrow, and fsspec for URLs: `pip install 'sentencode[scale]'`. Ray, Spark and Dask have
extras, too.
"""

from __future__ import annotations

from . import dask, engines, local, ray, spark
from .batch_encoder import BatchEncoder
from .embeddings import Embeddings
from .encode import encode
from .fit import fit, statistics_bytes
from .words import count_words, train_vectors

__all__ = [
    "BatchEncoder",
    "Embeddings",
    "count_words",
    "dask",
    "encode",
    "engines",
    "fit",
    "local",
    "ray",
    "spark",
    "statistics_bytes",
    "train_vectors",
]


def __dir__() -> list[str]:
    return sorted(__all__)
