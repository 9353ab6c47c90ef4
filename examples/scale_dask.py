"""A data frame of Dask with a column of embeddings, and a fit on Dask: python examples/scale_dask.py FOLDER.

Needs `pip install 'sentencode[dask]'`. On a cluster, FOLDER and the encoder are where all machines
read them.
"""

from __future__ import annotations

import sys
from importlib import resources
from pathlib import Path

import dask.dataframe as dd
import pyarrow as pa
import pyarrow.parquet as pq
from distributed import Client

import sentencode as se


def main(folder: Path) -> None:
    """Writes a table, fits to it, and encodes it."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = (resources.files("sentencode") / "data/demo_sentences.txt").read_text("utf-8").splitlines()
    pq.write_table(
        pa.table({"id": range(len(lines)), "text": lines}), folder / "in.parquet", row_group_size=400
    )

    with Client(n_workers=2, threads_per_worker=1, dashboard_address=None):
        # Tasks of Dask read the file; their sums are merged.
        sif = se.SIF(se.WordVectors.default())
        se.scale.fit(sif, folder / "in.parquet", engine="dask", shard_size="50KB")
        sif.save(folder / "sif.sentencode")

        frame = dd.read_parquet(folder / "in.parquet", split_row_groups=True)
        made = se.scale.dask.encode(frame, folder / "sif.sentencode")  # by map_partitions
        made.to_parquet(folder / "out")
        print(f"{len(made)} rows, {made.dtypes['embedding']}")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "scale-dask"))
