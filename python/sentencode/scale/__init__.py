"""One encoder on many machines: batches, files and fits on Ray, Spark and Dask, or on this machine's processes.

Needs pyarrow, and fsspec for URLs: `pip install 'sentencode[scale]'`. Ray, Spark and Dask are extras of their own.
"""

from __future__ import annotations

from . import dask, engines, local, ray, spark
from .batch_encoder import BatchEncoder
from .embeddings import Embeddings
from .encode import encode
from .fit import fit, statistics_bytes

__all__ = [
    *("BatchEncoder", "Embeddings"),
    *("encode", "fit", "statistics_bytes"),
    *("dask", "engines", "local", "ray", "spark"),
]
